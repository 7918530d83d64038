//! The application-level gateways of the carrier-grade NAT under any payload.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use function_cgnat::alg::{
    Edited, Gateway, List, Mappings, Ports, Protocol, Rewritten, Shifts, Side, Translation,
    UNITS_MAX, rewrite,
};
use function_cgnat::types::gre;

/// FTP: what is new is what the parts say, and everything else stays.
#[inline]
pub(super) fn ftp(data: &[u8]) {
    for from in [Side::Inside, Side::Outside] {
        holds(Gateway::Ftp, data, from, Protocol::Tcp);
    }
}

/// SIP: the same, and what was rewritten tells nothing of the inside any more.
#[inline]
pub(super) fn sip(data: &[u8]) {
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        holds(Gateway::Sip, data, Side::Outside, protocol);
        let (left, done) = holds(Gateway::Sip, data, Side::Inside, protocol);
        if done.reason.is_none() && !done.edited.is_empty() {
            let (again, _) = holds(Gateway::Sip, &left, Side::Inside, protocol);
            assert_eq!(again, left);
        }
    }
}

/// PPTP: the same, no length changes, and a call identifier of GRE is the only thing that is set.
#[inline]
pub(super) fn pptp(data: &[u8]) {
    for from in [Side::Inside, Side::Outside] {
        let (left, _) = holds(Gateway::Pptp, data, from, Protocol::Tcp);
        assert_eq!(left.len(), data.len());
    }
    let mut packet = data.to_vec();
    gre::set_call(&mut packet, 0x5aa5);
    match gre::call(data) {
        None => assert_eq!(packet, data),
        Some(_) => {
            assert_eq!(gre::call(&packet), Some(0x5aa5));
            assert_eq!((&packet[..6], &packet[8..]), (&data[..6], &data[8..]));
        }
    }
}

/// Sequence numbers: whatever is said to be replaced, a segment leaves with no more than it has.
pub(super) fn shifts(data: &[u8]) {
    let mut shifts = Shifts::default();
    for step in data.chunks_exact(12) {
        let number =
            |at: usize| u32::from_be_bytes([step[at], step[at + 1], step[at + 2], step[at + 3]]);
        let from = if step[0] & 1 == 0 { Side::Inside } else { Side::Outside };
        // Close to one another, so that they meet.
        let seq = u32::from(step[1]).wrapping_mul(8).wrapping_sub(512);
        match step[0] >> 6 {
            0 => {
                shifts.ack(from, if step[2] == 0 { number(4) } else { seq });
            }
            1 => {
                let _ = shifts.sack(from, &mut step[4..].to_vec());
            }
            _ => {
                let len = usize::from(step[2]);
                let edited = parts(len, &step[3..]);
                let passing = shifts.segment(from, seq, len, &edited);
                let growth: i64 =
                    edited.iter().map(|one| i64::from(one.new_len) - i64::from(one.old_len)).sum();
                let whole = if passing.is_edited { len as i64 + growth } else { len as i64 };
                if passing.is_whole {
                    assert_eq!(passing.len as i64, whole);
                }
                assert!(!passing.is_edited || !edited.is_empty());
            }
        }
    }
}

/// Parts in order within a payload, drawn from octets.
fn parts(len: usize, octets: &[u8]) -> List<Edited, UNITS_MAX> {
    let mut edited = List::new();
    let mut at = 0;
    for octets in octets.chunks_exact(3) {
        let start = at + usize::from(octets[0] % 32);
        let end = start + 1 + usize::from(octets[1] % 16);
        if end > len {
            break;
        }
        let new_len = u16::from(octets[2] % 32);
        let one = Edited { at: start as u16, old_len: (end - start) as u16, new_len };
        let _ = edited.push(one);
        at = end;
    }
    edited
}

/// Rewrites a payload and holds what every gateway promises; tells what leaves.
#[inline]
fn holds(gateway: Gateway, data: &[u8], from: Side, protocol: Protocol) -> (Vec<u8>, Rewritten) {
    let translation = Translation {
        from,
        protocol,
        inside: SocketAddrV4::new(INSIDE, 5060),
        outside: SocketAddrV4::new(OUTSIDE, 6060),
        remote: SocketAddrV4::new(Ipv4Addr::new(203, 0, 113, 5), 5060),
    };
    // Every replacement adds 24 bytes at most, and there are 48.
    let mut out = vec![0; data.len() + 48 * 24];
    let done = rewrite(gateway, data, &translation, &mut Plus::default(), &mut out);
    if done.edited.is_empty() {
        assert_eq!(done.len, data.len());
        return (data.to_vec(), done);
    }
    out.truncate(done.len);
    let (mut old, mut new) = (0, 0);
    for one in done.edited.iter() {
        let kept = usize::from(one.at) - old;
        assert_eq!(data[old..old + kept], out[new..new + kept], "between what is new");
        old += kept + usize::from(one.old_len);
        new += kept + usize::from(one.new_len);
    }
    assert_eq!(data[old..], out[new..], "behind what is new");
    assert!(done.expectations.iter().all(|one| *one.inside.ip() == INSIDE));

    let mut short = vec![0; done.len - 1];
    let refused = rewrite(gateway, data, &translation, &mut Plus::default(), &mut short);
    assert!(refused.edited.is_empty() && refused.reason.is_some(), "there was no room");
    (out, done)
}

/// Mappings to the port two above.
#[derive(Default)]
struct Plus {
    known: BTreeMap<(Protocol, SocketAddrV4), SocketAddrV4>,
}

impl Mappings for Plus {
    fn map(
        &mut self,
        protocol: Protocol,
        inside: SocketAddrV4,
        _ports: Ports,
        _remote: Option<Ipv4Addr>,
    ) -> Option<SocketAddrV4> {
        let outside = SocketAddrV4::new(OUTSIDE, inside.port().checked_add(2)?);
        self.known.insert((protocol, outside), inside);
        Some(outside)
    }

    fn look_up(&mut self, protocol: Protocol, outside: SocketAddrV4) -> Option<SocketAddrV4> {
        let any = SocketAddrV4::new(INSIDE, outside.port().checked_sub(2)?);
        Some(self.known.get(&(protocol, outside)).copied().unwrap_or(any))
    }

    fn begin(&mut self, _message: usize) {}

    fn undo(&mut self, _from: usize) {}
}

/// Commands and replies of FTP.
pub(super) fn ftp_examples() -> Vec<Vec<u8>> {
    let ftp = "NOOP\r\nPORT 10,0,0,1,19,137\r\nEPRT |1|10.0.0.1|6275|\r\n\
               227 Entering Passive Mode (10,0,0,1,19,137).\r\n\
               229 Entering Extended Passive Mode (|||6446|)\r\n";
    vec![ftp.into()]
}

/// A request of SIP with a description of media, and an answer.
pub(super) fn sip_examples() -> Vec<Vec<u8>> {
    let body = "v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 10.0.0.1\r\nt=0 0\r\n\
                m=audio 49170 RTP/AVP 0\r\na=rtcp:53020 IN IP4 10.0.0.1\r\nm=video 51372 RTP/AVP 31\r\n";
    let invite = format!(
        "INVITE sip:bob@10.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.1:5060;branch=z9hG4bK7;rport\r\n\
         v: SIP/2.0/TCP 10.0.0.1;received=10.0.0.1,\r\n SIP/2.0/UDP bob.example\r\n\
         Contact: \"A\" <sip:alice@10.0.0.1:5080;transport=tcp>, sip:10.0.0.1\r\n\
         Record-Route: <sip:10.0.0.1;lr>\r\nContent-Type: application/sdp\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = "SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 198.51.100.77:6060;received=198.51.100.77;\
                  rport=6060\r\nContact: <sip:a@198.51.100.77:5082>\r\nl: 0\r\n\r\n";
    vec![invite.into(), answer.into()]
}

/// Control messages of PPTP, and a packet of a call.
pub(super) fn pptp_examples() -> Vec<Vec<u8>> {
    let control = |kind: u8| {
        let mut message = vec![0; 32];
        message[..14].copy_from_slice(&[0, 32, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, kind, 0, 0, 0, 7]);
        message[16] = 1;
        message
    };
    let gre = vec![0x30, 0x81, 0x88, 0x0b, 0, 2, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0xff, 3];
    vec![control(7), [control(8), control(12)].concat(), gre]
}

const INSIDE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 77);
