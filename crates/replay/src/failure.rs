//! Lines that are not requests.

/// The reason why a line is not a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The line has another form.
    Format,
    Time,
    /// The instant has no zone.
    Zone,
    Duration,
    /// The line has no client.
    Client,
    /// The client sent no valid request line, so no script ran.
    Request,
    /// The line is longer than a megabyte.
    Long,
}

impl Failure {
    pub const ALL: [(Self, &str); 7] = [
        (Self::Format, "format"),
        (Self::Time, "time"),
        (Self::Zone, "time without a zone"),
        (Self::Duration, "duration"),
        (Self::Client, "client"),
        (Self::Request, "request"),
        (Self::Long, "longer than 1 MB"),
    ];
}
