//! Neighbours in virtual time.

use std::net::Ipv4Addr;

use super::*;

const SECOND: Ticks = 1_000_000_000;

fn neighbours() -> Neighbours {
    let limits = Limits { capacity: 1000, pending: 16, lifetime_s: 10 };
    Neighbours::new(limits, Clock::with_rate(1e9))
}

fn wanted(number: u32) -> Wanted {
    let address = Ipv4Addr::from_bits(0x0a00_0000 | number).into();
    Wanted { link: 0, address, listed: Some(number) }
}

fn said(answers: bool) -> Said {
    Said { mac: MacAddr([2, 0, 0, 0, 0, 1]), overrides: true, answers }
}

/// The questions of one round, and how many neighbours were forgotten.
fn round(all: &mut Neighbours, now: Ticks) -> (Vec<Question>, usize) {
    let (mut asked, mut gone) = (Vec::new(), 0);
    while all.tick(now, |question| asked.push(question)).is_some() {
        gone += 1;
    }
    (asked, gone)
}

#[test]
fn questions_are_limited_and_made_up_for_later() {
    let (mut all, mut asked) = (neighbours(), 0);
    for number in 0..300 {
        let waits = all.wait((PortId(0), 0, &[0; 60]), wanted(number), 0, |_| asked += 1);
        assert_eq!(waits.is_ok(), number < 16, "there is room for 16 packets");
    }
    assert_eq!(asked, QUESTIONS_AT_ONCE);
    let (late, gone) = round(&mut all, SECOND / 10);
    assert_eq!((late.len(), gone), (300 - QUESTIONS_AT_ONCE as usize, 0));
    // In each second no more than the rate, and all are asked three times before they go.
    let (mut asked, mut gone) = (300, 0);
    for tenth in 2..60 {
        let (now, more) = round(&mut all, tenth * SECOND / 10);
        (asked, gone) = (asked + now.len(), gone + more);
    }
    assert_eq!((asked, gone), (3 * 300, 300));
    assert_eq!(std::iter::from_fn(|| all.next_leaving()).count(), 16);
}

#[test]
fn an_old_answer_is_probed_and_a_question_is_none() {
    let mut all = neighbours();
    let Wanted { link, address, .. } = wanted(7);
    assert!(all.wait((PortId(0), 0, &[0; 60]), wanted(7), 0, |_| {}).is_ok());
    // A question of the neighbour's own: packets leave, and it is asked whether it hears us.
    assert!(all.heard(link, address, said(false), 1).is_some());
    assert!(all.known(link, address).is_some() && all.next_leaving().is_some());
    let (asked, _) = round(&mut all, 1);
    assert_eq!(asked, [Question { link, address, to: Some(said(true).mac) }]);
    assert!(all.heard(link, address, said(true), 2).is_some());
    assert_eq!(round(&mut all, 9 * SECOND), (Vec::new(), 0));
    for second in 11..14 {
        let (asked, gone) = round(&mut all, second * SECOND);
        assert_eq!((asked.len(), gone), (1, 0), "second {second}");
        assert!(all.known(link, address).is_some(), "frames still go to it");
    }
    assert_eq!(round(&mut all, 14 * SECOND), (Vec::new(), 1));
    assert!(all.known(link, address).is_none());
}

/// What each of some neighbours does with a question: it answers, if it is there.
fn answer_all(all: &mut Neighbours, asked: &[Question], are_there: u32, now: Ticks) {
    for question in asked {
        let IpAddr::V4(address) = question.address else { continue };
        let number = address.to_bits() & 0xff_ffff;
        if number < are_there {
            all.heard(question.link, question.address, said(true), now);
        }
    }
}

#[test]
fn who_is_in_use_stays_while_a_whole_network_is_scanned() {
    let mut all = neighbours();
    let there = 50;
    for number in 0..there {
        let mut asked = Vec::new();
        let waits = all.wait((PortId(0), 0, &[0; 60]), wanted(number), 0, |one| asked.push(one));
        assert_eq!(waits.is_ok(), number < 16);
        answer_all(&mut all, &asked, there, 0);
    }
    while let Some(waiting) = all.next_leaving() {
        all.give_back(waiting);
    }
    // 65,536 addresses in 65 s: six lifetimes of an answer.
    for number in 0..65_536_u32 {
        let now = Ticks::from(number) * SECOND / 1000;
        all.wait((PortId(0), 0, &[0; 60]), wanted(1000 + number), now, |_| {}).ok();
        while let Some((_, entry)) = all.tick(now, |_| {}) {
            assert!(entry.listed >= Some(1000), "{entry:?}");
        }
        // Their answers come by and by, and some late, twice and wrong.
        let probed: Vec<IpAddr> = all
            .entries()
            .filter(|one| one.listed < Some(there) && one.state() == "probe")
            .map(|one| one.address)
            .collect();
        for address in probed.into_iter().filter(|_| number % 700 == 0) {
            let wrong = Said { mac: MacAddr([3, 0, 0, 0, 0, 1]), ..said(true) };
            assert_eq!(all.heard(0, address, wrong, now), None, "the address of a group");
            assert!(all.heard(0, address, said(true), now).is_some());
            assert!(all.heard(0, address, said(true), now).is_some(), "once more");
        }
        while let Some(waiting) = all.next_leaving() {
            all.give_back(waiting);
        }
        for number in 0..there {
            let Wanted { link, address, .. } = wanted(number);
            assert!(all.known(link, address).is_some(), "frames still go to {address}");
        }
    }
}

#[test]
fn a_host_is_found_while_a_scan_has_filled_the_table() {
    let (mut all, there) = (neighbours(), 500);
    let unlisted = |number| Wanted { listed: None, ..wanted(number) };
    let ask = |all: &mut Neighbours, number, now| {
        let mut asked = Vec::new();
        let waits =
            all.wait((PortId(0), 0, &[0; 60]), unlisted(number), now, |one| asked.push(one));
        (waits, asked)
    };
    // Those in use are half of the table, found by and by.
    for number in 0..there {
        let now = Ticks::from(number) * SECOND / 1000;
        let (_, asked) = ask(&mut all, number, now);
        answer_all(&mut all, &asked, there, now);
        while let Some(waiting) = all.next_leaving() {
            all.give_back(waiting);
        }
    }
    // 65,536 addresses in 6.5 s, where nobody is: more than may be asked for.
    let begin = SECOND;
    let mut found = Vec::new();
    for number in 0..65_536_u32 {
        let now = begin + Ticks::from(number) * SECOND / 10_000;
        // A host that has not spoken so far: its peer sends again and again.
        if number % 97 == 0 {
            let new = 600 + number / 20_000;
            let (_, asked) = ask(&mut all, new, now);
            answer_all(&mut all, &asked, 700, now + 1);
            if all.known(0, unlisted(new).address).is_some() && !found.contains(&new) {
                found.push(new);
            }
        }
        ask(&mut all, 100_000 + number, now).0.ok();
        while all.tick(now, |_| {}).is_some() {}
        while let Some(waiting) = all.next_leaving() {
            all.give_back(waiting);
        }
        assert!(all.entries().count() <= 1000 && all.asked.len() <= 2000);
    }
    assert_eq!(found, [600, 601, 602, 603]);
    for number in (0..there).chain(found) {
        assert!(all.known(0, unlisted(number).address).is_some(), "{number} is in use");
    }
    // What has a number of the user's stays, and so does who was asked just now.
    let mut all = neighbours();
    for number in 0..1000 {
        all.look_for(wanted(number), 0, |_| {});
    }
    assert_eq!(ask(&mut all, 5000, SECOND).0, Err(Full::Neighbours));
    let mut all = neighbours();
    for number in 0..1000 {
        all.look_for(unlisted(number), 0, |_| {});
    }
    assert_eq!(ask(&mut all, 5000, SECOND / 20).0, Err(Full::Neighbours));
    let (waits, asked) = ask(&mut all, 5000, SECOND / 10);
    assert_eq!((waits, asked.len()), (Ok(()), 1));
    assert!(all.get(0).is_some_and(|one| one.address == wanted(5000).address), "the oldest");
}

#[test]
fn a_host_that_moved_is_followed_and_one_that_claims_in_vain_is_not() {
    let mut all = neighbours();
    let Wanted { link, address, .. } = wanted(7);
    assert!(all.wait((PortId(0), 0, &[0; 60]), wanted(7), 0, |_| {}).is_ok());
    assert!(all.heard(link, address, said(true), 1).is_some());
    let moved = MacAddr([2, 0, 0, 0, 9, 9]);
    let mac = |all: &Neighbours| all.known(link, address).and_then(|(_, one)| one.mac);
    // RFC 4861 section 7.2.5: without the flag, another address is not believed.
    let weak = Said { mac: moved, overrides: false, answers: true };
    assert_eq!(all.heard(link, address, weak, 2), None);
    assert_eq!(mac(&all), Some(said(true).mac));
    // A gratuitous ARP, or an unsolicited advertisement with it, is.
    assert!(all.heard(link, address, Said { overrides: true, ..weak }, 3).is_some());
    assert_eq!(mac(&all), Some(moved));
    // An answer that comes when nobody waits for it any more adds nobody.
    assert_eq!(all.heard(link, wanted(8).address, said(true), 4), None);
    assert_eq!(all.entries().count(), 1);
}
