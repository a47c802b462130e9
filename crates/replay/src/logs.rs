//! The lines of several logs, in the order in which their requests began.

use super::failure::Failure;
use super::guarded::{Limit, Request, Row, enforce, observe};
use super::instant::SECOND;
use super::line::Line;
use super::names::Names;
use super::settings::{Counts, Settings};
use gcra::Timestamp;
use guard::{Client, GuardedRequest, Rule, Target};
use memchr::memchr;
use std::collections::BTreeMap;

/// The nanoseconds for which a line waits for lines of requests that began earlier. A log has a
/// line when its request ends, so a request that took longer is replayed too late.
pub const HORIZON: u64 = 60 * SECOND;

/// The most lines that wait.
const MOST_WAITING: usize = 1 << 20;
/// The most bytes of a line.
const MOST_BYTES: usize = 1 << 20;
/// The most bytes of a line that is shown as an example.
const EXAMPLE: usize = 200;
/// The most lines that are shown for each failure.
const EXAMPLES: usize = 3;
/// The most different paths and user agents that are kept.
const MOST_TEXTS: usize = 50_000;

/// A log that is being read.
#[derive(Debug, Default)]
struct Log {
    /// The bytes after the last end of a line.
    rest: Vec<u8>,
    is_too_long: bool,
    lines: u32,
    /// The latest instant of the log.
    latest: u64,
    is_over: bool,
}

/// The requests of several logs.
#[derive(Debug)]
pub struct Replay {
    settings: Settings,
    /// A limit whose buckets are the paths.
    path: Vec<Rule>,
    logs: Vec<Log>,
    /// The requests that wait, by their instant and by the order of their lines.
    waiting: BTreeMap<(Timestamp, u64), Request>,
    pub limits: Vec<Limit>,
    pub clients: Names,
    pub nets: Names,
    /// The paths, or only their first segments if no limit decides.
    pub paths: Names,
    pub agents: Names,
    pub failures: Vec<(u64, Vec<Vec<u8>>)>,
    pub counts: Counts,
    /// The requests of each first segment, if no groups are set.
    pub group_requests: BTreeMap<u32, u64>,
    listed: Vec<u8>,
}

impl Replay {
    /// Returns a replay of this number of logs. Fails with the limit that needs variables which the
    /// logs lack, and their names.
    pub fn new(logs: usize, settings: Settings) -> Result<Self, (String, Vec<String>)> {
        let limits: Vec<Limit> = settings.rules.iter().cloned().map(Limit::new).collect();
        for limit in &limits {
            let lacks = limit.lacks(&settings.format);
            if !lacks.is_empty() {
                return Err((limit.rule.name().to_owned(), lacks));
            }
        }
        let names = || Names::new(u32::MAX as usize);
        let texts = || Names::new(MOST_TEXTS);
        Ok(Self {
            path: Rule::parse("path 1/day").unwrap_or_default(),
            logs: (0..logs).map(|_| Log::default()).collect(),
            waiting: BTreeMap::new(),
            limits,
            clients: names(),
            nets: names(),
            paths: texts(),
            agents: texts(),
            failures: vec![(0, Vec::new()); Failure::ALL.len()],
            counts: Counts::default(),
            group_requests: BTreeMap::new(),
            listed: Vec::new(),
            settings,
        })
    }

    /// Returns the log that must be read next, so that few lines wait for those of other logs.
    /// Returns `None` if all logs are over.
    pub fn next(&self) -> Option<usize> {
        let open = self.logs.iter().enumerate().filter(|it| !it.1.is_over);
        open.min_by_key(|it| it.1.latest).map(|it| it.0)
    }

    /// Reads more bytes of a log. Returns the requests whose turn has come: packed rows with the
    /// decisions of limits, or with the clients and groups.
    pub fn read(&mut self, log: usize, bytes: &[u8], is_over: bool) -> Vec<u8> {
        let Some(state) = self.logs.get_mut(log) else {
            return Vec::new();
        };
        let text = [&std::mem::take(&mut state.rest), bytes].concat();
        let mut rest = text.as_slice();
        while let Some(end) = memchr(b'\n', rest) {
            self.line(log, &rest[..end]);
            rest = &rest[end + 1..];
        }
        if is_over {
            self.line(log, std::mem::take(&mut rest));
        }
        let state = &mut self.logs[log];
        if rest.len() > MOST_BYTES {
            rest = &rest[..EXAMPLE];
            state.is_too_long = true;
        }
        state.rest = rest.to_vec();
        state.is_over |= is_over;
        self.release();
        std::mem::take(&mut self.listed)
    }

    fn line(&mut self, log: usize, line: &[u8]) {
        let state = &mut self.logs[log];
        state.lines = state.lines.wrapping_add(1);
        let is_too_long = std::mem::take(&mut state.is_too_long) || line.len() > MOST_BYTES;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return;
        }
        self.counts.lines += 1;
        let failure = if is_too_long {
            Some(Failure::Long)
        } else {
            self.request(log, line).err()
        };
        if let Some(failure) = failure {
            let (count, examples) = &mut self.failures[failure as usize];
            *count += 1;
            if examples.len() < EXAMPLES {
                examples.push(line[..line.len().min(EXAMPLE)].to_vec());
            }
        }
    }

    /// Adds the request of a line to those that wait.
    fn request(&mut self, log: usize, text: &[u8]) -> Result<(), Failure> {
        let line = self.settings.format.read(text)?;
        let state = &mut self.logs[log];
        state.latest = state.latest.max(line.latest);
        let settings = &self.settings;
        let path = self.path.first();
        let path = path.map_or(Vec::new(), |path| path.identifier(&line, Client::Local));
        let Some(client) = settings.counted(&mut self.counts, &line, &path) else {
            return Ok(());
        };
        let target = Target::of(&line);
        let limits = (0..).zip(&mut self.limits);
        let buckets =
            limits.filter_map(|(index, limit)| limit.place(index, &line, &target, client));
        let buckets = buckets.collect();
        let path = if !self.limits.is_empty() {
            self.paths.number(&path)
        } else if settings.groups.is_empty() {
            self.paths.number(first_segment(&path))
        } else {
            groups(&settings.groups, &target)
        };
        let (mut name, mut net) = (Vec::new(), Vec::new());
        client.append_to(&mut name);
        client.append_network_to(&mut net);
        let agent = line.variable(c"HTTP_USER_AGENT").unwrap_or_default();
        let at = Timestamp(line.start);
        let request = Request {
            at,
            late: line.latest - line.start + line.resolution,
            early: line.resolution,
            took: line.latest - line.start,
            log: u32::try_from(log).unwrap_or(u32::MAX),
            line: state.lines,
            client: self.clients.number(&name),
            net: self.nets.number(&net),
            path,
            agent: self.agents.number(agent),
            has_cookie: !settings.strangers.counts(&target),
            is_one_client: matches!(client, Client::Known(it) if !settings.trusted.contains(it)),
            buckets,
        };
        self.waiting.insert((at, self.counts.requests), request);
        Ok(())
    }

    /// Handles the requests of which none that began earlier can come any more.
    fn release(&mut self) {
        let open = self.logs.iter().filter(|it| !it.is_over);
        let until = open.map(|it| it.latest).min();
        let until = until.map_or(u64::MAX, |latest| latest.saturating_sub(HORIZON));
        loop {
            let is_full = self.waiting.len() > MOST_WAITING;
            let first = self.waiting.first_entry();
            let Some(first) = first.filter(|it| is_full || it.key().0.0 <= until) else {
                break;
            };
            let mut request = first.remove();
            if request.at.0 < self.counts.last {
                self.counts.late += 1;
                request.at = Timestamp(self.counts.last);
            }
            self.counts.last = request.at.0;
            if self.counts.first == 0 {
                self.counts.first = request.at.0;
            }
            self.decide(&request);
        }
    }

    fn decide(&mut self, request: &Request) {
        let (listed, lists_all) = (&mut self.listed, self.settings.lists_all);
        if self.limits.is_empty() {
            *self.group_requests.entry(request.path).or_default() += 1;
            listed.extend(request.at.0.to_le_bytes());
            for number in [request.client, request.net, request.path] {
                listed.extend(number.to_le_bytes());
            }
            return;
        }
        for place in &request.buckets {
            let limit = &mut self.limits[usize::from(place.limit)];
            limit.requests += 1;
            limit.clients.insert(request.client);
        }
        let list = |row: Row| {
            if row.is_denied || lists_all {
                row.append_to(listed, request);
            }
        };
        if self.settings.enforces {
            enforce(&mut self.limits, request, list);
        } else {
            observe(&mut self.limits, request, list);
        }
    }
}

/// Returns a bit for each group that counts the request.
fn groups(groups: &[Rule], target: &Target<'_, Line<'_>>) -> u32 {
    let bits = groups.iter().rev().map(|rule| rule.counts(target));
    bits.fold(0, |sum, bit| sum << 1 | u32::from(bit))
}

fn first_segment(path: &[u8]) -> &[u8] {
    let end = path.iter().skip(1).position(|&byte| byte == b'/');
    &path[..end.map_or(path.len(), |end| end + 1)]
}

#[cfg(test)]
mod tests {
    use super::super::line::Format;
    use super::*;
    use guard::Networks;

    fn rule(text: &str) -> Rule {
        Rule::parse(text).unwrap().remove(0)
    }

    fn replay(logs: usize) -> Replay {
        const PARTS: [&[u8]; 9] = [
            b"",
            b"END",
            b" ",
            b"SECONDS",
            b" ",
            b"REMOTE_ADDR",
            b" ",
            b"REQUEST_URI",
            b"",
        ];
        let settings = Settings {
            format: Format::new(&PARTS).unwrap(),
            rules: Vec::new(),
            enforces: true,
            trusted: Networks::default(),
            allowed: Networks::default(),
            strangers: rule("all 1/day"),
            groups: Vec::new(),
            skipped: Vec::new(),
            lists_all: false,
        };
        Replay::new(logs, settings).unwrap()
    }

    /// Returns the line of a request that ends some seconds after an instant.
    fn line(second: u64, took: u64) -> String {
        format!("{} {took} 192.0.2.1 /a/b\n", 1_800_000_000 + second)
    }

    /// Returns the seconds at which listed requests began.
    fn starts(listed: &[u8]) -> Vec<u64> {
        let start = |record: &[u8]| u64::from_le_bytes(record[..8].try_into().unwrap());
        let records = listed.chunks(20).map(start);
        records.map(|at| at / SECOND - 1_800_000_000).collect()
    }

    #[test]
    fn requests_of_several_logs_are_in_the_order_of_their_starts() {
        let mut replay = replay(2);
        assert_eq!(replay.next(), Some(0));
        let lines = line(0, 0) + &line(130, 30) + &line(135, 20)[..9];
        assert_eq!(starts(&replay.read(0, lines.as_bytes(), false)), [0u64; 0]);
        assert_eq!(replay.next(), Some(1));
        let lines = line(61, 0) + &line(120, 0);
        assert_eq!(starts(&replay.read(1, lines.as_bytes(), true)), [0, 61]);
        let rest = &line(135, 20)[9..];
        assert_eq!(
            starts(&replay.read(0, rest.as_bytes(), true)),
            [100, 115, 120]
        );
        assert_eq!((replay.next(), replay.counts.late), (None, 0));
    }

    #[test]
    fn every_group_counts_what_its_limit_counts() {
        let mut replay = replay(1);
        let limits = ["on /a* all 1/day", "on /b all 1/day", "on /* all 1/day"];
        replay.settings.groups = limits.map(rule).into();
        let listed = replay.read(0, line(0, 0).as_bytes(), true);
        assert_eq!(listed[16..], [0b101, 0, 0, 0]);
    }

    #[test]
    fn a_line_that_is_late_by_more_than_the_horizon_is_counted() {
        let mut replay = replay(1);
        let lines = line(100, 0) + &line(200, 0);
        assert_eq!(starts(&replay.read(0, lines.as_bytes(), false)), [100]);
        let lines = line(50, 0) + &line(190, 0);
        assert_eq!(
            starts(&replay.read(0, lines.as_bytes(), true)),
            [100, 190, 200]
        );
        assert_eq!(replay.counts.late, 1);
    }

    #[test]
    fn a_line_of_megabytes_is_counted_and_dropped() {
        let mut replay = replay(1);
        for _ in 0..40 {
            replay.read(0, &[b'x'].repeat(100_000), false);
            assert!(replay.logs[0].rest.len() <= MOST_BYTES + 100_000);
        }
        replay.read(0, ("\n".to_owned() + &line(0, 0)).as_bytes(), true);
        let long = Failure::ALL
            .iter()
            .position(|it| it.0 == Failure::Long)
            .unwrap();
        assert_eq!((replay.failures[long].0, replay.counts.requests), (1, 1));
    }
}
