//! Changes and messages as bytes.

use proptest::prelude::*;

use protocol_replication::message::{Hello, Inbox, Message, changes_max, len_max};
use protocol_replication::{Change as _, Identity, Trouble};

use crate::alg::{Numbers, Replaced, SLOTS, Side};
use crate::config::ForwardProtocol;
use crate::sessions::session::TcpState;
use crate::standby::{Change, Kept, Told};
use crate::types::flow::{Far, Inside};

fn told() -> impl Strategy<Value = Told> {
    let far = (0..4usize, any::<u32>(), any::<u16>(), 0..4u8);
    let far = far.prop_map(|(protocol, address, port, kind)| {
        let protocol = [1, 6, 17, 47][protocol];
        match kind {
            0 => Far::new(protocol, address, port),
            1 => Far::expected(protocol, Some(address)),
            2 => Far::expected(protocol, None),
            _ => Far::granted(protocol),
        }
    });
    let key = (any::<[u64; 2]>(), far, any::<u32>());
    let key = key.prop_map(|(address, far, near)| Inside { address, far, near });
    let rest = (any::<u32>(), any::<u32>(), any::<u16>(), 0..32u8, any::<bool>(), any::<u32>());
    (key, rest).prop_map(|(key, (number, outside, outside_port, tcp, is_kept, idle_ms))| Told {
        number,
        key,
        outside,
        outside_port,
        tcp: TcpState(tcp),
        is_kept,
        idle_ms,
    })
}

fn kept() -> impl Strategy<Value = Kept> {
    let replaced = (any::<u32>(), any::<u16>(), any::<u16>());
    let replaced = replaced.prop_map(|(at, old_len, new_len)| Replaced { at, old_len, new_len });
    let all = proptest::collection::vec(replaced, 0..=SLOTS);
    let numbers = (any::<[u32; 4]>(), all).prop_map(|([next, acked, oldest, base], all)| {
        let mut numbers = Numbers { next, acked, oldest, base, ..Numbers::default() };
        numbers.replaced[..all.len()].copy_from_slice(&all);
        Numbers { count: all.len() as u8, ..numbers }
    });
    let side = any::<bool>().prop_map(|is| if is { Side::Inside } else { Side::Outside });
    prop_oneof![
        any::<[u16; 8]>().prop_map(|b4| Kept::B4(b4.into())),
        (side, proptest::option::of(numbers))
            .prop_map(|(from, numbers)| Kept::Numbers(from, numbers)),
        any::<u16>().prop_map(Kept::Call),
        any::<[u8; 12]>().prop_map(Kept::Nonce),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        told().prop_map(Change::Session),
        any::<u32>().prop_map(|number| Change::Free { number }),
        (any::<u32>(), 0..4u8, any::<u16>(), any::<u32>()).prop_map(
            |(outside, class, port, left_ms)| Change::Rest { outside, class, port, left_ms }
        ),
        (any::<u32>(), 1..33u8, any::<bool>()).prop_map(|(address, len, is_open)| Change::Pool {
            address,
            len,
            is_open
        }),
        any::<u32>().prop_map(|sessions| Change::Limit { sessions }),
        (any::<u32>(), kept()).prop_map(|(number, kept)| Change::Kept { number, kept }),
        any::<u64>().prop_map(|ms| Change::Epoch { ms }),
        any::<u64>().prop_map(|connection| Change::Whole { connection }),
        any::<bool>().prop_map(|is_end| Change::Rules { is_end }),
        (any::<u32>(), any::<u32>(), 1..33u8).prop_map(|(inside, outside, len)| Change::Static {
            inside,
            outside,
            len
        }),
        (any::<u32>(), any::<u32>(), proptest::option::of((1..100u16, 100..=u16::MAX)))
            .prop_map(|(outside, inside, dynamic)| Change::Host { outside, inside, dynamic }),
        (any::<u32>(), 0..3usize, any::<[u16; 3]>()).prop_map(
            |(inside, protocol, [first, last, inside_first])| Change::Forward {
                inside,
                protocol: [ForwardProtocol::Both, ForwardProtocol::Tcp, ForwardProtocol::Udp]
                    [protocol],
                outside: (first, last),
                inside_first,
            }
        ),
    ]
}

fn message() -> impl Strategy<Value = (Message, Vec<Change>)> {
    let hello = (any::<bool>(), any::<[u8; 32]>());
    let identity = (any::<[u8; 32]>(), any::<(u32, u32)>(), any::<u64>());
    let changes = proptest::collection::vec(change(), 0..60);
    let refusals = [Trouble::Version, Trouble::Configuration, Trouble::Worker, Trouble::Key];
    let alone = prop_oneof![
        hello.prop_map(|(is_keyed, nonce)| Message::Hello(Hello { is_keyed, nonce })),
        any::<[u8; 32]>().prop_map(|nonce| Message::Challenge { nonce }),
        identity.prop_map(|(digest, shard, instance)| {
            Message::Identity(Identity { digest, shard, instance })
        }),
        any::<u64>().prop_map(|next| Message::Welcome { next }),
        (0..4usize).prop_map(move |cause| Message::Refused(refusals[cause])),
        any::<(u64, u64)>().prop_map(|(last, refused)| Message::Acknowledged { last, refused }),
    ];
    prop_oneof![
        alone.prop_map(|message| (message, Vec::new())),
        (any::<u64>(), changes).prop_map(|(first, all)| (Message::Changes { first }, all)),
    ]
}

proptest! {
    #[test]
    fn messages_are_read_as_they_were_written_in_whatever_pieces(
        messages in proptest::collection::vec(message(), 1..20),
        pieces in proptest::collection::vec(1..3000usize, 1..50),
    ) {
        let mut bytes = Vec::new();
        messages.iter().for_each(|(message, changes)| message.write(changes, &mut bytes));
        let (mut inbox, mut changes) = (Inbox::new(len_max::<Change>(), 100), Vec::new());
        let (mut left, mut read) = (&bytes[..], Vec::new());
        let mut pieces = pieces.into_iter().cycle();
        while !left.is_empty() {
            let piece = pieces.next().unwrap_or(1).min(left.len());
            left = &left[inbox.fill(&left[..piece])..];
            while let Some(message) = inbox.take().expect("whole messages") {
                let message = Message::read(message, &mut changes).expect("a message");
                read.push((message, changes.clone()));
            }
        }
        prop_assert_eq!(read, messages);
    }

    #[test]
    fn any_bytes_are_messages_or_an_error(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let (mut inbox, mut changes) = (Inbox::new(400, 0), Vec::<Change>::new());
        inbox.fill(&bytes);
        while let Ok(Some(message)) = inbox.take() {
            let _ = Message::read(message, &mut changes);
        }
    }
}

#[test]
fn sessions_and_streams_of_no_kind_are_malformed() {
    let key = Inside { far: Far::expected(17, None), ..Inside::default() };
    let told = Told {
        number: 1,
        key,
        outside: 2,
        outside_port: 3,
        tcp: TcpState(0),
        is_kept: true,
        idle_ms: 4,
    };
    let mut session = Vec::new();
    Change::Session(told).write(&mut session);
    let mut stream = Vec::new();
    let kept = Kept::Numbers(Side::Inside, Some(Numbers::default()));
    Change::Kept { number: 1, kept }.write(&mut stream);
    // Protocol, an address and a port that nobody's end has, flags; a side, a count.
    for (bytes, at, byte) in [
        (&session, 21, 50),
        (&session, 22, 1),
        (&session, 27, 1),
        (&session, 39, 2),
        (&session, 39, 5),
        (&session, 39, 19),
        (&stream, 5, 2),
        (&stream, 6, 5),
        (&stream, 6, 254),
    ] {
        let mut changed = bytes.clone();
        assert!(Change::read(&mut &bytes[..]).is_ok());
        changed[at] = byte;
        assert!(Change::read(&mut &changed[..]).is_err(), "{byte} at {at}");
    }
}

#[test]
fn the_largest_message_fits_and_a_longer_one_is_refused_by_its_length() {
    let numbers = Numbers { count: SLOTS as u8, ..Numbers::default() };
    let one = Change::Kept { number: 1, kept: Kept::Numbers(Side::Outside, Some(numbers)) };
    let all = vec![one; changes_max::<Change>()];
    let mut bytes = Vec::new();
    Message::Changes { first: 7 }.write(&all, &mut bytes);
    assert_eq!(bytes.len(), 4 + len_max::<Change>(), "to the byte");
    let mut inbox = Inbox::new(len_max::<Change>(), 0);
    assert_eq!(inbox.fill(&bytes), bytes.len());
    let mut changes = Vec::<Change>::new();
    let message = inbox.take().expect("no longer than any").expect("whole");
    assert_eq!(Message::read(message, &mut changes), Ok(Message::Changes { first: 7 }));
    assert_eq!(changes, all);

    inbox.fill(&(len_max::<Change>() as u32 + 1).to_be_bytes());
    assert!(inbox.take().is_err());
}

#[test]
fn rules_of_no_kind_are_malformed() {
    let written = |change: Change| {
        let mut bytes = Vec::new();
        change.write(&mut bytes);
        bytes
    };
    let begin = written(Change::Rules { is_end: false });
    let own = written(Change::Static { inside: 1, outside: 2, len: 32 });
    let host = written(Change::Host { outside: 1, inside: 2, dynamic: Some((300, 400)) });
    let protocol = ForwardProtocol::Tcp;
    let forward = Change::Forward { inside: 2, protocol, outside: (80, 80), inside_first: 80 };
    let forward = written(forward);
    for (bytes, at, byte) in
        [(&begin, 1, 2), (&own, 9, 0), (&own, 9, 33), (&host, 9, 2), (&forward, 5, 1)]
    {
        let mut changed = bytes.clone();
        assert!(Change::read(&mut &bytes[..]).is_ok());
        changed[at] = byte;
        assert!(Change::read(&mut &changed[..]).is_err(), "{byte} at {at}");
    }
}
