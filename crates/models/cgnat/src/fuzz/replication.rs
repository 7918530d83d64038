//! What a peer of a standby may say: any bytes as messages, and any sessions as its tables get
//! them.

use function_cgnat::alg::{Numbers, Replaced, SLOTS, Side};
use function_cgnat::config::{Alg, Config, ForwardProtocol, Pcp, PortBlocks, Prefixed};
use function_cgnat::sessions::ports::Class;
use function_cgnat::sessions::session::TcpState;
use function_cgnat::standby::{Change, Kept, Told};
use function_cgnat::state::State;
use function_cgnat::types::flow::{Far, Inside};
use function_kit::Shard;
use model_kit::fuzz::Body;
use model_kit::pair::clock;
use protocol_replication::Change as _;
use protocol_replication::message::{Inbox, Message, len_max};

/// Messages: those that are read are written as they were. Sessions: whichever are taken over, with
/// whatever is kept of them, in whatever order, ports, blocks and subscribers agree with them, and
/// so do tables of what is kept.
#[inline]
pub(super) fn body() -> Body {
    let mut state = state();
    Box::new(move |data| {
        messages(data);
        for (now, piece) in (1 << 20..).zip(data.chunks_exact(8)) {
            let next = state.sessions.from(u32::from(piece[1]) % ROOM).next();
            match (piece[0], next.map(|(number, _)| number)) {
                (0xf0.., Some(number)) => _ = state.close(number, now),
                (0xd0.., Some(number)) => {
                    let kept = kept(piece);
                    let is_kept = state.keep(number, &kept);
                    let all: Vec<Kept> = state.kept(number).iter().collect();
                    assert!(!is_kept || all.contains(&kept), "{kept:?} among {all:?}");
                }
                (0xd0.., None) => {}
                _ => drop(state.adopt(&told(piece), now)),
            }
            check(&state);
        }
    })
}

#[inline]
fn messages(data: &[u8]) {
    let (mut inbox, mut changes) = (Inbox::new(len_max::<Change>(), 0), Vec::<Change>::new());
    let mut left = data;
    while !left.is_empty() {
        let count = inbox.fill(&left[..left.len().min(1000)]);
        left = &left[count..];
        let mut taken = 0;
        while let Ok(Some(bytes)) = inbox.take() {
            taken += bytes.len();
            let Ok(message) = Message::read(bytes, &mut changes) else { continue };
            let mut written = Vec::new();
            message.write(&changes, &mut written);
            // A hello of another version is read no further than that.
            let is_whole = !matches!(message, Message::Refused(_));
            assert!(!is_whole || written[4..] == *bytes, "{message:?}");
        }
        if count == 0 && taken == 0 {
            break;
        }
    }
    let mut left = data;
    while let Ok(change) = Change::read(&mut left) {
        let mut bytes = Vec::new();
        change.write(&mut bytes);
        assert!(bytes.len() <= Change::LEN_MAX, "{change:?}");
    }
}

/// One of few sessions, so that they get in each other's way.
fn told(piece: &[u8]) -> Told {
    let protocol = [1, 6, 17, 47][usize::from(piece[1] % 4)];
    let inside = 0x0a00_0000 + u32::from(piece[2] % 8);
    let address = 0x0b00_0000 + u32::from(piece[3] % 3);
    let far = match (piece[3] / 3 % 5, protocol) {
        (0, _) => Far::expected(protocol, Some(address)),
        (1, _) => Far::expected(protocol, None),
        (2, 6 | 17) => Far::granted(protocol),
        (_, 47) => Far::new(protocol, address, 0),
        _ => Far::new(protocol, address, 21),
    };
    Told {
        number: u32::from(piece[4]),
        key: Inside::ipv4(inside, 1000 + u16::from(piece[5] % 4), 0, far),
        outside: 0xc612_0000 + u32::from(piece[6] % 3),
        outside_port: 1024 + u16::from(piece[7] % 5) * 40,
        tcp: TcpState(piece[1] % 32),
        is_kept: piece[0] & 1 != 0,
        idle_ms: u32::from(piece[0]) * 100,
    }
}

/// Something that may be kept of one.
fn kept(piece: &[u8]) -> Kept {
    let word = |at: usize| u32::from_be_bytes([piece[at], piece[at + 1], piece[at + 2], 0]);
    let side = if piece[2] & 1 == 0 { Side::Inside } else { Side::Outside };
    match piece[0] % 5 {
        0 => Kept::B4(u128::from(word(2)).into()),
        1 => Kept::Call(u16::from(piece[2] % 4)),
        2 => Kept::Nonce([piece[2]; 12]),
        3 => Kept::Numbers(side, None),
        _ => {
            let mut numbers = Numbers { next: word(3), acked: word(4), ..Numbers::default() };
            numbers.count = piece[2] % (SLOTS as u8 + 1);
            for (place, at) in numbers.replaced.iter_mut().zip(0..numbers.count) {
                let lens = u16::from(piece[6]).rotate_left(at.into());
                *place = Replaced { at: word(4) >> at, old_len: lens, new_len: piece[7].into() };
            }
            Kept::Numbers(side, Some(numbers))
        }
    }
}

/// Every session belongs to a subscriber that has its address, port and block, and nothing else is
/// counted.
fn check(state: &State) {
    let (mut sessions, mut mappings) = (0, 0);
    for number in 0..state.subscribers.used() {
        let one = &state.subscribers.records[number as usize];
        sessions += one.sessions;
        mappings += one.mappings as usize;
    }
    assert_eq!((sessions, mappings), (state.sessions.count(), state.sessions.mappings()));
    let (mut streams, mut calls, mut granted) = (0, 0, 0);
    for (number, one) in state.sessions.from(0) {
        let protocol = one.far.protocol();
        let count = match (one.beside.is_some(), one.far.is_granted()) {
            (false, _) => &mut 0,
            (_, true) => &mut granted,
            (_, false) if protocol == wire::protocol::GRE => &mut calls,
            _ => &mut streams,
        };
        *count += 1;
        let subscriber = &state.subscribers.records[one.subscriber as usize];
        let address = state.allocation.addresses.address(subscriber.outside);
        assert_eq!((subscriber.address, address), (one.inside, one.outside), "{number}");
        let class = Class::of(one.far.protocol());
        let owner = state.allocation.ports.owner(subscriber.outside, class, one.outside_port);
        let owner = owner.map(|owner| &state.sessions.records[owner as usize]);
        assert!(owner.is_some_and(|owner| owner.is_of_mapping(&one.inside_key())), "{number}");
        let block = state.allocation.block_owner(subscriber.outside, one.outside_port);
        assert_eq!(block, Some(one.subscriber), "{number}");
    }
    let algs = &state.algs;
    assert_eq!((streams, calls), (algs.connections(), algs.calls.count()));
    assert_eq!(Some(granted), state.granted.as_ref().map(|granted| granted.count()));
}

fn state() -> State {
    let pool = Prefixed { address: std::net::Ipv4Addr::new(198, 18, 0, 0), len: 31 };
    let config = Config {
        pools: vec![pool],
        spare_addresses: 0,
        port_block: PortBlocks { size: 64, per_subscriber: 2 },
        sessions: ROOM,
        mappings: 30,
        subscribers: 6,
        secret: Some(1),
        alg: Alg { ftp: true, sip: true, pptp: true, connections: 5 },
        pcp: Some(Pcp { mappings: 4, ..Pcp::default() }),
        ..Config::default()
    };
    State::new(&config, Shard::WHOLE, clock()).expect("a small state")
}

/// Sessions of the state.
const ROOM: u32 = 40;

/// Messages of each kind.
pub(super) fn examples() -> Vec<Vec<u8>> {
    let changes = [
        Change::Session(told(&[0, 1, 2, 3, 4, 5, 6, 7])),
        Change::Free { number: 7 },
        Change::Rest { outside: 0xc612_0001, class: 1, port: 1030, left_ms: 5000 },
        Change::Pool { address: 0xc612_0400, len: 24, is_open: true },
        Change::Limit { sessions: 100 },
        Change::Kept { number: 4, kept: kept(&[5, 1, 2, 3, 4, 5, 6, 7]) },
        Change::Kept { number: 4, kept: kept(&[8, 1, 2, 3, 4, 5, 6, 7]) },
        Change::Kept { number: 4, kept: kept(&[9, 1, 2, 3, 4, 5, 6, 7]) },
        Change::Kept { number: 5, kept: kept(&[6, 1, 2, 3, 4, 5, 6, 7]) },
        Change::Kept { number: 6, kept: kept(&[7, 1, 2, 3, 4, 5, 6, 7]) },
        Change::Epoch { ms: 3_600_000 },
        Change::Rules { is_end: false },
        Change::Static { inside: 0x0a00_0000, outside: 0xcb00_7140, len: 30 },
        Change::Host { outside: 0xcb00_7150, inside: 0x0a00_0005, dynamic: Some((2000, 2009)) },
        Change::Forward {
            inside: 0x0a00_0005,
            protocol: ForwardProtocol::Tcp,
            outside: (80, 81),
            inside_first: 8080,
        },
        Change::Rules { is_end: true },
    ];
    let mut all = Vec::new();
    Message::Changes { first: 1 }.write(&changes, &mut all);
    Message::Welcome { next: 8 }.write::<Change>(&[], &mut all);
    Message::Acknowledged { last: 5, refused: 0 }.write::<Change>(&[], &mut all);
    vec![all, (0..=255).collect()]
}
