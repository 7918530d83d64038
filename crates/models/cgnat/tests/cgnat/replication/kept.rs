//! What is kept of sessions beside their records goes on at the standby: where a B4 element is,
//! sequence numbers of connections with a gateway and what that expects, calls, and mappings that
//! subscribers asked for.

use function_cgnat::reasons::Tally;
use packet::PortId;

use super::*;
use crate::frames::{INSIDE, OUTSIDE};
use crate::{algs, calls, ds_lite, pcp};

/// Two of a configuration, at the same time, and what joins them.
fn devices(config: &Config) -> (Cable, [Device<Pipeline>; 2]) {
    let [mut active, mut standby] = two(config).map(|config| device(&config, BEGIN));
    (Cable::between(&mut active, &mut standby), [active, standby])
}

fn follow(cable: &mut Cable, active: &mut Device<Pipeline>, standby: &mut Device<Pipeline>) {
    until("synchronised", cable, [active, standby], BEGIN, |status| status.is_synchronised);
    assert_eq!(active.function_mut().replication().refused, 0);
}

#[test]
fn a_b4_element_that_has_moved_in_its_prefix_is_found_where_it_is() {
    let config = ds_lite::config("{subscriber-len: 56, inside: ['2001:db8::/40']}");
    let (mut cable, [mut active, mut standby]) = devices(&config);
    let (before, after) = ("2001:db8:0:100::1", "2001:db8:0:1ff:a:b:c:d");
    let end = ds_lite::ask(&mut active, &config, before);
    follow(&mut cable, &mut active, &mut standby);
    assert_eq!(ds_lite::ask(&mut active, &config, after), end);
    follow(&mut cable, &mut active, &mut standby);
    drop(active);
    let after: std::net::Ipv6Addr = after.parse().expect("an address");
    assert_eq!(ds_lite::answer(&mut standby, &config, end).0, after.octets());
    assert_eq!(ds_lite::ask(&mut standby, &config, before), end);
    let tallies = &standby.function_mut().state().tallies;
    assert_eq!(tallies[Tally::SessionsOpened as usize], 0);
}

/// Numbers are right to the byte whenever it happens, and what the server was told before leads
/// back after it.
#[test]
fn a_stream_arrives_whole_when_the_standby_takes_over_within_it() {
    let config = algs::config();
    let mut replaced = 0;
    for seed in 1..=24 {
        let (mut cable, [active, standby]) = devices(&config);
        let mut standby = Some(standby);
        let mut stream = algs::Stream::through(active, config.clone(), seed);
        let mut rounds = 0;
        while !stream.is_over() {
            if rounds == 2 * seed
                && let Some(mut standby) = standby.take()
            {
                follow(&mut cable, &mut stream.device, &mut standby);
                stream.device = standby;
            }
            stream.send();
            stream.receive();
            rounds += 1;
            assert!(rounds < 5000, "seed {seed}: stands still");
        }
        // Of a short text all was told before.
        if let Some(mut standby) = standby {
            follow(&mut cable, &mut stream.device, &mut standby);
            stream.device = standby;
        }
        replaced += stream.judge();
    }
    assert!(replaced > 60, "{replaced}");
}

#[test]
fn calls_and_their_control_connection_go_on() {
    let mut nat = calls::Nat::new("alg: {pptp: true}");
    let (mut cable, [active, mut standby]) = devices(&nat.config);
    nat.device = active;
    let outside = nat.connect(0, calls::ONE);
    let told = nat.ask(0, calls::ONE, 0, 5);
    assert_eq!(nat.answer(0, (outside, 0), (700, told)), (700, 5));
    let goes_on = |nat: &mut calls::Nat, (inside, theirs): (u16, u16), told: u16| {
        let left = nat.pass(INSIDE, 0, &calls::gre(calls::ONE, calls::SERVER, theirs));
        let expected = calls::hop_later(calls::gre(outside.0, calls::SERVER, theirs));
        assert_eq!(left.map(calls::without_checksum), Some(expected));
        let left = nat.pass(OUTSIDE, 0, &calls::gre(calls::SERVER, outside.0, told));
        let expected = calls::hop_later(calls::gre(calls::SERVER, calls::ONE, inside));
        assert_eq!(left.map(calls::without_checksum), Some(expected));
    };
    goes_on(&mut nat, (5, 700), told);
    follow(&mut cable, &mut nat.device, &mut standby);
    nat.device = standby;
    goes_on(&mut nat, (5, 700), told);
    assert_eq!(nat.pass(INSIDE, 0, &calls::gre(calls::ONE, calls::SERVER, 701)), None);
    // One more by the same connection.
    let more = nat.ask(0, calls::ONE, 1, 6);
    assert_ne!(more, told);
    assert_eq!(nat.answer(0, (outside, 1), (701, more)), (701, 6));
    goes_on(&mut nat, (6, 701), more);
    goes_on(&mut nat, (5, 700), told);
    assert_eq!(nat.device.function_mut().state().algs.calls.count(), 2);
}

/// Its end, its nonce and what is left of its time; and clients do not believe that it was lost
/// (RFC 6887 section 8.5).
#[test]
fn mappings_that_were_asked_for_go_on_with_their_time_nonce_and_epoch() {
    let config = pcp::config();
    let [active, standby] = two(&config);
    let mut pair = Pair::<Cgnat>::new(&active, Shard::WHOLE);
    let ask = |pair: &mut Pair<Cgnat>, lifetime, nonce| {
        let request = pcp::Request { lifetime, nonce, ..pcp::Request::of(4000) };
        pcp::ask(pair, &config, &request)
    };
    let nonce = [7; 12];
    let end = pcp::outside(&ask(&mut pair, 3600, nonce));
    pcp::wait(&mut pair, 500);
    // It begins later, and knows nothing of that by itself.
    let mut standby = device(&standby, pair.now());
    let mut cable = Cable::between(pair.device_mut(), &mut standby);
    synchronise(&mut cable, &mut pair, &mut standby);
    pcp::wait(&mut pair, 100);
    let renewed = ask(&mut pair, 30_000, nonce);
    synchronise(&mut cable, &mut pair, &mut standby);
    drop(pair.replace(standby));

    let arrives = |pair: &mut Pair<Cgnat>, port: u16| {
        pcp::arrives(pair, &config, (pcp::UDP, (pcp::HOST, port), end))
    };
    let there = Ok((pcp::SUBSCRIBER, 4000));
    assert_eq!(arrives(&mut pair, 9), there);
    let foreign = ask(&mut pair, 3600, [8; 12]);
    let (code, left) = pcp::result(&foreign);
    assert_eq!(code, 2);
    assert!((29_998..=30_000).contains(&left), "{left} s of the mapping are left");
    let [before, after] = [renewed, foreign].map(|answer| pcp::epoch(&answer));
    assert!((599..=601).contains(&before) && before.abs_diff(after) <= 1, "{before} s, {after} s");
    pcp::wait(&mut pair, 29_000);
    assert_eq!(arrives(&mut pair, 10), there, "longer than any session lives");
    pcp::wait(&mut pair, 1002);
    assert_eq!(arrives(&mut pair, 11), Err("no-mapping"), "its time is up");
    assert_eq!(pcp::outside(&ask(&mut pair, 60, [8; 12])).0, end.0, "anybody's now");
    let state = pair.device_mut().function_mut().state();
    assert_eq!(state.granted.as_ref().map(|granted| granted.count()), Some(1));
}

/// It is told last: one that takes over before it knows all mappings says that it knows none.
#[test]
fn a_standby_that_was_told_nothing_has_an_epoch_of_its_own() {
    let config = pcp::config();
    let [active, standby] = two(&config);
    let mut pair = Pair::<Cgnat>::new(&active, Shard::WHOLE);
    pcp::ask(&mut pair, &config, &pcp::Request::of(4000));
    pcp::wait(&mut pair, 500);
    let mut standby = device(&standby, pair.now());
    drop(pair);
    let now = BEGIN + clock().ticks(Duration::from_secs(510));
    let frame = pcp::Request::of(4000).frame(&config);
    let answered = standby.exchange(PortId(0), &frame, now);
    let [model_kit::check::Expected::Forward { frame, .. }] = &answered[..] else {
        panic!("{answered:?}")
    };
    assert!(pcp::epoch(&frame[42..]) <= 10, "{}", pcp::epoch(&frame[42..]));
}
