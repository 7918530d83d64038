//! What a peer of the same configuration may say that a NAT cannot apply: its tables stay as they
//! are. What is no message at all is the protocol's to refuse.
use function_cgnat::sessions::session::TcpState;
use function_cgnat::standby::{Change, Kept, Told};
use function_cgnat::types::flow::{Far, Inside};
use protocol_kit::{Arrival, Departure, Input, Output, Socket};
use protocol_replication::Identity;
use protocol_replication::message::{Hello, Message};

use super::*;

/// A standby, its machine, and who an active NAT is that it takes.
struct Target {
    standby: Device<Pipeline>,
    machine: Companion,
    identity: Identity,
    is_open: bool,
}

const STREAM: Socket = Socket(1);

fn connected(machine: &mut Companion, socket: Socket) {
    let arrival = Arrival::Connected { socket, local: None, peer: None };
    machine.input(Time::ZERO, Input::Arrival(arrival));
}

fn said(message: &Message, changes: &[Change]) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.write(changes, &mut bytes);
    bytes
}

/// Who an active NAT says that it is.
fn identity(config: &Config) -> Identity {
    let mut active = device(config, BEGIN);
    let mut machine = machine_of(&mut active);
    let _ = machine.poll(Time::ZERO);
    connected(&mut machine, Socket(0));
    let challenge = said(&Message::Challenge { nonce: [1; 32] }, &[]);
    let bytes = &challenge[..];
    machine.input(Time::ZERO, Input::Arrival(Arrival::Bytes { socket: Socket(0), bytes }));
    let said = std::iter::from_fn(|| machine.poll(Time::ZERO)).find_map(|output| match output {
        Output::Departure(Departure::Bytes { bytes, .. }) => {
            match Message::read(&bytes[4..], &mut Vec::<Change>::new()) {
                Ok(Message::Identity(identity)) => Some(identity),
                _ => None,
            }
        }
        _ => None,
    });
    said.expect("an identity")
}

impl Target {
    fn new(instance: u64) -> Target {
        let [active, standby] = two(&lasting()[0]);
        let identity = Identity { instance, ..identity(&active) };
        let mut standby = device(&standby, BEGIN);
        let machine = machine_of(&mut standby);
        let mut target = Target { standby, machine, identity, is_open: true };
        target.drain();
        connected(&mut target.machine, STREAM);
        let hello = Hello { is_keyed: false, nonce: [2; 32] };
        target.says(&[said(&Message::Hello(hello), &[])]);
        target.says(&[said(&Message::Identity(target.identity), &[])]);
        target
    }

    fn drain(&mut self) {
        while let Some(output) = self.machine.poll(Time::ZERO) {
            if let Output::Departure(Departure::Close { socket: STREAM }) = output {
                self.is_open = false;
            }
        }
    }

    fn says(&mut self, messages: &[Vec<u8>]) {
        for bytes in messages {
            let arrival = Arrival::Bytes { socket: STREAM, bytes };
            self.machine.input(Time::ZERO, Input::Arrival(arrival));
            self.drain();
        }
    }

    /// Lets the worker go round at a time.
    fn rest(&mut self, now: Ticks) -> Status {
        (0..8).for_each(|_| _ = self.standby.rest(now));
        self.standby.function_mut().replication()
    }

    fn is_untouched(&mut self) {
        let state = self.standby.function_mut().state();
        assert_eq!((state.sessions.count(), state.subscribers.count()), (0, 0));
    }
}

#[test]
fn changes_of_no_kind_end_the_connection() {
    for (about, change) in [
        ("no kind", &[9][..]),
        ("half a number", &[2, 0, 0]),
        ("a session of no protocol", &[1; 44]),
        ("a pool of no length", &[4, 0, 0, 0, 0, 33, 1]),
    ] {
        let mut target = Target::new(7);
        assert!(target.is_open && target.rest(BEGIN).is_connected, "{about}");
        let mut bytes = said(&Message::Changes { first: 7 }, &[]);
        bytes.extend(change);
        bytes[3] += change.len() as u8;
        target.says(&[bytes]);
        assert!(!target.is_open, "{about}");
        assert!(!target.rest(BEGIN).is_connected, "{about}");
        target.is_untouched();
    }
}

#[test]
fn impossible_changes_are_tried_for_a_while_and_then_counted() {
    let mut target = Target::new(77);
    let told = Change::Session(Told {
        number: 0,
        key: Inside::ipv4(0x0a00_0001, 4000, 0, Far::new(17, 0x0b00_0001, 53)),
        // No such outside address.
        outside: 0x0102_0304,
        outside_port: 2000,
        tcp: TcpState(0),
        is_kept: false,
        idle_ms: 0,
    });
    // What is kept of it, or of a session that nobody has, waits as long.
    let kept = |number| Change::Kept { number, kept: Kept::Nonce([7; 12]) };
    let changes = [told, kept(0), kept(9), kept(9)];
    target.says(&[said(&Message::Changes { first: 1 }, &changes)]);
    let status = target.rest(BEGIN);
    assert_eq!((status.waiting, status.refused), (3, 0), "of what was told twice the last alone");
    let acknowledged = status.acknowledged;
    let later = BEGIN + clock().ticks(Duration::from_secs(6));
    let status = target.rest(later);
    assert_eq!((status.waiting, status.refused), (0, 3));
    assert!(status.acknowledged > acknowledged, "only now");
    target.is_untouched();
}
