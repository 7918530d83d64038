//! The traffic through a translator of a few lines, which chooses what the test tells it.
use std::net::{IpAddr, Ipv4Addr};

use function_cgnat::config::{self, Family};
use function_cgnat::workers::steering::Steering as OfFrames;
use proptest::prelude::*;
use wire::bytes::{array_at, put_u16, put_u32, u16_at, u32_at};
use wire::checksum::{Sum, header_checksum};

use super::*;
use crate::application::{Application, Transport};

/// Translates a frame as any NAT does, and computes its checksums from every byte.
fn translated(clients: &Clients, frame: &[u8], uplink: bool, to: (u32, u16)) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[..12].copy_from_slice(&clients.macs.left[usize::from(uplink)]);
    frame[22] -= 1;
    put_u32(&mut frame, if uplink { 26 } else { 30 }, to.0);
    let port_at = match frame[23] {
        1 => 38,
        _ if uplink => 34,
        _ => 36,
    };
    put_u16(&mut frame, port_at, to.1);
    repaired(frame)
}

/// The same frame with right checksums.
fn repaired(mut frame: Vec<u8>) -> Vec<u8> {
    let end = 14 + usize::from(u16_at(&frame, 16));
    frame[24..26].fill(0);
    let sum = header_checksum(frame[14..].first_chunk().expect("a header"));
    put_u16(&mut frame, 24, sum);
    let (at, has_pseudo) = match frame[23] {
        17 => (40, true),
        6 => (50, true),
        _ => (36, false),
    };
    frame[at..at + 2].fill(0);
    let mut sum = Sum::ZERO.add_bytes(&frame[34..end]);
    if has_pseudo {
        let number = u16::from(frame[23]);
        sum = sum.add_bytes(&frame[26..34]).add_u16(number).add_u16((end - 34) as u16);
    }
    let checksum = if sum.checksum() == 0 { 0xffff } else { sum.checksum() };
    put_u16(&mut frame, at, checksum);
    frame
}

fn mixed() -> (Config, Traffic) {
    let traffic = Traffic {
        tcp_share: 0.4,
        icmp_share: 0.3,
        sessions: 50,
        server_ports: 2,
        ..Traffic::default()
    };
    (Config::default(), traffic)
}

fn clients() -> Clients {
    let (config, traffic) = mixed();
    Clients::new(&config, &traffic)
}

/// An address of the default pool.
fn pool(host: u8) -> u32 {
    Ipv4Addr::new(198, 18, 0, host).to_bits()
}

fn written(clients: &Clients, packet: &Packet, action: SessionAction, step: u8) -> Vec<u8> {
    let mut frame = vec![0xee; clients.session_frame_len(packet, action, step)];
    clients.write_session(packet, (action, step), 77, &mut frame);
    frame
}

/// Takes a session through an action; what was sent last, for further looks.
fn go(clients: &mut Clients, number: u64, action: SessionAction, to: (u32, u16)) {
    let packet = clients.session(number).expect("a session");
    for step in 0..clients.session_steps(&packet, action) {
        let uplink = step % 2 == 0;
        let frame = written(clients, &packet, action, step);
        if !uplink {
            let port_at = if frame[23] == 1 { 38 } else { 36 };
            let addressed = (u32_at(&frame, 30), u16_at(&frame, port_at));
            assert_eq!(addressed, to, "it goes to where the client was seen");
        }
        let own = (packet.flow.client, packet.flow.client_port);
        let left = translated(clients, &frame, uplink, if uplink { to } else { own });
        let out = if uplink { OUTSIDE } else { INSIDE };
        let (seen, of) = clients.session_seen(out, &left).expect("a step");
        assert_eq!((seen.session, seen.action, seen.step), (number, action, step));
        assert!(seen.is_right, "{packet:?} {action:?} {step}");
        assert_eq!(of, packet);
        let twin = clients.twin();
        let mut twin = twin.expect("one that shares what was learned");
        let (wrong_port, _) = twin.session_seen(PortId(1 - out.0), &left).expect("a step");
        assert!(!wrong_port.is_right, "by the wrong port");
    }
}

proptest! {
    #[test]
    fn the_steps_of_a_session_are_recognised_whatever_the_translation_is(
        number in 0u64..100_000, host: u8, port: u16,
    ) {
        let mut clients = clients();
        let to = (pool(host), port);
        for action in SessionAction::ALL {
            let is_known = action == SessionAction::Open || clients.learned.get(number, 0).is_some();
            prop_assert!(is_known);
            go(&mut clients, number, action, to);
        }
        // Its client moves to another translation, as after the first has expired.
        go(&mut clients, number, SessionAction::Open, (pool(!host), !port));
    }

    #[test]
    fn a_wrong_translation_is_noticed(number in 0u64..100_000, what in 0usize..7, port: u16) {
        let mut clients = clients();
        let packet = clients.session(number).expect("a session");
        let frame = written(&clients, &packet, SessionAction::Open, 0);
        let good = translated(&clients, &frame, true, (pool(9), port));
        let mut bad = good.clone();
        match what {
            0 => bad[27] ^= 64,
            1 => bad[22] += 1,
            2 => bad[33] ^= 1,
            3 => bad[0] ^= 2,
            4 => bad[11] ^= 1,
            5 => bad[24] ^= 1,
            _ => bad[if frame[23] == 1 { 36 } else { 37 }] ^= 1,
        }
        if what < 3 {
            bad = repaired(bad);
        }
        let seen = clients.session_seen(OUTSIDE, &bad);
        prop_assert!(seen.is_none_or(|(seen, _)| !seen.is_right), "{}", what);
        prop_assert_eq!(clients.learned.get(number, 0), None, "nothing is learned of it");
        prop_assert!(clients.session_seen(OUTSIDE, &good).is_some_and(|(seen, _)| seen.is_right));
    }

    #[test]
    fn handshakes_name_their_session_and_step(session: u32, action in 0usize..2, step in 0u8..3) {
        let action = [SessionAction::Open, SessionAction::Close][action];
        let segment = handshake(session, action, step);
        prop_assert_eq!(handshake_of(segment), Some((session, action, step)));
        let damaged = Segment { acknowledged: segment.acknowledged ^ 0x100, ..segment };
        prop_assert!(handshake_of(damaged) != Some((session, action, step)));
    }
}

#[test]
fn two_sessions_with_one_translation_are_noticed() {
    let mut clients = clients();
    let shared = (pool(1), 4000);
    go(&mut clients, 3, SessionAction::Open, shared);
    let [one, other] = [3, 4].map(|number| clients.session(number).expect("a session"));
    // What is sent to the one reaches the other's client.
    let frame = written(&clients, &one, SessionAction::Use, 1);
    let to = (other.flow.client, other.flow.client_port);
    let left = translated(&clients, &frame, false, to);
    let (seen, _) = clients.session_seen(INSIDE, &left).expect("a step");
    assert!(!seen.is_right && seen.session == 3);
}

#[test]
fn a_session_with_another_translation_is_used_but_not_kept() {
    let mut clients = clients();
    for number in 0..40 {
        let (before, after) = ((pool(1), 4000 + number as u16), (pool(1), 5000 + number as u16));
        let packet = clients.session(number).expect("a session");
        let is_right = |clients: &mut Clients, action, to| {
            let left = translated(clients, &written(clients, &packet, action, 0), true, to);
            let (seen, _) = clients.session_seen(OUTSIDE, &left).expect("a step");
            assert_eq!(seen.action, action);
            seen.is_right
        };
        assert!(!is_right(&mut clients, SessionAction::Keep, before), "nothing is known of it");
        assert!(is_right(&mut clients, SessionAction::Open, before));
        assert!(is_right(&mut clients, SessionAction::Keep, before));
        assert!(!is_right(&mut clients, SessionAction::Keep, after));
        assert!(is_right(&mut clients, SessionAction::Keep, before), "it has learned nothing new");
        assert!(is_right(&mut clients, SessionAction::Use, after));
    }
}

#[test]
fn frames_of_a_mix_are_translated_and_recognised() {
    let application = |protocol, one_client_port| Application {
        name: "one".into(),
        protocol,
        sessions_per_hour: 3600.0,
        exchanges: 6,
        interval_ms: 100.0,
        uplink_bytes: 100,
        downlink_bytes: 1400,
        server_port: 443,
        one_client_port,
    };
    let mix = vec![application(Transport::Tcp, false), application(Transport::Udp, true)];
    let (config, traffic) = mixed();
    let traffic = Traffic { mix, sessions: 0, ..traffic };
    let mut clients = Clients::new(&config, &traffic);
    assert_eq!(clients.sessions(), None);
    let population = clients.population().expect("clients");
    assert_eq!((population.clients, population.frames_per_s), (1000, 12_000.0));
    assert!(clients.delay(0).is_zero() && !clients.delay(1).is_zero());
    let mut lens = std::collections::BTreeSet::new();
    for number in 0..20_000 {
        for direction in 0..2 {
            let packet = clients.draw(direction, number);
            let stamp = Stamp { stream: direction as u16, sequence: number, time: 5 };
            let mut frame = vec![0xee; clients.frame_len(&packet)];
            lens.insert((direction, frame.len()));
            clients.write(&packet, stamp, &mut frame);
            let own = (packet.flow.client, packet.flow.client_port);
            let to = (pool(packet.session as u8), packet.session as u16);
            if !packet.uplink {
                assert_eq!(
                    (u32_at(&frame, 30), u16_at(&frame, 36)),
                    to,
                    "where its client was seen"
                );
            }
            let left =
                translated(&clients, &frame, packet.uplink, if packet.uplink { to } else { own });
            let out = PortId(1 - direction as u8);
            let delivery = clients.delivery(direction, &packet, &stamp, out, &left);
            assert_eq!(delivery, Delivery::AsExpected, "{packet:?}");
        }
    }
    let bare = 14 + 20 + 20 + 18;
    assert_eq!(lens.into_iter().collect::<Vec<_>>(), [(0, bare), (0, 96), (1, bare), (1, 1396)]);
}

#[test]
fn packets_of_open_sessions_go_both_ways_and_are_recognised() {
    let mut clients = clients();
    let to = |session: u64| (pool(session as u8), 20_000 + session as u16);
    (0..50).for_each(|number| go(&mut clients, number, SessionAction::Open, to(number)));
    let mut used = [false; 50];
    for number in 0..2000 {
        for direction in 0..2 {
            let packet = clients.draw(direction, number);
            assert!(packet.session < 50 && packet.uplink == (direction == 0));
            used[packet.session as usize] = true;
            let stamp = Stamp { stream: direction as u16, sequence: number, time: 5 };
            let mut frame = vec![0; clients.frame_len(&packet)];
            clients.write(&packet, stamp, &mut frame);
            let own = (packet.flow.client, packet.flow.client_port);
            let out = PortId(1 - direction as u8);
            let to = if packet.uplink { to(packet.session) } else { own };
            let left = translated(&clients, &frame, packet.uplink, to);
            assert_eq!(Stamp::read(&left), Some(stamp));
            let mut ask =
                |port, frame: &[u8]| clients.delivery(direction, &packet, &stamp, port, frame);
            assert_eq!(ask(out, &left), Delivery::AsExpected, "{packet:?}");
            assert_eq!(ask(PortId(direction as u8), &left), Delivery::Misdelivered);
            assert_eq!(ask(out, &frame), Delivery::Misdelivered, "untranslated");
            assert_eq!(ask(out, &left[..left.len() - 1]), Delivery::Misdelivered, "cut");
            assert!(clients.session_seen(out, &left).is_none(), "of no step");
        }
    }
    assert!(used.iter().all(|used| *used));
}

#[test]
fn both_directions_of_a_client_find_one_worker() {
    let clients = clients();
    for number in 0..100 {
        let packet = clients.session(number).expect("a session");
        let back = Packet { uplink: false, ..packet };
        assert_eq!(clients.steering(&packet), clients.steering(&back));
    }
    let top = |number| clients.steering(&clients.session(number).expect("a session")) >> 28;
    let few: std::collections::HashSet<u32> = (0..1000).map(top).collect();
    assert_eq!(few.len(), 16, "clients are spread");
}

#[test]
fn clients_find_the_worker_that_their_frames_name() {
    let (ipv4, traffic) = mixed();
    let ipv6 = Config { nat64: Some(config::Nat64::default()), ..ipv4.clone() };
    let ds_lite = Config { ds_lite: Some(config::DsLite::default()), ..ipv4.clone() };
    for (family, config) in [(Family::Ipv4, ipv4), (Family::Ipv6, ipv6), (Family::DsLite, ds_lite)]
    {
        let clients = Clients::new(&config, &Traffic { family, ..traffic.clone() });
        for number in 0..50 {
            let packet = clients.draw(0, number);
            let mut frame = vec![0; clients.frame_len(&packet)];
            clients.write(&packet, Stamp { stream: 0, sequence: 0, time: 0 }, &mut frame);
            let sender = match frame[12..14] == [8, 0] {
                true => IpAddr::from(array_at::<4>(&frame, 26)),
                false => IpAddr::from(array_at::<16>(&frame, 22)),
            };
            assert_eq!(sender.is_ipv4(), family == Family::Ipv4);
            assert_eq!(clients.steering(&packet), OfFrames::new(&config).of_subscriber(sender));
        }
    }
}

#[test]
fn each_frame_of_new_sessions_is_of_another_one() {
    let (config, traffic) = mixed();
    let traffic = Traffic { new_sessions: true, ..traffic };
    let clients = Clients::new(&config, &traffic);
    assert!((0..1000).all(|number| clients.draw(0, number).session == 50 + number));
    assert!((0..1000).all(|number| clients.draw(1, number).session < 50), "back to those open");
    let sessions = clients.sessions().expect("some");
    assert!(sessions.opens_more && sessions.closes);
    assert_eq!((sessions.open, sessions.most), (50, 800_000));
    assert_eq!(clients.session(800_000), None);
}
