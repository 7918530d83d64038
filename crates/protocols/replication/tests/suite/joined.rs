//! Two machines joined in memory, in virtual time.

use std::time::Duration;

use protocol_kit::{Machine, Time};
use protocol_replication::{Joined, Trouble};

use crate::toy::{Applier, KEYED, PLAIN, Settings, Teller};

/// Both sides, and what joins them.
struct Both {
    joined: Joined,
    teller: Teller,
    applier: Applier,
    now: Time,
    /// Changes that the standby applies in a millisecond.
    applies: usize,
}

impl Both {
    fn new(active: &Settings, standby: &Settings) -> Both {
        let ((active, teller), (standby, applier)) = (active.active(), standby.standby());
        let joined = Joined::new(Box::new(active), Box::new(standby));
        Both { joined, teller, applier, now: Time::ZERO, applies: usize::MAX }
    }

    /// Lets a millisecond pass.
    fn step(&mut self) {
        self.now = self.now.after(Duration::from_millis(1));
        self.teller.round();
        self.applier.round(self.applies).expect("in order");
        assert!(self.joined.poll(self.now).is_none(), "no network is there");
        if self.teller.is_synchronised() {
            assert_eq!(self.applier.values, self.teller.values, "all was acknowledged");
        }
    }

    /// Lets time pass until something holds; returns how many milliseconds that took.
    fn until(&mut self, what: &str, holds: impl Fn(&Both) -> bool) -> u64 {
        for step in 0..60_000 {
            if holds(self) {
                return step;
            }
            self.step();
        }
        let [ours, theirs] = [&self.teller.link, &self.applier.link].map(|link| link.status());
        panic!("not {what} in a minute: {ours:?}, {theirs:?}")
    }

    fn synchronise(&mut self) -> u64 {
        self.until("synchronised", |both| both.teller.is_synchronised())
    }
}

#[test]
fn a_standby_follows_with_a_key_and_without() {
    for settings in [PLAIN, KEYED] {
        let mut both = Both::new(&settings, &settings);
        (0..50_000).for_each(|number| both.teller.set(number));
        both.synchronise();
        for round in 0..50 {
            (0..round * 7).for_each(|number| both.teller.set(number * 31 % 60_000));
            let ms = both.synchronise();
            assert!(ms <= 40, "{ms} ms for {round} changes after a moment's rest");
        }
        let status = both.teller.link.status();
        assert_eq!((status.connections, status.resynchronisations, status.trouble), (1, 1, ""));
        assert_eq!(both.applier.afresh, 1);
    }
}

#[test]
fn a_stream_that_breaks_goes_on_where_it_was() {
    let mut both = Both::new(&KEYED, &KEYED);
    both.until("connected", |both| both.teller.link.is_connected());
    both.applies = 900;
    for round in 0..20 {
        (0..9000).for_each(|number| both.teller.set(round * 1000 + number));
        (0..1 + round % 7).for_each(|_| both.step());
        both.joined.cut(both.now);
        both.synchronise();
    }
    let status = both.teller.link.status();
    assert_eq!((status.connections, status.resynchronisations), (21, 1));
    assert_eq!(both.applier.afresh, 1, "nothing was told anew");
    assert_eq!(both.teller.link.ended(Trouble::Closed), 20);
}

#[test]
fn another_standby_and_another_active_function_begin_anew() {
    let mut both = Both::new(&KEYED, &KEYED);
    (0..3000).for_each(|number| both.teller.set(number));
    both.synchronise();
    let (standby, applier) = Settings { seed: 2, ..KEYED }.standby();
    both.joined.replace_standby(both.now, Box::new(standby));
    both.applier = applier;
    both.until("told anew", |both| both.applier.values.len() == 3000);
    both.synchronise();
    assert_eq!(both.teller.link.resynchronisations(), 2);

    let (active, teller) = Settings { seed: 3, ..KEYED }.active();
    both.joined.replace_active(both.now, Box::new(active));
    both.teller = teller;
    both.teller.set(77);
    both.synchronise();
    assert_eq!(both.applier.afresh, 2);
}

#[test]
fn more_changes_than_all_queues_hold_wait_at_the_worker() {
    let mut both = Both::new(&PLAIN, &PLAIN);
    both.until("connected", |both| both.teller.link.is_connected());
    both.applies = 0;
    (0..200_000).for_each(|number| both.teller.set(number));
    (0..2000).for_each(|_| both.step());
    let sent = both.teller.link.sent_count();
    assert!((16_000..70_000).contains(&sent), "{sent} of 200,000 were sent");
    assert!(both.teller.link.is_connected(), "it lives, however slow it is");
    both.applies = 5000;
    both.synchronise();
    assert_eq!(both.teller.link.status().connections, 1);
}

#[test]
fn a_pace_is_kept_and_nothing_is_lost_by_it() {
    let paced = Settings { changes_per_s: 20_000, ..PLAIN };
    let mut both = Both::new(&paced, &PLAIN);
    both.synchronise();
    (0..6000).for_each(|number| both.teller.set(number));
    let ms = both.synchronise();
    // 6,000 changes less the 1,000 of a burst.
    assert!((249..320).contains(&ms), "{ms} ms");
}

#[test]
fn what_differs_is_refused_in_words() {
    for (standby, trouble) in [
        (Settings { digest: [1; 32], ..KEYED }, Trouble::Configuration),
        (Settings { shard: (0, 2), ..KEYED }, Trouble::Worker),
        (PLAIN, Trouble::Key),
    ] {
        let mut both = Both::new(&KEYED, &standby);
        both.until("refused", |both| both.teller.link.ended(trouble) > 0);
        both.until("refused again", |both| both.applier.link.ended(trouble) > 2);
        assert_eq!(both.teller.link.status().trouble, trouble.text());
        assert_eq!(both.applier.link.status().connections, 0);
        assert_eq!(both.applier.afresh, 0, "nothing was touched");
    }
    let mut both = Both::new(&PLAIN, &KEYED);
    both.until("refused", |both| both.teller.link.ended(Trouble::Key) > 0);
    let mut both = Both::new(&KEYED, &Settings { key: Some("quite another key"), ..KEYED });
    both.until("refused", |both| both.applier.link.ended(Trouble::NotAuthentic) > 2);
    assert_eq!((both.applier.afresh, both.teller.link.status().connections), (0, 0));
}

#[test]
fn machines_end_with_their_workers() {
    for goes_first in [0, 1] {
        let mut both = Both::new(&PLAIN, &PLAIN);
        both.synchronise();
        let (_, other_teller) = PLAIN.active();
        let (_, other_applier) = PLAIN.standby();
        match goes_first {
            0 => both.teller = other_teller,
            _ => both.applier = other_applier,
        }
        for _ in 0..3000 {
            both.now = both.now.after(Duration::from_millis(1));
            assert!(both.joined.poll(both.now).is_none());
        }
        let link = if goes_first == 0 { &both.applier.link } else { &both.teller.link };
        assert!(!link.is_connected(), "worker {goes_first}");
    }
}

/// What idle machines cost, and what they do not: no message but one a second each way.
#[test]
fn an_idle_pair_is_polled_seldom() {
    let mut both = Both::new(&KEYED, &KEYED);
    both.teller.set(1);
    both.synchronise();
    (0..200).for_each(|_| both.step());
    let (begin, mut polls) = (both.now, 0);
    while both.now < begin.after(Duration::from_secs(10)) {
        both.now = both.joined.deadline().expect("it looks at its ring").max(both.now);
        both.applier.round(1).expect("in order");
        assert!(both.joined.poll(both.now).is_none());
        polls += 1;
    }
    // 62.5 a second each, which may fall together, and three where a message was said.
    assert!(polls <= 2 * 10 * 66, "{polls} in ten seconds");
    assert!(both.teller.link.is_connected());
}
