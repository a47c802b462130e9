//! Tests the judge.

mod hand_made;
mod limits;
mod logs;
mod naive;
mod permits;
mod second;
mod simulated;
