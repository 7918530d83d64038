//! The body of the fuzz target: any bytes to a standby and to an active function, with a key and
//! without.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use protocol_kit::{Arrival, Departure, Input, Machine, Output, Secret, Socket, Time};
use rtrb::RingBuffer;

use crate::active::{self, Active};
use crate::authentication::Credentials;
use crate::change::{Change, Malformed, take};
use crate::link::Link;
use crate::message::{Hello, Identity, Message};
use crate::standby::Standby;

/// A change of the fuzz target: a number and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Value([u8; 2]);

impl Change for Value {
    const MAGIC: [u8; 8] = *b"fuzzing!";
    const VERSION: u16 = 1;
    const LEN_MAX: usize = 2;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.0);
    }

    fn read(bytes: &mut &[u8]) -> Result<Value, Malformed> {
        take(bytes).map(Value)
    }
}

/// Feeds both machines with what the bytes describe: a length and steps of time, and then the bytes
/// that arrive. It panics when a machine breaks a promise: whoever has no key is told nothing and
/// changes nothing, outputs are few, and a message that is read is written back the same.
pub fn fuzz(bytes: &[u8]) {
    law(bytes);
    for is_keyed in [false, true] {
        standby(bytes, is_keyed);
        active(bytes, is_keyed);
    }
}

fn law(bytes: &[u8]) {
    let mut changes = Vec::<Value>::new();
    let Ok(message) = Message::read(bytes, &mut changes) else { return };
    let mut written = Vec::new();
    message.write(&changes, &mut written);
    // A hello of another version is read no further than that.
    if !matches!(message, Message::Refused(_)) {
        assert_eq!(written[4..], *bytes, "{message:?}");
    }
}

fn credentials(is_keyed: bool) -> Credentials {
    Credentials::new(is_keyed.then(|| Secret(vec![7; 16])), [1; 32])
}

fn standby(bytes: &[u8], is_keyed: bool) {
    let (producer, mut consumer) = RingBuffer::new(RING_LEN);
    let link = Arc::new(Link::default());
    let whole = ([0; 32], (0, 1));
    let mut machine =
        Standby::<Value>::new(ADDRESS, whole, credentials(is_keyed), (producer, link.clone()));
    feed(&mut machine, Socket(1), bytes);
    let is_told = consumer.pop().is_ok();
    assert!(!is_keyed || (!is_told && link.status().connections == 0), "nobody has its key");
}

fn active(bytes: &[u8], is_keyed: bool) {
    let (mut producer, consumer) = RingBuffer::new(RING_LEN);
    let link = Arc::new(Link::default());
    let identity = Identity { digest: [0; 32], shard: (0, 1), instance: 1 };
    let ends = (consumer, link.clone());
    let mut machine = Active::<Value>::new((ADDRESS, identity), credentials(is_keyed), ends, 0);
    for number in 0..3 {
        assert!(producer.push(Value([number, 1])).is_ok(), "there is room");
    }
    feed(&mut machine, active::STREAM, bytes);
    assert!(!is_keyed || producer.slots() + 3 == RING_LEN, "nobody has its key");
    assert!(!is_keyed || link.last_done() == 0);
}

/// Lets a stream stand and bytes arrive on it.
fn feed<M: Machine>(machine: &mut M, socket: Socket, bytes: &[u8]) {
    let (mut now, mut is_open) = (Time::ZERO, false);
    let mut rest = bytes;
    loop {
        for _ in 0..OUTPUTS_MAX {
            match machine.poll(now) {
                Some(Output::Departure(Departure::Close { .. })) => is_open = false,
                Some(_) => {}
                None => break,
            }
        }
        assert!(machine.poll(now).is_none(), "that many outputs");
        assert!(machine.deadline().is_none_or(|deadline| deadline > now));
        if !is_open {
            is_open = true;
            let arrival = Arrival::Connected { socket, local: None, peer: None };
            machine.input(now, Input::Arrival(arrival));
        }
        let Some(([len, steps], behind)) = rest.split_first_chunk() else { return };
        let (piece, behind) = behind.split_at(behind.len().min(usize::from(*len)));
        rest = behind;
        now = now.after(Duration::from_millis(u64::from(*steps)));
        if !piece.is_empty() {
            machine.input(now, Input::Arrival(Arrival::Bytes { socket, bytes: piece }));
        }
    }
}

/// Inputs of a connection each: a greeting, and changes behind it.
pub fn examples() -> Vec<Vec<u8>> {
    let identity = Identity { digest: [0; 32], shard: (0, 1), instance: 1 };
    let greeting = |is_keyed| {
        [Message::Hello(Hello { is_keyed, nonce: [2; 32] }), Message::Identity(identity)]
    };
    let of_standby = [
        Message::Challenge { nonce: [3; 32] },
        Message::Welcome { next: 0 },
        Message::Acknowledged { last: 2, refused: 0 },
        Message::HandedOver,
    ];
    let mut all = Vec::new();
    for messages in [&greeting(false)[..], &greeting(true), &of_standby] {
        let mut input = Vec::new();
        let changes = Message::Changes { first: 1 };
        for message in messages.iter().chain([&changes]) {
            let mut bytes = Vec::new();
            message.write(&[Value([1, 2]), Value([3, 4])], &mut bytes);
            input.extend([bytes.len() as u8, 1]);
            input.extend(bytes);
        }
        all.push(input);
    }
    all
}

const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7400);

/// Changes in a ring.
const RING_LEN: usize = 16;

/// More outputs than a piece of bytes may have.
const OUTPUTS_MAX: usize = 32;
