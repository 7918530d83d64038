//! The body of the fuzz target: any payloads at any times, to sessions of each kind.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use protocol_kit::{Input, Machine, Output, Secret, Time};

use crate::config::{Config, Identity, Method, Network, V4, V6};
use crate::control::{Answer, Command, Credentials, Report};
use crate::machine::Ppp;
use crate::packet::{self, Packet, chap, code, pap, protocol};
use crate::redact::redact;

/// Feeds sessions with what the bytes describe: a length, a session, steps of time, and then a
/// payload. It panics when the machine breaks a promise: no refused peer is up, no arrival has many
/// outputs, accepted packets are written back as they were, and nothing shows a password.
pub fn fuzz(bytes: &[u8]) {
    packet::law(bytes);
    hide(bytes);
    let mut ppp = Ppp::new(SESSIONS, [1; 32]);
    let mut now = Time::ZERO;
    for (session, config) in (0..).zip(configs()) {
        let command = Command::Open { session, config: Arc::new(config), mru: 1492 };
        ppp.input(now, Input::Command(command));
    }
    settle(&mut ppp, now);
    let mut rest = bytes;
    while let Some(([len, session, steps], behind)) = rest.split_first_chunk() {
        let (payload, behind) = behind.split_at(behind.len().min(usize::from(*len)));
        rest = behind;
        now = now.after(Duration::from_millis(u64::from(*steps) * 20));
        settle(&mut ppp, now);
        let session = u32::from(*session) % SESSIONS;
        hide(payload);
        ppp.receive(now, session, payload);
        let outputs = settle(&mut ppp, now);
        assert!(outputs <= OUTPUTS_MAX, "{outputs} outputs of one payload");
        assert!(ppp.deadline().is_none_or(|deadline| deadline > now));
    }
}

/// Inputs that bring a session a part of the way, and messages of each kind.
pub fn examples() -> Vec<Vec<u8>> {
    let payload = |number, code, id, data: &[u8]| Packet { code, id, data }.emit(number);
    let lcp = |code, data: &[u8]| payload(protocol::LCP, code, 1, data);
    let request = lcp(code::CONFIGURE_REQUEST, &[1, 4, 5, 212, 5, 6, 1, 2, 3, 4]);
    let by_chap = lcp(code::CONFIGURE_REQUEST, &[3, 5, 0xc2, 0x23, 5, 5, 6, 1, 2, 3, 4]);
    let by_pap = lcp(code::CONFIGURE_REQUEST, &[3, 4, 0xc0, 0x23, 5, 6, 1, 2, 3, 4]);
    let login = payload(protocol::PAP, pap::REQUEST, 1, b"\x02me\x06secret");
    let challenge = payload(protocol::CHAP, chap::CHALLENGE, 1, b"\x04abcdac");
    let response = payload(protocol::CHAP, chap::RESPONSE, 1, &[&[16][..], &[9; 18]].concat());
    let v4 = payload(protocol::IPCP, code::CONFIGURE_REQUEST, 1, &[3, 6, 0, 0, 0, 0]);
    let v6 =
        payload(protocol::IPV6CP, code::CONFIGURE_REQUEST, 1, &[1, 10, 0, 0, 0, 0, 0, 0, 0, 9]);
    let others = [
        lcp(code::TERMINATE_REQUEST, &[]),
        lcp(code::TERMINATE_ACK, &[]),
        lcp(code::CODE_REJECT, &[9, 1, 0, 4]),
        lcp(code::PROTOCOL_REJECT, &[0x80, 0x57, 1, 1, 0, 4]),
        lcp(code::PROTOCOL_REJECT, &login),
        lcp(code::ECHO_REQUEST, &[1, 2, 3, 4, 5]),
        lcp(code::ECHO_REPLY, &[1, 2, 3, 4]),
        lcp(code::IDENTIFICATION, &[1, 2, 3, 4, 65]),
        lcp(14, &[1]),
        payload(0x80fd, 1, 1, &[]),
    ];
    // What the machine sends first is answered by what an own session of the same seed would ask.
    let mut all = Vec::new();
    for last in [login, challenge, response, v4, v6].into_iter().chain(others) {
        let kinds = [(0, &request), (1, &request), (2, &by_chap), (2, &by_pap), (3, &request)];
        for (session, asked) in kinds {
            let opened = [answer_of(session.into()), vec![asked.clone()]].concat();
            let steps = [opened, vec![last.clone()]].concat();
            let one = |payload: &Vec<u8>| {
                [&[payload.len() as u8, session, 1][..], payload.as_slice()].concat()
            };
            all.push(steps.iter().flat_map(one).collect());
        }
    }
    all
}

/// The Ack of what a session has asked for first.
fn answer_of(session: u32) -> Vec<Vec<u8>> {
    let mut ppp = Ppp::new(SESSIONS, [1; 32]);
    for (session, config) in (0..).zip(configs()) {
        let command = Command::Open { session, config: Arc::new(config), mru: 1492 };
        ppp.input(Time::ZERO, Input::Command(command));
    }
    let outputs = std::iter::from_fn(|| ppp.poll(Time::ZERO));
    let acked = outputs.filter_map(|output| match output {
        Output::Report(Report::Send { session: of, mut payload }) if of == session => {
            payload[2] = code::CONFIGURE_ACK;
            Some(payload)
        }
        _ => None,
    });
    acked.collect()
}

/// One that asks by each method, one that is asked, and one without.
fn configs() -> [Config; SESSIONS as usize] {
    let requires = |method| Config { requires: vec![method], ..Config::new() };
    let identity = Identity {
        methods: vec![Method::ChapMd5, Method::Pap],
        name: b"me".to_vec(),
        secret: Secret(SECRET.to_vec()),
    };
    let network = Some(given());
    let client = Config { requires: vec![], identity: Some(identity), network, ..Config::new() };
    let open = Config { requires: vec![], keepalive: None, ..Config::new() };
    [requires(Method::Pap), requires(Method::ChapMd5), client, open]
}

fn given() -> Network {
    let remote = Ipv4Addr::new(10, 0, 0, 2);
    let v4 = V4 { local: Ipv4Addr::new(10, 0, 0, 1), remote, ..V4::default() };
    Network { v4: Some(v4), v6: Some(V6::default()) }
}

/// A payload as a trace shows it: as long as it was, and the same if it is hidden once more.
fn hide(payload: &[u8]) -> Vec<u8> {
    let mut once = payload.to_vec();
    redact(&mut once);
    let mut twice = once.clone();
    redact(&mut twice);
    assert_eq!(once, twice);
    once
}

/// Polls, answers questions, and returns the number of outputs.
fn settle(ppp: &mut Ppp, now: Time) -> usize {
    let mut outputs = 0;
    while let Some(output) = ppp.poll(now) {
        outputs += 1;
        let Output::Report(report) = output else { panic!("a departure") };
        match report {
            // What this side says of itself.
            Report::Send { ref payload, .. } if payload.starts_with(LOGIN) => {
                assert!(payload.ends_with(SECRET) && !hide(payload).ends_with(SECRET));
                let shown = format!("{report:?}");
                assert!(!shown.contains(&format!("{SECRET:?}")[1..]), "{shown}");
            }
            Report::Asked { session, question, credentials, .. } => {
                let answer = match credentials {
                    Credentials::None => Answer::Accept(given()),
                    _ => Answer::Reject { message: b"no".to_vec() },
                };
                ppp.input(now, Input::Command(Command::Answer { session, question, answer }));
            }
            Report::V4Up { session, .. } | Report::V6Up { session, .. } => {
                assert!(session > 1, "session {session} is up and was refused");
            }
            _ => {}
        }
    }
    outputs
}

/// The secret of this side, and how a request of PAP begins.
const SECRET: &[u8] = b"secret";
const LOGIN: &[u8] = &[0xc0, 0x23, pap::REQUEST];

const SESSIONS: u32 = 4;

/// Most outputs of one payload, with those of the answer to a question.
const OUTPUTS_MAX: usize = 12;
