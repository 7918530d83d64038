//! Streams, with the standard library or the kernel's own options at the far end.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use host::Host;
use protocol_kit::{Departure, Endpoint, Opening, STREAM_ROOM, Secret, Socket, StreamOptions};
use simulation::{Probe, Seen};

use crate::frr::until;
use crate::probe::{FAR, OWN, linked, may_link, turn, turn_for, turn_until};

const STREAM: Socket = Socket(3);
const LISTENER: Socket = Socket(9);

fn host() -> Host<Probe> {
    Host::new(Probe::default()).expect("a host")
}

fn connect(host: &mut Host<Probe>, to: Endpoint, options: StreamOptions) {
    let opening = Opening::Stream { from: None, to, options };
    host.command(Departure::Open { socket: STREAM, opening });
}

fn listen(host: &mut Host<Probe>, at: Endpoint, options: StreamOptions, count: u32) {
    let opening = Opening::Listener { at, options, streams: 100..100 + count };
    host.command(Departure::Open { socket: LISTENER, opening });
}

fn send(host: &mut Host<Probe>, socket: Socket, bytes: &[u8]) {
    host.command(Departure::Bytes { socket, bytes: bytes.to_vec().into() });
}

/// Turns until the next stream stands; returns its number.
fn connected(host: &mut Host<Probe>) -> Socket {
    turn_until(host, "a stream", |seen| match seen {
        Seen::Connected { socket, .. } => Some(*socket),
        Seen::Failed { .. } => panic!("{seen:?}"),
        _ => None,
    })
}

/// Turns until a stream has failed.
fn failed(host: &mut Host<Probe>, stream: Socket) {
    turn_until(host, "a failure", |seen| (*seen == Seen::Failed { socket: stream }).then_some(()));
}

/// A stream to the standard library, over TCP on the loopback interface.
fn to_std(host: &mut Host<Probe>) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let at = listener.local_addr().expect("an address");
    connect(host, Endpoint::Tcp(at), StreamOptions::default());
    let (local, peer) = turn_until(host, "a stream", |seen| match seen {
        Seen::Connected { socket: STREAM, local, peer } => Some((*local, *peer)),
        _ => None,
    });
    let far = listener.accept().expect("it is connected").0;
    assert_eq!(local, Some(far.peer_addr().expect("an address")));
    assert_eq!(peer, Some(at));
    far
}

/// What arrives on a stream while it is turned, until its far end has finished.
fn read_to_end(host: &mut Host<Probe>, stream: Socket) -> Vec<u8> {
    let mut all = Vec::new();
    until("the end", || {
        for seen in turn_for(host, Duration::from_millis(20)) {
            match seen {
                Seen::Bytes { socket, bytes } if socket == stream => all.extend(bytes),
                Seen::Finished { socket } if socket == stream => return Some(()),
                Seen::Taken { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        None
    });
    all
}

#[test]
fn a_stream_carries_bytes_both_ways_and_closes_by_halves() {
    let mut host = host();
    let mut far = to_std(&mut host);
    send(&mut host, STREAM, b"to the ");
    send(&mut host, STREAM, b"far end");
    host.command(Departure::Finish { socket: STREAM });
    assert_eq!(turn(&mut host), [Seen::Taken { socket: STREAM, count: 14 }]);
    let mut read = Vec::new();
    far.read_to_end(&mut read).expect("it reads");
    assert_eq!(read, b"to the far end");
    // The other direction stands until it is finished, too.
    far.write_all(b"and back").expect("it writes");
    far.shutdown(Shutdown::Write).expect("it closes");
    assert_eq!(read_to_end(&mut host, STREAM), b"and back");
    // Nothing more is told of it, nor does the kernel keep the host awake.
    drop(far);
    // Or something else has: one of a few turns lasts as long as it may.
    let lasts = |host: &mut Host<Probe>| {
        let (begin, patience) = (Instant::now(), Duration::from_millis(3));
        assert_eq!(turn_for(host, patience), []);
        begin.elapsed() >= patience
    };
    assert!((0..10).any(|_| lasts(&mut host)));
    // What a finished stream is to carry is counted.
    send(&mut host, STREAM, b"more");
    host.command(Departure::Close { socket: STREAM });
    host.command(Departure::Close { socket: STREAM });
    assert_eq!(turn(&mut host), []);
    let counters = host.counters();
    assert_eq!((counters.misdirected, counters.bytes_sent, counters.bytes_received), (2, 14, 8));
    assert_eq!((counters.failed, counters.errors), (0, 0));
}

#[test]
fn bytes_wait_for_a_slow_reader_and_are_taken_in_order() {
    let mut host = host();
    let mut far = to_std(&mut host);
    let total = 64 * STREAM_ROOM;
    let byte = |at: usize| (at * 7 / 3) as u8;
    let (mut departed, mut taken, mut arrived) = (0, 0, 0);
    let mut has_waited = false;
    let mut buffer = vec![0; 100_000];
    far.set_nonblocking(true).expect("it may");
    until("all bytes", || {
        let room = (STREAM_ROOM - (departed - taken)).min(total - departed);
        if room > 0 {
            let bytes: Vec<u8> = (departed..departed + room).map(byte).collect();
            send(&mut host, STREAM, &bytes);
            departed += room;
        }
        for seen in turn(&mut host) {
            let Seen::Taken { socket: STREAM, count } = seen else { panic!("{seen:?}") };
            taken += count;
        }
        // The far end reads only when the kernel takes no more.
        if taken == departed && departed < total {
            return None;
        }
        has_waited |= taken < departed;
        while let Ok(count @ 1..) = far.read(&mut buffer) {
            assert!(buffer[..count].iter().enumerate().all(|(at, b)| *b == byte(arrived + at)));
            arrived += count;
        }
        (arrived == total).then_some(())
    });
    assert!(has_waited && taken == total, "{taken} of {total}");
}

#[test]
fn bytes_that_are_not_wanted_stay_in_the_kernel() {
    let mut host = host();
    let mut far = to_std(&mut host);
    host.command(Departure::Read { socket: STREAM, is_wanted: false });
    assert_eq!(turn(&mut host), []);
    far.write_all(&[1; 1000]).expect("it writes");
    far.shutdown(Shutdown::Write).expect("it closes");
    assert_eq!(turn_for(&mut host, Duration::from_millis(5)), []);
    host.command(Departure::Read { socket: STREAM, is_wanted: true });
    assert_eq!(read_to_end(&mut host, STREAM), [1; 1000]);
    // Neither an end nor a reset is overlooked meanwhile.
    let mut far = {
        host.command(Departure::Close { socket: STREAM });
        to_std(&mut host)
    };
    host.command(Departure::Read { socket: STREAM, is_wanted: false });
    send(&mut host, STREAM, b"never read");
    turn(&mut host);
    far.write_all(b"x").expect("it writes");
    // What was not read makes a close a reset.
    drop(far);
    failed(&mut host, STREAM);
    let failures = host.take_failures();
    assert!(failures[0].to_string().starts_with("stream with TCP 127.0.0.1:"), "{failures:?}");
}

#[test]
fn what_cannot_be_reached_fails() {
    let mut host = host();
    let free = TcpListener::bind("127.0.0.1:0").expect("a listener").local_addr();
    connect(&mut host, Endpoint::Tcp(free.expect("an address")), StreamOptions::default());
    failed(&mut host, STREAM);
    connect(&mut host, Endpoint::Unix("/nowhere/at all".into()), StreamOptions::default());
    assert_eq!(turn(&mut host), [Seen::Failed { socket: STREAM }]);
    let failures: Vec<String> = host.take_failures().iter().map(ToString::to_string).collect();
    assert!(failures[0].contains("refused"), "{failures:?}");
    assert!(failures[1].contains("stream to /nowhere/at all"), "{failures:?}");
}

#[test]
fn a_listener_accepts_as_many_as_it_has_numbers() {
    let mut host = host();
    let at = TcpListener::bind("127.0.0.1:0").expect("a listener").local_addr();
    let at = at.expect("an address");
    listen(&mut host, Endpoint::Tcp(at), StreamOptions::default(), 2);
    assert_eq!(turn(&mut host), [], "{:?}", host.take_failures());
    let client = || TcpStream::connect(at).expect("it is connected");
    let mut clients = vec![client()];
    assert_eq!(connected(&mut host), Socket(100));
    clients.push(client());
    assert_eq!(connected(&mut host), Socket(101));
    clients.push(client());
    assert_eq!(turn_for(&mut host, Duration::from_millis(20)), []);
    host.command(Departure::Close { socket: Socket(100) });
    assert_eq!(connected(&mut host), Socket(100));
    clients[2].write_all(b"the third").expect("it writes");
    clients[2].shutdown(Shutdown::Write).expect("it closes");
    assert_eq!(read_to_end(&mut host, Socket(100)), b"the third");
    // Its streams stay when the listener is closed.
    host.command(Departure::Close { socket: LISTENER });
    send(&mut host, Socket(101), b"hello");
    turn(&mut host);
    let mut bytes = [0; 5];
    clients[1].read_exact(&mut bytes).expect("it reads");
    assert_eq!(&bytes, b"hello");
    assert!(TcpStream::connect(at).is_err());
    assert_eq!(host.counters().accepted, 3);
}

#[test]
fn a_unix_socket_is_for_its_owner_alone_and_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("control");
    let at = || Endpoint::Unix(path.to_string_lossy().into_owned());
    // A file that a crash has left.
    drop(UnixListener::bind(&path).expect("a listener"));
    assert!(path.exists());
    let mut host = host();
    listen(&mut host, at(), StreamOptions::default(), 1);
    assert_eq!(turn(&mut host), [], "{:?}", host.take_failures());
    let mode = fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Another one does not take it away.
    let mut second = self::host();
    listen(&mut second, at(), StreamOptions::default(), 1);
    assert_eq!(turn(&mut second), [Seen::Failed { socket: LISTENER }]);
    // That it was looked for counts as a stream, which has ended.
    let mut client = UnixStream::connect(&path).expect("it is served");
    client.write_all(b"hello").expect("it writes");
    let first = connected(&mut host);
    assert_eq!((first, read_to_end(&mut host, first)), (Socket(100), vec![]));
    host.command(Departure::Close { socket: first });
    assert_eq!(connected(&mut host), Socket(100));
    client.shutdown(Shutdown::Write).expect("it closes");
    assert_eq!(read_to_end(&mut host, Socket(100)), b"hello");
    // A machine connects to it as well.
    connect(&mut second, at(), StreamOptions::default());
    assert_eq!(connected(&mut second), STREAM);
    host.command(Departure::Close { socket: LISTENER });
    turn(&mut host);
    assert!(!path.exists());
    // A file that is no socket stays.
    fs::write(&path, "a file").expect("writable");
    listen(&mut host, at(), StreamOptions::default(), 1);
    assert_eq!(turn(&mut host), [Seen::Failed { socket: LISTENER }]);
    assert_eq!(fs::read(&path).expect("it stays"), b"a file");
}

#[test]
fn a_stream_of_more_than_there_is_room_for_fails() {
    let mut host = host();
    let _far = to_std(&mut host);
    send(&mut host, STREAM, &vec![0; STREAM_ROOM]);
    send(&mut host, STREAM, &[0]);
    let seen = turn(&mut host);
    assert_eq!(seen, [Seen::Failed { socket: STREAM }]);
    assert_eq!(host.counters().overflows, 1);
}

#[test]
fn the_least_time_to_live_and_signatures_hold() {
    if !may_link() {
        return;
    }
    let (own, far) = linked();
    let key =
        |far: &str, key: &str| (far.parse().expect("an address"), Secret(key.as_bytes().to_vec()));
    for (number, (own_address, far_address)) in OWN.into_iter().zip(FAR).enumerate() {
        let at = SocketAddr::new(far_address.parse().expect("an address"), 179 + number as u16);
        let md5 = vec![key(own_address, "a secret")];
        let options =
            StreamOptions { ttl_min: 255, ttl: Some(255), md5, ..StreamOptions::default() };
        let mut there = far
            .run(|| {
                let mut there = host();
                listen(&mut there, Endpoint::Tcp(at), options, 4);
                assert_eq!(turn(&mut there), [], "{:?}", there.take_failures());
                there
            })
            .expect("the namespace");
        let open = |ttl: u8, md5: &[(&str, &str)]| {
            own.run(|| {
                let mut here = host();
                let md5 = md5.iter().map(|(far, secret)| key(far, secret)).collect();
                let options = StreamOptions { ttl: Some(ttl), md5, ..StreamOptions::default() };
                connect(&mut here, Endpoint::Tcp(at), options);
                here
            })
            .expect("the namespace")
        };
        // From too far away, without a signature, and with that of another key.
        let mut wrong = [
            open(254, &[(far_address, "a secret")]),
            open(255, &[]),
            open(255, &[(far_address, "another")]),
        ];
        for here in &mut wrong {
            let seen = own.run(|| turn(here)).expect("the namespace");
            assert_eq!(seen, [], "{:?}", here.take_failures());
        }
        let mut right = open(255, &[(far_address, "a secret"), ("192.0.2.1", "x")]);
        own.run(|| assert_eq!(connected(&mut right), STREAM)).expect("the namespace");
        let peer = turn_until(&mut there, "a stream", |seen| match seen {
            Seen::Connected { peer, .. } => *peer,
            _ => None,
        });
        send(&mut right, STREAM, b"signed");
        turn(&mut right);
        turn_until(&mut there, "the bytes", |seen| match seen {
            Seen::Bytes { bytes, .. } => (bytes == b"signed").then_some(()),
            _ => None,
        });
        // Of the wrong ones none has come through before it.
        assert_eq!(there.counters().accepted, 1);
        assert_eq!(peer.ip().to_string(), own_address);
    }
    // A key of more than there is room for is an error that does not show it.
    let mut host = host();
    let md5 = vec![key("192.0.2.1", &"secret".repeat(14))];
    let to = Endpoint::Tcp("192.0.2.1:179".parse().expect("an address"));
    connect(&mut host, to, StreamOptions { md5, ..StreamOptions::default() });
    assert_eq!(turn(&mut host), [Seen::Failed { socket: STREAM }]);
    let failure = host.take_failures()[0].to_string();
    assert!(failure.contains("1 to 80 bytes") && !failure.contains("secret"), "{failure}");
}
