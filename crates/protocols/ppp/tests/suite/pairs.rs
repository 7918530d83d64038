//! Both sides of the machine with each other: every way to say who one is, and what is agreed on.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use protocol_kit::{Input, Machine, Output, Secret, Time};
use protocol_ppp::{
    Answer, Command, Config, Credentials, Identity, Method, Network, Ppp, Reason, Report, View,
};

use crate::support::{client, given, open, requires};

/// A server and a client with nothing between them.
struct Pair {
    ends: [Ppp; 2],
    now: Time,
    said: [Vec<Report>; 2],
    sent: usize,
}

impl Pair {
    fn new(server: Config, client: Config) -> Pair {
        let ends = [[1; 32], [2; 32]].map(|seed| Ppp::new(1, seed));
        let mut pair = Pair { ends, now: Time::ZERO, said: [vec![], vec![]], sent: 0 };
        for (end, config) in pair.ends.iter_mut().zip([server, client]) {
            let command = Command::Open { session: 0, config: Arc::new(config), mru: 1492 };
            end.input(pair.now, Input::Command(command));
        }
        pair
    }

    /// Lets time pass; questions are answered by whether the secret is "right".
    fn pass(&mut self, span: Duration) {
        let end = self.now.after(span);
        loop {
            while self.turn(0) | self.turn(1) {}
            let next = self.ends.iter().filter_map(Ppp::deadline).min();
            match next.filter(|next| *next <= end) {
                Some(next) => self.now = next.max(self.now),
                None => break,
            }
        }
        self.now = end;
    }

    fn turn(&mut self, end: usize) -> bool {
        let Some(output) = self.ends[end].poll(self.now) else { return false };
        let Output::Report(report) = output else { panic!("a departure") };
        match report {
            Report::Send { payload, .. } => {
                self.sent += 1;
                self.ends[1 - end].receive(self.now, 0, &payload);
            }
            report => {
                if let Report::Asked { question, credentials, .. } = &report {
                    let is_welcome =
                        *credentials == Credentials::None || credentials.prove(b"right");
                    let answer = match is_welcome {
                        true => Answer::Accept(given_by(end)),
                        false => Answer::Reject { message: b"who are you?".to_vec() },
                    };
                    let answer = Command::Answer { session: 0, question: *question, answer };
                    self.ends[end].input(self.now, Input::Command(answer));
                }
                self.said[end].push(report);
            }
        }
        true
    }

    fn views(&self) -> [Option<View>; 2] {
        [0, 1].map(|end: usize| self.ends[end].view(0))
    }

    fn are_up(&self) -> bool {
        self.views().iter().all(|view| view.is_some_and(|view| view.is_v4_up && view.is_v6_up))
    }

    fn ended(&self) -> [Option<Reason>; 2] {
        [0, 1].map(|end: usize| {
            self.said[end].iter().find_map(|report| match report {
                Report::Ended { reason, .. } => Some(*reason),
                _ => None,
            })
        })
    }
}

/// What a side gives to the other one: each has an address and an identifier of its own.
fn given_by(end: usize) -> Network {
    let mut network = given();
    if let (1, Some(v4), Some(v6)) = (end, &mut network.v4, &mut network.v6) {
        (v4.local, v4.remote, v6.local) = (v4.remote, v4.local, 0x12);
    }
    network
}

const WAYS: [Method; 2] = [Method::Pap, Method::ChapMd5];

#[test]
fn both_sides_come_up_by_every_way() {
    let both = [Method::ChapMd5, Method::Pap];
    let ways: [(&[Method], &[Method]); 6] = [
        (&[], &WAYS),
        (&WAYS[..1], &WAYS[..1]),
        (&WAYS[1..], &WAYS[1..]),
        (&both, &WAYS[..1]),
        (&both, &both),
        (&WAYS[1..], &both),
    ];
    for (server, host) in ways {
        let mut pair = Pair::new(requires(server), client(host, b"right"));
        pair.pass(Duration::from_millis(100));
        assert!(pair.are_up(), "{server:?} {host:?}: {:?}", pair.said);
        assert!(pair.sent < 30, "{} packets", pair.sent);
        let [one, other] = pair.views().map(|view| view.expect("it is there").link);
        assert_eq!((one.magic, one.peer_magic), (other.peer_magic, other.magic));
        let told = pair.said[1].iter().find_map(|report| match report {
            Report::V4Up { addresses, .. } => Some(*addresses),
            _ => None,
        });
        let told = told.expect("the client is told its addresses");
        let nine = Ipv4Addr::new(9, 9, 9, 9);
        assert_eq!((told.local.octets(), told.dns), ([10, 0, 0, 2], [Some(nine), None]));
        // An hour of echoes takes nothing down.
        pair.pass(Duration::from_secs(3600));
        assert!(pair.are_up() && pair.ended() == [None; 2]);
    }
}

#[test]
fn nobody_comes_up_with_a_wrong_secret_or_without_a_common_way() {
    for method in WAYS {
        let mut pair = Pair::new(requires(&[method]), client(&[method], b"wrong"));
        pair.pass(Duration::from_secs(10));
        assert_eq!(pair.ended()[0], Some(Reason::Refused), "{method:?}");
        let is_named = matches!(pair.ended()[1], Some(Reason::NotWelcome | Reason::Terminated));
        assert!(is_named, "{:?}", pair.ended());
    }
    let mut pair = Pair::new(requires(&WAYS[..1]), client(&WAYS[1..], b"right"));
    pair.pass(Duration::from_secs(20));
    assert_eq!(pair.ended()[0], Some(Reason::Unproven));
    let mut pair = Pair::new(requires(&WAYS), open());
    pair.pass(Duration::from_secs(20));
    assert_eq!(pair.ended()[0], Some(Reason::Unproven), "the client has no name");
}

#[test]
fn both_sides_may_ask_each_other() {
    let identity = |methods: &[Method]| Identity {
        methods: methods.to_vec(),
        name: b"me".to_vec(),
        secret: Secret(b"right".to_vec()),
    };
    for (one, other) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let [one, other] = [WAYS[one], WAYS[other]];
        let server = Config { identity: Some(identity(&[other])), ..requires(&[one]) };
        let host = Config { identity: Some(identity(&[one])), ..requires(&[other]) };
        let mut pair = Pair::new(server, host);
        pair.pass(Duration::from_secs(5));
        let asked = |end: usize| {
            let is_asked = |report: &&Report| matches!(report, Report::Asked { .. });
            pair.said[end].iter().filter(is_asked).count()
        };
        assert_eq!((asked(0), asked(1)), (1, 1), "{one:?} {other:?}");
        let views = pair.views();
        assert!(
            views.iter().all(|view| view.is_some_and(|view| view.is_v4_up && view.is_v6_up)),
            "{views:?}"
        );
    }
}

#[test]
fn who_ends_it_is_heard_by_the_other_side() {
    let mut pair = Pair::new(requires(&WAYS), client(&WAYS, b"right"));
    pair.pass(Duration::from_secs(1));
    pair.ends[0].input(pair.now, Input::Command(Command::Close { session: 0 }));
    pair.pass(Duration::from_millis(10));
    assert_eq!(pair.ended(), [Some(Reason::Closed), None]);
    let down = Report::Down { session: 0, reason: Reason::Terminated };
    assert!(pair.said[1].contains(&down), "{:?}", pair.said[1]);
    pair.pass(Duration::from_secs(4));
    assert_eq!(pair.ended()[1], Some(Reason::Terminated));
}
