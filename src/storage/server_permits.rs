//! The permits of concurrency limits on a Redis server.

use super::permits::{Granted, Permit, Refusal};
use super::remote::tell;
use crate::exceptions;
use gcra::{Key, Ticks};
use std::rc::Rc;
use stores::remote::redis::Redis;
use stores::remote::redis::acquire::Acquired;
use stores::remote::redis::permits;
use stores::remote::{Answer, Cause, Failure, Remote};
use zend::Thrown;

/// A Redis store with its settings.
pub type Server = Remote<'static, Redis>;

/// The result of a call that may have used a server. [`Told::tell`] must be called, but only after
/// the result is complete and while nothing is borrowed, because it may run PHP code.
pub struct Told<R> {
    pub value: R,
    /// True if the failure policy decided instead of the server.
    pub fallback: bool,
    /// The failure that PHP code must learn of.
    warning: Option<(Rc<Server>, Failure)>,
}

impl<R> Told<R> {
    /// Returns the result of a call that used no server.
    pub const fn sure(value: R) -> Self {
        Self {
            value,
            fallback: false,
            warning: None,
        }
    }

    fn of(server: &Rc<Server>, answer: Answer<R>) -> Self {
        let warning = answer.warning.map(|failure| (Rc::clone(server), failure));
        Self {
            value: answer.value,
            fallback: answer.fallback,
            warning,
        }
    }

    fn map<S>(self, convert: impl FnOnce(R) -> S) -> Told<S> {
        Told {
            value: convert(self.value),
            fallback: self.fallback,
            warning: self.warning,
        }
    }

    /// Separates the result from the failure that is still to be reported.
    pub fn split(self) -> (R, Told<()>) {
        let rest = Told {
            value: (),
            fallback: self.fallback,
            warning: self.warning,
        };
        (self.value, rest)
    }

    /// Reports the failure, and returns the result.
    ///
    /// # Errors
    /// Fails with the exception of PHP's warning handler.
    pub fn tell(self) -> Result<R, Thrown> {
        let Some((server, failure)) = self.warning else {
            return Ok(self.value);
        };
        let answer = Answer {
            value: self.value,
            warning: Some(failure),
            fallback: self.fallback,
        };
        tell(&server, Ok(answer), || None).map(|told| told.value)
    }
}

/// A permit that a server keeps, or that the failure policy has granted.
#[derive(Debug)]
pub struct ServerPermit {
    server: Rc<Server>,
    permit: permits::Permit,
}

/// Takes a permit of `key` out of `limit` on a server.
///
/// # Errors
/// Throws the exception of a server that failed.
pub fn acquire(
    server: &Rc<Server>,
    key: Key<'_>,
    limit: u16,
    lease: Ticks,
) -> Result<Told<Result<Granted, Refusal>>, Thrown> {
    let answer = server.acquire(key, limit, lease).map_err(thrown)?;
    let told = Told::of(server, answer);
    Ok(told.map(|acquired| match acquired {
        Acquired::Granted { permit, free } => {
            let server = Rc::clone(server);
            let permit = Permit::Server(Box::new(ServerPermit { server, permit }));
            Ok(Granted { permit, free })
        }
        Acquired::Denied => Err(Refusal::TooMany),
        Acquired::Contended => Err(Refusal::Contended),
        Acquired::TableFull => Err(Refusal::TableFull),
        Acquired::Unavailable => Err(Refusal::Unavailable),
    }))
}

/// Returns the number of permits of `key` that are held, at most `limit`.
///
/// # Errors
/// Throws the exception of a server that failed, or of PHP's warning handler.
pub fn held(server: &Rc<Server>, key: Key<'_>, limit: u16) -> Result<u16, Thrown> {
    let answer = server.held(key, limit).map_err(thrown)?;
    Told::of(server, answer).tell()
}

impl ServerPermit {
    /// Gives the permit back.
    ///
    /// # Errors
    /// Throws the exception of a server that failed, or of PHP's warning handler.
    pub fn release(self) -> Result<(), Thrown> {
        let answer = self.server.release(self.permit).map_err(thrown)?;
        Told::of(&self.server, answer).tell()
    }

    /// Gives the permit back where PHP code cannot run. Writes failures to PHP's log.
    pub fn release_quietly(self) {
        let failure = match self.server.release(self.permit) {
            Ok(answer) => answer.warning,
            // Failures because of an open breaker are not logged, because there may be many of
            // them. The breaker limits the number of all others.
            Err(failure) => Some(failure).filter(|it| !matches!(it.cause, Cause::Waiting)),
        };
        if let Some(failure) = failure {
            let message = format!("{failure}; a permit may be held until its lease ends");
            exceptions::report_in_log(&message);
        }
    }

    /// Makes the lease begin again now. Returns false if this process does not hold the permit.
    ///
    /// # Errors
    /// Returns the failure of a server whose failure policy throws.
    pub fn renew(&mut self) -> Result<Told<bool>, Failure> {
        let answer = self.server.renew(&mut self.permit)?;
        Ok(Told::of(&self.server, answer))
    }
}

/// Throws the exception of a server that failed.
#[cold]
#[allow(clippy::needless_pass_by_value)]
pub fn thrown(failure: Failure) -> Thrown {
    exceptions::storage_failed(&failure, None)
}
