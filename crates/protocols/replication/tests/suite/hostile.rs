//! Peers that are none: whatever they say, the standby's worker is told nothing, and the next peer
//! is heard.

use std::time::Duration;

use protocol_kit::{Arrival, Departure, Input, Machine, Opening, Output, Socket, Time};
use protocol_replication::message::{Hello, Inbox, Message, len_max};
use protocol_replication::{Identity, Received, Standby, Trouble};

use crate::toy::{Applier, KEYED, PLAIN, Settings, Value};

/// A standby and what it has said on its stream.
struct Target {
    machine: Standby<Value>,
    applier: Applier,
    now: Time,
    is_open: bool,
    is_finished: bool,
    said: Vec<u8>,
}

const STREAM: Socket = Socket(1);

impl Target {
    fn new(settings: &Settings) -> Target {
        let (machine, applier) = settings.standby();
        let (is_open, is_finished, said) = (false, false, Vec::new());
        let mut target = Target { machine, applier, now: Time(5), is_open, is_finished, said };
        target.drain();
        target
    }

    fn drain(&mut self) {
        while let Some(Output::Departure(departure)) = self.machine.poll(self.now) {
            match departure {
                Departure::Open { opening: Opening::Listener { streams, .. }, .. } => {
                    assert_eq!(streams, 1..2, "one at a time");
                }
                Departure::Bytes { socket: STREAM, bytes } => self.said.extend(bytes),
                Departure::Close { socket: STREAM } => self.is_open = false,
                Departure::Finish { socket: STREAM } => self.is_finished = true,
                other => panic!("{other:?}"),
            }
        }
    }

    fn connect(&mut self) {
        assert!(!std::mem::replace(&mut self.is_open, true), "it takes one at a time");
        self.said.clear();
        self.is_finished = false;
        let arrival = Arrival::Connected { socket: STREAM, local: None, peer: None };
        self.machine.input(self.now, Input::Arrival(arrival));
        self.drain();
    }

    fn arrive(&mut self, bytes: &[u8]) {
        if self.is_open {
            let arrival = Arrival::Bytes { socket: STREAM, bytes };
            self.machine.input(self.now, Input::Arrival(arrival));
            self.drain();
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
        self.drain();
    }

    /// What it has said since it was connected.
    fn heard(&self) -> Vec<Message> {
        let (mut inbox, mut none) = (Inbox::new(len_max::<Value>(), 1 << 20), Vec::<Value>::new());
        assert_eq!(inbox.fill(&self.said), self.said.len());
        std::iter::from_fn(|| {
            let bytes = inbox.take().expect("whole messages")?;
            Some(Message::read(bytes, &mut none).expect("a message"))
        })
        .collect()
    }

    /// Says something on a new connection, byte by byte or at once, after which it is to be closed
    /// for a reason.
    fn refuses(&mut self, about: &str, bytes: &[u8], trouble: Trouble) {
        for piece in [1, bytes.len()] {
            let before = self.applier.link.ended(trouble);
            self.connect();
            bytes.chunks(piece).for_each(|piece| self.arrive(piece));
            assert!(!self.is_open, "{about}: it is still open");
            assert_eq!(self.applier.link.ended(trouble), before + 1, "{about}");
        }
    }
}

fn said(message: &Message, changes: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.write(changes, &mut bytes);
    bytes
}

fn hello() -> Vec<u8> {
    said(&Message::Hello(Hello { is_keyed: false, nonce: [3; 32] }), &[])
}

fn identity(instance: u64) -> Identity {
    Identity { digest: PLAIN.digest, shard: PLAIN.shard, instance }
}

fn greeting(instance: u64) -> Vec<u8> {
    [hello(), said(&Message::Identity(identity(instance)), &[])].concat()
}

const FREE: Value = Value { number: 5, value: 5 };

#[test]
fn malformed_words_change_nothing_and_end_the_connection() {
    let mut target = Target::new(&PLAIN);
    let first = said(&Message::Changes { first: 7 }, &[FREE]);
    let long = (len_max::<Value>() as u32 + 17).to_be_bytes().to_vec();
    let mut cut = hello();
    cut[3] -= 1;
    let mut other = hello();
    other[5] ^= 1;
    let noise = |count: usize| (0..count).map(|at| (at * at % 151) as u8 + 100).collect::<Vec<_>>();
    for (about, bytes) in [
        ("noise", [vec![0, 0, 0, 60], noise(60)].concat()),
        ("a huge length", long.clone()),
        ("the largest length", vec![255; 4]),
        ("an empty message", vec![0; 4]),
        ("a hello that is cut", cut),
        ("another magic", other),
        ("changes without a hello", first.clone()),
        ("changes without an identity", [hello(), first].concat()),
        ("an answer in place of a hello", said(&Message::Welcome { next: 0 }, &[])),
        ("two hellos", [hello(), hello()].concat()),
    ] {
        target.refuses(about, &bytes, Trouble::Malformed);
    }
    assert!(target.applier.hearing.is_empty(), "the worker was told nothing");
    for (about, behind) in [
        ("a huge length behind a greeting", long),
        ("half a change", vec![0, 0, 0, 12, 6, 0, 0, 0, 0, 0, 0, 0, 7, 2, 0, 0]),
        ("noise behind a greeting", [vec![0, 0, 1, 0], noise(256)].concat()),
        ("a greeting behind a greeting", hello()),
        ("number zero", said(&Message::Changes { first: 0 }, &[FREE])),
        ("near the end of numbers", said(&Message::Changes { first: u64::MAX - 1 }, &[FREE])),
    ] {
        target.refuses(about, &[greeting(1), behind].concat(), Trouble::Malformed);
    }
    assert_eq!(
        target.applier.hearing.take(),
        Some(Received::Afresh),
        "of an active function, once"
    );
    assert!(target.applier.hearing.is_empty());
}

#[test]
fn changes_that_are_missing_or_repeated_end_the_connection_and_the_next_one_begins_anew() {
    let mut target = Target::new(&PLAIN);
    for (about, one, two) in
        [("the same again", 3, 3), ("one left out", 3, 5), ("before the first", 3, 1)]
    {
        let changes = |first| said(&Message::Changes { first }, &[FREE]);
        target.refuses(about, &[greeting(8), changes(one), changes(two)].concat(), Trouble::Gap);
        let afresh = std::iter::from_fn(|| target.applier.hearing.take())
            .filter(|one| *one == Received::Afresh);
        assert_eq!(afresh.count(), 2, "{about}: byte by byte, and at once");
    }
}

#[test]
fn a_silent_peer_is_given_up_and_a_real_one_is_heard() {
    let mut target = Target::new(&PLAIN);
    for beginning in [&[][..], &[0, 0], &hello(), &greeting(1)] {
        target.connect();
        target.arrive(beginning);
        target.pass(Duration::from_millis(4900));
        assert!(target.is_open, "{beginning:?}");
        target.pass(Duration::from_millis(101));
        assert!(!target.is_open, "{beginning:?}");
    }
    assert_eq!(target.applier.link.ended(Trouble::Silent), 4);
    target.connect();
    target.arrive(&greeting(2));
    assert!(matches!(
        target.heard()[..],
        [Message::Challenge { .. }, Message::Welcome { next: 0 }, Message::Acknowledged { .. }]
    ));
}

#[test]
fn a_refusal_is_said_before_the_connection_ends() {
    let mut target = Target::new(&PLAIN);
    let mut version = hello();
    version[4 + 1 + 8 + 1] ^= 1;
    let digest = Message::Identity(Identity { digest: [0; 32], ..identity(1) });
    let shard = Message::Identity(Identity { shard: (1, 2), ..identity(1) });
    let keyed = Message::Hello(Hello { is_keyed: true, nonce: [3; 32] });
    for (bytes, trouble) in [
        (version, Trouble::Version),
        ([hello(), said(&digest, &[])].concat(), Trouble::Configuration),
        ([hello(), said(&shard, &[])].concat(), Trouble::Worker),
        (said(&keyed, &[]), Trouble::Key),
    ] {
        target.connect();
        target.arrive(&bytes);
        target.arrive(&greeting(1));
        assert_eq!(target.heard().last(), Some(&Message::Refused(trouble)));
        assert!(target.is_open && target.is_finished, "it may still be on its way");
        target.pass(Duration::from_secs(1));
        assert!(!target.is_open);
        assert_eq!(target.applier.link.status().trouble, trouble.text());
    }
    assert!(target.applier.hearing.is_empty(), "the worker was told nothing");
}

#[test]
fn a_peer_that_pays_no_heed_to_a_full_ring_is_given_up() {
    let mut target = Target::new(&PLAIN);
    target.connect();
    target.arrive(&greeting(1));
    let piece = [FREE; 1000];
    for first in 0.. {
        let bytes = said(&Message::Changes { first: 1 + first * 1000 }, &piece);
        let arrival = Arrival::Bytes { socket: STREAM, bytes: &bytes };
        target.machine.input(target.now, Input::Arrival(arrival));
        if target.applier.link.ended(Trouble::Flooded) > 0 {
            break;
        }
        assert!(first < 100, "it takes all of it");
    }
    target.drain();
    assert!(!target.is_open);
}

/// What was signed, by an active function that knows the key, between itself and this standby.
fn recorded(target: &mut Target, settings: &Settings) -> Vec<Vec<u8>> {
    let (mut active, mut teller) = settings.active();
    (0..10).for_each(|number| teller.set(number));
    let mut all = Vec::new();
    target.connect();
    let mut told = 0;
    for _ in 0..50 {
        target.now = target.now.after(Duration::from_millis(1));
        target.drain();
        let socket = Socket(2);
        while let Some(Output::Departure(departure)) = active.poll(target.now) {
            match departure {
                Departure::Open { .. } => {
                    let arrival = Arrival::Connected { socket, local: None, peer: None };
                    active.input(target.now, Input::Arrival(arrival));
                }
                Departure::Bytes { bytes, .. } => {
                    target.arrive(&bytes);
                    all.push(bytes.to_vec());
                }
                other => panic!("{other:?}"),
            }
        }
        let bytes = target.said[told..].to_vec();
        told = target.said.len();
        if !bytes.is_empty() {
            active.input(target.now, Input::Arrival(Arrival::Bytes { socket, bytes: &bytes }));
        }
        target.applier.round(usize::MAX).expect("in order");
        teller.round();
    }
    assert_eq!(target.applier.values, teller.values, "it was told");
    // The worker of the active function ends here, and its connection.
    target.machine.input(target.now, Input::Arrival(Arrival::Failed { socket: STREAM }));
    target.is_open = false;
    all
}

#[test]
fn what_was_recorded_is_of_no_use_on_another_connection() {
    let mut target = Target::new(&KEYED);
    let all = recorded(&mut target, &KEYED);
    let afresh = target.applier.afresh;
    assert!(all.len() >= 3, "a hello, an identity, changes");
    target.refuses("all of it again", &all.concat(), Trouble::NotAuthentic);
    // Whoever does not know the key says the same with another tag, or none.
    let mut forged = all[1].clone();
    *forged.last_mut().expect("a tag") ^= 1;
    target.refuses("a forged tag", &[&all[0][..], &forged].concat(), Trouble::NotAuthentic);
    let bare = said(&Message::Identity(identity(1)), &[]);
    target.refuses("no tag", &[&all[0][..], &bare].concat(), Trouble::NotAuthentic);
    // What the standby itself says comes back.
    target.connect();
    target.arrive(&all[0]);
    let own = target.said.clone();
    target.arrive(&own);
    assert!(!target.is_open, "a challenge is no identity");
    assert!(target.applier.hearing.is_empty(), "the worker was told nothing");
    assert_eq!(target.applier.afresh, afresh);
}

#[test]
fn a_message_that_was_altered_left_out_or_moved_ends_the_connection() {
    // The same random bytes on both sides yield the same connection again and again.
    let all = recorded(&mut Target::new(&KEYED), &KEYED);
    let again = |messages: &[Vec<u8>]| {
        let mut target = Target::new(&KEYED);
        target.connect();
        messages.iter().for_each(|message| target.arrive(message));
        let received = std::iter::from_fn(|| target.applier.hearing.take()).count();
        (target.applier.link.ended(Trouble::NotAuthentic), received)
    };
    let (ended, received) = again(&all);
    assert_eq!((ended, received), (0, 11), "as they were: ten changes of another one");
    for at in 5..all[2].len() {
        let mut altered = all.clone();
        altered[2][at] ^= 0x10;
        assert_eq!(again(&altered), (1, 1), "byte {at} of the changes");
    }
    let repeated = [&all[..3], &all[2..3]].concat();
    assert_eq!(again(&repeated), (1, 11), "a message twice");
    let left_out = [&all[..1], &all[2..]].concat();
    assert_eq!(again(&left_out), (1, 0), "without its identity");
    let mut cut = all.clone();
    cut[2].truncate(all[2].len() - 1);
    assert_eq!(again(&cut[..3]), (0, 1), "a message that is not whole waits");
}
