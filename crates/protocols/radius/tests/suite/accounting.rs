//! Accounting, driven by hand.

use std::time::Duration;

use protocol_kit::{Input, Machine, Time};
use protocol_radius::accounting::{Accounting, Command, Pace, Report};
use protocol_radius::attributes::kind;
use protocol_radius::backlog::{Backlog, Limits};
use protocol_radius::{Client, Code, List};

use crate::support::{Sent, config, ms, outputs};

const LIMITS: Limits = Limits { records_max: 100, bytes_max: 100_000 };

const PACE: Pace = Pace { window: 8, rate: 10, pause: Duration::from_secs(1) };

fn machine(backlog: Backlog) -> Accounting {
    let client = Client::new(&config(1)).expect("usable");
    Accounting::new(client, backlog, PACE)
}

fn record(accounting: &mut Accounting, session: u32, now: Time) {
    let mut attributes = List::new();
    attributes.put_number(kind::ACCT_SESSION_ID, session).expect("it fits");
    let command = Command::Record { attributes, event_s: u64::from(session) };
    accounting.input(now, Input::Command(command));
}

fn session(sent: &Sent) -> u32 {
    sent.packet().attributes.number(kind::ACCT_SESSION_ID).expect("it has one")
}

/// Lets time pass, with a server that answers if it is there; returns which records it has heard,
/// with the times.
fn pass(accounting: &mut Accounting, (from, to): (u64, u64), is_there: bool) -> Vec<(u64, u32)> {
    let mut heard = Vec::new();
    for at in from..to {
        let (sent, _) = outputs(accounting, ms(at));
        for sent in sent.iter().filter(|_| is_there) {
            heard.push((at, session(sent)));
            sent.answer_by(accounting, &sent.answer(Code::AccountingResponse), ms(at));
        }
    }
    heard
}

#[test]
fn records_leave_at_once_while_a_server_answers() {
    let mut accounting = machine(Backlog::new(LIMITS));
    (0..50).for_each(|session| record(&mut accounting, session, ms(0)));
    let heard = pass(&mut accounting, (0, 20), true);
    assert_eq!(
        heard.iter().map(|(_, session)| *session).collect::<Vec<_>>(),
        Vec::from_iter(0..50)
    );
    assert_eq!((accounting.confirmed(), accounting.backlog().len()), (50, 0));
}

#[test]
fn records_wait_for_a_server_and_leave_at_a_limited_rate() {
    let mut accounting = machine(Backlog::new(LIMITS));
    (0..120).for_each(|session| record(&mut accounting, session, ms(0)));
    assert_eq!(accounting.lost(), 20, "what does not fit is counted");
    assert_eq!(pass(&mut accounting, (0, 60_000), false), []);
    assert_eq!(accounting.backlog().len(), 100);
    let heard = pass(&mut accounting, (60_000, 120_000), true);
    let mut sessions: Vec<u32> = heard.iter().map(|(_, session)| *session).collect();
    sessions.sort_unstable();
    assert_eq!(sessions, Vec::from_iter(0..100), "each once");
    for window in heard.windows(30) {
        assert!(window[29].0 - window[0].0 >= 1_000, "no more than 10 a second: {window:?}");
    }
    assert_eq!((accounting.confirmed(), accounting.backlog().len()), (100, 0));
    // Then they leave at once again.
    (0..50).for_each(|session| record(&mut accounting, session, ms(120_000)));
    assert_eq!(pass(&mut accounting, (120_000, 120_020), true).len(), 50);
}

#[test]
fn records_of_before_a_restart_leave_after_it() {
    let mut accounting = machine(Backlog::new(LIMITS));
    (0..30).for_each(|session| record(&mut accounting, session, ms(0)));
    pass(&mut accounting, (0, 10), false);
    let mut file = accounting.backlog().snapshot();
    record(&mut accounting, 30, ms(10));
    file.extend(accounting.backlog().journal());
    let (backlog, restored) = Backlog::restore(LIMITS, &file).expect("a file");
    assert_eq!((restored.records, restored.torn_bytes), (31, 0));
    let mut again = machine(backlog);
    let (sent, said) = outputs(&mut again, ms(0));
    assert_eq!((sent.len(), said), (1, vec![Report::Held(true)]));
    let mut heard = vec![(0, session(&sent[0]))];
    sent[0].answer_by(&mut again, &sent[0].answer(Code::AccountingResponse), ms(0));
    heard.extend(pass(&mut again, (0, 10_000), true));
    assert_eq!(
        heard.iter().map(|(_, session)| *session).collect::<Vec<_>>(),
        Vec::from_iter(0..31)
    );
    assert!(heard[30].0 >= 2_000, "at a limited rate");
    let (left, _) = Backlog::restore(LIMITS, &again.backlog().snapshot()).expect("a file");
    assert!(left.is_empty());
}

#[test]
fn records_that_left_at_once_make_no_held_one_wait() {
    let mut accounting = machine(Backlog::new(LIMITS));
    for at in 0..20 {
        (0..50).for_each(|session| record(&mut accounting, session, ms(10 * at)));
        assert_eq!(pass(&mut accounting, (10 * at, 10 * at + 10), true).len(), 50);
    }
    record(&mut accounting, 7, ms(200));
    assert_eq!(pass(&mut accounting, (200, 10_000), false), []);
    // A thousand records, 100 s at the limited rate, have left before; it waits for none of them.
    let heard = pass(&mut accounting, (10_000, 30_000), true);
    assert_eq!(heard.iter().map(|(_, session)| *session).collect::<Vec<_>>(), [7]);
}

#[test]
fn the_limited_rate_ends_while_records_come_faster_than_it() {
    let limits = Limits { records_max: 10_000, bytes_max: 1_000_000 };
    let mut config = config(1);
    config.servers[0].dead_time = Duration::from_secs(1);
    let client = Client::new(&config).expect("usable");
    let mut accounting = Accounting::new(client, Backlog::new(limits), PACE);
    let (mut made, mut heard, mut said) = (0, Vec::new(), Vec::new());
    for at in 0..90_000u64 {
        // Twice the limited rate.
        if at % 50 == 0 {
            record(&mut accounting, made, ms(at));
            made += 1;
        }
        let is_there = at >= 20_000;
        let (sent, reports) = outputs(&mut accounting, ms(at));
        let held = |report: &Report| match report {
            Report::Held(is_held) => Some((at, *is_held)),
            _ => None,
        };
        said.extend(reports.iter().filter_map(held));
        for sent in sent.iter().filter(|_| is_there) {
            heard.push((at, session(sent)));
            sent.answer_by(&mut accounting, &sent.answer(Code::AccountingResponse), ms(at));
        }
    }
    let [(_, true), (over, false)] = said[..] else { panic!("{said:?}") };
    // Those that had waited leave at the limited rate, and all of the others at once behind them.
    assert!(heard.iter().take_while(|(at, _)| *at < over).count() >= 350, "{heard:?}");
    for window in heard.windows(30).filter(|window| window[29].0 < over) {
        assert!(window[29].0 - window[0].0 >= 1_000, "no more than 10 a second: {window:?}");
    }
    assert!(accounting.backlog().len() <= 1, "{}", accounting.backlog().len());
    assert_eq!(accounting.confirmed() + accounting.backlog().len() as u64, u64::from(made));
}

#[test]
fn a_disk_that_takes_no_records_is_told_and_they_are_recorded_all_the_same() {
    let mut accounting = machine(Backlog::new(LIMITS));
    record(&mut accounting, 1, ms(0));
    accounting.backlog().snapshot();
    accounting.backlog().failed();
    assert_eq!(accounting.deadline(), Some(Time::ZERO));
    let (sent, said) = outputs(&mut accounting, ms(0));
    assert_eq!((sent.len(), said), (1, vec![Report::Unwritten(true)]));
    accounting.backlog().snapshot();
    accounting.backlog().failed();
    assert_eq!(outputs(&mut accounting, ms(1)).1, [], "it is told once");
    assert_eq!((accounting.backlog().writes_failed(), accounting.backlog().unwritten()), (2, 1));
    sent[0].answer_by(&mut accounting, &sent[0].answer(Code::AccountingResponse), ms(2));
    outputs(&mut accounting, ms(2));
    assert_eq!((accounting.confirmed(), accounting.lost()), (1, 0));
    accounting.backlog().snapshot();
    assert!(accounting.backlog().journal().is_empty());
    assert_eq!(outputs(&mut accounting, ms(3)).1, [Report::Unwritten(false)]);
}
