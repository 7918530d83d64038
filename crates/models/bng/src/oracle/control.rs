//! What a line sends that is for the control plane, or for those beside it: DHCP, Neighbor
//! Discovery, ARP.

use std::net::IpAddr;

use function_bng::config::Session;
use model_kit::check::Expected;
use model_kit::neighbours::{self, Own, Said};
use wire::MacAddr;

use super::packets::Packet;
use super::{FromLine, Judgement, Model, lines};

impl Model {
    /// RFC 2131 section 4.1, RFC 8415 section 7.2, RFC 4861 section 4; none for all else.
    pub(super) fn control(
        &self,
        came: FromLine,
        session: Option<&Session>,
        packet: &Packet,
    ) -> Option<Judgement> {
        let is_own = self.is_own(packet.destination);
        let is_all = packet.destination == IpAddr::from([255; 4]);
        match (packet.is_ipv4(), packet.udp_ports()) {
            (true, Some((_, 67))) if is_all || is_own => return Some(Ok(Expected::Punt)),
            (true, Some((67, 68))) => return Some(Err("server-message")),
            (false, Some((_, 547))) if packet.destination.is_multicast() || is_own => {
                return Some(Ok(Expected::Punt));
            }
            (false, Some((547, 546))) => return Some(Err("server-message")),
            _ => {}
        }
        match packet.icmpv6()? {
            133 if packet.bytes[7] == 255 => Some(Ok(Expected::Punt)),
            133 | 136 => Some(Err("nd-ignored")),
            134 | 137 => Some(Err("server-message")),
            135 => Some(self.solicitation_of_line(came, session, packet)),
            _ => None,
        }
    }

    /// RFC 4861 section 7.2.4: for an address of the gateway on lines, or its link-local one there.
    fn solicitation_of_line(
        &self,
        came: FromLine,
        session: Option<&Session>,
        packet: &Packet,
    ) -> Judgement {
        let mac = self.config.access_mac;
        let frame = [&came.to.0[..], &came.from.0, &[0x86, 0xdd], &packet.bytes].concat();
        let target = packet.bytes.get(48..64);
        let addresses = self.config.access_addresses.iter().copied();
        let own = addresses.chain([neighbours_address(mac)]).find_map(|address| match address {
            IpAddr::V6(address) if Some(&address.octets()[..]) == target => Some(address),
            _ => None,
        });
        let own = Own { mac: mac.0, ipv4: None, ipv6: own };
        match neighbours::read(&frame, &own) {
            Some(Ok(Said::Solicitation { answer, .. })) => {
                let (to, from) = super::stations(&answer);
                let content = &answer[14..];
                if let Some(session) = session {
                    return Ok(self.on_its_line(session, content));
                }
                let frame = lines::tagged(&self.config, [to, from], came.line, 0x86dd, content);
                Ok(Expected::Forward { port: super::ACCESS, frame })
            }
            _ => Err("nd-ignored"),
        }
    }

    /// RFC 826: a request for an address of the gateway on lines.
    pub(super) fn arp_of_line(&self, came: FromLine) -> Judgement {
        let addresses = &self.config.access_addresses;
        let (to, content) =
            arp_reply(came.content, addresses, self.config.access_mac).ok_or("arp-ignored")?;
        let macs = [to, self.config.access_mac];
        let frame = lines::tagged(&self.config, macs, came.line, 0x0806, &content);
        Ok(Expected::Forward { port: super::ACCESS, frame })
    }
}

/// The answer to a request for one of these addresses, and to whom.
pub(super) fn arp_reply(
    packet: &[u8],
    addresses: &[IpAddr],
    own: MacAddr,
) -> Option<(MacAddr, Vec<u8>)> {
    let packet = packet.get(..28)?;
    let target = IpAddr::from([24, 25, 26, 27].map(|at: usize| packet[at]));
    if packet[..8] != [0, 1, 8, 0, 6, 4, 0, 1] || !addresses.contains(&target) {
        return None;
    }
    let (asking, asked) = (&packet[8..18], &packet[24..28]);
    let reply = [&[0, 1, 8, 0, 6, 4, 0, 2][..], &own.0, asked, asking].concat();
    let mut to = MacAddr::ZERO;
    to.0.copy_from_slice(&packet[8..14]);
    Some((to, reply))
}

/// RFC 4291 appendix A: the link-local address that follows from an Ethernet address.
pub(super) fn neighbours_address(mac: MacAddr) -> IpAddr {
    let [a, b, c, d, e, f] = mac.0;
    let octets = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xff, 0xfe, d, e, f];
    octets.into()
}
