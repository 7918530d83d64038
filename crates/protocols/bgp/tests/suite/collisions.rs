//! Two connections with the same peer: RFC 4271 section 6.8, RFC 6286, RFC 4724 section 4.2.

use protocol_bgp::config::{Config, Restart};
use protocol_bgp::notification::COLLISION;
use protocol_bgp::peer::State;
use protocol_kit::Socket;

use crate::driven::{
    Driven, OWN, THEIRS, config, keepalive, notification, open, opening, remote, update,
};

/// Both connections stand.
fn both(config: Config) -> Driven {
    let mut driven = Driven::connected(config);
    driven.accept(THEIRS);
    driven.take_sent(OWN);
    driven.take_sent(THEIRS);
    driven.take_wants();
    driven
}

/// With the own identifier, or AS, lower or higher than the other one: which connection is kept.
fn cases() -> [(Config, Config, Socket, Socket); 4] {
    let of = |identifier: u32, asn: u32| Config { identifier, peer_as: asn, ..config() };
    let to = |identifier: u32, asn: u32| Config { identifier, local_as: asn, ..remote() };
    [
        (of(1, 65_002), to(2, 65_002), THEIRS, OWN),
        (of(0x8000_0000, 65_002), to(2, 65_002), OWN, THEIRS),
        // RFC 6286 section 2.3.
        (of(5, 65_002), to(5, 65_002), THEIRS, OWN),
        (of(5, 64_999), to(5, 64_999), OWN, THEIRS),
    ]
}

#[test]
fn the_connection_of_the_higher_identifier_is_kept() {
    for (config, remote, kept, other) in cases() {
        for first in [OWN, THEIRS] {
            let second = if first == OWN { THEIRS } else { OWN };
            let mut driven = both(config.clone());
            driven.feed(first, &open(&remote));
            assert_eq!(driven.take_sent(first), ["KEEPALIVE"]);
            driven.feed(second, &open(&remote));
            driven.ends_with(other, COLLISION, &[]);
            assert_eq!(driven.state(), State::OpenConfirm);
            assert_eq!(driven.take_said(), [""; 0], "nobody is told of it");
            driven.feed(kept, &keepalive());
            assert_eq!(driven.peer.session_socket(), Some(kept));
            // The other one ends in good order and is not tried again.
            driven.act(|peer, now, sink| peer.finished(other, now, sink));
            assert_eq!(driven.take_wants(), [format!("close {}", other.0)]);
            driven.pass(crate::driven::seconds(80));
            assert_eq!((driven.take_wants(), driven.take_said().len()), (vec![], 1));
        }
    }
}

#[test]
fn a_session_that_stands_is_kept() {
    for (config, remote, ..) in cases() {
        for first in [OWN, THEIRS] {
            let second = if first == OWN { THEIRS } else { OWN };
            // The other one is ended with the session, if it is there already.
            let mut driven = both(config.clone());
            driven.feed(first, &opening(&remote));
            driven.ends_with(second, COLLISION, &[]);
            assert_eq!(driven.peer.session_socket(), Some(first));
        }
        // It comes later.
        let mut driven = Driven::established(config, &remote);
        driven.accept(THEIRS);
        driven.take_said();
        driven.feed(THEIRS, &open(&remote));
        driven.ends_with(THEIRS, COLLISION, &[]);
        driven.feed(OWN, &update());
        assert_eq!(driven.take_said(), ["update [0, 0, 0, 0]"]);
    }
}

#[test]
fn an_attempt_that_does_not_stand_is_given_up_for_a_session() {
    let mut driven = Driven::new(config());
    driven.accept(THEIRS);
    driven.take_wants();
    driven.feed(THEIRS, &opening(&remote()));
    assert_eq!(driven.take_wants(), ["close 1"]);
    assert_eq!(driven.peer.session_socket(), Some(THEIRS));
    // One that is confirmed is not disturbed by another attempt.
    let mut driven = Driven::new(config());
    driven.act(|peer, now, sink| peer.failed(OWN, now, sink));
    driven.accept(THEIRS);
    driven.feed(THEIRS, &open(&remote()));
    driven.take_wants();
    driven.pass(crate::driven::seconds(80));
    assert_eq!(driven.take_wants(), [""; 0]);
}

#[test]
fn the_peer_may_connect_anew() {
    // It has died and come back before there was a session.
    let mut driven = Driven::new(Config { is_passive: true, ..config() });
    driven.accept(THEIRS);
    driven.accept(Socket(3));
    assert_eq!(driven.take_wants(), ["close 2"]);
    driven.feed(THEIRS, &opening(&remote()));
    assert_eq!(driven.state(), State::OpenSent, "nobody hears what is closed");
    driven.feed(Socket(3), &opening(&remote()));
    assert_eq!(driven.peer.session_socket(), Some(Socket(3)));
}

#[test]
fn a_peer_that_keeps_its_routes_replaces_its_session() {
    let restart = Restart { time_s: 60, families: config().families, ..Restart::default() };
    let with = |config: Config| Config { restart: Some(restart), ..config };
    for is_passive in [false, true] {
        let config = Config { is_passive, ..with(config()) };
        let (mut driven, before) = if is_passive {
            let mut driven = Driven::new(config);
            driven.accept(THEIRS);
            driven.feed(THEIRS, &opening(&with(remote())));
            (driven, THEIRS)
        } else {
            (Driven::established(config, &with(remote())), OWN)
        };
        driven.take_sent(before);
        driven.take_wants();
        driven.take_said();
        driven.accept(Socket(3));
        driven.feed(Socket(3), &open(&with(remote())));
        // It is gone on the other side: there is nobody who could be told why.
        assert_eq!(driven.take_wants(), [format!("close {}", before.0)]);
        assert_eq!(driven.take_sent(before), [""; 0]);
        assert_eq!(driven.take_said(), ["down for a while: the peer has restarted and is back"]);
        driven.feed(Socket(3), &keepalive());
        assert_eq!(driven.take_said(), ["established with AS 65002"]);
    }
}

#[test]
fn the_other_side_may_decide_first() {
    let mut driven = both(config());
    driven.feed(OWN, &open(&remote()));
    driven.feed(OWN, &notification(COLLISION));
    assert_eq!(driven.take_wants(), ["close 1"]);
    driven.feed(THEIRS, &opening(&remote()));
    assert_eq!(driven.peer.session_socket(), Some(THEIRS));
    assert_eq!(driven.peer.last(), None);
}
