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
fn a_server_that_is_back_is_found_though_requests_wait() {
    let mut config = Config { patience: Duration::from_secs(10), ..config(1) };
    config.servers[0].dead_time = Duration::from_secs(5);
    let mut client = Client::new(&config).expect("usable");
    let (mut told, mut back) = (Vec::new(), None);
    // Answers come after 300 ms, and each 100 ms somebody asks: what has waited for longest ends
    // before the answer to it comes.
    let mut answers: Vec<(u64, Sent)> = Vec::new();
    for at in 0..60_000u64 {
        if at % 100 == 0 {
            ask(&mut client, at, access("name"), ms(at));
        }
        let (due, rest) = answers.into_iter().partition(|(due, _)| *due <= at);
        answers = rest;
        for (_, sent) in due {
            sent.answer_by(&mut client, &sent.answer(Code::AccessAccept), ms(at));
        }
        let (sent, said) = outputs(&mut client, ms(at));
        answers.extend(sent.into_iter().filter(|_| at >= 30_000).map(|sent| (at + 300, sent)));
        let is_up = Report::Server { server: 0, is_up: true };
        back = back.or(said.contains(&is_up).then_some(at));
        told.extend(said.into_iter().filter(|_| at >= 50_000));
    }
    // A try takes 7 s and the rest 5 s.
    assert!(back.is_some_and(|at| at < 50_000), "{back:?}");
    assert_eq!(client.views()[0].state, State::Up);
    let is_accept = |it: &Report| matches!(it, Report::Answer { answer: Answer::Accept(_), .. });
    assert!(told.len() >= 99 && told.iter().all(is_accept), "{told:?}");
}

#[test]
fn a_request_that_had_too_little_time_says_nothing_about_a_server() {
    let mut config = Config { patience: Duration::from_secs(10), ..config(1) };
    (config.servers[0].dead_after, config.servers[0].dead_time) = (1, Duration::from_secs(9));
    let mut client = Client::new(&config).expect("usable");
    ask(&mut client, 1, access("name"), ms(0));
    let dead = loop {
        let (at, _, said) = pass(&mut client, ms(20_000)).expect("it goes on");
        if said.contains(&Report::Server { server: 0, is_up: false }) {
            break at;
        }
    };
    // It waits for 9 s, and has 1 s left then.
    ask(&mut client, 2, access("name"), dead);
    let (tried, sent, _) = pass(&mut client, ms(60_000)).expect("it goes on");
    assert_eq!(sent.len(), 1);
    assert!(tried.since(dead) >= Duration::from_secs(9));
    let mut said = Vec::new();
    while said.is_empty() {
        (_, _, said) = pass(&mut client, ms(60_000)).expect("it goes on");
    }
    assert_eq!(said, [answer(2, Answer::TimedOut)]);
    assert_eq!(client.views()[0].state, State::ToBeTried);
    // So the next one finds out at once.
    let after = dead.after(Duration::from_secs(11));
    ask(&mut client, 3, access("name"), after);
    let (sent, _) = outputs(&mut client, after);
    sent[0].answer_by(&mut client, &sent[0].answer(Code::AccessAccept), after);
    assert_eq!(outputs(&mut client, after).1[0], Report::Server { server: 0, is_up: true });
}

#[test]
fn a_server_that_dies_is_found_dead_though_no_request_has_enough_time() {
    let config = Config { sockets_max: 1, patience: Duration::from_secs(4), ..config(1) };
    let mut client = Client::new(&config).expect("usable");
    let mut answers: Vec<(u64, Sent)> = Vec::new();
    let mut dead = None;
    // Twice as many ask as are answered: of their 4 s those that leave have half a second left, and
    // an answer takes 1 s.
    for at in (0..12_000u64).step_by(2) {
        ask(&mut client, at, access("name"), ms(at));
        let (due, rest) = answers.into_iter().partition(|(due, _)| *due <= at);
        answers = rest;
        for (_, sent) in due {
            sent.answer_by(&mut client, &sent.answer(Code::AccessAccept), ms(at));
        }
        let (sent, said) = outputs(&mut client, ms(at));
        answers.extend(sent.into_iter().filter(|_| at < 8_000).map(|sent| (at + 1_000, sent)));
        if said.contains(&Report::Server { server: 0, is_up: false }) {
            dead.get_or_insert(at);
        }
    }
    let counters = client.views()[0].counters;
    // Answers come when another request has their identifier already.
    assert!(counters.authenticator > 500, "it is overloaded: {counters:?}");
    // The last one has come at 9 s.
    assert!(dead.is_some_and(|at| (10_000..12_000).contains(&at)), "{dead:?}");
}

#[test]
fn a_server_has_one_probe_at_a_time() {
    let mut config = Config { requests_max: 8, ..config(1) };
    let server = &mut config.servers[0];
    (server.dead_after, server.has_status) = (1, true);
    (server.dead_time, server.tries) = (Duration::from_millis(100), 4);
    let mut client = Client::new(&config).expect("usable");
    let mut probes = Vec::new();
    for at in 0..120_000 {
        // Requests end one after the other, also while it is being tried.
        if at % 2_000 == 0 {
            ask(&mut client, at, access("name"), ms(at));
        }
        let (sent, _) = outputs(&mut client, ms(at));
        probes.extend(sent.into_iter().filter(|it| it.packet().code == Code::StatusServer));
        assert!(client.pending() <= 8);
    }
    probes.dedup();
    let different: BTreeSet<_> = probes.iter().map(|it| *it.packet().authenticator).collect();
    assert!(probes.len() >= 4, "{}", probes.len());
    assert_eq!(different.len(), probes.len(), "a probe ends before the next one begins");
    // An ordinary request that is answered late says that it is there, and ends the probe.
    let mut config = Config { requests_max: 1, ..config };
    config.servers[0].tries = 2;
    let mut client = Client::new(&config).expect("usable");
    ask(&mut client, 1, access("name"), ms(0));
    let (mut last, mut at) = (None, Time::ZERO);
    while last.is_none() {
        let (now, sent, _) = pass(&mut client, ms(60_000)).expect("it goes on");
        last = sent.into_iter().find(|it| it.packet().code == Code::StatusServer);
        at = now;
    }
    assert_eq!(client.pending(), 0, "the probe is nobody's request");
    ask(&mut client, 2, access("name"), at);
    assert_eq!(outputs(&mut client, at), (vec![], vec![]), "there is room for it, and it waits");
}

#[test]
fn an_answer_to_any_request_ends_the_probe() {
    let mut config = config(1);
    (config.servers[0].dead_after, config.servers[0].has_status) = (1, true);
    config.servers[0].dead_time = Duration::from_millis(500);
    let mut client = Client::new(&config).expect("usable");
    ask(&mut client, 1, access("name"), ms(0));
    outputs(&mut client, ms(0));
    while pass(&mut client, ms(4_000)).is_some() {}
    ask(&mut client, 2, access("name"), ms(4_000));
    let second = outputs(&mut client, ms(4_000)).0.pop().expect("it was sent");
    let at = loop {
        let (at, sent, _) = pass(&mut client, ms(60_000)).expect("it goes on");
        if sent.iter().any(|it| it.packet().code == Code::StatusServer) {
            break at;
        }
    };
    second.answer_by(&mut client, &second.answer(Code::AccessAccept), at);
    let (sent, said) = outputs(&mut client, at);
    assert_eq!((sent.len(), &said[0]), (0, &Report::Server { server: 0, is_up: true }));
    assert!(matches!(said[1], Report::Answer { token: 2, answer: Answer::Accept(_) }), "{said:?}");
    assert_eq!((client.pending(), client.deadline()), (0, None), "no probe is repeated");
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
}

/// Whether a text shows bytes: as text, in decimal digits, or in hexadecimal ones.
fn shows(text: &str, bytes: &[u8]) -> bool {
    let hexadecimal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let list = format!("{bytes:?}");
    [&String::from_utf8_lossy(bytes)[..], list.trim_matches(['[', ']']), &hexadecimal]
        .iter()
        .any(|form| text.contains(form))
}

#[test]
fn nothing_shows_secrets_to_people() {
    let config = config(1);
    let mut client = Client::new(&config).expect("usable");
    let (response, challenge) = ([0xa7; 16], b"challenge".to_vec());
    let chap = Credentials::Chap { identifier: 1, response, challenge };
    let mut attributes = List::new();
    attributes.put(kind::STATE, b"state-of-it").expect("it fits");
    let by_chap = Request::Access { credentials: chap, attributes };
    let asked = Command::Ask { token: 1, request: by_chap.clone() };
    ask(&mut client, 1, by_chap, ms(0));
    ask(&mut client, 2, access("name"), ms(0));
    // Opening its socket, it has both on their way, and nobody has taken them yet.
    assert!(client.poll(ms(0)).is_some() && client.poll(ms(0)).is_some());
    let while_sent = format!("{client:?} {client:#?}");
    let (sent, _) = outputs(&mut client, ms(0));
    let bytes = &sent[0].bytes;
    let packet = sent[0].packet();
    let all: Vec<_> = packet.attributes.iter().collect();
    let vendor = protocol_radius::attributes::VendorSpecific { vendor: 9, data: b"password" };
    let list = List::from(packet.attributes);
    let shown = format!(
        "{config:?} {asked:?} {while_sent} {client:?} {packet:?} {:?} {all:?} {vendor:?} {list:?}",
        packet.attributes
    );
    let hidden = packet.attributes.first(kind::USER_PASSWORD).expect("it has one");
    for secret in [
        &config.key[..],
        &secret().0,
        b"arctangent",
        &response,
        b"challenge",
        b"state-of-it",
        b"password",
        hidden,
        packet.authenticator,
        packet.attributes.first(kind::MESSAGE_AUTHENTICATOR).expect("it has one"),
        &bytes[4..24],
    ] {
        assert!(!shows(&shown, secret), "{secret:?} in {shown}");
    }
    assert!(shows("a 120, 121 b", b"xy") && shows("xy", b"xy") && shows("7879", b"xy"));
}
