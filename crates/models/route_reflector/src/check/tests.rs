//! The check against a small reflector over loopback, which does things otherwise on purpose.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use super::*;
use crate::wire::Said;

/// A reflector that asks the oracle after each message, and does one thing otherwise.
struct Naive {
    otherwise: Option<Otherwise>,
    oracle: Oracle,
    /// By peer: its session, if it has one.
    sessions: Vec<Option<Session>>,
    /// How many sessions there have been.
    opened: u64,
    lost: Vec<bool>,
}

struct Session {
    /// Tells it from the peer's session before it, whose end may be noticed later.
    number: u64,
    stream: TcpStream,
    told: BTreeMap<Prefix, Attributes>,
}

fn own() -> Own {
    let identifier = Ipv4Addr::new(192, 0, 2, 1);
    Own { asn: 64_500, identifier, cluster: identifier, client_to_client: true }
}

/// Starts a reflector, which ends with the process, and returns where it listens.
fn start(otherwise: Option<Otherwise>, policies: Policies) -> SocketAddr {
    let mut believed = own();
    match otherwise {
        Some(Otherwise::TakesOwnAs) => believed.asn = 0,
        Some(Otherwise::TakesOwnOriginator) => believed.identifier = Ipv4Addr::UNSPECIFIED,
        _ => {}
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let naive = Naive {
        otherwise,
        oracle: Oracle::new(believed, peers()).with(policies),
        sessions: peers().iter().map(|_| None).collect(),
        opened: 0,
        lost: vec![false; peers().len()],
    };
    let naive = Arc::new(Mutex::new(naive));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let naive = Arc::clone(&naive);
            std::thread::spawn(move || serve(stream, &naive));
        }
    });
    address
}

/// Has a session until it ends.
fn serve(mut stream: TcpStream, naive: &Mutex<Naive>) {
    let from = stream.peer_addr().unwrap().ip();
    let at = peers().iter().position(|peer| peer.address == from).unwrap();
    let naive = || naive.lock().unwrap_or_else(PoisonError::into_inner);
    if naive().otherwise == Some(Otherwise::ComesBackLate) && naive().lost[at] {
        return;
    }
    let mut number = 0;
    while let Some(message) = message(&mut stream) {
        match wire::read(&message).unwrap() {
            Said::Open => {
                let opening = wire::open(own().asn, 90, own().identifier);
                let all = [opening, wire::keep_alive()].concat();
                stream.write_all(&all).unwrap();
                number = naive().open(at, stream.try_clone().unwrap());
            }
            Said::Update(gone, there) => {
                let mut naive = naive();
                if naive.has(at, number) {
                    naive.take(at, &gone, there);
                }
            }
            Said::KeepAlive => {}
            Said::End(_) => break,
        }
    }
    let mut naive = naive();
    if naive.has(at, number) {
        naive.close(at);
        naive.tell();
    }
}

fn message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut message = vec![0; 19];
    stream.read_exact(&mut message).ok()?;
    message.resize(u16::from_be_bytes([message[16], message[17]]).into(), 0);
    stream.read_exact(&mut message[19..]).ok()?;
    Some(message)
}

impl Naive {
    /// Has a session in place of the one that the peer may still have; returns its number.
    fn open(&mut self, at: usize, stream: TcpStream) -> u64 {
        if self.sessions[at].is_some() {
            self.close(at);
        }
        self.opened += 1;
        let number = self.opened;
        self.sessions[at] = Some(Session { number, stream, told: BTreeMap::new() });
        self.tell();
        number
    }

    fn has(&self, at: usize, number: u64) -> bool {
        self.sessions[at].as_ref().is_some_and(|session| session.number == number)
    }

    fn close(&mut self, at: usize) {
        self.sessions[at] = None;
        self.lost[at] = true;
        self.oracle.close(at);
    }

    fn take(&mut self, from: usize, gone: &[Prefix], there: Vec<(Prefix, Attributes)>) {
        gone.iter().for_each(|prefix| self.oracle.withdraw(from, *prefix));
        let is_client = peers()[from].is_client;
        for (prefix, mut attributes) in there {
            // What is not to be seen is something else for the oracle, and returns when it is told.
            let takes_cluster = match self.otherwise {
                Some(Otherwise::TakesOwnCluster) => true,
                Some(Otherwise::TakesOwnClusterOfOthers) => !is_client,
                _ => false,
            };
            if takes_cluster {
                replace(&mut attributes.clusters, own().cluster, HIDDEN_CLUSTER);
            }
            if self.otherwise == Some(Otherwise::TellsNoAdvertise) {
                replace(&mut attributes.communities, NO_ADVERTISE, HIDDEN_COMMUNITY);
            }
            self.oracle.announce(from, prefix, &attributes);
        }
        self.tell();
    }

    fn tell(&mut self) {
        for at in 0..self.sessions.len() {
            let mut now = self.oracle.told(at);
            if self.otherwise == Some(Otherwise::TellsOwn) {
                now.extend(self.oracle.told_again(at));
            }
            now.values_mut().for_each(|attributes| self.change(at, attributes));
            let Some(Session { stream, told: before, .. }) = &mut self.sessions[at] else {
                continue;
            };
            let gone = before.keys().filter(|prefix| !now.contains_key(prefix));
            let mut said: Vec<u8> = gone.flat_map(|prefix| wire::withdrawal(*prefix)).collect();
            let new = now.iter().filter(|(prefix, it)| before.get(prefix) != Some(it));
            said.extend(new.flat_map(|(prefix, it)| wire::announcement(*prefix, it)));
            // A session that has ended is noticed where it is read.
            let _ = stream.write_all(&said);
            *before = now;
        }
    }

    fn change(&self, to: usize, attributes: &mut Attributes) {
        replace(&mut attributes.clusters, HIDDEN_CLUSTER, own().cluster);
        replace(&mut attributes.communities, HIDDEN_COMMUNITY, NO_ADVERTISE);
        match self.otherwise {
            Some(Otherwise::AddsMed) if attributes.clusters.len() == 1 => {
                attributes.med.get_or_insert(0);
            }
            Some(Otherwise::LeavesPartial) => {
                attributes.unknown.values_mut().for_each(|(is_partial, _)| *is_partial = false);
            }
            Some(Otherwise::NeglectsNonClients) if !peers()[to].is_client => {
                attributes.originator = None;
                attributes.clusters.clear();
            }
            _ => {}
        }
    }
}

fn replace<T: PartialEq + Copy>(all: &mut [T], old: T, new: T) {
    all.iter_mut().filter(|one| **one == old).for_each(|one| *one = new);
}

fn run(device: Option<Otherwise>, expected: &[Otherwise], patience_s: u64) -> Compared {
    let none = Policies::default;
    run_with((device, none()), (expected, none()), patience_s)
}

fn run_with(
    (device, its_policies): (Option<Otherwise>, Policies),
    (expected, policies): (&[Otherwise], Policies),
    patience_s: u64,
) -> Compared {
    let check = Check {
        device: start(device, its_policies),
        own: own(),
        hold_time_s: 90,
        has_ipv6: true,
        seed: 1,
        patience: Duration::from_secs(patience_s),
        otherwise: expected.to_vec(),
        policies,
    };
    check.run(&AtomicBool::new(false)).unwrap()
}

#[test]
fn a_right_reflector_passes_and_what_it_does_not_do_is_no_excuse() {
    let compared = run(None, &[], 60);
    assert_eq!((compared.different, compared.skipped.len()), (0, 0), "{:?}", compared.differences);
    assert_eq!(compared.events.len(), 5, "{:?}", compared.events);
    assert!(compared.routes > 100, "{}", compared.routes);
    for absent in [Otherwise::AddsMed, Otherwise::LeavesPartial] {
        assert!(run(None, &[absent], 2).different > 0, "{absent:?}");
    }
}

#[test]
fn what_policies_make_of_routes_is_expected() {
    let of = |text: &str| -> Option<Policy> { Some(serde_json::from_str(text).unwrap()) };
    let policies = || Policies {
        import: of(r#"{"name": "in", "default": "accept", "rules": [
            {"prefixes": [{"prefix": "203.0.113.0/24", "ge": 25}], "then": "reject"},
            {"path-has": ["64512-65534"], "then": "reject"},
            {"communities": ["64500:1"], "set": {"local-preference": 300}}
        ]}"#),
        export: of(r#"{"name": "out", "default": "accept", "rules": [
            {"families": ["ipv4-unicast"], "set": {"med": 5, "prepend": {"as": 9, "times": 2}}},
            {"set": {"add-communities": ["1:2:3", "target:64500:7", "1:1"]}}
        ]}"#),
    };
    let compared = run_with((None, policies()), (&[], policies()), 60);
    assert_eq!(compared.different, 0, "{:?}", compared.differences);
    assert!(compared.routes > 100, "{}", compared.routes);
    for missing in [
        Policies { import: None, ..policies() },
        Policies { export: None, ..policies() },
        Policies::default(),
    ] {
        assert!(run_with((None, missing), (&[], policies()), 2).different > 0);
    }
}

#[test]
fn what_a_reflector_does_otherwise_is_found_unless_it_is_known() {
    std::thread::scope(|scope| {
        for otherwise in ALL.iter().copied() {
            scope.spawn(move || {
                assert!(run(Some(otherwise), &[], 2).different > 0, "{otherwise:?}");
                let compared = run(Some(otherwise), &[otherwise], 60);
                assert_eq!(compared.different, 0, "{otherwise:?}: {:?}", compared.differences);
                assert!(compared.skipped[&otherwise] > 0, "{otherwise:?}");
            });
        }
    });
}

#[test]
fn a_reflector_whose_peers_come_back_late_loses_them_in_the_last_round() {
    let late = Otherwise::ComesBackLate;
    let compared = run(Some(late), &[late], 60);
    assert_eq!(compared.different, 0, "{:?}", compared.differences);
    assert!(compared.events["session-lost"] > 0 && compared.skipped[&late] > 0, "{compared:?}");
    assert!(!compared.events.contains_key("session-returned"), "{compared:?}");
}

/// What the small reflector can do otherwise, and is found in a moment.
const ALL: [Otherwise; 9] = [
    Otherwise::AddsMed,
    Otherwise::TellsOwn,
    Otherwise::TakesOwnAs,
    Otherwise::TakesOwnOriginator,
    Otherwise::TakesOwnCluster,
    Otherwise::TakesOwnClusterOfOthers,
    Otherwise::TellsNoAdvertise,
    Otherwise::LeavesPartial,
    Otherwise::NeglectsNonClients,
];

const HIDDEN_CLUSTER: Ipv4Addr = Ipv4Addr::BROADCAST;
const HIDDEN_COMMUNITY: u32 = 0xffff_ffff;
