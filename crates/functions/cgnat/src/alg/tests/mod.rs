//! The gateways against the RFCs' examples, twins made of strings, and a network that loses and
//! cuts.

use std::collections::BTreeMap;

use std::net::{Ipv4Addr, SocketAddrV4};

use super::*;

mod ftp;
mod pptp;
mod shift;
mod sip;

/// Mappings that follow from the inside port, so that asking again answers the same.
#[derive(Debug, Default)]
struct Model {
    /// What is added to ports; decides how long they are.
    add: u16,
    /// No mapping for these.
    full: Option<u16>,
    asked: BTreeMap<(Protocol, u16), (Ports, SocketAddrV4)>,
}

impl Mappings for Model {
    fn map(
        &mut self,
        protocol: Protocol,
        inside: SocketAddrV4,
        ports: Ports,
        _: Option<Ipv4Addr>,
    ) -> Option<SocketAddrV4> {
        let port = Some(inside.port()).filter(|port| Some(*port) != self.full)?;
        let outside = SocketAddrV4::new(OUTSIDE, self.of(port));
        self.asked.insert((protocol, port), (ports, outside));
        Some(outside)
    }

    fn look_up(&mut self, protocol: Protocol, outside: SocketAddrV4) -> Option<SocketAddrV4> {
        let found =
            self.asked.iter().find(|(key, (_, known))| key.0 == protocol && *known == outside);
        found.map(|((_, port), _)| SocketAddrV4::new(INSIDE, *port))
    }

    fn begin(&mut self, _: usize) {}

    fn undo(&mut self, _: usize) {}
}

impl Model {
    /// The outside port of an inside one; the parity stays, as does the next one.
    fn of(&self, port: u16) -> u16 {
        let even = (u32::from(port) + 2 * u32::from(self.add)) % 0x1_0000;
        even as u16
    }
}

fn translation(
    from: Side,
    protocol: Protocol,
    inside: u16,
    outside: u16,
    remote: u16,
) -> Translation {
    Translation {
        from,
        protocol,
        inside: SocketAddrV4::new(INSIDE, inside),
        outside: SocketAddrV4::new(OUTSIDE, outside),
        remote: SocketAddrV4::new(REMOTE, remote),
    }
}

/// What leaves, and what else came of it.
fn run(
    gateway: Gateway,
    payload: &[u8],
    translation: &Translation,
    model: &mut Model,
) -> (Vec<u8>, Rewritten) {
    let mut out = [0xee; 4096];
    let done = rewrite(gateway, payload, translation, model, &mut out);
    let left = if done.edited.is_empty() { payload } else { &out[..done.len] };
    assert_eq!(left.len(), done.len);
    (left.to_vec(), done)
}

#[test]
fn what_is_off_has_no_gateway() {
    let on = Alg { ftp: true, sip: true, pptp: true, ..Alg::default() };
    assert!(Alg::default().is_off() && !on.is_off());
    for (protocol, port, gateway) in [
        (Protocol::Tcp, 21, Some(Gateway::Ftp)),
        (Protocol::Udp, 21, None),
        (Protocol::Tcp, 5060, Some(Gateway::Sip)),
        (Protocol::Udp, 5060, Some(Gateway::Sip)),
        (Protocol::Tcp, 1723, Some(Gateway::Pptp)),
        (Protocol::Gre, 1723, None),
        (Protocol::Tcp, 80, None),
    ] {
        assert_eq!(on.gateway(protocol, port), gateway, "{protocol:?} {port}");
        assert_eq!(Alg::default().gateway(protocol, port), None);
    }
}

#[test]
fn every_reason_has_its_name() {
    let all = [
        (Reason::Malformed, "alg-malformed"),
        (Reason::Split, "alg-split"),
        (Reason::NoMessage, "alg-no-message"),
        (Reason::TooMany, "alg-too-many"),
        (Reason::ForeignAddress, "alg-foreign-address"),
        (Reason::PrivilegedPort, "alg-privileged-port"),
        (Reason::NoMapping, "alg-no-mapping"),
        (Reason::NoRoom, "alg-no-room"),
    ];
    assert_eq!(all.len(), Reason::NAMES.len());
    for (reason, name) in all {
        assert_eq!(reason.name(), name);
    }
}

#[test]
fn a_payload_without_room_passes_as_it_was() {
    let ftp = translation(Side::Inside, Protocol::Tcp, 40_000, 50_000, 21);
    let payload = b"PORT 10,0,0,1,19,137\r\n";
    for room in 0..payload.len() {
        let mut out = vec![0; room];
        let mut model = Model::default();
        let done = rewrite(Gateway::Ftp, payload, &ftp, &mut model, &mut out);
        assert_eq!((done.reason, done.len), (Some(Reason::NoRoom), payload.len()));
        assert!(done.edited.is_empty() && done.expectations.is_empty());
    }
}

const INSIDE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 77);
const REMOTE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 5);
