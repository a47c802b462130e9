//! The settings of a replay, and the counts of its lines.

use super::line::{Format, Line};
use guard::{Client, Networks, Rule};

/// The limits to replay, and the requests that they may count.
#[derive(Debug)]
pub struct Settings {
    pub format: Format,
    /// The limits that decide. Without them, requests are only listed.
    pub rules: Vec<Rule>,
    pub enforces: bool,
    pub trusted: Networks,
    pub allowed: Networks,
    /// A limit that counts only requests without the cookies to report.
    pub strangers: Rule,
    /// Groups of paths, each as a limit that counts them. Without groups, the first segments of
    /// paths are counted.
    pub groups: Vec<Rule>,
    /// The endings of paths that PHP does not serve, if the log does not say what PHP served.
    pub skipped: Vec<Vec<u8>>,
    /// True if granted requests are listed, too.
    pub lists_all: bool,
}

/// The numbers of lines and requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub lines: u64,
    /// Requests that the guard would have seen.
    pub requests: u64,
    /// Requests that PHP did not serve.
    pub skipped: u64,
    /// Requests of allowed clients, and of clients without an address.
    pub exempt: u64,
    /// The requests whose client is not an address but, for example, a host name. They count as
    /// one client.
    pub malformed: u64,
    /// Requests that began before a request that was replayed already.
    pub late: u64,
    /// The first and the last instant.
    pub first: u64,
    pub last: u64,
}

impl Settings {
    /// Returns the client of a request, if the guard would have seen it and counts its client.
    pub fn counted(&self, counts: &mut Counts, line: &Line<'_>, path: &[u8]) -> Option<Client> {
        let is_asset = || self.skipped.iter().any(|it| path.ends_with(it));
        if !line.is_passed().unwrap_or_else(|| !is_asset()) {
            counts.skipped += 1;
            return None;
        }
        let client = Client::of(line, &self.trusted);
        let is_allowed = matches!(client, Client::Known(it) if self.allowed.contains(it));
        if client == Client::Local || is_allowed {
            counts.exempt += 1;
            return None;
        }
        counts.requests += 1;
        counts.malformed += u64::from(client == Client::Malformed);
        Some(client)
    }
}
