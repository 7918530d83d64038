//! The body of the fuzz target: any datagrams at any times, to a machine with a few sessions.

use std::net::SocketAddr;
use std::time::Duration;

use protocol_kit::{Arrival, Input, Interface, Machine, Socket, Time};

use crate::authentication::{Algorithm, Keys};
use crate::config::{Config, Path, Reach};
use crate::machine::{Bfd, Command};
use crate::packet::{self, Diagnostic, Packet, State};

/// Feeds a machine with datagrams that the bytes describe: a length, a number of the socket, steps
/// of time, and then the datagram. It panics when the machine breaks a promise: no session comes up
/// by packets whose secret nobody knows, outputs are few, and what may be accepted is written back.
pub fn fuzz(bytes: &[u8]) {
    packet::law(bytes);
    let mut bfd = Bfd::new(2, 1);
    let (own, peer) = ([192, 0, 2, 1], [192, 0, 2, 2]);
    let config = |reach, algorithm: Option<Algorithm>| Config {
        path: Path { reach, local: own.into(), peer: peer.into() },
        discriminator: None,
        desired_min_tx: Duration::from_millis(10),
        required_min_rx: Duration::from_millis(10),
        detect_multiplier: 3,
        required_min_echo_rx: Duration::ZERO,
        echo: None,
        is_passive: false,
        authentication: algorithm.map(|algorithm| Keys { algorithm, keys: vec![(1, vec![7; 16])] }),
    };
    let mut now = Time::ZERO;
    let plain = config(Reach::MultiHop(2), None);
    bfd.input(now, Input::Command(Command::Add(0, plain)));
    let signed = config(Reach::SingleHop(Interface(1)), Some(Algorithm::MeticulousKeyedSha1));
    bfd.input(now, Input::Command(Command::Add(1, signed)));
    let mut rest = bytes;
    while let Some(([len, place, steps], behind)) = rest.split_first_chunk() {
        let (datagram, behind) = behind.split_at(behind.len().min(usize::from(*len)));
        rest = behind;
        now = now.after(Duration::from_millis(u64::from(*steps)));
        let datagram = Arrival::Datagram {
            socket: Socket(u32::from(place % 8)),
            interface: Interface(1),
            from: SocketAddr::from((peer, 50_000)),
            to: own.into(),
            ttl: if place % 16 < 8 { 255 } else { *steps },
            bytes: datagram,
        };
        bfd.input(now, Input::Arrival(datagram));
        let outputs = std::iter::from_fn(|| bfd.poll(now)).take(OUTPUTS_MAX).count();
        assert!(outputs < OUTPUTS_MAX, "a datagram and a step of time have that many outputs");
        assert!(bfd.deadline().is_some_and(|deadline| deadline > now));
    }
    assert_eq!(bfd.view(1).map(|session| session.state), Some(State::Down), "nobody has its key");
}

/// Inputs of two datagrams a step of time apart: to each kind of socket, of a session in each
/// state.
pub fn examples() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for state in [State::AdminDown, State::Down, State::Init, State::Up] {
        let packet = Packet {
            diagnostic: Diagnostic::NONE,
            state,
            is_poll: state == State::Up,
            is_final: false,
            is_independent: false,
            is_demand: false,
            detect_multiplier: 3,
            my_discriminator: 7,
            your_discriminator: u32::from(state > State::Down),
            desired_min_tx_us: 10_000,
            required_min_rx_us: 10_000,
            required_min_echo_rx_us: 0,
            authentication: None,
        };
        let bytes = packet.emit();
        for place in [0, 2] {
            let datagram = [&[bytes.len() as u8, place, 20][..], &bytes].concat();
            all.push([&datagram[..], &datagram].concat());
        }
    }
    all
}

/// More outputs than one datagram may have.
const OUTPUTS_MAX: usize = 16;
