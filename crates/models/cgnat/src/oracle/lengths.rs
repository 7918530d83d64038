//! Packets that are longer in the other family of addresses than the next link takes.

use model_kit::check::Expected;
use packet::PortId;

use super::nat64::take;
use super::packets::{mend_ip, word};
use super::state::Model;

impl Model {
    /// A frame in as many as its packet has to be cut into (RFC 791 section 3.2, RFC 8200 section
    /// 4.5): the first one, the others leave beside it. `identification` is what tells it from
    /// others in IPv6.
    pub(super) fn cut(&mut self, whole: Expected, identification: u16) -> Expected {
        let Expected::Forward { port, frame } = whole else { return whole };
        let Some((ipv4_mtu, ipv6_mtu)) = self.mtus() else {
            return Expected::Forward { port, frame };
        };
        let is_ipv6 = word(&frame, 12) == 0x86dd;
        let mtu = usize::from(if is_ipv6 { ipv6_mtu } else { ipv4_mtu });
        if frame.len() - 14 <= mtu {
            return Expected::Forward { port, frame };
        }
        let has_header = is_ipv6 && frame[20] == 44;
        let (headers, body) = frame.split_at(match (is_ipv6, has_header) {
            (false, _) => 34,
            (true, false) => 54,
            (true, true) => 62,
        });
        let room = if is_ipv6 { mtu - 48 } else { mtu - 20 };
        let mut at = 0;
        let mut frames = Vec::new();
        while at < body.len() {
            let len = (body.len() - at).min(room / 8 * 8);
            let more = at + len < body.len();
            let mut headers = headers.to_vec();
            if is_ipv6 {
                if !has_header {
                    let next = std::mem::replace(&mut headers[20], 44);
                    headers.extend([next, 0, 0, 0, 0, 0]);
                    headers.extend(identification.to_be_bytes());
                }
                headers[18..20].copy_from_slice(&(len as u16 + 8).to_be_bytes());
                let place = word(&headers, 56).wrapping_add(at as u16) | u16::from(more);
                headers[56..58].copy_from_slice(&place.to_be_bytes());
            } else {
                headers[16..18].copy_from_slice(&(len as u16 + 20).to_be_bytes());
                let more = if more { 0x2000 } else { 0 };
                let place = (word(&headers, 20) + (at / 8) as u16) | more;
                headers[20..22].copy_from_slice(&place.to_be_bytes());
                mend_ip(&mut headers[14..]);
            }
            let frame = [&headers, &body[at..at + len]].concat();
            frames.push(Expected::Forward { port, frame });
            at += len;
        }
        let first = frames.remove(0);
        self.datagrams.made.extend(frames);
        first
    }

    /// RFC 7915 sections 4 and 5: what the sender of a frame is told that is too long: a type, a
    /// code, a length.
    pub(super) fn too_big(&self, port: PortId, frame: &[u8]) -> Option<(u8, u8, u16)> {
        if let Some(mtu) = self.met {
            let is_ipv4 = word(frame, 12) == 0x0800;
            return Some(if is_ipv4 { (3, 4, mtu) } else { (2, 0, (mtu + 20).max(1280)) });
        }
        let (ipv4_mtu, ipv6_mtu) = self.mtus()?;
        if word(frame, 12) == 0x0800 {
            let is_part = word(frame, 20) & 0x3fff != 0;
            return Some((3, 4, ipv6_mtu - if is_part { 28 } else { 20 }));
        }
        let taken = take(frame)?;
        let is_long = 20 + taken.body.len() > usize::from(ipv4_mtu);
        match is_long && !self.turns(port, taken.destination) {
            true => Some((2, 0, (ipv4_mtu + 20).max(1280))),
            false => Some((2, 0, ipv6_mtu)),
        }
    }

    /// The longest packets that links of IPv4 and of IPv6 take, where packets become those of the
    /// other one.
    fn mtus(&self) -> Option<(u16, u16)> {
        let of_sessions = self.config.nat64.as_ref().map(|it| (it.ipv4_mtu, it.ipv6_mtu));
        let of_none = self.config.siit.as_ref().map(|it| (it.ipv4_mtu, it.ipv6_mtu));
        of_sessions.or(of_none)
    }
}
