//! The body of the fuzz target: any packets of any hosts, to an access concentrator with small
//! limits.

use std::time::Duration;

use protocol_kit::{Machine, Output, Time};
use wire::ethernet::MacAddr;

use crate::config::{Config, Limits};
use crate::control::{Line, Origin, Report};
use crate::machine::AccessConcentrator;
use crate::packet::{self, Packet, code};
use crate::tags::{LineIds, Tags, kind, put};

/// Feeds an access concentrator with what the bytes describe: a length, a host, steps of time, and
/// then a packet, which bears the host's own cookie if the host asks for that. It panics when the
/// machine breaks a promise: no more sessions than there may be, no session without a cookie, few
/// outputs, and what may be accepted is written back.
pub fn fuzz(bytes: &[u8]) {
    packet::law(bytes);
    if let Ok(tags) = Tags::parse(bytes) {
        let mut written = Vec::new();
        tags.iter().for_each(|tag| put(&mut written, tag.kind, tag.value));
        assert!(bytes.starts_with(&written));
        _ = tags.line();
    }
    let Ok(mut ac) = AccessConcentrator::new(config(), [3; 32]) else { return };
    let mut now = Time::ZERO;
    let mut rest = bytes;
    while let Some(([len, host, steps], behind)) = rest.split_first_chunk() {
        let (given, behind) = behind.split_at(behind.len().min(usize::from(*len)));
        rest = behind;
        now = now.after(Duration::from_millis(u64::from(*steps) * 10));
        let origin = Origin {
            line: Line { port: 0, outer: u16::from(host & 1), inner: 0 },
            from: MacAddr([2, 0, 0, 0, 0, host >> 1 & 7]),
            is_to_group: host & 16 != 0,
        };
        let packet = match host & 32 {
            0 => given.to_vec(),
            _ => with_cookie(given, offered(&mut ac, now, origin).as_deref()),
        };
        let before = (ac.sessions(), ac.counters());
        ac.receive(now, origin, &packet);
        let outputs = settle(&mut ac, now);
        let counters = ac.counters();
        assert!(outputs.len() <= OUTPUTS_MAX, "{} outputs", outputs.len());
        assert!(ac.sessions() <= LIMITS.total as usize);
        let has_cookie = Packet::parse(&packet)
            .ok()
            .and_then(|packet| Tags::parse(packet.payload).ok())
            .is_some_and(|tags| tags.get(kind::AC_COOKIE).is_some());
        assert!(has_cookie || counters.opened == before.1.opened, "a session without a cookie");
        assert_eq!(counters.opened - counters.closed, ac.sessions() as u64);
    }
}

/// Inputs that look for a session, get it and end it, and packets of each kind.
pub fn examples() -> Vec<Vec<u8>> {
    let packet = |code, list: &[u8]| Packet { code, session_id: 0, payload: list }.emit();
    let mut list = Vec::new();
    put(&mut list, kind::SERVICE_NAME, b"");
    put(&mut list, kind::HOST_UNIQ, &[1, 2, 3, 4]);
    let plain = list.clone();
    put(&mut list, kind::RELAY_SESSION_ID, &[9; 8]);
    put(&mut list, kind::PPP_MAX_PAYLOAD, &1500_u16.to_be_bytes());
    LineIds { circuit: Some(b"a 1/1"), remote: Some(b"b") }.put(&mut list);
    let mut other = Vec::new();
    put(&mut other, kind::SERVICE_NAME, b"other");
    let padt = Packet { code: code::PADT, session_id: 1, payload: &[] }.emit();
    let mut all = Vec::new();
    for tags in [plain, list, other] {
        let steps = [
            (0, packet(code::PADI, &tags)),
            (32, packet(code::PADR, &tags)),
            (0, packet(code::PADO, &tags)),
            (0, padt.clone()),
        ];
        for host in 0..4 {
            let one = |(more, packet): &(u8, Vec<u8>)| {
                [&[packet.len() as u8, host | more, 1][..], packet].concat()
            };
            all.push(steps.iter().flat_map(one).collect());
        }
    }
    all
}

/// What a host is offered as a cookie.
fn offered(ac: &mut AccessConcentrator, now: Time, origin: Origin) -> Option<Vec<u8>> {
    let mut list = Vec::new();
    put(&mut list, kind::SERVICE_NAME, b"");
    let padi = Packet { code: code::PADI, session_id: 0, payload: &list }.emit();
    ac.receive(now, origin, &padi);
    let sent = settle(ac, now).pop()?;
    let tags = Tags::parse(Packet::parse(&sent).ok()?.payload).ok()?;
    tags.get(kind::AC_COOKIE).map(<[u8]>::to_vec)
}

/// A packet with a cookie in front of its tags, if it is one.
fn with_cookie(bytes: &[u8], cookie: Option<&[u8]>) -> Vec<u8> {
    let (Ok(packet), Some(cookie)) = (Packet::parse(bytes), cookie) else { return bytes.to_vec() };
    let mut list = Vec::new();
    put(&mut list, kind::AC_COOKIE, cookie);
    list.extend(packet.payload);
    Packet { payload: &list, ..packet }.emit()
}

/// Polls; returns what was sent.
fn settle(ac: &mut AccessConcentrator, now: Time) -> Vec<Vec<u8>> {
    let mut sent = Vec::new();
    while let Some(output) = ac.poll(now) {
        if let Output::Report(Report::Send { packet, .. }) = output {
            packet::law(&packet);
            sent.push(packet);
        }
    }
    sent
}

fn config() -> Config {
    let services = vec![b"one".to_vec(), b"two".to_vec()];
    let usual = Config::new(b"ac");
    let trusts_access_nodes = true;
    Config { services, limits: LIMITS, max_payload: 1500, trusts_access_nodes, ..usual }
}

const LIMITS: Limits = Limits { total: 5, by_mac: 2, by_vlan: 3, by_circuit: 2 };

/// Most packets that one is answered with: the end of a session that gives way, and the new one.
const OUTPUTS_MAX: usize = 2;
