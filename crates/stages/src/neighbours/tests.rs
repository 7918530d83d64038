//! Neighbours in virtual time.

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
