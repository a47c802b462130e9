//! Limiters that applications run today, class for class: their API, and on their own stores their records.

mod leaky_bucket;
mod rate_limiter;

pub fn register() {
    rate_limiter::register();
    leaky_bucket::register();
}
