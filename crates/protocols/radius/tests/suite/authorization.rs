//! Dynamic authorization, driven by hand.

use std::net::SocketAddr;
use std::time::Duration;

use protocol_kit::{Input, Machine, Random, Secret, Socket, Time};
use protocol_radius::asking::{ErrorCause, Identity, SessionKey, Wanted};
use protocol_radius::attributes::kind;
use protocol_radius::dynamic::{Asker, Command, Config, Dynamic, Report, Unusable};
use protocol_radius::{Code, List, Packet, Wall, seal};

use crate::support::{OWN, Sent, deliver, far, ms, outputs, secret};

fn config() -> Config {
    Config {
        locals: vec![SocketAddr::new(OWN, 3799)],
        clients: vec![Asker { address: far(0).ip(), secret: secret() }],
        identities: vec![Identity::Address(OWN), Identity::Name(b"bng".to_vec())],
        window: Duration::from_secs(300),
        needs_timestamp: false,
        needs_signature: false,
        kept_max: 3,
        patience: Duration::from_secs(5),
        wall: Wall(1_700_000_000_000_000_000),
    }
}

fn machine(config: Config) -> Dynamic {
    let mut dynamic = Dynamic::new(config).expect("usable");
    outputs(&mut dynamic, ms(0));
    dynamic
}

/// Attributes by their types.
fn list(attributes: &[(u8, &[u8])]) -> List {
    let mut list = List::new();
    attributes.iter().for_each(|(kind, value)| list.put(*kind, value).expect("it fits"));
    list
}

fn request(code: Code, identifier: u8, list: &List) -> Vec<u8> {
    seal::dynamic_request((code, identifier), &secret(), list.attributes()).expect("it fits")
}

fn hand_over(dynamic: &mut Dynamic, bytes: &[u8], now: Time) -> (Vec<Sent>, Vec<Report>) {
    deliver(dynamic, Socket(0), far(0), bytes, now);
    outputs(dynamic, now)
}

fn decide(
    dynamic: &mut Dynamic,
    number: u64,
    verdict: Result<(), ErrorCause>,
    now: Time,
) -> Vec<Sent> {
    dynamic.input(now, Input::Command(Command::Answer { number, verdict }));
    outputs(dynamic, now).0
}

/// Code and Error-Cause of an answer that is right.
fn read(sent: &Sent, asked: &[u8]) -> (Code, Option<u32>) {
    let (packet, asked) = (sent.packet(), Packet::parse(asked).expect("a packet"));
    let checked = seal::check_answer(&packet, asked.authenticator, &secret(), true);
    assert_eq!((checked, packet.identifier), (Ok(()), asked.identifier));
    (packet.code, packet.attributes.number(kind::ERROR_CAUSE))
}

#[test]
fn the_owner_is_asked_by_the_keys_of_a_session_and_answers() {
    let mut dynamic = machine(config());
    let attributes = list(&[
        (kind::USER_NAME, b"nemo"),
        (kind::NAS_PORT, &[0, 0, 0, 7]),
        (kind::FRAMED_IP_ADDRESS, &[192, 0, 2, 9]),
        (kind::ACCT_SESSION_ID, b"17"),
        (kind::NAS_IDENTIFIER, b"bng"),
        (kind::PROXY_STATE, b"one"),
        (kind::PROXY_STATE, b"two"),
    ]);
    let asked = request(Code::CoaRequest, 1, &attributes);
    let (sent, said) = hand_over(&mut dynamic, &asked, ms(0));
    assert_eq!(sent, []);
    let [Report::Asked { number, wants: Wanted::Change, keys, attributes: told }] = &said[..]
    else {
        panic!("{said:?}");
    };
    assert_eq!(
        *keys,
        [
            SessionKey::UserName(b"nemo".to_vec()),
            SessionKey::Port(7),
            SessionKey::Address([192, 0, 2, 9].into()),
            SessionKey::Session(b"17".to_vec()),
        ]
    );
    assert_eq!(told.attributes().first(kind::NAS_IDENTIFIER), Some(&b"bng"[..]));
    let sent = decide(&mut dynamic, *number, Ok(()), ms(3));
    assert_eq!(read(&sent[0], &asked), (Code::CoaAck, None));
    let states: Vec<_> = sent[0].packet().attributes.all(kind::PROXY_STATE).collect();
    assert_eq!(states, [b"one", b"two"], "as they came");
    let asked = request(Code::DisconnectRequest, 1, &attributes);
    let (_, said) = hand_over(&mut dynamic, &asked, ms(4));
    let [Report::Asked { number, wants: Wanted::Disconnect, .. }] = said[..] else {
        panic!("{said:?}");
    };
    let cause = ErrorCause::SessionContextNotFound;
    let sent = decide(&mut dynamic, number, Err(cause), ms(4));
    assert_eq!(read(&sent[0], &asked), (Code::DisconnectNak, Some(503)));
    assert_eq!(decide(&mut dynamic, number, Ok(()), ms(5)), [], "once");
}

#[test]
fn a_prefix_names_the_same_session_in_every_form() {
    let mut dynamic = machine(Config { kept_max: 4, ..config() });
    let short = [0, 36, 0x20, 1, 0x0d, 0xb8, 0x10];
    let mut padded = short.to_vec();
    // Bits behind its length say nothing.
    padded[6] |= 0x0f;
    padded.resize(18, 0xff);
    let mut identifier = 0;
    for value in [&short[..], &padded] {
        for (kind, key) in [
            (kind::FRAMED_IPV6_PREFIX, SessionKey::Prefix(short.to_vec())),
            (kind::DELEGATED_IPV6_PREFIX, SessionKey::DelegatedPrefix(short.to_vec())),
        ] {
            identifier += 1;
            let asked = request(Code::DisconnectRequest, identifier, &list(&[(kind, value)]));
            let (_, said) = hand_over(&mut dynamic, &asked, ms(0));
            let [Report::Asked { keys, .. }] = &said[..] else { panic!("{said:?}") };
            assert_eq!(*keys, [key]);
        }
    }
}

#[test]
fn repetitions_are_answered_alike_and_the_owner_hears_of_one() {
    let mut dynamic = machine(config());
    let asked = request(Code::DisconnectRequest, 9, &list(&[(kind::USER_NAME, b"nemo")]));
    let (_, said) = hand_over(&mut dynamic, &asked, ms(0));
    assert_eq!(said.len(), 1);
    assert_eq!(hand_over(&mut dynamic, &asked, ms(1)), (vec![], vec![]), "no answer yet");
    let first = decide(&mut dynamic, 0, Ok(()), ms(2));
    for at in [3, 60_000, 601_000] {
        assert_eq!(hand_over(&mut dynamic, &asked, ms(at)), (first.clone(), vec![]));
    }
    // Somebody else's copy is answered to him, and does nothing.
    let elsewhere = SocketAddr::new(far(0).ip(), 9);
    deliver(&mut dynamic, Socket(0), elsewhere, &asked, ms(4));
    let (sent, said) = outputs(&mut dynamic, ms(4));
    assert_eq!((sent[0].to, said.len()), (elsewhere, 0));
    let counters = dynamic.counters();
    assert_eq!((counters.asked, counters.repeated, counters.pending), (1, 4, 1));
    // The same identifier with another content is another request.
    let other = request(Code::DisconnectRequest, 9, &list(&[(kind::USER_NAME, b"other")]));
    assert_eq!(hand_over(&mut dynamic, &other, ms(5)).1.len(), 1);
}

#[test]
fn what_may_not_ask_is_dropped_by_name() {
    let mut dynamic = machine(Config { needs_signature: true, ..config() });
    let keys = list(&[(kind::USER_NAME, b"nemo")]);
    let right = request(Code::CoaRequest, 1, &keys);
    let other = Secret(b"other".to_vec());
    let by_other = seal::dynamic_request((Code::CoaRequest, 1), &other, keys.attributes());
    let unsigned = seal::accounting_request(1, &secret(), keys.attributes(), 0).expect("it fits");
    // An accounting request is authenticated in the same way, without signature.
    let mut unsigned = unsigned;
    unsigned[0] = Code::CoaRequest as u8;
    unsigned[4..20].fill(0);
    use md5::{Digest, Md5};
    let digest = Md5::new().chain_update(&unsigned).chain_update(&secret().0).finalize();
    unsigned[4..20].copy_from_slice(&digest);
    let at = |second: u32| {
        list(&[(kind::USER_NAME, b"a"), (kind::EVENT_TIMESTAMP, &second.to_be_bytes())])
    };
    for wrong in [
        right[..25].to_vec(),
        by_other.expect("it fits"),
        unsigned,
        request(Code::AccessRequest, 1, &keys),
        request(Code::CoaRequest, 2, &at(1_700_000_000 - 301)),
        request(Code::CoaRequest, 3, &at(1_700_000_000 + 301)),
    ] {
        assert_eq!(hand_over(&mut dynamic, &wrong, ms(0)), (vec![], vec![]));
    }
    deliver(&mut dynamic, Socket(0), far(1), &right, ms(0));
    assert_eq!(outputs(&mut dynamic, ms(0)), (vec![], vec![]));
    let counters = dynamic.counters();
    assert_eq!((counters.malformed, counters.authenticator, counters.signature), (1, 1, 1));
    assert_eq!((counters.code, counters.stale, counters.stranger), (1, 2, 1));
    for (identifier, second) in [(4, 1_700_000_000 - 300), (5, 1_700_000_000 + 300)] {
        let asked = request(Code::CoaRequest, identifier, &at(second));
        assert_eq!(hand_over(&mut dynamic, &asked, ms(0)).1.len(), 1, "in time");
    }
    let mut strict = machine(Config { needs_timestamp: true, ..config() });
    assert_eq!(hand_over(&mut strict, &right, ms(0)), (vec![], vec![]));
    assert_eq!(strict.counters().timeless, 1);
}

#[test]
fn requests_that_cannot_be_done_are_refused_with_their_cause() {
    for (attributes, cause) in [
        (vec![(kind::CLASS, &b"a"[..])], 402),
        (vec![(kind::USER_NAME, b"a"), (kind::NAS_IDENTIFIER, b"other")], 403),
        (vec![(kind::USER_NAME, b"a"), (kind::NAS_IP_ADDRESS, &[9, 9, 9, 9])], 403),
        (vec![(kind::USER_NAME, b"a"), (kind::SERVICE_TYPE, &[0, 0, 0, 17])], 405),
        // What is not formed as its type is, and what is but nobody can have.
        (vec![(kind::FRAMED_IP_ADDRESS, b"abc")], 404),
        (vec![(kind::FRAMED_IP_ADDRESS, &[255, 255, 255, 254])], 407),
        (vec![(kind::USER_NAME, b"a"), (kind::NAS_IP_ADDRESS, &[192, 0, 2])], 404),
        (vec![(kind::USER_NAME, b"a"), (kind::NAS_IP_ADDRESS, &[192, 0, 2, 1, 0])], 404),
        (vec![(kind::USER_NAME, b"a"), (kind::NAS_IP_ADDRESS, &[0, 0, 0, 0])], 407),
        (vec![(kind::USER_NAME, b"a"), (kind::NAS_IPV6_ADDRESS, &[0x20; 15])], 404),
        (vec![(kind::USER_NAME, b"a"), (kind::NAS_IPV6_ADDRESS, &[0xff; 16])], 407),
        (vec![(kind::USER_NAME, b"a"), (kind::SERVICE_TYPE, &[17])], 404),
        (vec![(kind::USER_NAME, b"a"), (kind::EVENT_TIMESTAMP, &[1, 2, 3])], 404),
        (vec![(kind::USER_NAME, b"a"), (kind::NAS_PORT, &[1])], 404),
        (vec![(kind::FRAMED_IPV6_PREFIX, &[0, 64, 0x20])], 404),
        (vec![(kind::FRAMED_INTERFACE_ID, &[1; 7])], 404),
    ] {
        for code in [Code::CoaRequest, Code::DisconnectRequest] {
            let mut dynamic = machine(config());
            let asked = request(code, 1, &list(&attributes));
            let (sent, said) = hand_over(&mut dynamic, &asked, ms(0));
            assert_eq!(said, []);
            assert_eq!(read(&sent[0], &asked).1, Some(cause));
            assert_eq!(dynamic.counters().refused, 1);
            assert_eq!(hand_over(&mut dynamic, &asked, ms(1)).0, sent, "alike");
        }
    }
}

#[test]
fn what_is_kept_is_bounded_and_an_owner_who_is_late_is_not_waited_for() {
    let mut dynamic = machine(config());
    let ask = |dynamic: &mut Dynamic, identifier: u8, now| {
        let asked = request(Code::CoaRequest, identifier, &list(&[(kind::USER_NAME, b"a")]));
        let (sent, said) = hand_over(dynamic, &asked, now);
        (sent.iter().map(|it| read(it, &asked)).collect::<Vec<_>>(), said.len())
    };
    for identifier in 0..3 {
        assert_eq!(ask(&mut dynamic, identifier, ms(0)), (vec![], 1));
    }
    let full = vec![(Code::CoaNak, Some(506))];
    assert_eq!(ask(&mut dynamic, 3, ms(0)), (full.clone(), 0));
    assert_eq!(dynamic.deadline(), Some(ms(5_000)));
    assert_eq!(outputs(&mut dynamic, ms(4_999)).0.len(), 0);
    assert_eq!(outputs(&mut dynamic, ms(5_000)).0.len(), 3);
    assert_eq!((dynamic.counters().late, dynamic.deadline()), (3, None));
    assert_eq!(ask(&mut dynamic, 4, ms(602_000)), (full, 0), "a copy could still be in time");
    assert_eq!(ask(&mut dynamic, 4, ms(602_001)), (vec![], 1));
}

#[test]
fn a_malformed_name_of_the_access_server_is_refused_by_one_that_has_no_names() {
    let mut dynamic = machine(Config { identities: Vec::new(), ..config() });
    let named = [(kind::USER_NAME, &b"a"[..]), (kind::NAS_IP_ADDRESS, &[1])];
    let asked = request(Code::CoaRequest, 1, &list(&named));
    let (sent, said) = hand_over(&mut dynamic, &asked, ms(0));
    assert_eq!((read(&sent[0], &asked), said), ((Code::CoaNak, Some(404)), vec![]));
}

#[test]
fn what_cannot_be_used_is_refused_at_the_start() {
    let refused = |change: &dyn Fn(&mut Config)| {
        let mut config = config();
        change(&mut config);
        Dynamic::new(config).err()
    };
    let his = far(0).ip();
    assert_eq!(refused(&|_| {}), None);
    let secret_of = |it: &mut Config| it.clients[0].secret.0.clear();
    assert_eq!(refused(&secret_of), Some(Unusable::Secret(his)));
    let twice = |it: &mut Config| {
        let secret = Secret(b"another".to_vec());
        it.clients.push(Asker { address: far(0).ip(), secret });
    };
    assert_eq!(refused(&twice), Some(Unusable::Twice(his)));
    assert!(Unusable::Twice(his).to_string().contains("192.0.2.100"));
    assert_eq!(refused(&|it| it.kept_max = 0), Some(Unusable::Limits));
    assert_eq!(refused(&|it| it.patience = Duration::ZERO), Some(Unusable::Limits));
}

#[test]
fn many_requests_are_answered_in_any_order() {
    let seed = 3;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut dynamic = machine(Config { kept_max: 2_000, ..config() });
    let mut asked = Vec::new();
    for count in 0..2_000u32 {
        let keys = list(&[(kind::NAS_PORT, &count.to_be_bytes())]);
        let bytes = request(Code::CoaRequest, count as u8, &keys);
        let (_, said) = hand_over(&mut dynamic, &bytes, ms(u64::from(count)));
        let [Report::Asked { number, .. }] = said[..] else { panic!("{said:?}") };
        asked.push((count, number, bytes));
    }
    // Half of them, in any order; the owner is late with the others, each at its own time.
    for _ in 0..1_000 {
        let at = random.below(asked.len() as u64) as usize;
        let (_, number, bytes) = asked.swap_remove(at);
        let sent = decide(&mut dynamic, number, Ok(()), ms(2_000));
        assert_eq!(read(&sent[0], &bytes), (Code::CoaAck, None));
        assert_eq!(decide(&mut dynamic, number, Ok(()), ms(2_000)), [], "once");
    }
    asked.sort_unstable_by_key(|(count, ..)| *count);
    for (count, _, bytes) in asked {
        let due = ms(5_000 + u64::from(count));
        assert_eq!(dynamic.deadline(), Some(due));
        let (sent, _) = outputs(&mut dynamic, due);
        assert_eq!((sent.len(), read(&sent[0], &bytes)), (1, (Code::CoaNak, Some(506))));
    }
    assert_eq!((dynamic.deadline(), dynamic.counters().late), (None, 1_000));
}

#[test]
fn nothing_shows_what_requests_hold() {
    let mut dynamic = machine(config());
    let state = b"state-of-a-session";
    let named = [(kind::USER_NAME, &b"nemo"[..]), (kind::STATE, state)];
    let asked = request(Code::CoaRequest, 1, &list(&named));
    deliver(&mut dynamic, Socket(0), far(0), &asked, ms(0));
    let shown = format!("{dynamic:?}");
    for bytes in [&asked[4..20], state, &secret().0] {
        let digits = format!("{bytes:?}");
        assert!(!shown.contains(digits.trim_matches(['[', ']'])), "{shown}");
        assert!(!shown.contains(&*String::from_utf8_lossy(bytes)), "{shown}");
    }
    let (_, said) = outputs(&mut dynamic, ms(0));
    let told = format!("{said:?} {dynamic:?}");
    assert!(!told.contains("state-of") && !told.contains("115, 116, 97"), "{told}");
}
