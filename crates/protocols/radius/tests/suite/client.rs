//! The client, driven by hand.

use std::collections::BTreeSet;
use std::time::Duration;

use protocol_kit::{Input, Machine, Secret, Socket, Time};
use protocol_radius::attributes::kind;
use protocol_radius::servers::State;
use protocol_radius::{
    Answer, Client, Code, Command, Config, Credentials, List, Order, Refusal, Report, Request,
    Unusable, Wall, seal,
};

use crate::support::{Sent, access, config, deliver, far, ms, outputs, secret};

fn ask(client: &mut Client, token: u64, request: Request, now: Time) {
    client.input(now, Input::Command(Command::Ask { token, request }));
}

/// Time passes until something leaves or is said; returns when, and what.
fn pass(client: &mut Client, end: Time) -> Option<(Time, Vec<Sent>, Vec<Report>)> {
    loop {
        let now = client.deadline().filter(|deadline| *deadline <= end)?;
        let (sent, said) = outputs(client, now);
        if !sent.is_empty() || !said.is_empty() {
            return Some((now, sent, said));
        }
    }
}

fn answer(token: u64, answer: Answer) -> Report {
    Report::Answer { token, answer }
}

#[test]
fn each_request_has_the_answer_of_its_server() {
    let mut client = Client::new(&config(1)).expect("usable");
    for token in 0..4 {
        ask(&mut client, token, access("name"), ms(0));
    }
    let (sent, said) = outputs(&mut client, ms(0));
    assert_eq!((sent.len(), said.len()), (4, 0));
    let codes = [Code::AccessReject, Code::AccessChallenge, Code::AccessAccept];
    // Answers come in another order.
    for (sent, code) in sent.iter().rev().zip(codes) {
        sent.answer_by(&mut client, &sent.answer(code), ms(5));
    }
    let (_, said) = outputs(&mut client, ms(5));
    let whole = |token: usize| {
        List::from(
            protocol_radius::Packet::parse(&sent[token].answer(codes[3 - token]))
                .expect("a packet")
                .attributes,
        )
    };
    assert_eq!(
        said,
        [
            answer(3, Answer::Reject(whole(3))),
            answer(2, Answer::Challenge(whole(2))),
            answer(1, Answer::Accept(whole(1)))
        ]
    );
    assert_eq!(client.pending(), 1);
    let view = client.views()[0];
    assert_eq!(view.round_trip, Some(Duration::from_millis(5)));
    // The same once more is no answer to anything.
    sent[3].answer_by(&mut client, &sent[3].answer(codes[0]), ms(6));
    assert_eq!(outputs(&mut client, ms(6)).1, []);
    assert_eq!(client.views()[0].counters.unexpected, 1);
}

#[test]
fn what_is_no_answer_is_dropped_by_name() {
    let mut client = Client::new(&config(1)).expect("usable");
    ask(&mut client, 0, access("name"), ms(0));
    let (sent, _) = outputs(&mut client, ms(0));
    let sent = &sent[0];
    let right = sent.answer(Code::AccessAccept);
    let request = sent.packet();
    let other = Secret(b"other".to_vec());
    let none = List::new();
    let by_other = seal::answer(Code::AccessAccept, &request, &other, none.attributes());
    // Answers an accounting request, which has no signature, as if the code were that of access.
    let mut unsigned = vec![2, request.identifier, 0, 20];
    unsigned.extend(seal_without_signature(&unsigned, request.authenticator));
    let mut signed_wrongly = right.clone();
    signed_wrongly[25] ^= 1;
    reseal(&mut signed_wrongly, request.authenticator);
    let port = std::net::SocketAddr::new(far(0).ip(), 9);
    deliver(&mut client, sent.socket, port, &right, ms(1));
    sent.answer_by(&mut client, &right[..30], ms(1));
    sent.answer_by(&mut client, &by_other.expect("it fits"), ms(1));
    sent.answer_by(&mut client, &unsigned, ms(1));
    sent.answer_by(&mut client, &signed_wrongly, ms(1));
    sent.answer_by(&mut client, &sent.answer(Code::AccountingResponse), ms(1));
    let mut another = right.clone();
    another[1] ^= 1;
    sent.answer_by(&mut client, &another, ms(1));
    deliver(&mut client, Socket(99), sent.to, &right, ms(1));
    assert_eq!(outputs(&mut client, ms(1)), (vec![], vec![]));
    let counters = client.views()[0].counters;
    assert_eq!((counters.stranger, counters.malformed), (1, 1));
    assert_eq!((counters.authenticator, counters.signature), (1, 2));
    assert_eq!((counters.code, counters.unexpected), (1, 1));
    assert_eq!(client.pending(), 1);
    sent.answer_by(&mut client, &right, ms(2));
    assert_eq!(outputs(&mut client, ms(2)).1.len(), 1, "the right one still counts");
}

/// The authenticator of an answer without attributes.
fn seal_without_signature(head: &[u8], request: &[u8; 16]) -> [u8; 16] {
    use md5::{Digest, Md5};
    Md5::new().chain_update(head).chain_update(request).chain_update(&secret().0).finalize().into()
}

/// Makes the authenticator of changed bytes right.
fn reseal(answer: &mut [u8], request: &[u8; 16]) {
    use md5::{Digest, Md5};
    let digest = Md5::new().chain_update(&answer[..4]).chain_update(request);
    let digest = digest.chain_update(&answer[20..]).chain_update(&secret().0).finalize();
    answer[4..20].copy_from_slice(&digest);
}

#[test]
fn repetitions_are_the_same_and_further_apart_each_time() {
    let mut config = config(1);
    config.servers[0].tries = 5;
    config.servers[0].timeout_max = Duration::from_secs(3);
    let mut client = Client::new(&config).expect("usable");
    ask(&mut client, 7, access("name"), ms(0));
    let (first, _) = outputs(&mut client, ms(0));
    let mut times = vec![0.0];
    let end = loop {
        let (at, sent, said) = pass(&mut client, ms(60_000)).expect("it goes on");
        if !said.is_empty() {
            assert_eq!((sent, said), (vec![], vec![answer(7, Answer::TimedOut)]));
            break at;
        }
        assert_eq!(sent, first, "identifier, authenticator and all");
        times.push(at.since(Time::ZERO).as_secs_f64());
    };
    times.push(end.since(Time::ZERO).as_secs_f64());
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Each within a tenth of twice the last one's, or of the longest.
    let mut expected = 1.0;
    for gap in &gaps {
        assert!((expected * 0.89..expected * 1.11).contains(gap), "{gaps:?}");
        expected = (gap * 2.0f64).min(3.0);
    }
    assert_eq!(gaps.len(), 5);
    assert_eq!((client.pending(), client.deadline()), (0, None));
}

#[test]
fn a_socket_has_256_requests_and_there_are_as_many_as_needed() {
    let config = Config { sockets_max: 3, requests_max: 800, ..config(1) };
    let mut client = Client::new(&config).expect("usable");
    for token in 0..801 {
        ask(&mut client, token, access("name"), ms(0));
    }
    let (sent, said) = outputs(&mut client, ms(0));
    assert_eq!(said, [answer(800, Answer::Refused(Refusal::Full))]);
    let keys: BTreeSet<_> = sent.iter().map(|it| (it.socket, it.packet().identifier)).collect();
    assert_eq!((sent.len(), keys.len()), (768, 768));
    let authenticators: BTreeSet<_> = sent.iter().map(|it| *it.packet().authenticator).collect();
    assert_eq!(authenticators.len(), 768);
    // An answer makes room for one that waits, with the identifier that has just become free.
    sent[300].answer_by(&mut client, &sent[300].answer(Code::AccessAccept), ms(1));
    let (next, said) = outputs(&mut client, ms(1));
    assert_eq!((next.len(), said.len()), (1, 1));
    assert_eq!(next[0].socket, sent[300].socket);
    assert_eq!(next[0].packet().identifier, sent[300].packet().identifier);
    assert_eq!(client.refused(), 1);
}

#[test]
fn another_server_is_asked_and_the_dead_one_comes_back() {
    let mut config = config(2);
    config.servers[0].dead_after = 1;
    let mut client = Client::new(&config).expect("usable");
    ask(&mut client, 1, access("name"), ms(0));
    ask(&mut client, 2, access("name"), ms(500));
    let mut reached = Vec::new();
    let mut dead = None;
    while reached.len() < 2 {
        let (at, sent, said) = pass(&mut client, ms(60_000)).expect("it goes on");
        if said.contains(&Report::Server { server: 0, is_up: false }) {
            dead = Some(at);
        }
        for sent in sent.into_iter().filter(|sent| sent.to == far(1)) {
            assert_eq!(dead, Some(at), "both at once, when the first one has no tries any more");
            sent.answer_by(&mut client, &sent.answer(Code::AccessAccept), at);
            reached.push(sent);
        }
    }
    let dead = dead.expect("it is");
    let (_, said) = outputs(&mut client, dead);
    assert_eq!(said.len(), 2, "{said:?}");
    // While it is dead the other one is asked at once.
    ask(&mut client, 3, access("name"), dead);
    assert_eq!(outputs(&mut client, dead).0[0].to, far(1));
    assert_eq!(client.views()[0].state, State::Dead);
    // Then one request finds out, and no other one goes with it.
    let back = dead.after(Duration::from_millis(30_100));
    outputs(&mut client, back);
    ask(&mut client, 4, access("name"), back);
    ask(&mut client, 5, access("name"), back);
    let (sent, _) = outputs(&mut client, back);
    assert_eq!(sent.iter().map(|sent| sent.to).collect::<Vec<_>>(), [far(0), far(1)]);
    sent[0].answer_by(&mut client, &sent[0].answer(Code::AccessReject), back);
    let (_, said) = outputs(&mut client, back);
    assert_eq!(said[0], Report::Server { server: 0, is_up: true });
    ask(&mut client, 6, access("name"), back);
    assert_eq!(outputs(&mut client, back).0[0].to, far(0));
}

#[test]
fn a_server_is_asked_by_status_whether_it_is_there_again() {
    let mut config = config(1);
    (config.servers[0].dead_after, config.servers[0].has_status) = (1, true);
    let mut client = Client::new(&config).expect("usable");
    ask(&mut client, 1, access("name"), ms(0));
    let mut said_all = Vec::new();
    let status = loop {
        let (at, sent, said) = pass(&mut client, ms(600_000)).expect("it goes on");
        said_all.extend(said);
        if let Some(sent) = sent.into_iter().find(|it| it.packet().code == Code::StatusServer) {
            break (at, sent);
        }
    };
    assert_eq!(said_all, [Report::Server { server: 0, is_up: false }, answer(1, Answer::TimedOut)]);
    let (at, sent) = status;
    ask(&mut client, 2, access("name"), at);
    assert_eq!(outputs(&mut client, at).0, [], "it waits for what becomes of it");
    sent.answer_by(&mut client, &sent.answer(Code::AccessAccept), at);
    let (sent, said) = outputs(&mut client, at);
    assert_eq!(said, [Report::Server { server: 0, is_up: true }]);
    assert_eq!(sent[0].packet().code, Code::AccessRequest);
}

#[test]
fn servers_in_turn_share_the_requests() {
    let config = Config { order: Order::InTurn, ..config(3) };
    let mut client = Client::new(&config).expect("usable");
    (0..6).for_each(|token| ask(&mut client, token, access("name"), ms(0)));
    let to: Vec<_> = outputs(&mut client, ms(0)).0.iter().map(|sent| sent.to).collect();
    assert_eq!(to, [0, 1, 2, 0, 1, 2].map(far));
}

#[test]
fn accounting_tells_how_long_ago_something_was() {
    let config = Config { wall: Wall(1_000_000_000_000), ..config(1) };
    let mut client = Client::new(&config).expect("usable");
    let request = Request::Accounting { attributes: List::new(), event_s: 990 };
    ask(&mut client, 1, request, ms(5_000));
    let (sent, _) = outputs(&mut client, ms(5_000));
    let packet = sent[0].packet();
    assert_eq!(packet.code, Code::AccountingRequest);
    assert_eq!(packet.attributes.number(kind::ACCT_DELAY_TIME), Some(15));
    assert_eq!(seal::check_request(&packet, &secret(), false), Ok(()));
    sent[0].answer_by(&mut client, &sent[0].answer(Code::AccountingResponse), ms(5_001));
    assert_eq!(outputs(&mut client, ms(5_001)).1, [answer(1, Answer::Recorded)]);
}

#[test]
fn a_request_that_cannot_be_written_is_refused() {
    let mut client = Client::new(&config(1)).expect("usable");
    let credentials = Credentials::Password(Secret(vec![b'a'; 129]));
    ask(&mut client, 1, Request::Access { credentials, attributes: List::new() }, ms(0));
    let said = outputs(&mut client, ms(0)).1;
    assert_eq!(said, [answer(1, Answer::Refused(Refusal::Unwritable))]);
}

#[test]
fn a_socket_that_fails_is_opened_again() {
    let mut client = Client::new(&config(1)).expect("usable");
    ask(&mut client, 1, access("name"), ms(0));
    let (sent, _) = outputs(&mut client, ms(0));
    let failed = protocol_kit::Arrival::Failed { socket: sent[0].socket };
    client.input(ms(1), Input::Arrival(failed));
    assert_eq!(outputs(&mut client, ms(1)).0, []);
    // The first repetition may find it closed, a later one leaves by it.
    let (at, again, _) = pass(&mut client, ms(10_000)).expect("it goes on");
    assert_eq!(again, sent);
    again[0].answer_by(&mut client, &again[0].answer(Code::AccessAccept), at);
    assert_eq!(outputs(&mut client, at).1.len(), 1);
}

#[test]
fn what_cannot_be_used_is_refused_at_the_start() {
    let usable = config(1);
    let changed = |change: &dyn Fn(&mut Config)| {
        let mut config = usable.clone();
        change(&mut config);
        Client::new(&config).err()
    };
    assert_eq!(changed(&|_| {}), None);
    assert_eq!(changed(&|it| it.servers.clear()), Some(Unusable::Servers));
    assert_eq!(
        changed(&|it| it.servers = vec![it.servers[0].clone(); 33]),
        Some(Unusable::Servers)
    );
    assert_eq!(changed(&|it| it.servers[0].secret.0.clear()), Some(Unusable::Secret));
    let v6 = std::net::Ipv6Addr::LOCALHOST;
    assert_eq!(changed(&|it| it.servers[0].local = v6.into()), Some(Unusable::Local));
    assert_eq!(changed(&|it| it.servers[0].tries = 0), Some(Unusable::Times));
    assert_eq!(changed(&|it| it.patience = Duration::ZERO), Some(Unusable::Times));
    assert_eq!(changed(&|it| it.sockets_max = 257), Some(Unusable::Limits));
    assert_eq!(changed(&|it| it.requests_max = 0), Some(Unusable::Limits));
    assert_eq!(changed(&|it| it.servers[0].port_first = 65_530), Some(Unusable::Ports));
    let shown = format!("{usable:?}");
    assert!(!shown.contains("xyzzy") && !shown.contains("120, 121"), "secrets stay hidden");
}
