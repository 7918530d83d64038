//! Peers that break the rules, made of nothing but a socket and a file: they say and write what
//! they like, and the port goes on.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use engine::Link;
use port_memif::{Config, Role};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

use crate::kit::{End, abstract_name, config, frame, wait_for};

/// Message types.
pub const ACK: u16 = 1;
pub const HELLO: u16 = 2;
pub const INIT: u16 = 3;
pub const ADD_REGION: u16 = 4;
pub const ADD_RING: u16 = 5;
pub const CONNECT: u16 = 6;
pub const CONNECTED: u16 = 7;
pub const DISCONNECT: u16 = 8;

/// An end of a control socket that sends arbitrary messages.
pub struct Raw {
    socket: OwnedFd,
}

impl Raw {
    /// Connects to a master with an abstract name.
    pub fn connect(name: &str) -> Raw {
        let socket = seqpacket();
        rustix::net::connect(&socket, &address(name)).expect("a master listens");
        Raw { socket }
    }

    /// Sends a message, padded to 128 bytes.
    pub fn say(&self, parts: &[&[u8]], handed: Option<BorrowedFd<'_>>) {
        let mut message = parts.concat();
        message.resize(128, 0);
        self.say_bytes(&message, handed);
    }

    /// Sends bytes without padding; the port may have disconnected already.
    pub fn say_bytes(&self, bytes: &[u8], handed: Option<BorrowedFd<'_>>) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !handed.as_slice().is_empty() {
            control.push(SendAncillaryMessage::ScmRights(handed.as_slice()));
        }
        let into = &[IoSlice::new(bytes)];
        let _ = rustix::net::sendmsg(&self.socket, into, &mut control, SendFlags::NOSIGNAL);
    }

    /// Returns the next message; `None` if the port has disconnected.
    pub fn hear(&self) -> Option<(u16, Vec<u8>, Option<OwnedFd>)> {
        let mut bytes = [0; 128];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(&mut bytes)];
        let got =
            rustix::net::recvmsg(&self.socket, into, &mut control, RecvFlags::empty()).ok()?;
        let handed = control.drain().find_map(|part| match part {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        let kind = u16::from_le_bytes([bytes[0], bytes[1]]);
        (got.bytes == 128).then(|| (kind, bytes[2..].to_vec(), handed))
    }

    /// Returns true if this is the port's next message; false if it disconnects.
    pub fn hears(&self, kind: u16) -> bool {
        self.hear().is_some_and(|(heard, ..)| heard == kind)
    }
}

/// Returns a listening socket with an abstract name, to act as a master.
pub fn listen(name: &str) -> OwnedFd {
    let socket = seqpacket();
    rustix::net::bind(&socket, &address(name)).expect("a free name");
    rustix::net::listen(&socket, 4).expect("it is bound");
    socket
}

fn seqpacket() -> OwnedFd {
    let flags = SocketFlags::CLOEXEC;
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
        .expect("a socket")
}

fn address(name: &str) -> SocketAddrUnix {
    let name = name.strip_prefix('@').expect("an abstract name");
    SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a short name")
}

/// Returns sealed memory of this size.
pub fn memory(len: u64) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = rustix::fs::memfd_create("hostile", flags).expect("a memfd");
    rustix::fs::ftruncate(&memory, len).expect("a size");
    rustix::fs::fcntl_add_seals(&memory, SealFlags::SHRINK).expect("a seal");
    memory
}

/// Writes into shared memory by its descriptor.
pub fn scribble(memory: &OwnedFd, at: u64, bytes: &[u8]) {
    let _ = rustix::io::pwrite(memory, bytes, at);
}

const INIT_OF_7: &[&[u8]] = &[&INIT.to_le_bytes(), &[0, 2], &7u32.to_le_bytes()];

/// Connects a slave with two rings of 2^`size_log2` places; returns its memory, or `None` if it was
/// refused.
pub fn slave(name: &str, size_log2: u8) -> Option<(Raw, OwnedFd)> {
    let raw = Raw::connect(name);
    let memory = memory(MEMORY_BYTES);
    for ring in RINGS {
        scribble(&memory, ring, &0x3E3_1F20u32.to_le_bytes());
    }
    let mut in_turn = raw.hears(HELLO);
    raw.say(INIT_OF_7, None);
    in_turn = in_turn && raw.hears(ACK);
    raw.say(
        &[&ADD_REGION.to_le_bytes(), &[0, 0], &MEMORY_BYTES.to_le_bytes()],
        Some(memory.as_fd()),
    );
    in_turn = in_turn && raw.hears(ACK);
    for (flags, offset) in [1u16, 0].into_iter().zip(RINGS) {
        say_ring(&raw, flags, 0, offset as u32, size_log2);
        in_turn = in_turn && raw.hears(ACK);
    }
    raw.say(&[&CONNECT.to_le_bytes(), b"hostile"], None);
    (in_turn && raw.hears(CONNECTED)).then_some((raw, memory))
}

fn say_ring(raw: &Raw, flags: u16, index: u16, offset: u32, size_log2: u8) {
    let event =
        rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).expect("an eventfd");
    let words = [&flags.to_le_bytes()[..], &index.to_le_bytes(), &[0, 0], &offset.to_le_bytes()];
    let message = [&ADD_RING.to_le_bytes()[..], &words.concat(), &[size_log2, 0, 0]];
    raw.say(&message, Some(event.as_fd()));
}

/// Offsets of a hostile slave's rings, slave to master first; each has room for 2^10 places.
pub const RINGS: [u64; 2] = [0, 0x8000];
const MEMORY_BYTES: u64 = 1 << 20;

/// Returns a descriptor: flags, region, length, offset.
fn descriptor(flags: u16, region: u16, length: u32, offset: u32) -> Vec<u8> {
    let words = [&flags.to_le_bytes()[..], &region.to_le_bytes(), &length.to_le_bytes()];
    [&words.concat()[..], &offset.to_le_bytes(), &[0; 4]].concat()
}

/// Opens a master with small rings; returns it with its name.
fn master() -> (End, String) {
    let name = abstract_name();
    (End::open(&config(Role::Master, &name), 1), name)
}

/// Asserts that the port still works with a compliant peer.
fn still_works(master: &mut End, name: &str) {
    let mut good = End::open(&config(Role::Slave, name), 1);
    wait_for("the good peer", || {
        master.receive(0);
        good.receive(0);
        good.monitor.link() == Link::Up && master.monitor.link() == Link::Up
    });
    wait_for("both queues", || {
        let there = good.send(0, &[frame(5)]) == 1 && master.receive(0) == [frame(5)];
        there && master.send(0, &[frame(6)]) == 1 && good.receive(0) == [frame(6)]
    });
    drop(good);
    wait_for("its end", || {
        master.receive(0);
        master.monitor.link() != Link::Up
    });
}

/// Polls the port until its peer was disconnected for this reason.
fn ends_with(master: &mut End, breach: &str) {
    wait_for(breach, || {
        master.receive(0);
        master.send(0, &[frame(1)]);
        let ended = master.fact("disconnects");
        ended.split(", ").any(|word| word.split(' ').next() == Some(breach))
            && master.monitor.link() != Link::Up
    });
}

#[test]
fn broken_handshakes_end_with_their_reason() {
    let (mut master, name) = master();
    type Say = fn(&Raw);
    let wrong: &[(&str, Say)] = &[
        ("message-size", |raw| raw.say_bytes(&[3, 0], None)),
        ("unknown-message", |raw| raw.say(&[&[77, 0]], None)),
        ("unexpected-message", |raw| raw.say(&[&CONNECT.to_le_bytes()], None)),
        ("version", |raw| raw.say(&[&INIT.to_le_bytes(), &[0, 9], &[7, 0, 0, 0]], None)),
        ("id", |raw| raw.say(&[&INIT.to_le_bytes(), &[0, 2], &[8, 0, 0, 0]], None)),
        ("mode", |raw| raw.say(&[&INIT.to_le_bytes(), &[0, 2], &[7, 0, 0, 0, 1]], None)),
        ("missing-descriptor", |raw| {
            raw.say(INIT_OF_7, None);
            raw.say(&[&ADD_REGION.to_le_bytes(), &[0, 0], &4096u64.to_le_bytes()], None);
        }),
        ("region-index", |raw| {
            raw.say(INIT_OF_7, None);
            let memory = memory(4096);
            let message: &[&[u8]] = &[&ADD_REGION.to_le_bytes(), &[1, 0], &4096u64.to_le_bytes()];
            raw.say(message, Some(memory.as_fd()));
        }),
        ("region-size", |raw| {
            raw.say(INIT_OF_7, None);
            let memory = memory(4096);
            let message: &[&[u8]] = &[&ADD_REGION.to_le_bytes(), &[0, 0], &8192u64.to_le_bytes()];
            raw.say(message, Some(memory.as_fd()));
        }),
        ("region-unsealed", |raw| {
            raw.say(INIT_OF_7, None);
            let loose = rustix::fs::memfd_create("loose", MemfdFlags::CLOEXEC).expect("a memfd");
            rustix::fs::ftruncate(&loose, 4096).expect("a size");
            let message: &[&[u8]] = &[&ADD_REGION.to_le_bytes(), &[0, 0], &4096u64.to_le_bytes()];
            raw.say(message, Some(loose.as_fd()));
        }),
        ("ring-index", |raw| {
            raw.say(INIT_OF_7, None);
            say_ring(raw, 1, 1, 0, 5);
        }),
        ("ring-place", |raw| {
            raw.say(INIT_OF_7, None);
            say_ring(raw, 1, 0, 0, 5);
            raw.say(&[&CONNECT.to_le_bytes()], None);
        }),
        ("ring-size", |raw| {
            raw.say(INIT_OF_7, None);
            say_ring(raw, 1, 0, 0, 200);
            raw.say(&[&CONNECT.to_le_bytes()], None);
        }),
        ("ring-cookie", |raw| {
            raw.say(INIT_OF_7, None);
            let memory = memory(4096);
            let message: &[&[u8]] = &[&ADD_REGION.to_le_bytes(), &[0, 0], &4096u64.to_le_bytes()];
            raw.say(message, Some(memory.as_fd()));
            say_ring(raw, 1, 0, 0, 5);
            raw.say(&[&CONNECT.to_le_bytes()], None);
        }),
    ];
    for (breach, say) in wrong {
        let raw = Raw::connect(&name);
        say(&raw);
        // It is told, and the port hangs up.
        wait_for("the farewell", || match raw.hear() {
            Some((kind, ..)) => kind == DISCONNECT,
            None => panic!("{breach}: the port hung up without a word"),
        });
        assert!(raw.hear().is_none(), "{breach}: the port hangs up");
        ends_with(&mut master, breach);
    }
    still_works(&mut master, &name);
}

#[test]
fn a_silent_peer_does_not_keep_others_out() {
    let (mut master, name) = master();
    let _silent: Vec<Raw> = (0..3).map(|_| Raw::connect(&name)).collect();
    still_works(&mut master, &name);
}

#[test]
fn rings_that_lie_end_the_connection() {
    let (mut master, name) = master();
    let [s2m, m2s] = RINGS;
    let head = |of: u64| of + 6;
    let first = |of: u64| of + 128;
    type Write = Vec<(u64, Vec<u8>)>;
    let small = 5;
    let wrong: Vec<(&str, Write)> = vec![
        ("ring-position", vec![(head(s2m), vec![33, 0])]),
        ("ring-position", vec![(head(s2m), vec![0xff, 0xff])]),
        ("ring-position", vec![(head(m2s), vec![33, 0])]),
        ("descriptor", vec![(first(s2m), descriptor(0, 1, 60, 0)), (head(s2m), vec![1, 0])]),
        ("descriptor", vec![(first(s2m), descriptor(0, 0, 60, 1 << 20)), (head(s2m), vec![1, 0])]),
        ("descriptor", vec![(first(s2m), descriptor(0, 0, u32::MAX, 1)), (head(s2m), vec![1, 0])]),
        ("descriptor", vec![(first(s2m), descriptor(1, 9, 60, 0)), (head(s2m), vec![2, 0])]),
        (
            "descriptor",
            vec![(first(m2s), descriptor(0, 0, 2048, (1 << 20) - 50)), (head(m2s), vec![1, 0])],
        ),
        ("descriptor", vec![(first(m2s), descriptor(0, 0, 0, 0)), (head(m2s), vec![1, 0])]),
        ("descriptor", vec![(first(m2s), descriptor(0, 7, 2048, 0)), (head(m2s), vec![1, 0])]),
        (
            "chain",
            vec![(first(s2m), descriptor(1, 0, 60, 0x1_0000).repeat(32)), (head(s2m), vec![32, 0])],
        ),
    ];
    for (breach, writes) in wrong {
        let (raw, memory) = slave(&name, small).expect("it keeps the rules of the handshake");
        for (at, bytes) in &writes {
            scribble(&memory, *at, bytes);
        }
        ends_with(&mut master, breach);
        drop(raw);
    }
    still_works(&mut master, &name);
}

#[test]
fn an_unfinished_chain_is_waited_for() {
    let (mut master, name) = master();
    let (_raw, memory) = slave(&name, 5).expect("it keeps the rules of the handshake");
    let s2m = RINGS[0];
    scribble(&memory, 0x1_0000, &frame(0)[..60]);
    scribble(&memory, s2m + 128, &descriptor(1, 0, 40, 0x1_0000));
    scribble(&memory, s2m + 128 + 16, &descriptor(0, 0, 20, 0x1_0000 + 40));
    scribble(&memory, s2m + 6, &[1, 0]);
    master.wait_for_link(true);
    assert!(master.receive(0).is_empty());
    scribble(&memory, s2m + 6, &[2, 0]);
    assert_eq!(master.receive_all(0, 1), [frame(0)[..60].to_vec()]);
}

#[test]
fn memory_that_is_written_meanwhile_harms_nobody() {
    let (mut master, name) = master();
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for _ in 0..60 {
        let Some((_raw, memory)) = slave(&name, 5 + (next() % 6) as u8) else {
            // The one before was not gone yet.
            master.receive(0);
            continue;
        };
        wait_for("the link", || {
            master.receive(0);
            master.monitor.link() == Link::Up
        });
        for _ in 0..50 {
            let ring = RINGS[(next() % 2) as usize];
            // Positions, descriptors, and sometimes anything.
            let at = match next() % 4 {
                0 => ring + 6,
                1 => ring + 64,
                _ => ring + 128 + next() % 64 * 8,
            };
            let len = 1 + (next() % 8) as usize;
            let mut bytes = next().to_le_bytes();
            if next() % 2 == 0 {
                bytes[1..].fill(0);
            }
            scribble(&memory, at, &bytes[..len]);
            for len in master.receive(0).iter().map(Vec::len) {
                assert!((14..=9000).contains(&len), "a frame of {len} bytes");
            }
            master.send(0, &[frame(1), frame(2)]);
        }
    }
    still_works(&mut master, &name);
}

#[test]
fn a_hostile_master_finds_a_slave_that_stands() {
    let name = abstract_name();
    let listener = listen(&name);
    let mut slave = End::open(&config(Role::Slave, &name), 1);
    for round in 0..12u64 {
        let Some((raw, memory)) = lead(&listener) else { panic!("the slave keeps the rules") };
        wait_for("the link", || {
            slave.receive(0);
            slave.monitor.link() == Link::Up
        });
        // Rings of 64 places: 128 + 64 * 16 bytes each, from slave to master first.
        let (s2m, m2s) = (0, 1152);
        match round % 4 {
            0 => scribble(&memory, s2m + 64, &[200, 200]),
            1 => scribble(&memory, m2s + 64, &[65, 0]),
            2 => {
                scribble(&memory, m2s + 128, &descriptor(0, 0, u32::MAX, 0));
                scribble(&memory, m2s + 64, &[1, 0]);
            }
            _ => raw.say(&[&HELLO.to_le_bytes()], None),
        }
        let breach = match round % 4 {
            0 | 1 => "ring-position",
            2 => "descriptor",
            _ => "unexpected-message",
        };
        ends_with(&mut slave, breach);
    }
    drop(listener);
    let mut master = End::open(&config(Role::Master, &name), 1);
    wait_for("a good master", || {
        master.receive(0);
        slave.receive(0);
        master.monitor.link() == Link::Up && slave.monitor.link() == Link::Up
    });
    wait_for("both queues", || slave.send(0, &[frame(5)]) == 1 && master.receive(0) == [frame(5)]);
}

/// Accepts a slave and acknowledges all its messages; returns its memory.
pub fn lead(listener: &OwnedFd) -> Option<(Raw, OwnedFd)> {
    let raw = Raw { socket: rustix::net::accept(listener).ok()? };
    let mut hello = vec![0; 42];
    hello[32..].copy_from_slice(&[0, 2, 0, 2, 15, 0, 0, 0, 0, 0]);
    raw.say(&[&HELLO.to_le_bytes(), &hello, &[14]], None);
    let mut memory = None;
    loop {
        let (kind, _, handed) = raw.hear()?;
        match kind {
            CONNECT => break,
            ADD_REGION => memory = handed,
            _ => {}
        }
        raw.say(&[&ACK.to_le_bytes()], None);
    }
    raw.say(&[&CONNECTED.to_le_bytes()], None);
    Some((raw, memory?))
}

#[test]
fn a_master_that_says_nonsense_is_left_and_tried_again() {
    let name = abstract_name();
    let listener = listen(&name);
    let slave = End::open(&Config { ring_size: 32, ..config(Role::Slave, &name) }, 1);
    for nonsense in [HELLO, ACK, CONNECTED, INIT, ADD_RING, 99] {
        let raw = Raw { socket: rustix::net::accept(&listener).expect("the slave comes again") };
        raw.say(&[&nonsense.to_le_bytes()], None);
        assert!(raw.hears(DISCONNECT), "{nonsense}: versions 0 to 0, or at the wrong time");
    }
    let text = slave.fact("disconnects");
    assert!(text.contains("version 1") && text.contains("unexpected-message 4"), "{text}");
}
