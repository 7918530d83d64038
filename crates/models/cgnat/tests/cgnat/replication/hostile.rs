//! Peers that are none: whatever they say, the standby's tables stay as they are, and the next peer
//! is heard.
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use function_cgnat::sessions::session::TcpState;
use function_cgnat::standby::{Change, Kept, Told};
use function_cgnat::types::flow::{Far, Inside};
use replication::message::{Cause, Hello, Inbox, Message, len_max};
use testkit::random::Random;

use super::*;

/// A standby and the hello of an active NAT that it takes.
struct Target {
    standby: Device<Pipeline>,
    at: SocketAddr,
    hello: Hello,
}

impl Target {
    fn new() -> Target {
        let [active, standby] = two(&lasting()[0]);
        let at = SocketAddr::new(standby.replication.address, standby.replication.port);
        let listener = TcpListener::bind(at).expect("the port is free");
        let active = device(&active, BEGIN);
        let (mut stream, _) = listener.accept().expect("it connects");
        let Message::Hello(hello) = hear(&mut stream).expect("a hello") else {
            panic!("no hello first")
        };
        drop((active, listener, stream));
        Target { standby: device(&standby, BEGIN), at, hello }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.at).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Waits until the standby has closed the connection, and looks whether anything changed.
    fn is_closed(&mut self, mut stream: TcpStream, about: &str) {
        let closed = thread::spawn(move || {
            let mut bytes = [0; 100];
            // An end or a reset, not a time-out.
            loop {
                match stream.read(&mut bytes) {
                    Ok(0) => return true,
                    Ok(_) => {}
                    Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
                }
            }
        });
        while !closed.is_finished() {
            self.standby.rest(BEGIN);
            a_moment();
        }
        assert!(closed.join().expect("no panic"), "{about}: it is still there");
        self.standby.rest(BEGIN);
        let state = self.standby.function_mut().state();
        assert_eq!((state.sessions.count(), state.subscribers.count()), (0, 0), "{about}");
    }
}

fn hear(stream: &mut TcpStream) -> Option<Message> {
    let (mut inbox, mut changes) = (Inbox::new::<Change>(), Vec::<Change>::new());
    loop {
        if let Some(message) = inbox.next(&mut changes).ok()? {
            return Some(message);
        }
        match stream.read(inbox.room()).ok()? {
            0 => return None,
            count => inbox.filled(count),
        }
    }
}

fn said(message: &Message, changes: &[Change]) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.write(changes, &mut bytes);
    bytes
}

#[test]
fn malformed_words_change_nothing_and_end_the_connection() {
    let mut target = Target::new();
    let hello = said(&Message::Hello(target.hello), &[]);
    let first = said(&Message::Changes { first: 7 }, &[]);
    let mut random = Random::new(11);
    let mut noise = |count: usize| (0..count).map(|_| random.byte()).collect::<Vec<u8>>();
    let long = (len_max::<Change>() as u32 + 1).to_be_bytes().to_vec();
    let mut cut = hello.clone();
    cut[3] -= 1;
    let mut other = hello.clone();
    other[4 + 1] ^= 1;
    for (about, bytes) in [
        ("noise", [vec![0, 0, 0, 60], noise(60)].concat()),
        ("a huge length", long.clone()),
        ("the largest length", u32::MAX.to_be_bytes().to_vec()),
        ("an empty message", vec![0; 4]),
        ("a hello that is cut", cut),
        ("another magic", other),
        ("changes without a hello", first.clone()),
        ("an answer in place of a hello", said(&Message::Welcome { next: 0 }, &[])),
        ("two hellos", [hello.clone(), hello.clone()].concat()),
        ("a huge length behind a hello", [hello.clone(), long].concat()),
        (
            "a change of no kind",
            [hello.clone(), vec![0, 0, 0, 10, 4, 0, 0, 0, 0, 0, 0, 0, 7, 9]].concat(),
        ),
        (
            "half a change",
            [hello.clone(), vec![0, 0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 0, 7, 2, 0, 0]].concat(),
        ),
        ("noise behind a hello", [hello.clone(), vec![0, 0, 1, 0], noise(256)].concat()),
    ] {
        let mut stream = target.connect();
        stream.write_all(&bytes).expect("it takes them");
        target.is_closed(stream, about);
    }
}

#[test]
fn changes_out_of_order_and_impossible_ones_change_nothing() {
    let mut target = Target::new();
    let told = |outside: u32| {
        Change::Session(Told {
            number: 0,
            key: Inside::ipv4(0x0a00_0001, 4000, 0, Far::new(17, 0x0b00_0001, 53)),
            outside,
            outside_port: 2000,
            tcp: TcpState(0),
            is_kept: false,
            idle_ms: 0,
        })
    };
    let free = Change::Free { number: 5 };
    for (about, one, two) in [
        ("the same again", 3, 3),
        ("one left out", 3, 5),
        ("before the first", 3, 1),
        ("number zero", 0, 1),
        ("near the end of numbers", u64::MAX - 1, u64::MAX),
    ] {
        let hello = Hello { instance: target.hello.instance.wrapping_add(one), ..target.hello };
        let mut stream = target.connect();
        stream.write_all(&said(&Message::Hello(hello), &[])).expect("it takes them");
        let _ = stream.write_all(&said(&Message::Changes { first: one }, &[free]));
        let _ = stream.write_all(&said(&Message::Changes { first: two }, &[free]));
        target.is_closed(stream, about);
    }
    // No such outside address: it is tried for a while, and not acknowledged meanwhile.
    let mut stream = target.connect();
    let hello = Hello { instance: 77, ..target.hello };
    stream.write_all(&said(&Message::Hello(hello), &[])).expect("it takes them");
    assert_eq!(hear(&mut stream), Some(Message::Welcome { next: 0 }));
    // What is kept of it, or of a session that nobody has, waits as long.
    let kept = |number| Change::Kept { number, kept: Kept::Nonce([7; 12]) };
    let message =
        said(&Message::Changes { first: 1 }, &[told(0x0102_0304), kept(0), kept(9), kept(9)]);
    stream.write_all(&message).expect("it takes them");
    let deadline = Instant::now() + PATIENCE;
    while target.standby.function_mut().replication().waiting < 3 {
        target.standby.rest(BEGIN);
        assert!(Instant::now() < deadline);
        a_moment();
    }
    let later = BEGIN + clock().ticks(Duration::from_secs(6));
    while target.standby.function_mut().replication().refused == 0 {
        target.standby.rest(later);
        assert!(Instant::now() < deadline);
        a_moment();
    }
    let status = target.standby.function_mut().replication();
    assert_eq!((status.refused, status.waiting), (3, 0), "of what was told twice the last alone");
    assert_eq!(target.standby.function_mut().state().sessions.count(), 0);
    assert_eq!(target.standby.function_mut().state().subscribers.count(), 0);
}

#[test]
fn a_silent_peer_is_given_up_and_a_real_one_is_heard() {
    let mut target = Target::new();
    let silent = target.connect();
    let mut slow = target.connect();
    slow.write_all(&[0, 0]).expect("it takes them");
    target.is_closed(silent, "silent");
    target.is_closed(slow, "half a length");
    let mut other = target.connect();
    let wrong = Hello { digest: [0; 32], ..target.hello };
    other.write_all(&said(&Message::Hello(wrong), &[])).expect("it takes them");
    assert_eq!(hear(&mut other), Some(Message::Refused(Cause::Configuration)));
    let mut other = target.connect();
    let wrong = Hello { shard: (1, 2), ..target.hello };
    other.write_all(&said(&Message::Hello(wrong), &[])).expect("it takes them");
    assert_eq!(hear(&mut other), Some(Message::Refused(Cause::Worker)));
    let mut real = target.connect();
    real.write_all(&said(&Message::Hello(target.hello), &[])).expect("it takes them");
    assert_eq!(hear(&mut real), Some(Message::Welcome { next: 0 }));
}
