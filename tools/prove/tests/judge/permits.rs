//! Judges logs of permits made by hand, rule by rule.

use prove::log::{self, Caller};
use prove::permits::{Limits, Verdict};

const DONE: &str = "done";
const DENIED: &str = "denied";
const CONTENDED: &str = "excused";
const ERROR: &str = "error";

/// Returns the lines of a call with a limit of 2.
fn ask(number: u32, start: u64, end: u64, answer: &str) -> String {
    format!("{start} take {number} 7 2000\n{end} {answer} {number}\n")
}

fn release(number: u32, of: u32, start: u64, end: u64) -> String {
    format!("{start} cancel {number} 7 0 {of}\n{end} done {number}\n")
}

/// Returns the lines of a granted call and of the release of its permit, each from a start to an
/// end.
fn hold(asked: [u64; 2], released: [u64; 2]) -> String {
    ask(0, asked[0], asked[1], DONE) + &release(1, 0, released[0], released[1])
}

fn denial(start: u64, end: u64) -> String {
    ask(0, start, end, DENIED)
}

fn killed(process: u32, doom: u64, death: u64) -> String {
    format!("{doom} doom {process}\n{death} death {process}\n")
}

/// Reads the lines of callers with the process ids 1, 2 and so on, and of deaths.
fn read(callers: &[String], deaths: &str) -> Vec<Caller> {
    let mut text = deaths.to_owned();
    for (process, lines) in (1..).zip(callers) {
        text.extend([format!("caller {process}\n"), lines.clone()]);
    }
    let mut read = Vec::new();
    log::parse(&text, &mut String::new(), &mut read).unwrap_or_else(|error| panic!("{error}"));
    read
}

fn judge(rules: &str, callers: &[String], deaths: &str) -> Verdict {
    let limits = Limits::from_rules(rules).unwrap_or_else(|| panic!("no limits: {rules}"));
    Verdict::of(&read(callers, deaths), &limits).unwrap_or_else(|error| panic!("{error}"))
}

fn faults(callers: &[String], deaths: &str) -> [u64; 3] {
    judge("limit 7 2\n", callers, deaths).faults
}

#[test]
fn three_holders_of_a_limit_of_two_are_too_many() {
    let two = [hold([10, 11], [50, 51]), hold([20, 21], [40, 41])];
    assert_eq!(faults(&two, ""), [0; 3]);
    let [a, b] = two;
    let third = hold([30, 31], [60, 61]);
    assert_eq!(faults(&[a.clone(), b.clone(), third], ""), [1, 0, 0]);
    // The third call was answered when another release had begun.
    let later = hold([30, 40], [60, 61]);
    assert_eq!(faults(&[a, b, later], ""), [0; 3]);
}

#[test]
fn a_holder_is_certain_until_it_is_about_to_be_killed() {
    let dead = [ask(0, 10, 11, DONE), ask(1, 12, 13, DONE)].concat();
    let third = |start| [dead.clone(), hold([start, start + 1], [90, 91])];
    assert_eq!(faults(&third(40), &killed(1, 50, 60)), [1, 0, 0]);
    // The kernel may have ended the process at any instant after the signal.
    assert_eq!(faults(&third(50), &killed(1, 50, 60)), [0; 3]);
    let verdict = judge("limit 7 2\n", &third(50), &killed(1, 50, 60));
    assert_eq!((verdict.granted, verdict.died), (3, 2));
}

#[test]
fn a_denial_needs_as_many_holders_as_its_limit_at_one_instant() {
    let one = [hold([10, 11], [50, 51])];
    let with = |more: String| [one.to_vec(), vec![more, denial(20, 30)]].concat();
    assert_eq!(faults(&with(hold([12, 13], [40, 41])), ""), [0; 3]);
    // A permit may have been held since the start of its call, and until the end of its release.
    assert_eq!(faults(&with(hold([30, 80], [90, 91])), ""), [0; 3]);
    assert_eq!(faults(&with(hold([12, 13], [15, 20])), ""), [0; 3]);
    // Two permits are held one after the other.
    let turns = [
        hold([10, 11], [50, 51]),
        hold([12, 13], [22, 23]),
        hold([25, 26], [60, 61]),
    ];
    let with_turns = [turns.to_vec(), vec![denial(24, 24)]].concat();
    assert_eq!(faults(&with_turns, ""), [0, 0, 1]);
    let moving = [one.to_vec(), vec![hold([60, 61], [70, 71]), denial(51, 60)]].concat();
    assert_eq!(faults(&moving, ""), [0, 1, 0]);
}

#[test]
fn the_permits_of_a_dead_caller_are_free() {
    let callers = [
        ask(0, 10, 11, DONE),
        hold([12, 13], [90, 91]),
        denial(70, 71),
    ];
    // The caller may hold its permit until it is reaped.
    assert_eq!(faults(&callers, &killed(1, 60, 75)), [0; 3]);
    assert_eq!(faults(&callers, &killed(1, 50, 60)), [0, 0, 1]);
    // A call of unknown outcome may have taken a permit and held it until the same instant.
    let mut unknown = callers.clone();
    unknown[0] = "10 take 0 7 2000\n".into();
    assert_eq!(faults(&unknown, &killed(1, 60, 75)), [0; 3]);
    assert_eq!(faults(&unknown, &killed(1, 50, 60)), [0, 0, 1]);
}

#[test]
fn a_permit_with_a_lease_may_outlive_its_caller_but_not_its_lease() {
    let callers = [
        ask(0, 10, 11, DONE),
        hold([12, 13], [90, 91]),
        denial(70, 71),
    ];
    let rules = |lease| format!("limit 7 2\nlease {lease}\n");
    let leased = |lease| judge(&rules(lease), &callers, &killed(1, 50, 60)).faults;
    assert_eq!(leased(80), [0; 3]);
    assert_eq!(leased(59), [0; 3]);
    // The lease of the second permit has ended, too, although its caller still uses it.
    assert_eq!(leased(40), [0, 1, 0]);
    // A third caller gets a permit when the lease of the first has ended.
    let third = |start| {
        [
            callers[0].clone(),
            callers[1].clone(),
            hold([start, start], [95, 96]),
        ]
    };
    let over = |start| judge(&rules(20), &third(start), "").faults[0];
    assert_eq!((over(25), over(33)), (0, 0));
    let living = [
        hold([10, 11], [90, 91]),
        hold([12, 13], [90, 91]),
        hold([28, 28], [95, 96]),
    ];
    assert_eq!(judge(&rules(20), &living, "").faults, [1, 0, 0]);
    // A call that got an error may take effect later.
    let mut failed = callers.clone();
    failed[0] = ask(0, 10, 11, ERROR);
    let lingers = |linger| format!("limit 7 2\nlease 30\nlinger {linger}\n");
    let faults = |linger| judge(&lingers(linger), &failed[..], "").faults;
    assert_eq!((faults(30), faults(20)), ([0; 3], [0, 1, 0]));
}

#[test]
fn the_id_of_a_dead_process_is_used_again() {
    let callers = [ask(0, 10, 11, DONE), denial(70, 71)];
    let deaths = [killed(1, 2, 3), killed(1, 80, 81)].concat();
    let rules = "limit 7 1\n";
    let limited = |callers: &[String]| judge(rules, callers, &deaths).faults;
    // The denial has a limit of 2, and one permit is held.
    assert_eq!(limited(&callers), [0, 0, 1]);
}

#[test]
fn other_denials_are_counted_only() {
    let verdict = judge("limit 7 2\n", &[ask(0, 10, 11, CONTENDED)], "");
    assert_eq!((verdict.faults, verdict.excused), ([0; 3], 1));
    assert!(!verdict.is_convicted() && !verdict.is_evidence());
}

#[test]
fn many_other_denials_or_few_permits_prove_nothing() {
    let verdict = |granted, excused| Verdict {
        granted,
        excused,
        ..Verdict::default()
    };
    assert!(verdict(500, 0).is_evidence() && !verdict(499, 0).is_evidence());
    assert!(verdict(9_990, 10).is_evidence() && !verdict(9_000, 10).is_evidence());
}

#[test]
fn rules_are_about_limits_or_about_buckets() {
    assert!(Limits::from_rules("bucket 1 2 3\n").is_none());
    assert!(Limits::from_rules("limit 1\n").is_none());
    assert!(Limits::from_rules("").is_none());
    let limits = Limits::from_rules("limit 1 2\nlease 3\n");
    assert_eq!(limits.map(|it| (it.of[&1], it.lease)), Some((2, 3)));
    let other = Limits::from_rules("limit 8 2\n").unwrap_or_default();
    assert!(Verdict::of(&read(&[denial(1, 2)], ""), &other).is_err());
}
