//! SIP beside messages that are written twice: as the subscriber sends them, and as they shall
//! leave.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;

fn session(from: Side, protocol: Protocol) -> Translation {
    translation(from, protocol, 5060, 6060, 5060)
}

/// Rewrites text, which stays text.
fn rewritten(text: &str, translation: &Translation, model: &mut Model) -> (String, Rewritten) {
    let (left, done) = run(Gateway::Sip, text.as_bytes(), translation, model);
    (String::from_utf8(left).expect("text stays text"), done)
}

/// An INVITE as in RFC 3261 section 24.2, with the description of RFC 3605 section 2.1.
#[test]
fn a_call_from_inside_leaves_with_outside_addresses() {
    let message = |contact: &str, via: &str, media: &str, length: usize| {
        format!(
            "INVITE sip:bob@biloxi.com SIP/2.0\r\nVia: SIP/2.0/UDP {via};branch=z9hG4bKnashds8;rport\r\n\
             Max-Forwards: 70\r\nTo: Bob <sip:bob@biloxi.com>\r\n\
             From: Alice <sip:alice@10.0.0.1>;tag=1928301774\r\nCall-ID: a84b4c76e66710@10.0.0.1\r\n\
             CSeq: 314159 INVITE\r\nContact: <sip:alice@{contact}>\r\n\
             Content-Type: application/sdp\r\nContent-Length: {length}\r\n\r\n\
             v=0\r\no=alice 2890844526 2890844526 IN IP4 10.0.0.1\r\ns=-\r\n{media}"
        )
    };
    let (ip, new) = ("10.0.0.1", "198.51.100.77");
    let told = format!(
        "c=IN IP4 {ip}\r\nt=0 0\r\nm=audio 49170 RTP/AVP 0\r\na=rtcp:53020\r\n\
         m=video 51372 RTP/AVP 31\r\nm=audio 0 RTP/AVP 0\r\n"
    );
    let leaves = format!(
        "c=IN IP4 {new}\r\nt=0 0\r\nm=audio 49370 RTP/AVP 0\r\na=rtcp:53220\r\n\
         m=video 51572 RTP/AVP 31\r\nm=audio 0 RTP/AVP 0\r\n"
    );
    let body = "v=0\r\no=alice 2890844526 2890844526 IN IP4 10.0.0.1\r\ns=-\r\n".len();
    let mut model = Model { add: 100, ..Model::default() };
    let from_inside = session(Side::Inside, Protocol::Udp);
    let sent = message(ip, "10.0.0.1:5060", &told, body + told.len());
    let (left, done) = rewritten(&sent, &from_inside, &mut model);
    let contact = format!("{new}:6060");
    assert_eq!(left, message(&contact, &contact, &leaves, body + leaves.len()));
    assert_eq!(done.reason, None);
    let media: Vec<_> = done
        .expectations
        .iter()
        .map(|one| (one.inside.port(), one.outside.port(), one.ports))
        .collect();
    assert_eq!(media, [(49_170, 49_370, 1), (53_020, 53_220, 1), (51_372, 51_572, 2)]);
    assert!(done.expectations.iter().all(|one| one.remote.is_none()));
    assert_eq!(model.asked[&(Protocol::Udp, 49_170)].0, Ports::SameParity);
    assert_eq!(model.asked[&(Protocol::Udp, 51_372)].0, Ports::Pair);
}

#[test]
fn an_answer_from_outside_reaches_the_client_as_it_asked() {
    let mut model = Model { add: 100, ..Model::default() };
    let other = SocketAddrV4::new(INSIDE, 5080);
    let mapped = model.map(Protocol::Udp, other, Ports::Any, None).expect("a mapping");
    assert_eq!(mapped.port(), 5280);
    let answer = "SIP/2.0 200 OK\r\n\
         Via: SIP/2.0/UDP 198.51.100.77:6060;branch=z9;received=198.51.100.77;rport=6060,\r\n \
         SIP/2.0/UDP 203.0.113.9:5060;received=198.51.100.77;rport=6060\r\n\
         Contact: <sip:a@198.51.100.77:5280>, <sip:bob@203.0.113.9>\r\n\
         Record-Route: <sip:198.51.100.77:9999;lr>\r\nl: 0\r\n\r\n";
    let expected = "SIP/2.0 200 OK\r\n\
         Via: SIP/2.0/UDP 10.0.0.1:5060;branch=z9;received=10.0.0.1;rport=5060,\r\n \
         SIP/2.0/UDP 203.0.113.9:5060;received=198.51.100.77;rport=6060\r\n\
         Contact: <sip:a@10.0.0.1:5080>, <sip:bob@203.0.113.9>\r\n\
         Record-Route: <sip:198.51.100.77:9999;lr>\r\nl: 0\r\n\r\n";
    let from_outside = session(Side::Outside, Protocol::Udp);
    let (left, done) = rewritten(answer, &from_outside, &mut model);
    assert_eq!((left.as_str(), done.reason), (expected, None));
    let others = "SIP/2.0 200 OK\r\n\
         Via: SIP/2.0/UDP 198.51.100.77:6060;received=203.0.113.1;rport=7\r\n\r\n";
    let (left, _) = rewritten(others, &from_outside, &mut model);
    assert_eq!(left, others.replace("198.51.100.77:6060", "10.0.0.1:5060"), "not the session's");
    let request = "OPTIONS sip:a@198.51.100.77:6060;transport=udp SIP/2.0\r\n\
         Via: SIP/2.0/UDP 203.0.113.9\r\n\r\n";
    let (left, _) = rewritten(request, &from_outside, &mut model);
    assert_eq!(left, request.replace("198.51.100.77:6060", "10.0.0.1:5060"));
}

#[test]
fn what_cannot_be_rewritten_passes_with_its_reason() {
    let via = "OPTIONS sip:x SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.1:5060\r\n";
    let sdp = |body: &str| format!("{via}c: application/sdp\r\nl: {}\r\n\r\n{body}", body.len());
    for (told, udp, tcp) in [
        ("\r\n\r\n".to_owned(), None, None),
        ("\0\0\0\0".to_owned(), None, None),
        ("\u{1}binary".to_owned(), Some(Reason::NoMessage), Some(Reason::NoMessage)),
        ("OPTIONS sip:x SI".to_owned(), Some(Reason::Malformed), Some(Reason::Split)),
        (via.to_owned(), Some(Reason::Malformed), Some(Reason::Split)),
        (format!("{via}l: 5\r\n\r\nbody"), Some(Reason::Malformed), Some(Reason::Split)),
        (format!("{via}l: x\r\n\r\n"), Some(Reason::Malformed), Some(Reason::Malformed)),
        (format!("{via}l: 0\r\nl: 0\r\n\r\n"), Some(Reason::Malformed), Some(Reason::Malformed)),
        (
            format!("{via}v: nonsense\r\nl: 0\r\n\r\n"),
            Some(Reason::Malformed),
            Some(Reason::Malformed),
        ),
        (sdp("c=IN IP4 10.0.0.1\r\nm=audio x RTP/AVP 0\r\n"), BAD, BAD),
        (sdp("c=IN IP4 10.0.0\r\n"), BAD, BAD),
        (sdp("c=IN IP4 10.0.0.1\r\nm=audio 65535 RTP/AVP 0\r\n"), BAD, BAD),
        (
            sdp("c=IN IP4 10.0.0.1\r\nm=audio 1000 RTP/AVP 0\r\n"),
            Some(Reason::PrivilegedPort),
            Some(Reason::PrivilegedPort),
        ),
        (
            sdp("c=IN IP4 10.0.0.1\r\nm=audio 7000 RTP/AVP 0\r\n"),
            Some(Reason::NoMapping),
            Some(Reason::NoMapping),
        ),
        (
            sdp("c=IN IP4 10.0.0.1\r\nm=audio 49170/2 RTP/AVP 0\r\n"),
            Some(Reason::TooMany),
            Some(Reason::TooMany),
        ),
        (
            sdp(&format!("c=IN IP4 10.0.0.1\r\n{}", "m=audio 4000 RTP/AVP 0\r\n".repeat(60))),
            Some(Reason::TooMany),
            Some(Reason::TooMany),
        ),
    ] {
        for (protocol, reason) in [(Protocol::Udp, udp), (Protocol::Tcp, tcp)] {
            let mut model = Model { add: 1, full: Some(7000), ..Model::default() };
            let from_inside = session(Side::Inside, protocol);
            let (left, done) = rewritten(&told, &from_inside, &mut model);
            assert_eq!((left.as_str(), done.reason), (told.as_str(), reason), "{protocol:?}");
            assert!(done.expectations.is_empty() && done.edited.is_empty());
        }
    }
}

#[test]
fn several_messages_of_a_segment_are_each_rewritten_and_a_cut_one_passes() {
    let message = |host: &str| {
        format!("\r\nOPTIONS sip:x SIP/2.0\r\nVia: SIP/2.0/TCP {host};branch=1\r\nl: 2\r\n\r\nok")
    };
    let (old, new) = (message("10.0.0.1:5060"), message("198.51.100.77:6060"));
    let cut = &old[..40];
    let mut model = Model::default();
    let from_inside = session(Side::Inside, Protocol::Tcp);
    let sent = format!("{old}{old}{cut}");
    let (left, done) = rewritten(&sent, &from_inside, &mut model);
    assert_eq!((left, done.reason), (format!("{new}{new}{cut}"), Some(Reason::Split)));
    let at: Vec<usize> = done.edited.iter().map(|one| one.at.into()).collect();
    assert_eq!(at, [2, old.len() + 2], "from the start line on");
}

/// Where something is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Host {
    Own,
    Foreign,
    /// Looks like the own one at the beginning or the end.
    Alike(&'static str),
}

#[derive(Clone, Debug)]
struct Place {
    host: Host,
    port: Option<u16>,
    is_tcp: bool,
}

#[derive(Clone, Debug)]
struct Media {
    kind: &'static str,
    port: u16,
    connection: Option<Host>,
    rtcp: Option<(u16, Option<Host>)>,
}

#[derive(Clone, Debug)]
struct Message {
    is_request: bool,
    is_tcp: bool,
    is_compact: bool,
    is_folded: bool,
    has_length: bool,
    target: Place,
    vias: Vec<Place>,
    contacts: Vec<Place>,
    routes: Vec<Place>,
    body: Option<(Host, Vec<Media>)>,
}

/// Writes a message, as it is or as it shall leave.
struct Writer<'a> {
    message: &'a Message,
    model: &'a Model,
    is_new: bool,
}

impl Writer<'_> {
    fn host(&self, host: Host) -> String {
        match host {
            Host::Own if self.is_new => OUTSIDE.to_string(),
            Host::Own => INSIDE.to_string(),
            Host::Foreign => "203.0.113.9".to_owned(),
            Host::Alike(text) => text.to_owned(),
        }
    }

    fn place(&self, place: &Place) -> String {
        let host = self.host(place.host);
        let mut port = place.port;
        if self.is_new && place.host == Host::Own {
            let told = place.port.unwrap_or(5060);
            let is_session = told == 5060 && place.is_tcp == self.message.is_tcp;
            let new = if is_session { 6060 } else { self.model.of(told) };
            port = Some(new).filter(|&new| place.port.is_some() || new != 5060);
        }
        port.map_or(host.clone(), |port| format!("{host}:{port}"))
    }

    fn name(&self, long: &'static str, short: &'static str) -> &'static str {
        if self.message.is_compact { short } else { long }
    }

    fn body(&self) -> Option<String> {
        let (session, media) = self.message.body.as_ref()?;
        let mut body =
            format!("v=0\r\no=- 1 1 IN IP4 {INSIDE}\r\nc=IN IP4 {}\r\n", self.host(*session));
        for one in media {
            let host = one.connection.unwrap_or(*session);
            let is_mapped = self.is_new && host == Host::Own && one.port != 0;
            let of = |port: u16| if is_mapped { self.model.of(port) } else { port };
            let _ = write!(body, "m=audio {} {} 0\r\n", of(one.port), one.kind);
            if let Some(host) = one.connection {
                let _ = write!(body, "c=IN IP4 {}\r\n", self.host(host));
            }
            if let Some((port, host)) = one.rtcp {
                // With an address of its own it is the subscriber's only if that is.
                let is_own = host.is_none_or(|host| host == Host::Own);
                let port = if is_own { of(port) } else { port };
                let _ = write!(body, "a=rtcp:{port}");
                if let Some(host) = host {
                    let text = if is_mapped { self.host(host) } else { self.old().host(host) };
                    let _ = write!(body, " IN IP4 {text}");
                }
                body += "\r\n";
            }
            body += "a=sendrecv\r\n";
        }
        Some(body)
    }

    fn old(&self) -> Writer<'_> {
        Writer { is_new: false, ..*self }
    }

    fn text(&self) -> String {
        let message = self.message;
        let mut text = match message.is_request {
            true => {
                let transport = if message.target.is_tcp { "TCP" } else { "udp" };
                let target = self.place(&message.target);
                format!("BYE sip:x@{target};transport={transport} SIP/2.0\r\n")
            }
            false => "SIP/2.0 180 Ringing\r\n".to_owned(),
        };
        let comma = if message.is_folded { ",\r\n\t" } else { ", " };
        let via = |place: &Place| {
            let transport = if place.is_tcp { "TCP" } else { "UDP" };
            format!("SIP/2.0/{transport} {};branch=z9hG4bK-10.0.0.1;x=\"a,b\"", self.place(place))
        };
        let vias: Vec<String> = message.vias.iter().map(via).collect();
        let _ = write!(text, "{}: {}\r\n", self.name("Via", "v"), vias.join(comma));
        let uri = |place: &Place| {
            let transport = if place.is_tcp { "tcp" } else { "UDP" };
            let quoted = "\"sip:10.0.0.1 \\\" <sip:a@10.0.0.1>\"";
            format!("{quoted} <sip:us.er,x@{};transport={transport}>;q=0.1", self.place(place))
        };
        for (name, places) in
            [(self.name("Contact", "M"), &message.contacts), ("Record-Route", &message.routes)]
        {
            let values: Vec<String> = places.iter().map(uri).collect();
            if !values.is_empty() {
                let _ = write!(text, "{name} : {}\r\n", values.join(comma));
            }
        }
        text += "Subject: sip:10.0.0.1:5060\r\nCall-ID: 1@10.0.0.1\r\n";
        let body = self.body();
        if body.is_some() {
            let _ = write!(text, "{}: application/SDP\r\n", self.name("Content-Type", "c"));
        }
        let body = body.unwrap_or_default();
        if message.has_length || message.is_tcp {
            let _ = write!(text, "{}: {}\r\n", self.name("Content-Length", "L"), body.len());
        }
        text + "\r\n" + &body
    }
}

fn any_host() -> impl Strategy<Value = Host> {
    const ALIKE: [&str; 6] =
        ["10.0.0.12", "110.0.0.1", "10.0.0.1.example", "a10.0.0.1", "host.example", "[::1]"];
    prop_oneof![
        4 => Just(Host::Own),
        1 => Just(Host::Foreign),
        1 => prop::sample::select(&ALIKE[..]).prop_map(Host::Alike),
    ]
}

fn any_place() -> impl Strategy<Value = Place> {
    let port = prop_oneof![Just(None), Just(Some(5060)), (1024..60_000_u16).prop_map(Some)];
    (any_host(), port, any::<bool>()).prop_map(|(host, port, is_tcp)| Place { host, port, is_tcp })
}

fn any_media() -> impl Strategy<Value = Media> {
    // Addresses only: a name in `c=` with IP4 is none.
    let host = || prop_oneof![2 => Just(Host::Own), 1 => Just(Host::Foreign)];
    const KINDS: [&str; 4] = ["RTP/AVP", "UDP/TLS/RTP/SAVPF", "udptl", "TCP/MSRP"];
    let port = prop_oneof![1 => Just(0), 5 => 1024..60_000_u16];
    let rtcp = proptest::option::of((
        prop_oneof![Just(0_u16), Just(1), 2..5000_u16],
        proptest::option::of(host()),
    ));
    (prop::sample::select(&KINDS[..]), port, proptest::option::of(host()), rtcp).prop_map(
        |(kind, port, connection, rtcp)| {
            let base = port.max(1024);
            let rtcp = rtcp.map(|(more, host)| (base + more, host));
            Media { kind, port, connection, rtcp }
        },
    )
}

prop_compose! {
    fn any_message()(
        flags in any::<[bool; 5]>(),
        target in any_place(),
        vias in proptest::collection::vec(any_place(), 1..4),
        contacts in proptest::collection::vec(any_place(), 0..3),
        routes in proptest::collection::vec(any_place(), 0..3),
        session in prop_oneof![Just(Host::Own), Just(Host::Foreign), Just(Host::Alike("0.0.0.0"))],
        media in proptest::option::of(proptest::collection::vec(any_media(), 0..4)),
    ) -> Message {
        let [is_request, is_tcp, is_compact, is_folded, has_length] = flags;
        let body = media.map(|media| (session, media));
        Message {
            is_request, is_tcp, is_compact, is_folded, has_length, target, vias, contacts, routes, body,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn messages_leave_as_they_shall(message in any_message(), add in 0_u16..2000) {
        let protocol = if message.is_tcp { Protocol::Tcp } else { Protocol::Udp };
        let mut model = Model { add, ..Model::default() };
        let texts = [false, true].map(|is_new| {
            Writer { message: &message, model: &model, is_new }.text()
        });
        let [sent, expected] = texts;
        let from_inside = session(Side::Inside, protocol);
        let (left, done) = rewritten(&sent, &from_inside, &mut model);
        prop_assert_eq!(&left, &expected);
        prop_assert_eq!(done.reason, None);
        // What is rewritten tells nothing of the inside any more.
        let (again, done) = rewritten(&left, &from_inside, &mut model);
        prop_assert_eq!(again, left);
        prop_assert!(done.edited.is_empty() && done.expectations.is_empty());
    }

    /// What comes back tells what was sent, where ports were told; media are the far end's own.
    #[test]
    fn what_left_comes_back_as_it_was(message in any_message(), add in 1_u16..2000) {
        let tell = |places: Vec<Place>| -> Vec<Place> {
            places.into_iter().map(|one| Place { port: one.port.or(Some(5060)), ..one }).collect()
        };
        let mut message = Message { body: None, ..message };
        message.vias = tell(message.vias);
        message.contacts = tell(message.contacts);
        message.routes = tell(message.routes);
        message.target = tell(vec![message.target]).remove(0);
        let protocol = if message.is_tcp { Protocol::Tcp } else { Protocol::Udp };
        let mut model = Model { add, ..Model::default() };
        let sent = Writer { message: &message, model: &model, is_new: false }.text();
        let (left, _) = rewritten(&sent, &session(Side::Inside, protocol), &mut model);
        // The model adds to ports, and may so have given the outside port of the connection itself
        // to another one.
        let session_port = 6060;
        prop_assume!(model.asked.iter().all(|((_, port), (_, outside))| {
            *port == 5060 || outside.port() != session_port
        }));
        let (back, done) = rewritten(&left, &session(Side::Outside, protocol), &mut model);
        prop_assert_eq!(back, sent);
        prop_assert_eq!(done.reason, None);
    }

    /// Whatever is changed in a message, it is rewritten as a whole or passes as it was.
    #[test]
    fn damaged_messages_are_rewritten_wholly_or_not(
        message in any_message(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        keeps in any::<prop::sample::Index>(),
        from_inside in any::<bool>(),
    ) {
        let mut model = Model { add: 7, ..Model::default() };
        let sent = Writer { message: &message, model: &model, is_new: !from_inside }.text();
        let mut bytes = sent.into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if keeps.index(3) == 0 {
            bytes.truncate(keeps.index(bytes.len()));
        }
        let protocol = if message.is_tcp { Protocol::Tcp } else { Protocol::Udp };
        let from = if from_inside { Side::Inside } else { Side::Outside };
        let (left, done) = run(Gateway::Sip, &bytes, &session(from, protocol), &mut model);
        if done.edited.is_empty() {
            prop_assert_eq!(left, bytes);
        } else {
            prop_assert!(protocol == Protocol::Tcp || done.reason.is_none());
        }
    }
}

const BAD: Option<Reason> = Some(Reason::Malformed);
