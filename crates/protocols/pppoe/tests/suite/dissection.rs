//! What both sides say to each other, PPP included, read by tshark. It is called here as the kit of
//! tests does it, which knows every function and would have to be built for this alone.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a peer is a program")]

use std::env;
use std::fs::File;
use std::path::Path;
use std::process::Command as Program;
use std::sync::Arc;
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use protocol_kit::{Input, Machine, Output, Secret, Time};
use protocol_ppp::{self as ppp, Answer, Identity, Method, Network, Ppp, V4, V6};
use protocol_pppoe::packet::{Packet, TYPE_DISCOVERY, TYPE_SESSION, code};
use protocol_pppoe::tags::{LineIds, kind};
use protocol_pppoe::{Command, Config};

use crate::support::{One, any, host, packet, tag, with};

#[test]
fn tshark_reads_what_is_sent_without_complaint() {
    let mut one = One::new(Config { max_payload: 1500, ..Config::new(b"ac-name") });
    assert_eq!(one.now, Time::ZERO);
    let mut list = with(&any(), kind::HOST_UNIQ, &[0xde, 0xad]);
    list = with(&list, kind::RELAY_SESSION_ID, &[9; 12]);
    list = with(&list, kind::PPP_MAX_PAYLOAD, &[0x05, 0xdc]);
    LineIds { circuit: Some(b"olt 1/2"), remote: Some(b"flat 5") }.put(&mut list);
    let padi = packet(code::PADI, &list);
    let offer = one.hear(host(1, 1), &padi).expect("an offer");
    let cookie = tag(&offer, kind::AC_COOKIE).expect("a cookie");
    let padr = packet(code::PADR, &with(&list, kind::AC_COOKIE, &cookie));
    let pads = one.hear(host(1, 1), &padr).expect("a session");
    let other = with(&with(&[], kind::SERVICE_NAME, b"no"), kind::AC_COOKIE, &cookie);
    let error = one.hear(host(1, 1), &packet(code::PADR, &other)).expect("an error");
    one.tell(Command::Close { session: 0, why: b"bye".to_vec() });
    let (_, _, padt) = one.sent.pop().expect("a PADT");
    let all = [padi, offer, padr, pads, error, padt];
    let framed = |kind: u16, packet: &[u8]| {
        [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &kind.to_be_bytes(), packet].concat()
    };
    let mut frames: Vec<_> = all.iter().map(|packet| framed(TYPE_DISCOVERY, packet)).collect();
    for method in [Method::Pap, Method::ChapMd5] {
        for payload in exchange(method) {
            let packet = Packet { code: code::SESSION, session_id: 7, payload: &payload };
            frames.push(framed(TYPE_SESSION, &packet.emit()));
        }
    }
    let fields = [
        "_ws.expert.message",
        "_ws.malformed",
        "pppoe.code",
        "pppoed.tags.ac_name",
        "pppoed.tags.circuit_id",
        "pppoed.tags.remote_id",
        "pppoed.tags.max_payload",
        "pppoed.tags.service_name_error",
        "pppoed.tags.generic_error",
        "frame.protocols",
    ];
    let Some(read) = dissect(&frames, &fields) else { return };
    assert_eq!(read.len(), frames.len());
    for (line, frame) in read.iter().zip(&frames) {
        assert_eq!((line[0].as_str(), line[1].as_str()), ("", ""), "{line:?} {frame:02x?}");
    }
    let codes: Vec<&str> = read[..6].iter().map(|line| line[2].as_str()).collect();
    assert_eq!(codes, ["0x09", "0x07", "0x19", "0x65", "0x65", "0xa7"]);
    assert_eq!(read[1][3], "ac-name");
    assert_eq!((read[0][4].as_str(), read[0][5].as_str()), ("olt 1/2", "flat 5"));
    assert!(!read[0][6].is_empty() && read[1][6] == read[0][6] && read[3][6] == read[0][6]);
    assert_eq!((read[4][7].as_str(), read[5][8].as_str()), ("no such service", "bye"));
    let has = |name: &str| read.iter().any(|line| line[9].split(':').any(|one| one == name));
    for name in ["lcp", "pap", "chap", "ipcp", "ipv6cp"] {
        assert!(has(name), "no {name} was seen");
    }
}

/// All payloads of a session of PPP from its beginning to its end.
fn exchange(method: Method) -> Vec<Vec<u8>> {
    let v4 = V4 {
        local: [10, 0, 0, 1].into(),
        remote: [10, 0, 0, 2].into(),
        dns: [Some([9, 9, 9, 9].into()), None],
        asks_dns: false,
    };
    let given = Network { v4: Some(v4), v6: Some(V6::default()) };
    let server = ppp::Config { requires: vec![method], name: b"ac".to_vec(), ..ppp::Config::new() };
    let (name, secret) = (b"me".to_vec(), Secret(b"secret".to_vec()));
    let identity = Some(Identity { methods: vec![method], name, secret });
    let v4 = Some(V4 { asks_dns: true, ..V4::default() });
    let network = Some(Network { v4, v6: Some(V6::default()) });
    let host = ppp::Config { requires: vec![], identity, network, ..ppp::Config::new() };
    let mut ends = [[1; 32], [2; 32]].map(|seed| Ppp::new(1, seed));
    let now = Time::ZERO;
    for (end, config) in ends.iter_mut().zip([server, host]) {
        let command = ppp::Command::Open { session: 0, config: Arc::new(config), mru: 1492 };
        end.input(now, Input::Command(command));
    }
    let mut frames = Vec::new();
    settle(&mut ends, given, &mut frames);
    assert!(ends[0].view(0).is_some_and(|view| view.is_v4_up && view.is_v6_up));
    for odd in [&[0x80, 0xfd, 1, 1, 0, 4][..], &[0xc0, 0x21, 99, 1, 0, 5, 7]] {
        ends[0].receive(now, 0, odd);
        settle(&mut ends, given, &mut frames);
    }
    ends[0].input(now, Input::Command(ppp::Command::Close { session: 0 }));
    settle(&mut ends, given, &mut frames);
    frames
}

/// Carries payloads until neither side has another one; the first side's question is answered.
fn settle(ends: &mut [Ppp; 2], given: Network, frames: &mut Vec<Vec<u8>>) {
    let now = Time::ZERO;
    let (mut end, mut rests) = (0, 0);
    while rests < 2 {
        match ends[end].poll(now) {
            None => (end, rests) = (1 - end, rests + 1),
            Some(Output::Report(ppp::Report::Send { payload, .. })) => {
                rests = 0;
                ends[1 - end].receive(now, 0, &payload);
                frames.push(payload);
            }
            Some(Output::Report(ppp::Report::Asked { question, .. })) => {
                rests = 0;
                let answer = Answer::Accept(given);
                let answer = ppp::Command::Answer { session: 0, question, answer };
                ends[end].input(now, Input::Command(answer));
            }
            Some(_) => rests = 0,
        }
    }
}

/// What tshark says of frames: of each the fields that are asked for. None where it is left out.
fn dissect(frames: &[Vec<u8>], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    if env::var_os("PLUMBLINE_SKIP_PEERS").is_some_and(|value| value == "1") {
        println!("skipped: PLUMBLINE_SKIP_PEERS=1");
        return None;
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pppoe.pcap");
    let header = PcapHeader { datalink: DataLink::ETHERNET, ..PcapHeader::default() };
    let file = File::create(&path).expect("the folder for tests can be written");
    let mut writer = PcapWriter::with_header(file, header).expect("a header is written");
    for (number, frame) in (0..).zip(frames) {
        let packet = PcapPacket::new(Duration::from_micros(number), frame.len() as u32, frame);
        writer.write_packet(&packet).expect("a packet is written");
    }
    drop(writer);
    let mut program = Program::new("tshark");
    program.arg("-r").arg(&path).args(["-n", "-T", "fields", "-E", "separator=|"]);
    fields.iter().for_each(|field| _ = program.args(["-e", field]));
    let output = program.output().expect("tshark: install it by `cargo xtask setup`");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    Some(text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect())
}
