//! IPCP and IPv6CP by hand.

use std::net::Ipv4Addr;
use std::time::Duration;

use protocol_ppp::packet::{Packet, code, protocol};
use protocol_ppp::{Answer, Config, Network, Reason, Report, Unusable, V4, V4Agreed, V6};

use crate::support::{One, answered, code_of, data_of, given, lcp, open};

/// A session with both network protocols, and its own requests of both.
fn begun(network: Network) -> (One, Vec<Vec<u8>>) {
    let mut one = One::linked(open());
    one.answer(Answer::Accept(network));
    let requests = std::mem::take(&mut one.sent);
    (one, requests)
}

fn v4(code: u8, id: u8, data: &[u8]) -> Vec<u8> {
    Packet { code, id, data }.emit(protocol::IPCP)
}

fn v6(code: u8, id: u8, identifier: u64) -> Vec<u8> {
    let data = [&[1, 10][..], &identifier.to_be_bytes()].concat();
    Packet { code, id, data: &data }.emit(protocol::IPV6CP)
}

#[test]
fn a_peer_is_told_its_address_and_servers_of_names() {
    let (mut one, requests) = begun(given());
    assert_eq!(requests[0], v4(code::CONFIGURE_REQUEST, 1, &[3, 6, 10, 0, 0, 1]));
    assert_eq!(requests[1], v6(code::CONFIGURE_REQUEST, 1, 0x11));
    // Compression, the second server and both of NetBIOS are not there.
    let asked = [
        &[2, 6, 0, 0x2d, 15, 1, 3, 6, 0, 0, 0, 0, 129, 6, 0, 0, 0, 0][..],
        &[130, 6, 0, 0, 0, 0, 131, 6, 0, 0, 0, 0, 132, 6, 0, 0, 0, 0],
    ]
    .concat();
    one.hear(&v4(code::CONFIGURE_REQUEST, 1, &asked));
    let rejected = [&asked[..6], &asked[18..]].concat();
    assert_eq!(one.take_one(), v4(code::CONFIGURE_REJECT, 1, &rejected));
    one.hear(&v4(code::CONFIGURE_REQUEST, 2, &asked[6..18]));
    let told = [3, 6, 10, 0, 0, 2, 129, 6, 9, 9, 9, 9];
    assert_eq!(one.take_one(), v4(code::CONFIGURE_NAK, 2, &told));
    one.hear(&v4(code::CONFIGURE_REQUEST, 3, &told));
    assert_eq!(one.take_one(), v4(code::CONFIGURE_ACK, 3, &told));
    one.hear(&answered(&requests[0], code::CONFIGURE_ACK));
    let link = one.ppp.view(0).expect("it is there").link;
    let (local, remote) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let addresses = V4Agreed { local, remote, dns: [None; 2] };
    assert_eq!(one.said.pop(), Some(Report::V4Up { session: 0, link, addresses }));
    assert_eq!((link.mtu, link.peer_magic), (1492, 0x0102_0304));
    assert!(one.ppp.view(0).is_some_and(|view| view.is_v4_up && !view.is_v6_up));
    // It may not take another one.
    one.hear(&v4(code::CONFIGURE_REQUEST, 4, &[3, 6, 10, 0, 0, 3]));
    assert_eq!(one.said.pop(), Some(Report::V4Down { session: 0 }));
    assert_eq!(one.sent.pop(), Some(v4(code::CONFIGURE_NAK, 4, &[3, 6, 10, 0, 0, 2])));
}

#[test]
fn a_peer_that_asks_for_no_address_is_told_once() {
    let (mut one, _) = begun(given());
    one.hear(&v4(code::CONFIGURE_REQUEST, 1, &[]));
    assert_eq!(one.take_one(), v4(code::CONFIGURE_NAK, 1, &[3, 6, 10, 0, 0, 2]));
    one.hear(&v4(code::CONFIGURE_REQUEST, 2, &[]));
    assert_eq!(one.take_one(), v4(code::CONFIGURE_ACK, 2, &[]));
}

#[test]
fn addresses_are_taken_where_they_are_wanted() {
    // As a client: an address and servers are asked for.
    let wanted = V4 { asks_dns: true, ..V4::default() };
    let (mut one, requests) = begun(Network { v4: Some(wanted), v6: None });
    let zeroes = [3, 6, 0, 0, 0, 0, 129, 6, 0, 0, 0, 0, 131, 6, 0, 0, 0, 0];
    assert_eq!(requests, [v4(code::CONFIGURE_REQUEST, 1, &zeroes)]);
    one.hear(&v4(code::CONFIGURE_REJECT, 1, &zeroes[12..]));
    assert_eq!(one.take_one(), v4(code::CONFIGURE_REQUEST, 2, &zeroes[..12]));
    let told = [3, 6, 10, 0, 0, 2, 129, 6, 9, 9, 9, 9];
    one.hear(&v4(code::CONFIGURE_NAK, 2, &told));
    assert_eq!(one.take_one(), v4(code::CONFIGURE_REQUEST, 3, &told));
    // The peer has an address, or none that could be told it.
    one.hear(&v4(code::CONFIGURE_REQUEST, 9, &[3, 6, 0, 0, 0, 0]));
    assert_eq!(one.take_one(), v4(code::CONFIGURE_REJECT, 9, &[3, 6, 0, 0, 0, 0]));
    one.hear(&v4(code::CONFIGURE_REQUEST, 10, &[3, 6, 10, 0, 0, 1]));
    one.hear(&v4(code::CONFIGURE_ACK, 3, &told));
    let (local, remote) = (Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 0, 0, 1));
    let dns = [Some(Ipv4Addr::new(9, 9, 9, 9)), None];
    let agreed = V4Agreed { local, remote, dns };
    assert!(matches!(one.said.pop(), Some(Report::V4Up { addresses, .. }) if addresses == agreed));
    // An address that is accepted as none is none.
    let (mut one, requests) = begun(Network { v4: Some(V4::default()), v6: None });
    one.hear(&answered(&requests[0], code::CONFIGURE_ACK));
    one.pass(Duration::from_secs(7));
    assert_eq!(one.ended(), Some(Reason::NoNetwork));
    // The own address is nobody else's choice.
    let (mut one, requests) = begun(given());
    one.hear(&answered(&v4(code::CONFIGURE_NAK, 1, &[3, 6, 7, 7, 7, 7]), code::CONFIGURE_NAK));
    assert_eq!(data_of(&one.take_one()).1, data_of(&requests[0]).1);
}

#[test]
fn a_protocol_that_was_not_answered_begins_anew_while_the_other_one_is_open() {
    let config = Config { keepalive: None, ..open() };
    let mut one = One::linked(config);
    one.answer(Answer::Accept(given()));
    let requests = std::mem::take(&mut one.sent);
    one.hear(&v4(code::CONFIGURE_REQUEST, 1, &[3, 6, 10, 0, 0, 2]));
    one.hear(&answered(&requests[0], code::CONFIGURE_ACK));
    one.sent.clear();
    // Ten requests in half a minute, as long a pause, and ten again.
    let asked = |one: &mut One, span_s| {
        one.pass(Duration::from_secs(span_s));
        let sent = std::mem::take(&mut one.sent);
        assert!(sent.iter().all(|it| code_of(it) == (protocol::IPV6CP, code::CONFIGURE_REQUEST)));
        sent.len()
    };
    let counts = [29, 29, 31].map(|span_s| asked(&mut one, span_s));
    assert_eq!((counts, one.ended()), ([9, 0, 10], None));
    assert!(one.ppp.view(0).is_some_and(|view| view.is_v4_up && !view.is_v6_up));
    // The peer is there again.
    one.pass(Duration::from_secs(35));
    let request = one.sent.pop().expect("a request");
    one.hear(&v6(code::CONFIGURE_REQUEST, 1, 0x22));
    one.hear(&answered(&request, code::CONFIGURE_ACK));
    assert!(one.ppp.view(0).is_some_and(|view| view.is_v4_up && view.is_v6_up));
    // One that the peer has ended stays so.
    one.hear(&Packet { code: code::TERMINATE_REQUEST, id: 9, data: &[] }.emit(protocol::IPV6CP));
    one.sent.clear();
    assert_eq!(asked(&mut one, 300), 0);
}

#[test]
fn interface_identifiers_differ() {
    let mut agreed = Vec::new();
    for (first, answer) in [(0, code::CONFIGURE_NAK), (0x11, code::CONFIGURE_NAK)] {
        let (mut one, requests) = begun(given());
        one.hear(&v6(code::CONFIGURE_REQUEST, 1, first));
        let said = one.take_one();
        assert_eq!(code_of(&said), (protocol::IPV6CP, answer));
        let told = u64::from_be_bytes(data_of(&said).1[2..].try_into().expect("8 bytes"));
        assert!(told != 0 && told != 0x11);
        one.hear(&v6(code::CONFIGURE_REQUEST, 2, told));
        assert_eq!(code_of(&one.take_one()).1, code::CONFIGURE_ACK);
        one.hear(&answered(&requests[1], code::CONFIGURE_ACK));
        match one.said.pop() {
            Some(Report::V6Up { local: 0x11, remote, .. }) => agreed.push((told, remote)),
            other => panic!("{other:?}"),
        }
    }
    assert!(agreed.iter().all(|(told, remote)| told == remote));
    // A given one is the only one.
    let v6_given = V6 { local: 0x11, remote: 0x22 };
    let (mut one, _) = begun(Network { v6: Some(v6_given), ..given() });
    one.hear(&v6(code::CONFIGURE_REQUEST, 1, 0x33));
    assert_eq!(one.take_one(), v6(code::CONFIGURE_NAK, 1, 0x22));
    one.hear(&v6(code::CONFIGURE_REQUEST, 2, 0x22));
    assert_eq!(one.take_one(), v6(code::CONFIGURE_ACK, 2, 0x22));
    // Other options are not known, and one without any is told to ask.
    one.hear(&Packet { code: 1, id: 3, data: &[2, 4, 0, 1] }.emit(protocol::IPV6CP));
    assert_eq!(code_of(&one.sent.pop().expect("an answer")).1, code::CONFIGURE_REJECT);
    let (mut one, _) = begun(given());
    one.hear(&Packet { code: 1, id: 3, data: &[] }.emit(protocol::IPV6CP));
    assert_eq!(code_of(&one.take_one()).1, code::CONFIGURE_NAK);
}

#[test]
fn an_interface_identifier_that_is_given_is_held() {
    let up = |local, remote, first: Option<u64>| {
        let (mut one, requests) = begun(Network { v4: None, v6: Some(V6 { local, remote }) });
        // The peer suggests its own identifier for this side.
        let id = data_of(&requests[0]).0;
        one.hear(&v6(code::CONFIGURE_NAK, id, 0x22));
        let request = one.take_one();
        let data = first.map_or(vec![], |first| [&[1, 10][..], &first.to_be_bytes()].concat());
        for id in 1..=7 {
            one.hear(&Packet { code: 1, id, data: &data }.emit(protocol::IPV6CP));
        }
        let naks: Vec<_> =
            one.sent.drain(..).filter(|sent| code_of(sent).1 == code::CONFIGURE_NAK).collect();
        assert!(naks.iter().all(|nak| data_of(nak).1 == data_of(&naks[0]).1), "{naks:02x?}");
        // It asks for none in the end.
        one.hear(&Packet { code: 1, id: 9, data: &[] }.emit(protocol::IPV6CP));
        one.hear(&answered(&request, code::CONFIGURE_ACK));
        match one.said.pop() {
            Some(Report::V6Up { local, remote, .. }) => (naks.len(), local, remote),
            other => panic!("{other:?}"),
        }
    };
    for first in [None, Some(0), Some(0x11), Some(0x33)] {
        let naks = if first.is_some() { 5 } else { 1 };
        assert_eq!(up(0x11, 0x22, first), (naks, 0x11, 0x22), "{first:?}");
        let (_, local, remote) = up(0, 0x22, first);
        assert!(local != 0 && local != 0x22 && remote == 0x22, "{local:x} {remote:x}");
    }
    assert_eq!(up(0x11, 0, Some(0)), (5, 0x11, 0), "told the same five times");
    // Both sides cannot have the same one. The question stays open.
    let mut one = One::linked(open());
    let same = Network { v4: None, v6: Some(V6 { local: 0x22, remote: 0x22 }) };
    one.answer(Answer::Accept(same));
    let refused = Report::Refused { session: 0, why: Unusable::Identifier };
    assert_eq!(one.said.pop(), Some(refused));
    one.answer(Answer::Accept(given()));
    assert_eq!(one.sent.len(), 2);
    let mut one = One::open(Config { network: Some(same), ..open() });
    assert!(matches!(one.said.pop(), Some(Report::Refused { why: Unusable::Identifier, .. })));
}

#[test]
fn one_family_goes_without_the_other() {
    // The peer does not know IPv6CP.
    let (mut one, requests) = begun(given());
    let rejected = [&[0x80, 0x57][..], &requests[1][2..]].concat();
    one.hear(&lcp(code::PROTOCOL_REJECT, 1, &rejected));
    one.hear(&answered(&requests[0], code::CONFIGURE_ACK));
    one.hear(&v4(code::CONFIGURE_REQUEST, 1, &[3, 6, 10, 0, 0, 2]));
    assert!(matches!(one.said.pop(), Some(Report::V4Up { .. })));
    one.sent.clear();
    one.pass(Duration::from_secs(29));
    assert_eq!(one.sent.len(), 0, "IPv6CP is not asked for any more");
    // Both go when the peer ends the last one.
    one.hear(&v4(code::TERMINATE_REQUEST, 2, &[]));
    assert_eq!(one.sent.first().map(|payload| code_of(payload).1), Some(code::TERMINATE_ACK));
    assert!(one.said.contains(&Report::V4Down { session: 0 }));
    one.pass(Duration::from_secs(7));
    assert_eq!(one.ended(), Some(Reason::NoNetwork));
    // What is not given is rejected as a protocol.
    let (mut one, requests) = begun(Network { v6: None, ..given() });
    assert_eq!(requests.len(), 1);
    one.hear(&v6(code::CONFIGURE_REQUEST, 1, 7));
    assert_eq!(code_of(&one.take_one()), (protocol::LCP, code::PROTOCOL_REJECT));
}

#[test]
fn ipv6_needs_a_link_of_1280_bytes() {
    let mut one = One::open(open());
    let request = one.take_one();
    one.hear(&answered(&request, code::CONFIGURE_ACK));
    one.hear(&lcp(code::CONFIGURE_REQUEST, 1, &[1, 4, 0x04, 0xff]));
    one.sent.clear();
    one.answer(Answer::Accept(given()));
    assert_eq!(code_of(&one.take_one()), (protocol::IPCP, code::CONFIGURE_REQUEST));
    one.hear(&v6(code::CONFIGURE_REQUEST, 1, 7));
    assert_eq!(code_of(&one.take_one()), (protocol::LCP, code::PROTOCOL_REJECT));
}
