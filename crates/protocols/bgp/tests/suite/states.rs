//! The states of a connection, by hand: RFC 4271 section 8.

use std::time::Duration;

use protocol_bgp::config::Config;
use protocol_bgp::ended::Ended;
use protocol_bgp::notification::{
    ADMINISTRATIVE_RESET, ADMINISTRATIVE_SHUTDOWN, BAD_KIND, BAD_LENGTH, BAD_PEER_AS,
    BAD_REFRESH_LENGTH, HARD_RESET, HOLD_TIMER_EXPIRED, MAXIMUM_PREFIXES, Notification,
    SEND_HOLD_TIMER_EXPIRED, UNEXPECTED_IN_ESTABLISHED, UNEXPECTED_IN_OPEN_CONFIRM,
    UNEXPECTED_IN_OPEN_SENT, UNSUPPORTED_VERSION,
};
use protocol_bgp::peer::{Counters, State};
use protocol_kit::{Departure, STREAM_ROOM, Time};

use crate::driven::{
    Driven, OWN, PEER, THEIRS, config, keepalive, message, notification, open, opening, remote,
    seconds, update,
};

#[test]
fn a_session_comes_up_and_carries_updates() {
    let mut driven = Driven::new(config());
    assert_eq!(driven.take_wants(), ["open 1"]);
    assert_eq!(driven.state(), State::Connect);
    driven.peer.connected(OWN, driven.now);
    driven.settle();
    assert_eq!((driven.take_sent(OWN), driven.state()), (vec!["OPEN".into()], State::OpenSent));
    driven.feed(OWN, &open(&remote()));
    let sent = driven.take_sent(OWN);
    assert_eq!((sent, driven.state()), (vec!["KEEPALIVE".into()], State::OpenConfirm));
    assert!(driven.take_said().is_empty());
    driven.feed(OWN, &keepalive());
    assert_eq!(driven.state(), State::Established);
    assert_eq!(driven.take_said(), ["established with AS 65002"]);
    driven.feed(OWN, &[update(), keepalive(), message(2, &[0, 1, 0, 0, 0])].concat());
    assert_eq!(driven.take_said(), ["update [0, 0, 0, 0]", "update [0, 1, 0, 0, 0]"]);
    assert_eq!(driven.take_wants(), [""; 0]);
    let counters = driven.peer.counters();
    assert_eq!((counters.established, counters.updates, counters.others), (1, 2, 3));
}

#[test]
fn a_connection_of_the_peer_becomes_a_session() {
    let mut driven = Driven::new(Config { is_passive: true, ..config() });
    assert_eq!((driven.take_wants().len(), driven.state()), (0, State::Active));
    driven.pass(seconds(10_000));
    assert_eq!((driven.take_wants().len(), driven.state()), (0, State::Active));
    driven.accept(THEIRS);
    assert_eq!((driven.take_sent(THEIRS), driven.state()), (vec!["OPEN".into()], State::OpenSent));
    driven.feed(THEIRS, &opening(&remote()));
    assert_eq!(driven.take_said(), ["established with AS 65002"]);
    assert_eq!(driven.peer.session_socket(), Some(THEIRS));
}

#[test]
fn where_it_connects_to_follows_from_the_configuration() {
    let mut options =
        protocol_kit::StreamOptions { ttl: Some(255), ttl_min: 254, ..Default::default() };
    options.md5.push((PEER, protocol_kit::Secret(b"key".to_vec())));
    let config = Config {
        port: 1179,
        local: Some([192, 0, 2, 1].into()),
        options: options.clone(),
        ..config()
    };
    let mut peer = protocol_bgp::peer::Peer::new(config, OWN, 1);
    peer.start(Time(5));
    assert_eq!(peer.deadline(), Some(Time(5)));
    peer.tick(Time(5), &mut |_| Ok(()));
    let Some(Departure::Open { socket: OWN, opening }) = peer.poll() else { panic!() };
    let from = Some("192.0.2.1:0".parse().unwrap());
    let to = protocol_kit::Endpoint::Tcp("192.0.2.2:1179".parse().unwrap());
    assert_eq!(opening, protocol_kit::Opening::Stream { from, to, options });
}

#[test]
fn messages_that_do_not_belong_to_a_state() {
    let update = update();
    let refresh = message(5, &[0, 1, 0, 1]);
    // RFC 6608: with the kind of the message.
    for (message, kind) in [(&keepalive(), 4), (&update, 2), (&refresh, 5)] {
        let mut driven = Driven::connected(config());
        driven.feed(OWN, message);
        driven.ends_with(OWN, UNEXPECTED_IN_OPEN_SENT, &[kind]);
    }
    for (message, kind) in [(&open(&remote()), 1), (&update, 2), (&refresh, 5)] {
        let mut driven = Driven::connected(config());
        driven.feed(OWN, &[&open(&remote()), &message[..]].concat());
        driven.ends_with(OWN, UNEXPECTED_IN_OPEN_CONFIRM, &[kind]);
        assert_eq!(driven.take_said(), [""; 0]);
    }
    let mut driven = Driven::established(config(), &remote());
    driven.feed(OWN, &open(&remote()));
    driven.ends_with(OWN, UNEXPECTED_IN_ESTABLISHED, &[1]);
    let said = "down: the peer was told: Finite State Machine Error, Unexpected Message in \
                Established State";
    assert_eq!(driven.take_said().last().map(String::as_str), Some(said));
}

#[test]
fn what_is_no_message_ends_every_state() {
    let steps = [vec![], open(&remote()), opening(&remote())];
    for before in &steps {
        for (bytes, cause, data) in [
            (message(9, &[]), BAD_KIND, &[9][..]),
            (message(4, &[0]), BAD_LENGTH, &[0, 20]),
            (message(2, &vec![0; 4096 - 18]), BAD_LENGTH, &[0x10, 0x01]),
        ] {
            let mut driven = Driven::connected(Config { has_extended_messages: false, ..config() });
            driven.feed(OWN, before);
            driven.feed(OWN, &[bytes, keepalive()].concat());
            driven.ends_with(OWN, cause, data);
        }
    }
    let mut driven = Driven::connected(config());
    driven.feed(OWN, &message(1, &[3, 0, 1, 0, 90, 1, 1, 1, 1, 0]));
    driven.ends_with(OWN, UNSUPPORTED_VERSION, &[0, 4]);
    let mut driven = Driven::connected(config());
    driven.feed(OWN, &open(&Config { local_as: 7, ..remote() }));
    driven.ends_with(OWN, BAD_PEER_AS, &[]);
}

#[test]
fn extended_messages_come_after_the_agreement() {
    let long = message(2, &vec![0; 50_000]);
    let mut driven = Driven::connected(config());
    driven.feed(OWN, &[opening(&remote()), long.clone()].concat());
    assert_eq!((driven.take_said().len(), driven.state()), (2, State::Established));
    let mut driven = Driven::connected(config());
    driven.feed(OWN, &long);
    driven.ends_with(OWN, BAD_LENGTH, &[0xc3, 0x63]);
}

#[test]
fn a_silent_peer_is_given_up() {
    // The first word has four minutes.
    let mut driven = Driven::connected(config());
    driven.pass(seconds(239));
    assert_eq!(driven.state(), State::OpenSent);
    driven.pass(seconds(1));
    driven.ends_with(OWN, HOLD_TIMER_EXPIRED, &[]);
    // The lower one of both hold times counts.
    for (own, other) in [(90, 30), (30, 90)] {
        let config = Config { hold_time_s: own, ..config() };
        let mut driven = Driven::established(config, &Config { hold_time_s: other, ..remote() });
        for heard in [keepalive(), update()] {
            driven.pass(seconds(29));
            driven.feed(OWN, &heard);
        }
        driven.pass(seconds(29));
        assert_eq!(driven.state(), State::Established);
        driven.pass(seconds(1));
        driven.ends_with(OWN, HOLD_TIMER_EXPIRED, &[]);
        let said = driven.take_said();
        assert_eq!(said.last().unwrap(), "down: the peer was told: Hold Timer Expired");
    }
    // In OpenConfirm, too.
    let mut driven = Driven::connected(config());
    driven.feed(OWN, &open(&remote()));
    driven.pass(seconds(90));
    driven.ends_with(OWN, HOLD_TIMER_EXPIRED, &[]);
    // None at all is for ever, and without signs of life.
    let mut driven = Driven::established(config(), &Config { hold_time_s: 0, ..remote() });
    driven.take_sent(OWN);
    driven.pass(seconds(100_000));
    assert_eq!((driven.state(), driven.take_sent(OWN).len()), (State::Established, 0));
}

#[test]
fn signs_of_life_are_a_third_of_the_hold_time_apart_at_most() {
    let mut driven = Driven::established(config(), &remote());
    driven.take_sent(OWN);
    let mut gaps = Vec::new();
    let mut before = driven.now;
    while gaps.len() < 200 {
        driven.pass(Duration::from_millis(100));
        driven.feed(OWN, &keepalive());
        if !driven.take_sent(OWN).is_empty() {
            gaps.push(driven.now.since(before));
            before = driven.now;
        }
    }
    let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
    assert!(*least >= seconds(22) && *least < seconds(24), "{least:?}");
    assert!(*most <= Duration::from_millis(30_100) && *most > seconds(29), "{most:?}");
    // An UPDATE is one, too.
    for _ in 0..50 {
        driven.pass(seconds(20));
        driven.feed(OWN, &keepalive());
        driven.act(|peer, now, _| peer.send(update(), now));
    }
    let sent = driven.take_sent(OWN);
    assert!(sent.len() == 50 && sent.iter().all(|one| one == "UPDATE"), "{sent:?}");
}

#[test]
fn a_peer_that_takes_nothing_is_given_up() {
    // RFC 9687: the longer one of eight minutes and twice the hold time.
    for (hold_time_s, patience) in [(90, 480), (300, 600), (0, 480)] {
        let offer = |config: Config| Config { hold_time_s, ..config };
        let mut driven = Driven::established(offer(config()), &offer(remote()));
        driven.peer.send(update(), driven.now);
        let mut untaken = Vec::new();
        let end = driven.now.after(seconds(patience));
        let mut drive = |driven: &mut Driven, now: Time| {
            // Everything departs, and nothing is taken.
            driven.peer.bytes(OWN, &keepalive(), now, &mut |_| Ok(()));
            driven.peer.tick(now, &mut |event| {
                driven.said.push(format!("{event:?}"));
                Ok(())
            });
            while let Some(departure) = driven.peer.poll() {
                untaken.push(departure);
            }
        };
        for second in 0..patience {
            drive(&mut driven, Time::ZERO.after(seconds(second)));
        }
        assert_eq!(driven.state(), State::Established);
        drive(&mut driven, end);
        assert!(driven.said.last().unwrap().contains("Down"));
        let last = Notification::new(SEND_HOLD_TIMER_EXPIRED);
        assert_eq!(driven.peer.last(), Some(&Ended::Sent(last)));
        let Some(Departure::Finish { socket: OWN }) = untaken.last() else { panic!() };
    }
    // Whoever takes some of it from time to time is not.
    let mut driven = Driven::established(config(), &remote());
    driven.peer.send(vec![0; 10_000], driven.now);
    while driven.peer.poll().is_some() {}
    for _ in 0..100 {
        driven.now = driven.now.after(seconds(60));
        driven.peer.taken(OWN, 100, driven.now);
        driven.feed(OWN, &keepalive());
        assert_eq!(driven.state(), State::Established);
    }
}

#[test]
fn there_is_room_for_what_the_stream_has_room_for() {
    let mut driven = Driven::connected(config());
    assert_eq!(driven.peer.room(), 0);
    driven.feed(OWN, &opening(&remote()));
    let room = driven.peer.room();
    assert!(room > STREAM_ROOM / 2 && room + 4096 < STREAM_ROOM);
    driven.peer.send(vec![0; room], driven.now);
    assert_eq!(driven.peer.room(), 0);
    let mut on_way = 0;
    // Signs of life and a last word do not overflow what is left.
    for _ in 0..10_000 {
        driven.now = driven.now.after(seconds(20));
        driven.peer.bytes(OWN, &keepalive(), driven.now, &mut |_| Ok(()));
        driven.peer.tick(driven.now, &mut |_| Ok(()));
        while let Some(departure) = driven.peer.poll() {
            if let Departure::Bytes { bytes, .. } = departure {
                on_way += bytes.len();
            }
        }
    }
    assert!(on_way <= STREAM_ROOM && driven.state() != State::Established, "{on_way}");
    let mut driven = Driven::established(config(), &remote());
    driven.peer.send(vec![0; 1000], driven.now);
    driven.peer.taken(OWN, 600, driven.now);
    assert_eq!(driven.peer.room(), room - 400);
}

#[test]
#[should_panic(expected = "have room")]
fn more_than_there_is_room_for_is_a_mistake_of_the_owner() {
    let mut driven = Driven::established(config(), &remote());
    let room = driven.peer.room();
    driven.peer.send(vec![0; room + 1], driven.now);
}

#[test]
fn who_is_not_read_is_not_missed() {
    let mut driven = Driven::established(config(), &remote());
    driven.take_wants();
    driven.act(|peer, now, _| peer.read(false, now));
    driven.act(|peer, now, _| peer.read(false, now));
    assert_eq!(driven.take_wants(), ["read 1 false"]);
    // What was on the way does not begin it again.
    driven.feed(OWN, &keepalive());
    driven.pass(seconds(1000));
    assert_eq!(driven.state(), State::Established);
    driven.act(|peer, now, _| peer.read(true, now));
    assert_eq!(driven.take_wants(), ["read 1 true"]);
    driven.pass(seconds(89));
    assert_eq!(driven.state(), State::Established);
    driven.pass(seconds(1));
    driven.ends_with(OWN, HOLD_TIMER_EXPIRED, &[]);
}

#[test]
fn the_owner_may_end_a_session_by_its_answer() {
    let mut driven = Driven::established(config(), &remote());
    driven.answer = Err(Notification::new(MAXIMUM_PREFIXES));
    driven.take_said();
    driven.feed(OWN, &[update(), update(), update()].concat());
    driven.ends_with(OWN, MAXIMUM_PREFIXES, &[]);
    let down = "down: the peer was told: Cease, Maximum Number of Prefixes Reached";
    assert_eq!(driven.take_said(), ["update [0, 0, 0, 0]", down]);
}

#[test]
fn an_operator_stops_and_starts() {
    let mut driven = Driven::established(config(), &remote());
    driven.take_wants();
    driven.act(|peer, now, sink| peer.stop("maintenance", now, sink));
    driven.ends_with(OWN, ADMINISTRATIVE_SHUTDOWN, b"\x0bmaintenance");
    assert_eq!(driven.state(), State::Idle);
    let said = "down: the peer was told: Cease, Administrative Shutdown: maintenance";
    assert_eq!(driven.take_said().last().unwrap(), said);
    // The last word is on its way until the peer closes, or does not for a while.
    driven.act(|peer, now, sink| peer.finished(OWN, now, sink));
    assert_eq!(driven.take_wants(), ["close 1"]);
    driven.pass(seconds(100_000));
    driven.accept(THEIRS);
    assert_eq!((driven.take_wants(), driven.state()), (vec!["close 2".into()], State::Idle));
    driven.peer.start(driven.now);
    driven.settle();
    assert_eq!((driven.take_wants(), driven.state()), (vec!["open 1".into()], State::Connect));
    // Nothing is said on a connection that does not stand yet.
    driven.act(|peer, now, sink| peer.stop("", now, sink));
    assert_eq!((driven.take_wants(), driven.state()), (vec!["close 1".into()], State::Idle));
    assert_eq!(driven.take_sent(OWN).iter().filter(|one| one.starts_with('N')).count(), 0);
}

/// - `bgp`, RFC 2918 section 4: a peer is asked for its routes while it takes something, and there
///   stays room for a last word
#[test]
fn a_peer_is_asked_for_its_routes() {
    let mut driven = Driven::established(config(), &remote());
    let agreed = driven.peer.negotiated().expect("a session");
    assert_eq!(agreed.opens[1], open(&remote()), "as it came");
    let (families, now) = (config().families, driven.now);
    let asked = (0..STREAM_ROOM).take_while(|_| driven.peer.ask(families, now)).count();
    assert!(asked > 100 && asked < STREAM_ROOM / 23, "{asked}");
    let mut bytes = 0;
    while let Some(Departure::Bytes { bytes: some, .. }) = driven.peer.poll() {
        bytes += some.len();
    }
    assert!(bytes + 4096 <= STREAM_ROOM, "{bytes}");
    driven.act(|peer, now, _| peer.taken(OWN, 23, now));
    assert!(driven.peer.ask(families, driven.now), "there is room again");
    let mut none = Driven::new(config());
    assert!(!none.peer.ask(families, none.now), "there is no session");
}

#[test]
fn a_peer_that_does_not_close_is_closed() {
    let mut driven = Driven::established(config(), &remote());
    driven.act(|peer, now, sink| peer.reset("", now, sink));
    driven.ends_with(OWN, ADMINISTRATIVE_RESET, &[]);
    // Nothing of it is read any more, and it has three seconds.
    driven.take_said();
    driven.feed(OWN, &[update(), keepalive()].concat());
    assert_eq!(driven.take_said(), [""; 0]);
    driven.pass(Duration::from_millis(2999));
    assert_eq!(driven.take_wants(), [""; 0]);
    driven.pass(Duration::from_millis(1));
    assert_eq!(driven.take_wants(), ["close 1", "open 1"]);
}

#[test]
fn the_peer_says_why_it_ends() {
    let mut driven = Driven::established(config(), &remote());
    driven.take_wants();
    let mut last = Vec::new();
    Notification::with_text(ADMINISTRATIVE_SHUTDOWN, "good night").write(&mut last);
    driven.feed(OWN, &[last, update()].concat());
    let said = "down: the peer says: Cease, Administrative Shutdown: good night";
    assert_eq!(driven.take_said()[1..], [said]);
    assert_eq!(driven.take_wants(), ["close 1"]);
    assert!(driven.take_sent(OWN).iter().all(|one| !one.starts_with("NOTIFICATION")));
    // In states before there is a session it is remembered.
    let mut driven = Driven::connected(config());
    driven.feed(OWN, &notification(BAD_PEER_AS));
    assert_eq!(driven.peer.last(), Some(&Ended::Received(Notification::new(BAD_PEER_AS))));
    assert_eq!((driven.take_said(), driven.state()), (vec![], State::Active));
}

#[test]
fn connections_are_tried_again_after_a_time_that_doubles() {
    let mut driven = Driven::new(Config { connect_retry: seconds(20), ..config() });
    driven.take_wants();
    let mut pauses = Vec::new();
    for _ in 0..10 {
        driven.act(|peer, now, sink| peer.failed(OWN, now, sink));
        assert_eq!(
            (driven.state(), driven.peer.last()),
            (State::Active, Some(&Ended::Unreachable))
        );
        let before = driven.now;
        while driven.take_wants() != ["open 1"] {
            driven.pass(Duration::from_millis(10));
        }
        pauses.push(driven.now.since(before).as_secs_f64());
    }
    for (pause, most) in pauses.iter().zip([1.0, 2.0, 4.0, 8.0, 16.0, 20.0, 20.0, 20.0]) {
        assert!((most * 0.75..=most + 0.01).contains(pause), "{pauses:?}");
    }
    // One that stands for a while makes it short again.
    driven.peer.connected(OWN, driven.now);
    driven.feed(OWN, &opening(&remote()));
    for _ in 0..4 {
        driven.pass(seconds(20));
        driven.feed(OWN, &keepalive());
    }
    driven.act(|peer, now, sink| peer.failed(OWN, now, sink));
    driven.take_wants();
    driven.pass(Duration::from_millis(1000));
    assert_eq!(driven.take_wants(), ["open 1"]);
    // One that does not stand for long does not (section 8.1.1: damping of oscillations).
    for _ in 0..6 {
        driven.peer.connected(OWN, driven.now);
        driven.feed(OWN, &opening(&remote()));
        driven.act(|peer, now, sink| peer.failed(OWN, now, sink));
        driven.pass(seconds(20));
    }
    driven.act(|peer, now, sink| peer.failed(OWN, now, sink));
    driven.take_wants();
    driven.pass(seconds(14));
    assert_eq!(driven.take_wants(), [""; 0]);
}

#[test]
fn an_attempt_has_its_time() {
    let mut driven = Driven::new(Config { connect_retry: seconds(30), ..config() });
    driven.take_wants();
    driven.pass(Duration::from_millis(29_999));
    assert_eq!(driven.take_wants(), [""; 0]);
    driven.pass(Duration::from_millis(1));
    assert_eq!(driven.take_wants(), ["close 1"]);
    assert_eq!(driven.peer.last(), Some(&Ended::Unreachable));
    driven.pass(seconds(1));
    assert_eq!(driven.take_wants(), ["open 1"]);
}

#[test]
fn who_was_told_why_is_not_accepted_at_once() {
    let mut driven = Driven::connected(config());
    driven.feed(OWN, &open(&Config { local_as: 7, ..remote() }));
    driven.act(|peer, now, sink| peer.finished(OWN, now, sink));
    driven.take_wants();
    driven.accept(THEIRS);
    assert_eq!(driven.take_wants(), ["close 2"]);
    assert_eq!(driven.peer.counters().rejected, 1);
    driven.pass(seconds(1));
    driven.accept(THEIRS);
    assert_eq!(driven.take_sent(THEIRS), ["OPEN"]);
    // Whoever was lost without a word may come back.
    let mut driven = Driven::established(config(), &remote());
    driven.act(|peer, now, sink| peer.failed(OWN, now, sink));
    driven.accept(THEIRS);
    driven.feed(THEIRS, &opening(&remote()));
    assert_eq!(driven.state(), State::Established);
    let counters = driven.peer.counters();
    let expected = Counters { established: 2, lost: 1, others: 4, ..Counters::default() };
    assert_eq!(counters, expected);
}

#[test]
fn routes_are_asked_for_again() {
    let refresh = |what: u8, family: [u8; 2]| message(5, &[0, family[0], what, family[1]]);
    let mut driven = Driven::established(config(), &remote());
    driven.take_said();
    driven.feed(OWN, &[refresh(0, [1, 1]), refresh(1, [1, 1]), refresh(2, [1, 1])].concat());
    let said = driven.take_said();
    let expected = ["Wanted", "Begins", "Ends"].map(|what| format!("refresh ipv4-unicast {what}"));
    assert_eq!(said, expected);
    // Of what is not known, or was not agreed on, nothing comes.
    driven.feed(OWN, &[refresh(3, [1, 1]), refresh(0, [2, 1]), refresh(0, [9, 9])].concat());
    assert_eq!((driven.take_said(), driven.state()), (vec![], State::Established));
    // RFC 7313 section 5.
    let long = message(5, &[0, 1, 0, 1, 1, 1]);
    driven.feed(OWN, &long);
    driven.ends_with(OWN, BAD_REFRESH_LENGTH, &long);
    // Whoever does not know of beginnings and ends says none.
    let mut driven = Driven::connected(config());
    let mut said = remote().open();
    said.capabilities.pop();
    driven.feed(OWN, &[crate::driven::said(&said), keepalive()].concat());
    driven.take_said();
    driven.feed(OWN, &[long, refresh(1, [1, 1]), refresh(0, [1, 1])].concat());
    assert_eq!(driven.take_said(), ["refresh ipv4-unicast Wanted"]);
}

#[test]
fn a_hard_reset_is_for_those_who_would_keep_something() {
    let restart = protocol_bgp::config::Restart {
        time_s: 60,
        has_notification: true,
        families: config().families,
        ..Default::default()
    };
    let with = |config: Config, has_notification: bool| Config {
        restart: Some(protocol_bgp::config::Restart { has_notification, ..restart }),
        ..config
    };
    // RFC 8538: both know of it.
    let mut driven = Driven::established(with(config(), true), &with(remote(), true));
    driven.act(|peer, now, sink| peer.stop("", now, sink));
    driven.ends_with(OWN, HARD_RESET, &[6, 2]);
    assert!(driven.take_said().last().unwrap().starts_with("down: "));
    let mut driven = Driven::established(with(config(), true), &with(remote(), true));
    driven.act(|peer, now, sink| peer.reset("", now, sink));
    driven.ends_with(OWN, ADMINISTRATIVE_RESET, &[]);
    assert!(driven.take_said().last().unwrap().starts_with("down for a while: "));
    // One that is to keep nothing is told so, and looked for at once.
    let mut driven = Driven::established(with(config(), true), &with(remote(), true));
    driven.act(|peer, now, sink| peer.renew("x", now, sink));
    driven.ends_with(OWN, HARD_RESET, &[6, 4, 1, b'x']);
    assert!(driven.take_said().last().unwrap().starts_with("down: "));
    assert_eq!(driven.state(), State::Active);
    let mut driven = Driven::established(with(config(), true), &with(remote(), false));
    driven.act(|peer, now, sink| peer.stop("", now, sink));
    driven.ends_with(OWN, ADMINISTRATIVE_SHUTDOWN, &[]);
    // What counts as the beginning of a restart.
    type End = fn(&mut Driven);
    let lost: [(End, bool, bool); 5] = [
        (|driven| driven.act(|peer, now, sink| peer.failed(OWN, now, sink)), true, true),
        (|driven| driven.act(|peer, now, sink| peer.finished(OWN, now, sink)), true, true),
        (|driven| driven.pass(seconds(90)), true, false),
        (|driven| driven.feed(OWN, &notification(ADMINISTRATIVE_RESET)), true, false),
        (|driven| driven.feed(OWN, &notification(HARD_RESET)), false, false),
    ];
    for (end, with_notification, without) in lost {
        for (has_notification, expected) in [(true, with_notification), (false, without)] {
            let config = with(config(), has_notification);
            let mut driven = Driven::established(config, &with(remote(), has_notification));
            end(&mut driven);
            let said = driven.take_said();
            assert_eq!(said.last().unwrap().starts_with("down for a while"), expected, "{said:?}");
        }
        let mut driven = Driven::established(config(), &with(remote(), true));
        end(&mut driven);
        assert!(driven.take_said().last().unwrap().starts_with("down: "));
    }
}

#[test]
fn pieces_of_any_size_are_the_same() {
    let stream = [
        opening(&remote()),
        update(),
        keepalive(),
        message(5, &[0, 1, 0, 1]),
        message(2, &vec![7; 3000]),
        message(4, &[0]),
        update(),
    ]
    .concat();
    let run = |piece: usize| {
        let mut driven = Driven::connected(config());
        stream.chunks(piece).for_each(|bytes| driven.feed(OWN, bytes));
        (driven.said, driven.sent, driven.wants)
    };
    let whole = run(stream.len());
    assert_eq!(whole.0.len(), 5, "{:?}", whole.0);
    for piece in [1, 2, 3, 5, 18, 19, 20, 64, 1000] {
        assert_eq!(run(piece), whole, "{piece}");
    }
}
