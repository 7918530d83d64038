//! The model's tunnels: RFC 7348 section 5, header by header, over the judgement of what is inside.
use std::time::Duration;

use model_kit::check::Expected;
use model_kit::host::{internet_sum, word};
use packet::PortId;

use super::neighbours::Wanted;
use super::routes::To;
use super::state::Model;

impl Model {
    /// The frame inside a tunnel and the number of its interface; an error for a tunnel that is
    /// nobody's, none for all other frames.
    pub(super) fn come_out(
        &self,
        port: PortId,
        frame: &[u8],
    ) -> Option<Result<(usize, Vec<u8>), ()>> {
        let own = self.interfaces[usize::from(port.0)];
        let ip = frame.get(14..)?;
        let is_any = self.interfaces.iter().any(|one| one.vxlan.is_some());
        if !is_any || frame.len() < 50 || frame[..6] != own.mac.0.0 || word(frame, 12) != 0x0800 {
            return None;
        }
        let total = usize::from(word(ip, 2));
        let is_sound = ip[0] == 0x45
            && total >= 20
            && internet_sum(&ip[..20]) == 0xffff
            && word(ip, 6) & 0x3fff == 0
            && ip[9] == 17
            && ip[16..20] == own.ip?.address.octets();
        let datagram = ip.get(20..total)?;
        if !is_sound || datagram.len() < 8 || word(datagram, 2) != 4789 {
            return None;
        }
        let len = usize::from(word(datagram, 4));
        let tunnelled = datagram.get(8..len)?;
        if tunnelled.len() < 8 || tunnelled[0] & 0x08 == 0 {
            return Some(Err(()));
        }
        let vni = u32::from_be_bytes([0, tunnelled[4], tunnelled[5], tunnelled[6]]);
        let found = self.interfaces.iter().position(|one| {
            one.port == port
                && one.vxlan.is_some_and(|t| t.vni == vni && t.remote.octets() == ip[12..16])
        });
        Some(found.map(|number| (number, tunnelled[8..].to_vec())).ok_or(()))
    }

    /// Asks for the neighbours behind which tunnels lead that nobody has asked for.
    pub(super) fn seek_far_ends(&mut self, now: Duration) {
        let tunnels: Vec<_> =
            self.interfaces.iter().filter_map(|one| Some((one.port, one.vxlan?.remote))).collect();
        for (port, remote) in tunnels {
            let at = usize::from(port.0);
            let own = self.interfaces[at];
            let route = self.longest(0, remote.into());
            match route.map(|to| self.groups.of_tunnel(to, remote)) {
                Some(To::Link(link)) if link == at => {
                    let source = own.mac.0.0;
                    let wanted = Wanted { out: own, address: remote.into(), hop: None, source };
                    self.neighbours.seek(wanted, now);
                }
                Some(To::NextHop(number)) => {
                    let is_by = self.next_hops.get(&number).is_some_and(|hop| {
                        hop.mac.0.0 == [0; 6] && self.interface_of(hop) == Some(at)
                    });
                    if let Some(wanted) = self.wanted(number).filter(|_| is_by) {
                        self.neighbours.seek(wanted, now);
                    }
                }
                _ => {}
            }
        }
    }

    /// What has the tag of an interface with a tunnel goes into that instead.
    pub(super) fn go_in(&self, expected: Expected) -> Expected {
        let Expected::Forward { port, frame } = expected else { return expected };
        let is_tagged = frame.len() >= 18 && word(&frame, 12) == 0x8100;
        let tunnel = is_tagged.then(|| word(&frame, 14)).and_then(|vlan| {
            self.interfaces.iter().find(|one| one.port == port && one.vlan == vlan)?.vxlan
        });
        let Some(tunnel) = tunnel else { return Expected::Forward { port, frame } };
        let inner = [&frame[..12], &frame[16..]].concat();
        let own = self.interfaces[usize::from(port.0)];
        let route = self.longest(0, tunnel.remote.into());
        let macs = match route.map(|to| self.groups.of_tunnel(to, tunnel.remote)) {
            Some(To::NextHop(number)) => self.station(number, usize::from(port.0)),
            Some(To::Link(link)) if link == usize::from(port.0) => {
                self.neighbours.station(&own, tunnel.remote.into()).map(|mac| (mac, own.mac.0.0))
            }
            _ => None,
        };
        let (Some((to, from)), Some(ip)) = (macs, own.ip) else {
            return Expected::Drop("no-next-hop");
        };
        let words = match word(&inner, 12) {
            0x0800 => inner.get(26..34),
            0x86dd => inner.get(22..54),
            _ => None,
        };
        let words = words.unwrap_or_default().chunks_exact(2);
        let hash = words.fold(0xc000, |all, pair| all ^ (word(pair, 0) & 0x3fff));
        let len = inner.len() as u16;
        let head = [0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0];
        let mut outer = [&head[..], &ip.address.octets(), &tunnel.remote.octets()].concat();
        outer[2..4].copy_from_slice(&(len + 36).to_be_bytes());
        let sum = !internet_sum(&outer);
        outer[10..12].copy_from_slice(&sum.to_be_bytes());
        let udp = [hash.to_be_bytes(), 4789u16.to_be_bytes(), (len + 16).to_be_bytes(), [0, 0]];
        let vni = (tunnel.vni << 8).to_be_bytes();
        let frame =
            [&to[..], &from, &[8, 0], &outer, &udp.concat(), &[8, 0, 0, 0], &vni, &inner].concat();
        Expected::Forward { port, frame }
    }

    /// Destination and source of frames to a next hop by an interface of a port's own.
    fn station(&self, number: u32, at: usize) -> Option<([u8; 6], [u8; 6])> {
        let hop = self.next_hops.get(&number)?;
        if self.interface_of(hop) != Some(at) {
            return None;
        }
        let own = self.interfaces[at];
        let source = hop.source.map_or(own.mac.0, |mac| mac.0).0;
        match hop.mac.0.0 {
            [0, 0, 0, 0, 0, 0] => {
                let wanted = self.wanted(number)?;
                Some((self.neighbours.station(&wanted.out, wanted.address)?, source))
            }
            mac => Some((mac, source)),
        }
    }
}
