//! What application-level gateways read, and what comes to the ends that were told.
use function_cgnat::control::Update;
use function_cgnat::types::sides::OUTSIDE;
use model_kit::check::{Answer, Part, Step};
use wire::bytes::put_u32;
use wire::{ipv4, tcp, udp};

use super::build::{self, End, datagram_with, make_right, segment, segment_with};
use super::steps::{Sample, Sent};

/// FTP: the subscriber tells where it waits, as client and as server.
pub(super) fn ftp(sample: &mut Sample) {
    if !sample.config.alg.ftp {
        return;
    }
    let (client, server) = ((sample.visitor(0), 3000), (sample.server(0), 21));
    let ip = client.0.to_string().replace('.', ",");
    let mut talk = Talk::begin(sample, client, server);
    talk.hears(sample, "220 ready\r\n");
    talk.says(sample, "USER anonymous\r\n");
    let told = talk.says(sample, format!("PORT {ip},19,137\r\n{PADDING}"));
    talk.repeats(sample);
    talk.hears(sample, "200 PORT ok\r\n");
    let data = segment((server.0, 20), client, tcp::FLAG_SYN);
    talk.comes(sample, told, "FTP: data", &data);
    let other = segment((sample.server(1), 20), client, tcp::FLAG_SYN);
    talk.comes(sample, told, "FTP: data of another server", &other);
    let both = tcp::FLAG_SYN | tcp::FLAG_ACK;
    sample.inside("FTP: the client takes it", &segment((client.0, 5001), (server.0, 20), both));
    let told = talk.says(sample, format!("EPRT |1|{}|6275|\r\n{PADDING}", client.0));
    talk.comes(sample, told, "FTP: data by EPRT", &data);
    talk.says(sample, format!("NOOP\r\nPORT {ip},31,64\r\nPORT {ip},19,137\r\n"));
    talk.hears_parts(sample, "200 ok\r\n");
    for said in [
        "PORT x\r\n".to_owned(),
        format!("PORT {ip},0,21\r\n"),
        "PORT 192,0,2,1,19,137\r\n".to_owned(),
        format!("EPRT |2|::1|6275|\r\nPORT {ip},3"),
        format!("PORT {ip},32,0\r\n").repeat(9),
        "QUIT\r\n".to_owned(),
    ] {
        talk.says(sample, &said);
    }
    talk.damaged(sample, format!("PORT {ip},33,0\r\n"));
    sample.update(Update::SetSessionLimit { sessions: 1 });
    talk.says(sample, format!("PORT {ip},34,0\r\n"));
    let sessions = sample.config.session_limit();
    sample.update(Update::SetSessionLimit { sessions });
    talk.repeats(sample);

    let client = talk;
    let (own, far) = ((sample.visitor(1), 21), (sample.server(2), 4000));
    let ip = own.0.to_string().replace('.', ",");
    let mut talk = Talk::begin(sample, own, far);
    talk.hears(sample, "PASV\r\n");
    let told = talk.says(sample, format!("227 Entering ({ip},200,1).\r\n{PADDING}"));
    let data = segment((far.0, 4001), own, tcp::FLAG_SYN);
    talk.comes(sample, told, "FTP: data of a passive server", &data);
    talk.hears(sample, "EPSV\r\n");
    let told = talk.says(sample, format!("229 Entering (|||51200|)\r\n{PADDING}"));
    talk.comes(sample, told, "FTP: data of an extended passive server", &data);
    client.ends(sample);
    sample.wait(sample.config.timeouts.tcp_syn_s + 1.0);
    talk.comes(sample, told, "FTP: data too late", &data);
}

/// SIP: calls from inside, what answers them, media.
pub(super) fn sip(sample: &mut Sample) {
    if !sample.config.alg.sip {
        return;
    }
    let (phone, proxy) = ((sample.visitor(2), 5060), (sample.server(3), 5060));
    let call = invite(phone, "UDP", MEDIA);
    let packet = datagram_with(phone, proxy, call.as_bytes());
    let sent = sample.inside("SIP: a call", &packet);
    sample.inside("SIP: the same again", &packet);
    let answer = "SIP/2.0 180 Ringing\r\nVia: SIP/2.0/UDP 192.0.2.1:9;received=192.0.2.1\r\n\r\n";
    let answer = datagram_with(proxy, phone, answer.as_bytes());
    sample.answer_to((OUTSIDE, sent), "SIP: an answer", &answer);
    // The answer has the request in it as it left: its Via is the outside one.
    let echo = datagram_with(proxy, phone, call.as_bytes());
    let len = call.len() - 60;
    let parts = vec![(sent, (26, 4, 30)), (sent, (34, 2, 36)), (sent, (42, len, 42))];
    sample.answer(OUTSIDE, "SIP: a request of the other end", &echo, parts);
    let media = datagram_with((sample.server(4), 7078), phone, call.as_bytes());
    comes(sample, (sent, len), "SIP: media", &media);
    let rtp = datagram_with((phone.0, 49_170), (sample.server(4), 7078), b"media");
    sample.inside("SIP: media the other way", &rtp);
    let rtcp = datagram_with((phone.0, 49_171), (sample.server(4), 7079), b"control");
    sample.inside("SIP: RTCP beside it", &rtcp);
    for (about, said) in [
        ("SIP: no message", "\u{1}binary".to_owned()),
        ("SIP: nothing", "\r\n\r\n".to_owned()),
        ("SIP: cut", call[..call.len() - 20].to_owned()),
        ("SIP: more media than fit", invite(phone, "UDP", &"m=a 4000 RTP/AVP 0\r\n".repeat(50))),
        ("SIP: a port without a pair", invite(phone, "UDP", "m=audio 65535 RTP/AVP 0\r\n")),
        ("SIP: named RTCP", invite(phone, "UDP", NAMED)),
        (
            "SIP: parity and pairs",
            invite(phone, "UDP", &PAIRS.replace("OWN", &phone.0.to_string())),
        ),
        ("SIP: a port already beside", invite(phone, "UDP", "m=audio 49169 RTP/AVP 0\r\n")),
        ("SIP: other ports of its own", other_ports(phone)),
    ] {
        sample.inside(about, &datagram_with(phone, proxy, said.as_bytes()));
    }
    let long = invite(phone, "UDP", MEDIA);
    let text = format!("{}{}", long, "a=x\r\n".repeat(300));
    let text = &text.replace("Content-Length", "X-Length")[..1472];
    sample.inside("SIP: no room for more", &datagram_with(phone, proxy, text.as_bytes()));
    let mut bare = datagram_with(phone, proxy, call.as_bytes());
    bare[26..28].fill(0);
    sample.inside("SIP: a datagram without checksum", &bare);
    tcp_calls(sample);
}

/// SIP over TCP: several messages in a segment.
fn tcp_calls(sample: &mut Sample) {
    let (phone, proxy) = ((sample.visitor(3), 5062), (sample.server(3), 5060));
    let mut talk = Talk::begin(sample, phone, proxy);
    let call = invite(phone, "TCP", MEDIA);
    talk.says(sample, format!("{call}{call}"));
    talk.hears(sample, "SIP/2.0 100 Trying\r\nVia: SIP/2.0/TCP x\r\nl: 0\r\n\r\n");
    talk.says(sample, &call[..100]);
    talk.repeats(sample);
    talk.hears_parts(sample, "\r\n\r\n");
    for number in 0..6 {
        let media = format!("m=audio {} RTP/AVP 0\r\n", 40_000 + 2 * number);
        talk.says(sample, invite(phone, "TCP", &media));
    }
    talk.ends(sample);
}

/// Registers with ports that are not the session's, by UDP and TCP.
fn other_ports(phone: End) -> String {
    let ip = phone.0;
    format!(
        "REGISTER sip:registrar.example SIP/2.0\r\nv: SIP/2.0/UDP {ip}:5070;branch=z9hG4bK1,\r\n \
         SIP / 2.0 / TCP {ip}\r\nm: \"a, b\" <sip:a@{ip}:5070>, <sip:a@{ip};transport=tcp>,\
         sips:{ip}\r\nRoute: <sip:{ip};lr>\r\nl: 0\r\n\r\n"
    )
}

fn invite((ip, port): End, transport: &str, media: &str) -> String {
    let body = format!("v=0\r\no=- 1 1 IN IP4 {ip}\r\ns=-\r\nc=IN IP4 {ip}\r\nt=0 0\r\n{media}");
    let length = body.len();
    format!(
        "INVITE sip:bob@biloxi.example SIP/2.0\r\nVia: SIP/2.0/{transport} {ip}:{port};rport\r\n\
         Contact: <sip:alice@{ip}:{port}>\r\nContent-Type: application/sdp\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// A connection whose sequence numbers are told apart, as each end counts.
pub(super) struct Talk {
    pub own: End,
    pub far: End,
    /// Of the subscriber, and of the other end.
    next: [u32; 2],
    pub first: Sent,
    last: Vec<u8>,
    told_len: usize,
}

impl Talk {
    pub fn begin(sample: &mut Sample, own: End, far: End) -> Talk {
        let first = sample.inside(
            "a connection begins",
            &with_numbers(segment(own, far, tcp::FLAG_SYN), [FIRST[0].wrapping_sub(1), 0]),
        );
        let next = FIRST;
        let talk = Talk { own, far, next, first, last: Vec::new(), told_len: 0 };
        let both = segment(far, own, tcp::FLAG_SYN | tcp::FLAG_ACK);
        talk.back(sample, "is taken", both, [FIRST[1].wrapping_sub(1), FIRST[0]]);
        let ack = segment(own, far, tcp::FLAG_ACK);
        sample.inside("goes on", &with_numbers(ack, talk.next));
        talk
    }

    /// The subscriber says something.
    pub fn says(&mut self, sample: &mut Sample, text: impl AsRef<[u8]>) -> Sent {
        let (text, flags) = (text.as_ref(), (tcp::FLAG_ACK | tcp::FLAG_PSH, &[][..]));
        let segment = segment_with(self.own, self.far, flags, text);
        self.last = with_numbers(segment, self.next);
        self.next[0] = self.next[0].wrapping_add(text.len() as u32);
        self.told_len = text.len();
        sample.inside("a subscriber says something", &self.last)
    }

    pub fn repeats(&mut self, sample: &mut Sample) {
        sample.inside("and says it again", &self.last);
    }

    /// A segment with a wrong checksum, which changes nothing.
    pub fn damaged(&mut self, sample: &mut Sample, text: impl AsRef<[u8]>) {
        let flags = (tcp::FLAG_ACK, &[][..]);
        let segment = segment_with(self.own, self.far, flags, text.as_ref());
        let mut packet = with_numbers(segment, self.next);
        packet[ipv4::HEADER_LEN + tcp::offset::CHECKSUM] ^= 1;
        sample.inside("what is damaged is not read", &packet);
    }

    /// The other end says something, and acknowledges what it had.
    pub fn hears(&mut self, sample: &mut Sample, text: impl AsRef<[u8]>) {
        self.hears_with(sample, text, Vec::new());
    }

    /// The same with parts of what left.
    pub fn hears_with(&mut self, sample: &mut Sample, text: impl AsRef<[u8]>, parts: Vec<Copied>) {
        let (text, flags) = (text.as_ref(), (tcp::FLAG_ACK | tcp::FLAG_PSH, &[][..]));
        let segment = segment_with(self.far, self.own, flags, text);
        let packet = with_numbers(segment, [self.next[1], self.next[0]]);
        let ends = [(26, 4, 30), (34, 2, 36)].map(|part| (self.first, part));
        let parts = [ends.to_vec(), parts].concat();
        sample.answer(OUTSIDE, "the other end says something", &packet, parts);
        self.next[1] = self.next[1].wrapping_add(text.len() as u32);
    }

    /// The same with selective acknowledgements.
    fn hears_parts(&mut self, sample: &mut Sample, text: &str) {
        let ends = [self.next[0].wrapping_sub(30), self.next[0].wrapping_add(40)];
        let mut options = [1, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 0];
        put_u32(&mut options, 4, ends[0]);
        put_u32(&mut options, 8, ends[1]);
        for about in ["parts are acknowledged", "a part of what was replaced is"] {
            let flags = (tcp::FLAG_ACK, &options[..]);
            let segment = segment_with(self.far, self.own, flags, text.as_bytes());
            self.back(sample, about, segment, [self.next[1], ends[0]]);
            put_u32(&mut options, 4, ends[1]);
        }
        self.next[1] = self.next[1].wrapping_add(text.len() as u32);
    }

    pub fn ends(&self, sample: &mut Sample) {
        let last = segment(self.own, self.far, tcp::FLAG_FIN | tcp::FLAG_ACK);
        sample.inside("it ends", &with_numbers(last, self.next));
        let last = segment(self.far, self.own, tcp::FLAG_FIN | tcp::FLAG_ACK);
        self.back(sample, "from both sides", last, [self.next[1], self.next[0]]);
        let ack = segment(self.own, self.far, tcp::FLAG_ACK);
        sample.inside("with a last ACK", &with_numbers(ack, self.next));
        let again = segment(self.own, self.far, tcp::FLAG_SYN);
        sample.inside("and begins anew", &with_numbers(again, [77, 0]));
    }

    fn back(&self, sample: &mut Sample, about: &'static str, packet: Vec<u8>, numbers: [u32; 2]) {
        sample.answer_to((OUTSIDE, self.first), about, &with_numbers(packet, numbers));
    }

    /// A packet comes to the end that a message told.
    fn comes(&self, sample: &mut Sample, told: Sent, about: &'static str, packet: &[u8]) {
        let transport = ipv4::HEADER_LEN + tcp::HEADER_LEN;
        let packet = [&packet[..transport], &vec![b' '; self.told_len.min(TOLD_LEN)]].concat();
        let mut packet = packet;
        let len = packet.len() as u16;
        model_kit::build::set_word(ipv4::offset::TOTAL_LEN, len)(&mut packet);
        comes(sample, (told, TOLD_LEN), about, &packet);
    }
}

/// A part of a frame that left: of which one; from where, how long, where to.
pub(super) type Copied = (Sent, (usize, usize, usize));

/// A packet to the end that is told within what left, which is in its payload.
fn comes(sample: &mut Sample, (told, len): (Sent, usize), about: &'static str, packet: &[u8]) {
    let head = if packet[9] == wire::protocol::TCP { tcp::HEADER_LEN } else { udp::HEADER_LEN };
    let payload = wire::ethernet::HEADER_LEN + ipv4::HEADER_LEN + head;
    let back = sample.count - told.0;
    let parts = vec![
        Part { back, from: 26, len: 4, to: 30 },
        Part { back, from: 34, len: 2, to: 36 },
        Part { back, from: payload, len, to: payload },
    ];
    let frame = sample.framed(OUTSIDE, packet);
    let answer = Answer { frame, parts, finish: to_told_end, tag: 0 };
    sample.step(Step::Answer { port: OUTSIDE, answer, about });
    sample.count();
}

/// Sends a frame to the port that its payload tells.
fn to_told_end(frame: &mut [u8]) {
    let text = String::from_utf8_lossy(frame).into_owned();
    let numbers = |front: &str| -> Option<Vec<u16>> {
        let (_, rest) = text.split_once(front)?;
        let line = rest.split(['\r', '\n']).next()?;
        let parts = line.split(|c: char| !c.is_ascii_digit());
        Some(parts.filter_map(|part| part.parse().ok()).collect())
    };
    let six = |numbers: &Vec<u16>| match numbers[..] {
        [_, _, _, _, high, low, ..] => Some(high.wrapping_mul(256).wrapping_add(low)),
        _ => None,
    };
    let port = ["PORT ", "227 "].iter().find_map(|front| numbers(front).as_ref().and_then(six));
    let port = port.or_else(|| numbers("EPRT ").and_then(|all| all.get(5).copied()));
    let port = port.or_else(|| numbers("229 ").and_then(|all| all.first().copied()));
    let port = port.or_else(|| numbers("m=audio ").and_then(|all| all.first().copied()));
    if let (Some(port), Some(place)) = (port, frame.get_mut(36..38)) {
        place.copy_from_slice(&port.to_be_bytes());
    }
    build::finish(frame);
}

/// Sets the sequence and acknowledgement numbers of a segment.
fn with_numbers(mut packet: Vec<u8>, [sequence, acknowledgment]: [u32; 2]) -> Vec<u8> {
    put_u32(&mut packet, ipv4::HEADER_LEN + tcp::offset::SEQUENCE, sequence);
    put_u32(&mut packet, ipv4::HEADER_LEN + tcp::offset::ACKNOWLEDGMENT, acknowledgment);
    make_right(&mut packet, true);
    packet
}

const MEDIA: &str =
    "m=audio 49170 RTP/AVP 0\r\na=sendrecv\r\na=ptime:20\r\na=rtpmap:0 PCMU/8000\r\na=x\r\n";

/// RTCP somewhere else (RFC 3605), and where nobody has RTP.
const NAMED: &str = "m=audio 40000 RTP/AVP 0\r\na=rtcp:40777\r\nm=image 40100 udptl t38\r\n\
                     a=rtcp:40102\r\nm=message 40200 TCP/MSRP *\r\nm=video 0 RTP/AVP 31\r\n";

/// Ports that follow one another, told with addresses.
const PAIRS: &str = "m=audio 41001 RTP/AVP 0\r\nc=IN IP4 OWN\r\na=rtcp:41002 IN IP4 OWN\r\n\
                     m=audio 41010 RTP/AVP 0\r\na=rtcp:41010\r\nm=audio 41002 RTP/AVP 0\r\n\
                     m=audio 41000 RTP/AVP 0\r\na=rtcp:50001 IN IP4 192.0.2.7\r\n";

/// Behind a line that is copied, so that what is copied is there.
const PADDING: &str = "NOOP ....................................................\r\n";

/// How much of a payload is copied: less than any line with its padding.
const TOLD_LEN: usize = 50;

/// The first sequence numbers: those of the subscriber wrap around soon.
const FIRST: [u32; 2] = [0xffff_ffc0, 0x0102_0304];
