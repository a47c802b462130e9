//! Chooses the server of a key as libmemcached does, with the settings of ext-memcached: for the
//! items of memcached, and for the records of a ring of Redis servers.
//!
//! So this extension and ext-memcached find an item on the same server. A fleet of PHP hosts may
//! use both extensions. The results were compared with ext-memcached 3.2.0 on libmemcached 1.1.4,
//! x86-64.
//!
//! A ring is a circle of 2^32 positions. Every server has many points on it. Each point is a hash
//! of the server's name and a counter. An item belongs to the server of the first point at or after
//! the hash of the item's key.
//!
//! ext-memcached hashes the following texts, so this module must write them in the same way:
//! - The server's name as given, without the port if that is 11211. A host that is spelled
//!   differently counts as another server, even if only the case differs.
//! - The path of a socket alone, as with `addServer($path, 0)`. `addServers()` appends `:0`,
//!   whatever the port, so it places keys differently.
//! - The key without `OPT_PREFIX_KEY`, unless `OPT_HASH_WITH_PREFIX_KEY` is set. [`Ring::place`]
//!   hashes its whole argument, which should be the whole key. ext-memcached chooses the same
//!   server if the prefix is a part of its keys, or if it sets both options.

use super::endpoint::Endpoint;
use md5::{Digest, Md5};
use std::os::unix::ffi::OsStrExt;

/// The port that the name of a server omits: memcached's default.
pub const DEFAULT_PORT: u16 = 11211;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedServer {
    /// The address at which the server listens.
    pub endpoint: Endpoint,
    /// The server's share of the keys, in proportion to the other weights; from 1 to 65535.
    pub weight: u32,
}

/// The distribution of keys over several servers, with the matching settings of ext-memcached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Distribution {
    /// `OPT_LIBKETAMA_COMPATIBLE`: MD5, with an average of 160 points per server, by weight.
    #[default]
    Ketama,
    /// `OPT_DISTRIBUTION => DISTRIBUTION_CONSISTENT`, set before the servers: the one-at-a-time
    /// hash, with 100 points per server. If a weight is above 1, the points are those of
    /// [`Self::Ketama`], but keys are still hashed one-at-a-time. (If the option is set after the
    /// servers, ext-memcached ignores their weights.)
    Consistent,
    /// The default of ext-memcached: the one-at-a-time hash modulo the number of servers. Weights
    /// are ignored. An additional server moves nearly all keys.
    Modula,
}

/// The points per server if the distribution ignores weights.
const POINTS: u32 = 100;

/// The average number of MD5 digests per server if servers have weights. Each digest gives four
/// points.
const DIGESTS: f32 = 40.0;

/// The servers' points, which assign keys to servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    distribution: Distribution,
    servers: usize,
    /// Each point with the index of its server, in ascending order. If two points are equal, the
    /// point of the server with the lower index is used.
    points: Box<[(u32, usize)]>,
}

impl Ring {
    /// Creates the ring of `servers`, in their order.
    pub fn new(servers: &[ListedServer], distribution: Distribution) -> Self {
        Self {
            distribution,
            servers: servers.len(),
            points: points(servers, distribution).into_boxed_slice(),
        }
    }

    /// Returns the index of the server that keeps the item `key`, or 0 if there is at most one
    /// server.
    pub fn place(&self, key: &[u8]) -> usize {
        if self.servers < 2 {
            return 0;
        }
        let hash = match self.distribution {
            Distribution::Ketama => md5_points(key)[0],
            Distribution::Consistent | Distribution::Modula => one_at_a_time(key),
        };
        if self.distribution == Distribution::Modula {
            return hash as usize % self.servers;
        }
        let next = self.points.partition_point(|&(point, _)| point < hash);
        // After the last point, the ring starts over.
        let point = self.points.get(next).or_else(|| self.points.first());
        point.map_or(0, |&(_, server)| server)
    }
}

/// Returns the points of the servers in ascending order. The result is empty if the placement does
/// not need points.
fn points(servers: &[ListedServer], distribution: Distribution) -> Vec<(u32, usize)> {
    if servers.len() < 2 || distribution == Distribution::Modula {
        return Vec::new();
    }
    let total: u64 = servers.iter().map(|server| u64::from(server.weight)).sum();
    let is_weighted = servers.iter().any(|server| server.weight > 1);
    let mut points = Vec::new();
    for (index, server) in servers.iter().enumerate() {
        let name = name(&server.endpoint);
        if distribution == Distribution::Consistent && !is_weighted {
            points.extend((0..POINTS).map(|n| (one_at_a_time(&nth(&name, n)), index)));
            continue;
        }
        for n in 0..digests(server.weight, total, servers.len()) {
            points.extend(md5_points(&nth(&name, n)).map(|point| (point, index)));
        }
    }
    points.sort_unstable();
    points
}

/// Returns the number of digests of one server. The order of the roundings is libmemcached's,
/// because exact arithmetic would sometimes give another number.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn digests(weight: u32, total: u64, servers: usize) -> u32 {
    let share = weight as f32 / total as f32;
    // libmemcached multiplies by 160 and divides by 4, which gives the same rounding.
    (share * DIGESTS * servers as f32).floor() as u32
}

/// Returns libmemcached's name of a server: the host, with the port unless it is the default, or
/// the path of a socket.
fn name(endpoint: &Endpoint) -> Vec<u8> {
    match endpoint {
        Endpoint::Tcp { host, port } if *port == DEFAULT_PORT => host.clone().into_bytes(),
        Endpoint::Tcp { host, port } => format!("{host}:{port}").into_bytes(),
        Endpoint::Unix { path } => path.as_os_str().as_bytes().to_vec(),
    }
}

fn nth(name: &[u8], n: u32) -> Vec<u8> {
    [name, format!("-{n}").as_bytes()].concat()
}

/// Returns the four little-endian words of the MD5 of `text`.
fn md5_points(text: &[u8]) -> [u32; 4] {
    let digest: [u8; 16] = Md5::digest(text).into();
    let mut points = [0; 4];
    for (point, word) in points.iter_mut().zip(digest.as_chunks::<4>().0) {
        *point = u32::from_le_bytes(*word);
    }
    points
}

/// Returns Bob Jenkins's one-at-a-time hash, as libmemcached computes it where `char` is signed.
fn one_at_a_time(text: &[u8]) -> u32 {
    let mut hash = 0u32;
    for &byte in text {
        // Bytes from 0x80 on are added as negative numbers.
        hash = hash.wrapping_add(i32::from(byte.cast_signed()).cast_unsigned());
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

#[cfg(test)]
mod tests {
    use super::super::memcached::servers::parse_servers;
    use super::*;

    const ALL: [Distribution; 3] = [
        Distribution::Ketama,
        Distribution::Consistent,
        Distribution::Modula,
    ];

    fn ring(servers: &str, distribution: Distribution) -> Ring {
        Ring::new(&parse_servers([servers]).unwrap(), distribution)
    }

    /// Returns the indexes of the servers of `zoë:0` to `zoë:39`, one digit each. The ë has bytes
    /// above 0x7f.
    fn places(ring: &Ring) -> String {
        (0..40)
            .map(|n| ring.place(format!("zoë:{n}").as_bytes()).to_string())
            .collect()
    }

    /// Compares the places of keys with those that ext-memcached 3.2.0 with libmemcached 1.1.4
    /// printed. Each row has a list of servers and three results. A socket was added with port 0.
    /// The first result is with the option below. The second is with
    /// `OPT_DISTRIBUTION => DISTRIBUTION_CONSISTENT`, and the third without options:
    ///
    /// ```text
    /// php -r '$m = new Memcached; $m->setOption(Memcached::OPT_LIBKETAMA_COMPATIBLE, true);
    ///   foreach ([["10.0.0.0", 11211, 1], ["10.0.0.1", 11212, 7], ["10.0.0.2", 11211, 3]] as $s)
    ///     $m->addServer(...$s);
    ///   for ($n = 0; $n < 40; $n++) echo substr($m->getServerByKey("zoë:$n")["host"], -1);'
    /// ```
    #[test]
    fn keys_are_where_ext_memcached_puts_them() {
        for [servers, expected @ ..] in [
            [
                "10.0.0.0,10.0.0.1",
                "1010110100011000011110011011101110010010",
                "1001101000100011101001000011101010110100",
                "1101101100010000001000110110011100110110",
            ],
            [
                "10.0.0.0,10.0.0.1:11212,Cache2:22122",
                "2012120210020020112210012002102220020010",
                "1212001002111202202212000011212010120100",
                "2112211111011110222002200000002222222220",
            ],
            [
                "10.0.0.0,10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5,10.0.0.6",
                "4244116320653525313260641062202623330420",
                "3444606533565522544565503016122023150436",
                "2026244662210623455632441543536552332030",
            ],
            [
                "10.0.0.0,10.0.0.1:11212?weight=7,10.0.0.2?weight=3",
                "1211111220111112212212111002112211011211",
                "1121212112111011211212211111111121211210",
                "2112211111011110222002200000002222222220",
            ],
            [
                "unix:///run/0,[::1],unix:///run/2,[::3]:11212",
                "1121212022132231130132103121021301112121",
                "2232200031233003110011110230033331211313",
                "1121303302232200223200312112033322310110",
            ],
        ] {
            for (distribution, expected) in ALL.into_iter().zip(expected) {
                let ring = ring(servers, distribution);
                assert_eq!(places(&ring), expected, "{distribution:?} {servers}");
            }
        }
    }

    #[test]
    fn one_server_has_every_key() {
        for distribution in ALL {
            assert_eq!(places(&ring("a?weight=3", distribution)), "0".repeat(40));
            assert_eq!(Ring::new(&[], distribution).place(b"k"), 0);
        }
    }

    #[test]
    fn a_server_of_next_to_no_weight_may_have_no_key() {
        let ring = ring("a,b?weight=65535", Distribution::Ketama);
        assert_eq!(places(&ring), "1".repeat(40));
    }

    #[test]
    fn a_server_more_takes_keys_only_to_itself() {
        for distribution in [Distribution::Ketama, Distribution::Consistent] {
            let (three, four) = (ring("a,b,c", distribution), ring("a,b,c,d", distribution));
            let mut moved = 0;
            for n in 0..10_000 {
                let key = format!("user:{n}");
                let (before, after) = (three.place(key.as_bytes()), four.place(key.as_bytes()));
                assert!(after == before || after == 3);
                moved += usize::from(after == 3);
            }
            assert!((1_500..3_500).contains(&moved), "{moved} of 10000");
        }
    }
}
