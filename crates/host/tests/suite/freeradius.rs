//! RADIUS over the kernel's sockets, with FreeRADIUS as the server: access, accounting, and its
//! `radclient` that changes and ends sessions.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use host::Host;
use protocol_kit::{Machine, Secret};
use protocol_radius::asking::{ErrorCause, SessionKey, Wanted};
use protocol_radius::attributes::kind;
use protocol_radius::dynamic::{self, Asker, Dynamic};
use protocol_radius::record::{Fields, Record, Status, Volume, Volumes};
use protocol_radius::seal::chap_response;
use protocol_radius::{
    Answer, Client, Config, Credentials, Dictionary, Grant, List, Mapping, Report, Request, Server,
    Wall,
};

use crate::frr::until;
use crate::probe::{FAR, OWN, linked};
use crate::radius_server::{FreeRadius, SECRET, is_there};

fn secret() -> Secret {
    Secret(SECRET.as_bytes().to_vec())
}

fn config(port: u16, far: &str, own: &str) -> Config {
    let address = SocketAddr::new(far.parse().expect("an address"), port);
    let server = Server::new(address, own.parse().expect("an address"), secret());
    Config { wall: wall(), ..Config::new(vec![server], [9; 32]) }
}

/// The time of day at the start of a host that begins now.
fn wall() -> Wall {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    Wall(now.as_nanos() as u64)
}

/// Asks, and returns the answer.
fn ask(host: &mut Host<Client>, request: Request) -> Answer {
    host.command(protocol_radius::Command::Ask { token: 7, request });
    until("an answer", || {
        let said = host.turn(Duration::from_millis(20)).expect("it turns");
        said.into_iter().find_map(|report| match report {
            Report::Answer { token: 7, answer } => Some(answer),
            _ => None,
        })
    })
}

fn access(name: &str, credentials: Credentials) -> Request {
    let mut attributes = List::new();
    attributes.put(kind::USER_NAME, name.as_bytes()).expect("it fits");
    attributes.put(kind::NAS_IDENTIFIER, b"bng").expect("it fits");
    Request::Access { credentials, attributes }
}

fn password(text: &str) -> Credentials {
    Credentials::Password(Secret(text.as_bytes().to_vec()))
}

#[test]
fn freeradius_gives_access_and_refuses_it() {
    if !is_there() {
        return;
    }
    let (own, far) = linked();
    let _server = FreeRadius::start(&far, USERS);
    own.run(|| {
        let dictionary = Dictionary::standard();
        let mapping = Mapping::standard(&dictionary).expect("a table");
        for (far, own) in FAR.into_iter().zip(OWN) {
            let client = Client::new(&config(1812, far, own)).expect("usable");
            let mut host = Host::new(client).expect("a host");
            let Answer::Accept(list) = ask(&mut host, access("nemo", password("arctangent")))
            else {
                panic!("no access over {far}");
            };
            let grants = mapping.map(&dictionary, list.attributes()).grants;
            for expected in [
                Grant::Address([192, 0, 2, 7].into()),
                Grant::DelegatedPrefix("2001:db8:7::".parse().expect("an address"), 48),
                Grant::SessionTimeout(Duration::from_secs(3600)),
                Grant::Pool(protocol_radius::mapping::PoolKind::Ipv4, "gold".to_owned()),
                Grant::Profile(protocol_radius::mapping::Way::Both, "triple".to_owned()),
            ] {
                assert!(grants.contains(&expected), "{expected:?} of {grants:?}");
            }
            let long = "p".repeat(100);
            assert!(matches!(ask(&mut host, access("long", password(&long))), Answer::Accept(_)));
            let (identifier, challenge) = (5, b"sixteen bytes !!".to_vec());
            let response = chap_response(identifier, b"arctangent", &challenge);
            let chap = Credentials::Chap { identifier, response, challenge };
            assert!(matches!(ask(&mut host, access("nemo", chap)), Answer::Accept(_)));
            for (name, text) in [("nemo", "wrong"), ("nobody", "arctangent")] {
                let answer = ask(&mut host, access(name, password(text)));
                assert!(matches!(answer, Answer::Reject(_)), "{name}: {answer:?}");
            }
            let counters = host.machine().views()[0].counters;
            assert_eq!((counters.answers, counters.authenticator, counters.signature), (5, 0, 0));
        }
        // Another secret: the server drops the request, and so nobody answers.
        let mut other = config(1812, FAR[0], OWN[0]);
        other.servers[0].secret = Secret(b"other".to_vec());
        other.servers[0].timeout = Duration::from_millis(100);
        let mut host = Host::new(Client::new(&other).expect("usable")).expect("a host");
        assert_eq!(ask(&mut host, access("nemo", password("arctangent"))), Answer::TimedOut);
    })
    .expect("the namespace is there");
}

#[test]
fn freeradius_records_volumes_of_64_bits_and_both_families() {
    if !is_there() {
        return;
    }
    let (own, far) = linked();
    let server = FreeRadius::start(&far, USERS);
    own.run(|| {
        let dictionary = Dictionary::standard();
        let fields = Fields::standard(&dictionary).expect("a table");
        let client = Client::new(&config(1813, FAR[0], OWN[0])).expect("usable");
        let mut host = Host::new(client).expect("a host");
        let volume = |octets, packets| Volume { octets, packets };
        let volumes =
            Volumes { up: [volume(5 << 32, 1), volume(7, 2)], down: [volume(1, 1), volume(2, 2)] };
        let mut identity = List::new();
        identity.put(kind::USER_NAME, b"nemo").expect("it fits");
        identity.put(kind::NAS_IDENTIFIER, b"bng").expect("it fits");
        for status in [Status::Start, Status::Interim, Status::Stop, Status::On, Status::Off] {
            let event_s = wall().0 / 1_000_000_000;
            let is_begun = matches!(status, Status::Interim | Status::Stop);
            let record = Record {
                status,
                session: b"17",
                event_s,
                duration_s: is_begun.then_some(60),
                volumes: is_begun.then_some(&volumes),
                cause: None,
                identity: identity.attributes(),
            };
            let attributes = record.attributes(&fields).expect("it fits");
            let answer = ask(&mut host, Request::Accounting { attributes, event_s });
            assert_eq!(answer, Answer::Recorded, "{status:?}");
        }
    })
    .expect("the namespace is there");
    let recorded = server.recorded();
    for line in [
        "Acct-Status-Type = Start",
        "Acct-Status-Type = Interim-Update",
        "Acct-Status-Type = Stop",
        "Acct-Status-Type = Accounting-On",
        "Acct-Status-Type = Accounting-Off",
        "Acct-Input-Octets = 7",
        "Acct-Input-Gigawords = 5",
        "ERX-IPv6-Acct-Input-Octets = 7",
        "ERX-IPv6-Acct-Output-Octets = 2",
        "Acct-Delay-Time = 0",
    ] {
        assert!(recorded.contains(line), "{line} in\n{recorded}");
    }
}

#[test]
fn radclient_changes_and_ends_a_session() {
    if !is_there() {
        return;
    }
    let (own, far) = linked();
    let listens = SocketAddr::new(OWN[0].parse().expect("an address"), 3799);
    let machine = || {
        Dynamic::new(dynamic::Config {
            locals: vec![listens],
            clients: vec![Asker { address: FAR[0].parse().expect("one"), secret: secret() }],
            identities: Vec::new(),
            window: Duration::from_secs(300),
            needs_timestamp: false,
            needs_signature: false,
            kept_max: 100,
            patience: Duration::from_secs(5),
            wall: wall(),
        })
        .expect("usable")
    };
    let session = SessionKey::Session(b"17".to_vec());
    // Arguments of radclient, what it sends, what becomes of it, and what it has to print.
    let now = wall().0 / 1_000_000_000;
    let timed = format!("Acct-Session-Id = \"17\", Event-Timestamp = {now}");
    for (kind, attributes, verdict, printed) in [
        ("coa", "Acct-Session-Id = \"17\", Filter-Id = \"basic\"", Ok(()), "CoA-ACK"),
        ("coa", timed.as_str(), Ok(()), "CoA-ACK"),
        (
            "disconnect",
            "Acct-Session-Id = \"17\", Message-Authenticator = 0x00",
            Ok(()),
            "Disconnect-ACK",
        ),
        (
            "disconnect",
            "Acct-Session-Id = \"17\"",
            Err(ErrorCause::SessionContextNotFound),
            "Error-Cause = Session-Context-Not-Found",
        ),
    ] {
        let asked = std::thread::scope(|scope| {
            let sends = scope.spawn(|| {
                let to = listens.to_string();
                // It waits for the answer, and tells it also when it is no.
                let script = format!("radclient -x -t 2 -r 5 {to} {kind} {SECRET} 2>&1; true");
                far.command("sh", &["-c", &script], Some(attributes)).expect("it runs")
            });
            let asked = own.run(|| answer_one(machine(), verdict)).expect("the namespace");
            let said = sends.join().expect("it ends");
            assert!(said.contains(printed), "{printed} in\n{said}");
            asked
        });
        let (wants, keys) = asked;
        let expected = if kind == "coa" { Wanted::Change } else { Wanted::Disconnect };
        assert_eq!((wants, keys), (expected, vec![session.clone()]));
    }
}

/// Turns a host until it was asked once and its answer has left.
fn answer_one(machine: Dynamic, verdict: Result<(), ErrorCause>) -> (Wanted, Vec<SessionKey>) {
    let mut host = Host::new(machine).expect("a host");
    until("a request", || {
        let said = host.turn(Duration::from_millis(20)).expect("it turns");
        let dynamic::Report::Asked { number, wants, keys, .. } = said.into_iter().next()?;
        host.command(dynamic::Command::Answer { number, verdict });
        host.turn(Duration::ZERO).expect("it turns");
        assert!(host.machine().deadline().is_none(), "the answer has left");
        Some((wants, keys))
    })
}

/// Who has access, and to what.
const USERS: &str = "nemo Cleartext-Password := \"arctangent\"\n\
    \tFramed-IP-Address = 192.0.2.7,\n\
    \tDelegated-IPv6-Prefix = 2001:db8:7::/48,\n\
    \tSession-Timeout = 3600,\n\
    \tCisco-AVPair = \"ip:addr-pool=gold\",\n\
    \tAlc-SLA-Prof-Str = \"triple\",\n\
    \tClass = 0x62696c6c\n\n\
    long Cleartext-Password := \"pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp\
    pppppppppppppppppppppppppppppppp\"\n";
