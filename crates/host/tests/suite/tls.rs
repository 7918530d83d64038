//! Streams by TLS: two hosts, a host and the program of OpenSSL, and those who are refused. The
//! certificates are made by that program for each run.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock};

use host::{Host, TlsTrouble};
use protocol_kit::{Departure, Endpoint, Opening, STREAM_ROOM, Socket, StreamOptions, Tls};
use simulation::{Probe, Seen};
use tempfile::TempDir;

use crate::frr::until;
use crate::probe::{turn, turn_until};

const STREAM: Socket = Socket(3);
const LISTENER: Socket = Socket(9);
const ACCEPTED: Socket = Socket(100);

/// A folder with `ca`, `other` (authorities), and certificates: `east` and `west` of the first,
/// `old` of it and expired, `stranger` of the other authority.
static FILES: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |arguments: &str| {
        let mut openssl = Command::new("openssl");
        openssl.current_dir(&folder).args(arguments.split_whitespace());
        let done = openssl.output().expect("openssl is installed: `cargo xtask setup`");
        assert!(done.status.success(), "{arguments}: {done:?}");
    };
    let new = "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for name in ["ca", "other"] {
        run(&format!("{new} -x509 -days 2 -subj /CN={name} -keyout {name}.key -out {name}.pem"));
    }
    for (name, authority, days) in
        [("east", "ca", 2), ("west", "ca", 2), ("old", "ca", -1), ("stranger", "other", 2)]
    {
        run(&format!("{new} -subj /CN={name} -keyout {name}.key -out {name}.csr"));
        let extensions = format!("subjectAltName=DNS:{name}.example");
        fs::write(folder.path().join("extensions"), extensions).expect("it is written");
        run(&format!(
            "x509 -req -in {name}.csr -CA {authority}.pem -CAkey {authority}.key -CAcreateserial \
             -days {days} -extfile extensions -out {name}.pem"
        ));
    }
    folder
});

fn file(name: &str) -> String {
    FILES.path().join(name).to_str().expect("plain").to_owned()
}

/// One who shows a certificate and wants one of an authority, by any name.
fn by(own: &str, authority: &str) -> Tls {
    Tls {
        certificate: file(&format!("{own}.pem")),
        key: file(&format!("{own}.key")),
        authorities: file(&format!("{authority}.pem")),
        name: None,
    }
}

fn named(tls: Tls, name: &str) -> Tls {
    Tls { name: Some(name.to_owned()), ..tls }
}

fn options(tls: Option<Tls>) -> StreamOptions {
    StreamOptions { tls: tls.map(Arc::new), ..StreamOptions::default() }
}

fn host() -> Host<Probe> {
    Host::new(Probe::default()).expect("a host")
}

/// A host that listens, and where.
fn listening(tls: Option<Tls>) -> (Host<Probe>, SocketAddr) {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port").local_addr();
    let (at, mut host) = (free.expect("an address"), host());
    let streams = ACCEPTED.0..ACCEPTED.0 + 1;
    let opening = Opening::Listener { at: Endpoint::Tcp(at), options: options(tls), streams };
    host.command(Departure::Open { socket: LISTENER, opening });
    assert_eq!(turn(&mut host), []);
    (host, at)
}

fn connecting(to: SocketAddr, tls: Option<Tls>) -> Host<Probe> {
    let mut host = host();
    let opening = Opening::Stream { from: None, to: Endpoint::Tcp(to), options: options(tls) };
    host.command(Departure::Open { socket: STREAM, opening });
    host
}

fn send(host: &mut Host<Probe>, socket: Socket, bytes: &[u8]) {
    host.command(Departure::Bytes { socket, bytes: bytes.to_vec().into() });
}

/// What one side sends and has got of the other one.
struct Side {
    host: Host<Probe>,
    stream: Socket,
    stands: bool,
    departed: usize,
    taken: usize,
    arrived: usize,
    has_finished: bool,
}

impl Side {
    fn new(host: Host<Probe>, stream: Socket) -> Side {
        let (stands, has_finished) = (false, false);
        Side { host, stream, stands, departed: 0, taken: 0, arrived: 0, has_finished }
    }

    /// Sends what there is room for, up to a total, and takes in what has come; returns whether
    /// anything has happened.
    fn turn(&mut self, total: usize) -> bool {
        let room = (STREAM_ROOM - (self.departed - self.taken)).min(total - self.departed);
        if self.stands && room > 0 {
            let bytes: Vec<u8> = (self.departed..self.departed + room).map(byte).collect();
            send(&mut self.host, self.stream, &bytes);
            self.departed += room;
            if self.departed == total {
                self.host.command(Departure::Finish { socket: self.stream });
            }
        }
        let all = turn(&mut self.host);
        let has_happened = !all.is_empty();
        for seen in all {
            match seen {
                Seen::Connected { socket, .. } if socket == self.stream => self.stands = true,
                Seen::Taken { count, .. } => self.taken += count,
                Seen::Finished { .. } => self.has_finished = true,
                Seen::Bytes { bytes, .. } => {
                    let is_right = |(at, b): (usize, &u8)| *b == byte(self.arrived + at);
                    assert!(bytes.iter().enumerate().all(is_right), "behind {}", self.arrived);
                    self.arrived += bytes.len();
                }
                other => panic!("{other:?}"),
            }
        }
        has_happened
    }
}

fn byte(at: usize) -> u8 {
    (at * 7 / 3) as u8
}

#[test]
fn much_passes_both_ways_and_waits_for_who_does_not_read() {
    let (east, at) = listening(Some(named(by("east", "ca"), "west.example")));
    let west = connecting(at, Some(named(by("west", "ca"), "east.example")));
    let (mut east, mut west) = (Side::new(east, ACCEPTED), Side::new(west, STREAM));
    until("both", || {
        west.turn(0);
        east.turn(0);
        (west.stands && east.stands).then_some(())
    });
    // One side does not read until the other one is stuck.
    let total = 64 * STREAM_ROOM;
    east.host.command(Departure::Read { socket: ACCEPTED, is_wanted: false });
    let mut quiet = 0;
    until("it is stuck", || {
        quiet = if west.turn(total) { 0 } else { quiet + 1 };
        east.turn(0);
        (quiet == 100).then_some(())
    });
    assert!(west.departed < total && west.departed - west.taken == STREAM_ROOM);
    assert_eq!(east.arrived, 0);
    east.host.command(Departure::Read { socket: ACCEPTED, is_wanted: true });
    until("all", || {
        west.turn(total);
        east.turn(total);
        (west.has_finished && east.has_finished).then_some(())
    });
    for side in [&east, &west] {
        assert_eq!((side.arrived, side.taken), (total, total));
        let counters = side.host.counters();
        assert_eq!((counters.failed, counters.errors, counters.tls.total()), (0, 0, 0));
    }
}

#[test]
fn a_close_is_an_end_and_not_a_cut() {
    let (mut east, at) = listening(Some(by("east", "ca")));
    let mut west = connecting(at, Some(by("west", "ca")));
    let mut seen = Vec::new();
    until("it stands", || {
        seen.extend(turn(&mut east));
        turn(&mut west).iter().any(|seen| matches!(seen, Seen::Connected { .. })).then_some(())
    });
    send(&mut west, STREAM, b"this was all");
    turn(&mut west);
    west.command(Departure::Close { socket: STREAM });
    turn(&mut west);
    until("the end", || {
        seen.extend(turn(&mut east));
        matches!(seen.last(), Some(Seen::Finished { .. })).then_some(())
    });
    let bytes = Seen::Bytes { socket: ACCEPTED, bytes: b"this was all".to_vec() };
    assert!(seen.contains(&bytes) && seen.len() == 3, "{seen:?}");
}

/// What goes wrong between one who connects and one who listens; what the latter's machine hears
/// of it is nothing.
fn troubles(west: Option<Tls>, east: Option<Tls>) -> [String; 2] {
    let (mut east, at) = listening(east);
    let mut west = connecting(at, west);
    until("both have failed", || {
        for seen in turn(&mut west) {
            if matches!(seen, Seen::Connected { .. }) {
                send(&mut west, STREAM, b"the first words of a plain stream");
            }
        }
        assert_eq!(turn(&mut east), []);
        let has_failed = |host: &Host<Probe>| host.counters().failed > 0;
        (has_failed(&east) && has_failed(&west)).then_some(())
    });
    [west, east].map(|mut host| {
        assert_eq!(host.counters().tls.total(), 1);
        host.take_failures()[0].to_string()
    })
}

#[test]
fn whoever_is_another_one_is_refused_in_words() {
    let good = || by("east", "ca");
    let of_other = "does not come from the authorities";
    for (west, east, at_west, at_east) in [
        (by("stranger", "ca"), good(), "no authority that is named there", of_other),
        (by("west", "other"), good(), of_other, "no authority that is named there"),
        (by("old", "ca"), good(), "(the certificate is not valid", "renew it there"),
        (by("west", "ca"), by("old", "ca"), "renew it there", "(the certificate is not valid"),
        (by("west", "ca"), named(good(), "north.example"), "by its name", "has another name"),
        (named(by("west", "ca"), "north.example"), good(), "has another name", "by its name"),
    ] {
        let case = format!("{west:?} {east:?}");
        let [west, east] = troubles(Some(west), Some(east));
        assert!(west.contains(at_west) && east.contains(at_east), "{case}\n{west}\n{east}");
    }
}

#[test]
fn plain_streams_are_refused() {
    let (mut east, at) = listening(Some(by("east", "ca")));
    let mut plain = TcpStream::connect(at).expect("it is connected");
    plain.write_all(b"the first words of a plain stream").expect("it writes");
    until("a refusal", || {
        assert_eq!(turn(&mut east), []);
        (east.counters().tls.of(TlsTrouble::NotSpoken) == 1).then_some(())
    });
    // And one who answers plainly.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let at = listener.local_addr().expect("an address");
    let mut west = connecting(at, Some(by("west", "ca")));
    turn(&mut west);
    let mut far = listener.accept().expect("it is connected").0;
    far.write_all(b"plain words").expect("it writes");
    turn_until(&mut west, "a failure", |seen| match seen {
        Seen::Failed { .. } => Some(()),
        other => panic!("{other:?}"),
    });
    assert_eq!(west.counters().tls.of(TlsTrouble::NotSpoken), 1);
}

#[test]
fn who_is_silent_keeps_nobody_from_the_only_number() {
    const SILENT: u64 = 70;
    let (mut east, at) = listening(Some(by("east", "ca")));
    let silent = (0..SILENT).map(|_| TcpStream::connect(at).expect("it is connected"));
    let mut silent: Vec<TcpStream> = silent.collect();
    until("streams", || {
        assert_eq!(turn(&mut east), []);
        (east.counters().accepted == SILENT).then_some(())
    });
    // The first ones had to give way to the last ones.
    assert_eq!(silent[0].read(&mut [0; 9]).expect("it has ended"), 0);
    let mut west = connecting(at, Some(by("west", "ca")));
    let mut stands = |east: &mut Host<Probe>| {
        turn(&mut west);
        turn(east).iter().any(|seen| matches!(seen, Seen::Connected { .. }))
    };
    until("the other one", || stands(&mut east).then_some(()));
    until("the others have ended", || {
        assert_eq!(turn(&mut east), []);
        (east.counters().tls.of(TlsTrouble::Slow) == SILENT).then_some(())
    });
    assert_eq!(east.counters().accepted, SILENT + 1);
}

#[test]
fn of_two_who_greet_at_once_one_gets_the_only_number() {
    let (mut east, at) = listening(Some(by("east", "ca")));
    let mut west = [(); 2].map(|()| connecting(at, Some(by("west", "ca"))));
    west.iter_mut().for_each(|west| drop(turn(west)));
    let mut seen = Vec::new();
    let has_failed = |west: &mut Host<Probe>| {
        turn(west).iter().any(|seen| !matches!(seen, Seen::Connected { .. }))
    };
    let failed = until("one of them has failed", || {
        seen.extend(turn(&mut east));
        west.iter_mut().position(has_failed)
    });
    assert!(matches!(seen[..], [Seen::Connected { socket: ACCEPTED, .. }]), "{seen:?}");
    assert!(east.take_failures()[0].to_string().contains("as many streams as there may be"));
    // The number is free again, and there is one who waits.
    east.command(Departure::Close { socket: ACCEPTED });
    west[failed] = connecting(at, Some(by("west", "ca")));
    until("a stream", || {
        turn(&mut west[failed]);
        turn(&mut east).iter().any(|seen| matches!(seen, Seen::Connected { .. })).then_some(())
    });
}

#[test]
fn a_stream_that_is_cut_off_has_failed() {
    let (mut east, at) = listening(Some(by("east", "ca")));
    // A way between the two that can be cut.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut west = connecting(listener.local_addr().expect("one"), Some(by("west", "ca")));
    turn(&mut west);
    let (mut near, mut far) =
        (listener.accept().expect("it is there").0, TcpStream::connect(at).expect("it is"));
    near.set_nonblocking(true).expect("it may");
    far.set_nonblocking(true).expect("it may");
    let mut buffer = [0; 4096];
    until("it stands", || {
        turn(&mut west);
        while let Ok(count @ 1..) = near.read(&mut buffer) {
            far.write_all(&buffer[..count]).expect("it writes");
        }
        let stands = turn(&mut east).iter().any(|seen| matches!(seen, Seen::Connected { .. }));
        while let Ok(count @ 1..) = far.read(&mut buffer) {
            near.write_all(&buffer[..count]).expect("it writes");
        }
        stands.then_some(())
    });
    drop(far);
    turn_until(&mut east, "a failure", |seen| match seen {
        Seen::Failed { .. } => Some(()),
        other => panic!("{other:?}"),
    });
    assert_eq!(east.counters().tls.of(TlsTrouble::CutOff), 1);
    // What was altered on the way is no end either.
    near.write_all(&[23, 3, 3, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0])
        .expect("it writes");
    until("a failure", || {
        turn(&mut west);
        (west.counters().tls.of(TlsTrouble::Malformed) == 1).then_some(())
    });
}

#[test]
fn files_of_no_use_are_named() {
    let garbage = file("garbage");
    fs::write(&garbage, "no certificate").expect("it is written");
    let good = || by("east", "ca");
    for (tls, words) in [
        (Tls { certificate: file("nowhere"), ..good() }, ["nowhere", "No such file"]),
        (Tls { certificate: garbage.clone(), ..good() }, ["garbage", "no certificate in PEM"]),
        (Tls { key: garbage.clone(), ..good() }, ["garbage", "no private key in PEM"]),
        (Tls { key: file("west.key"), ..good() }, ["west.key", "not the key of the certificate"]),
        (Tls { authorities: garbage.clone(), ..good() }, ["garbage", "no certificate in PEM"]),
        (named(good(), "two words"), ["two words", "neither a DNS name nor an address"]),
    ] {
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let mut west = connecting(to, Some(tls.clone()));
        assert_eq!(turn(&mut west), [Seen::Failed { socket: STREAM }]);
        let mut east = host();
        let (at, options) = (Endpoint::Tcp(to), options(Some(tls)));
        let opening = Opening::Listener { at, options, streams: 5..6 };
        east.command(Departure::Open { socket: LISTENER, opening });
        assert_eq!(turn(&mut east), [Seen::Failed { socket: LISTENER }]);
        for host in [&mut west, &mut east] {
            assert_eq!(host.counters().tls.of(TlsTrouble::Files), 1);
            let told = host.take_failures()[0].to_string();
            assert!(words.iter().all(|words| told.contains(words)), "{told}");
        }
    }
}

/// The program of OpenSSL, which ends with its owner.
struct Openssl(Child);

impl Openssl {
    fn start(arguments: &str) -> Openssl {
        let mut openssl = Command::new("openssl");
        openssl.current_dir(FILES.path()).args(arguments.split_whitespace());
        openssl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Openssl(openssl.spawn().expect("it starts"))
    }
}

impl Drop for Openssl {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn another_program_is_understood_and_needs_a_certificate() {
    let (mut east, at) = listening(Some(named(by("east", "ca"), "west.example")));
    let client = format!(
        "s_client -quiet -connect {at} -CAfile ca.pem -verify_return_error \
         -verify_hostname east.example"
    );
    let _nobody = Openssl::start(&client);
    until("a refusal", || {
        assert_eq!(turn(&mut east), []);
        (east.counters().tls.of(TlsTrouble::NoCertificate) == 1).then_some(())
    });
    let mut west = Openssl::start(&format!("{client} -cert west.pem -key west.key"));
    west.0.stdin.as_mut().expect("it is piped").write_all(b"from afar\n").expect("it reads");
    let mut heard = Vec::new();
    until("words", || {
        for seen in turn(&mut east) {
            match seen {
                Seen::Bytes { bytes, .. } => heard.extend(bytes),
                Seen::Connected { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        (heard == b"from afar\n").then_some(())
    });
    send(&mut east, ACCEPTED, b"and back");
    assert_eq!(turn(&mut east), [Seen::Taken { socket: ACCEPTED, count: 8 }]);
    let mut answer = [0; 8];
    west.0.stdout.as_mut().expect("it is piped").read_exact(&mut answer).expect("it answers");
    assert_eq!(&answer, b"and back");
}
