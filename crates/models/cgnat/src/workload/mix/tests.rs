//! What the frames of a mix are, counted one by one.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn application(name: &str, protocol: Transport, times: (f64, u32, f64)) -> Application {
    Application {
        name: name.into(),
        protocol,
        sessions_per_hour: times.0,
        exchanges: times.1,
        interval_ms: times.2,
        uplink_bytes: 100,
        downlink_bytes: 1400,
        server_port: 443,
        one_client_port: false,
    }
}

/// Three applications of a hundred clients, some 180 frames per second each way.
fn traffic() -> Traffic {
    let peers = Application {
        server_port: 0,
        one_client_port: true,
        ..application("peers", Transport::Udp, (120.0, 20, 500.0))
    };
    let mix = vec![
        application("web", Transport::Tcp, (360.0, 12, 100.0)),
        application("names", Transport::Udp, (600.0, 1, 1000.0)),
        peers,
    ];
    Traffic { mix, sessions: 0, client: 100, server: 1000, ..Traffic::default() }
}

/// What tells a session from others.
type Name = (u16, Vec<u64>);

/// Frames of each session in their order, by flow: the place among all frames, and what was drawn.
fn sessions(mix: &Mix, uplink: bool, frames: u64) -> BTreeMap<Name, Vec<(u64, Drawn)>> {
    let mut sessions: BTreeMap<_, Vec<(u64, Drawn)>> = BTreeMap::new();
    for number in 0..frames {
        let drawn = mix.draw(uplink, number);
        let Flow { client, server, client_port, server_port, protocol } = drawn.flow;
        let ends = [client, server, client_port.into(), server_port.into()].map(u64::from);
        let key = (protocol as u16, [ends.as_slice(), &[drawn.place]].concat());
        sessions.entry(key).or_default().push((number, drawn));
    }
    sessions
}

#[test]
fn every_session_begins_lives_and_ends_as_its_application_says() {
    let mix = Mix::new(&traffic()).expect("a mix");
    // Ten minutes.
    let frames = (mix.frames_per_s() * 600.0) as u64;
    let mut lens = BTreeSet::new();
    for session in sessions(&mix, true, frames).values() {
        let (first, last) = (session[0], session[session.len() - 1]);
        let seconds = (last.0 - first.0) as f64 / mix.frames_per_s();
        if first.1.flow.protocol == Protocol::Tcp {
            assert_eq!(first.1.flags, SYN, "{session:?}");
            assert!(session[1..].iter().all(|(_, one)| one.flags & SYN == 0));
            let is_over = frames as f64 - last.0 as f64 > mix.frames_per_s() * 0.2;
            assert_eq!(last.1.flags == FIN | ACK, is_over, "{session:?}");
            assert!(session.len() <= 12 && seconds < 1.2, "{seconds}");
            lens.insert(session.len());
        } else {
            assert!(session.len() <= 20 && seconds < 10.5, "{seconds}");
        }
    }
    assert!(
        lens.contains(&12) && lens.len() > 3,
        "whole ones, and those cut at the start: {lens:?}"
    );
}

#[test]
fn frames_to_clients_are_those_of_the_same_sessions_and_end_them() {
    let mix = Mix::new(&traffic()).expect("a mix");
    let frames = (mix.frames_per_s() * 60.0) as u64;
    let (up, down) = (sessions(&mix, true, frames), sessions(&mix, false, frames));
    assert!(up.keys().eq(down.keys()));
    for (up, down) in up.values().zip(down.values()) {
        assert!(up.iter().map(|(n, _)| n).eq(down.iter().map(|(n, _)| n)));
        if up[0].1.flow.protocol == Protocol::Tcp {
            assert_eq!(down[0].1.flags, SYN | ACK);
            let ended = |all: &[(u64, Drawn)]| all.iter().position(|(_, one)| one.flags & FIN != 0);
            if let Some(place) = ended(up) {
                assert_eq!((ended(down), place), (Some(place - 1), up.len() - 1));
                assert_eq!(down[place].1.flags, ACK);
            }
        }
    }
}

#[test]
fn applications_have_their_rates_and_all_clients_use_them() {
    let traffic = traffic();
    let mix = Mix::new(&traffic).expect("a mix");
    let frames = (mix.frames_per_s() * 600.0) as u64;
    let all = sessions(&mix, true, frames);
    let clients: BTreeSet<u32> = all.values().map(|one| one[0].1.flow.client).collect();
    assert_eq!(clients.len(), 100);
    let begun =
        |is_it: fn(&Flow) -> bool| all.values().filter(|one| is_it(&one[0].1.flow)).count() as f64;
    for (begun, per_hour) in [
        (begun(|flow| flow.protocol == Protocol::Tcp), 360.0),
        (begun(|flow| flow.protocol == Protocol::Udp && flow.server_port == 443), 600.0),
        (begun(|flow| flow.server_port != 443), 120.0),
    ] {
        // A hundred clients for a sixth of an hour; those that were cut at the start come on top.
        let wanted = per_hour * 100.0 / 6.0;
        assert!((begun / wanted - 1.0).abs() < 0.06, "{begun} instead of {wanted}");
    }
    let peers: BTreeSet<(u32, u16)> = all
        .values()
        .filter(|one| one[0].1.flow.server_port != 443)
        .map(|one| (one[0].1.flow.client, one[0].1.flow.client_port))
        .collect();
    assert_eq!(peers.len(), 100, "one port of each client, for many peers");
}

#[test]
fn a_place_is_of_one_session_at_a_time() {
    let mix = Mix::new(&traffic()).expect("a mix");
    let mut last: BTreeMap<u64, (Flow, u64)> = BTreeMap::new();
    let round_trip = mix.round_trip().as_secs_f64() * mix.frames_per_s();
    for number in 0..(mix.frames_per_s() * 120.0) as u64 {
        let drawn = mix.draw(true, number);
        assert!(drawn.place < mix.places());
        if let Some((flow, before)) = last.insert(drawn.place, (drawn.flow, number))
            && flow != drawn.flow
        {
            assert!((number - before) as f64 > round_trip, "its answers are back by then");
        }
    }
}

#[test]
fn a_pattern_has_each_application_as_often_as_it_is_to_and_evenly() {
    let counts = counts(&[0.7, 0.29, 0.01, 1e-9]);
    assert_eq!(counts.iter().sum::<u64>(), PATTERN as u64);
    assert_eq!(counts[3], 1);
    let pattern = pattern(&counts);
    for (application, &count) in counts.iter().enumerate() {
        let places: Vec<usize> =
            (0..PATTERN).filter(|&at| usize::from(pattern[at].0) == application).collect();
        assert_eq!(places.len() as u64, count);
        assert!(places.iter().enumerate().all(|(rank, &at)| usize::from(pattern[at].1) == rank));
        let even = PATTERN as f64 / count as f64;
        for pair in places.windows(2) {
            let distance = (pair[1] - pair[0]) as f64;
            assert!(distance < 2.0 * even + 4.0, "{distance} instead of {even}");
        }
    }
}
