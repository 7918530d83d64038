//! Next hops that are asked for their Ethernet address: who is asked, what they say, what waits.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use function_bng::config::{Name, NextHop};
use model_kit::check::Expected;
use model_kit::host::word;
use model_kit::neighbours::{self, Due, Own, Said};
use wire::MacAddr;

use super::control::{arp_reply, neighbours_address};
use super::packets::Packet;
use super::{FromCore, Judgement, Model};

impl Model {
    /// The Ethernet address of a next hop, or the reason by which a packet to it waits.
    pub(super) fn station_of(
        &mut self,
        hop: NextHop,
        ether_type: u16,
        packet: &[u8],
        now: Duration,
    ) -> Result<MacAddr, &'static str> {
        let (vrf, address) = (hop.vrf, hop.address);
        let number = match self.neighbours.find(vrf, address) {
            Some(number) => number,
            None => {
                let (number, asks) = self.neighbours.list.add(vrf, address, now)?;
                if asks {
                    self.ask(vrf, address, None);
                }
                number
            }
        };
        match self.neighbours.list.get(number).and_then(|entry| entry.mac) {
            Some(mac) => Ok(MacAddr(mac)),
            None => Err(self.neighbours.list.wait(number, (ether_type, packet.to_vec()))),
        }
    }

    /// The gateway towards the Internet, as it asks.
    fn own_core(&self) -> Own {
        let mac = self.config.core_mac;
        let ipv4 = self.config.core_addresses.iter().find_map(|address| match address {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        });
        let link_local = match neighbours_address(mac) {
            IpAddr::V6(address) => Some(address),
            IpAddr::V4(_) => None,
        };
        Own { mac: mac.0, ipv4, ipv6: link_local }
    }

    fn ask(&mut self, vrf: Option<Name>, address: IpAddr, station: Option<[u8; 6]>) {
        let question = neighbours::question(&self.own_core(), address, station);
        if let Some(frame) = question {
            let (to, _) = super::stations(&frame);
            let (vlan, ether_type) = (self.vlan_of(vrf), word(&frame, 12));
            let asks = self.core_frame(to, vlan, ether_type, &frame[14..]);
            self.made.push(asks);
        }
    }

    /// Questions that are due, and packets to those that did not answer.
    pub(super) fn ask_neighbours(&mut self, now: Duration) {
        for due in self.neighbours.list.tick(now) {
            match due {
                Due::Ask(vrf, address, station) => self.ask(vrf, address, station),
                Due::Gone(free) => self.drop_waiting(free.len()),
            }
        }
    }

    /// A next hop is removed.
    pub(super) fn forget_hop(&mut self, vrf: Option<Name>, address: IpAddr) {
        if let Some(number) = self.neighbours.find(vrf, address) {
            let dropped = self.neighbours.list.forget(number).len();
            self.drop_waiting(dropped);
        }
    }

    fn drop_waiting(&mut self, count: usize) {
        self.made.extend((0..count).map(|_| Expected::Drop("unresolved")));
    }

    /// RFC 826: what next hops say is taken note of, and a question is answered.
    pub(super) fn arp_of_core(&mut self, came: FromCore, now: Duration) -> Judgement {
        let packet = came.content;
        let is_said = packet.len() >= 28 && packet[..6] == [0, 1, 8, 0, 6, 4];
        let is_ours = [self.config.core_mac, MacAddr::BROADCAST].contains(&came.to);
        let mut heard = false;
        if is_said && is_ours {
            let from = IpAddr::from([14, 15, 16, 17].map(|at: usize| packet[at]));
            heard = self.hear(came.vrf.0, from, (&packet[8..14], true, true), now);
        }
        let addresses = self.config.core_addresses.clone();
        match arp_reply(packet, &addresses, self.config.core_mac) {
            Some((to, content)) => Ok(self.core_frame(to, came.vrf.1, 0x0806, &content)),
            None if heard && word(packet, 6) == 2 => Err("neighbour-heard"),
            None => Err("arp-ignored"),
        }
    }

    /// RFC 4861 section 7.2: for each address that the gateway has there.
    pub(super) fn discovery_of_core(
        &mut self,
        came: FromCore,
        packet: &Packet,
        now: Duration,
    ) -> Judgement {
        let frame = [&came.to.0[..], &came.from.0, &[0x86, 0xdd], &packet.bytes].concat();
        let core = self.own_core();
        let of_config = self.config.core_addresses.iter().filter_map(|address| match address {
            IpAddr::V6(address) => Some(*address),
            IpAddr::V4(_) => None,
        });
        let all: Vec<Ipv6Addr> = of_config.chain(core.ipv6).collect();
        let read = |own: &Ipv6Addr| {
            neighbours::read(&frame, &Own { ipv6: Some(*own), ..core }).and_then(Result::ok)
        };
        match all.iter().find_map(read).ok_or("nd-ignored")? {
            Said::Advertisement { target, mac, overrides } => {
                let heard = self.hear(came.vrf.0, target, (mac, overrides, true), now);
                Err(if heard { "neighbour-heard" } else { "nd-ignored" })
            }
            Said::Solicitation { answer, from, mac } => {
                if let Some(mac) = mac {
                    self.hear(came.vrf.0, from, (mac, true, false), now);
                }
                let (to, _) = super::stations(&answer);
                Ok(self.core_frame(to, came.vrf.1, 0x86dd, &answer[14..]))
            }
        }
    }

    /// Takes note of what a next hop says; whether it was of any use.
    fn hear(
        &mut self,
        vrf: Option<Name>,
        from: IpAddr,
        said: (&[u8], bool, bool),
        now: Duration,
    ) -> bool {
        if !self.routes.asks_for(vrf, from) {
            return false;
        }
        let Some(number) = self.neighbours.find(vrf, from) else { return false };
        let Some(free) = self.neighbours.list.heard(number, said, now) else { return false };
        let mac = self.neighbours.list.get(number).and_then(|entry| entry.mac);
        let (mac, vlan) = (MacAddr(mac.unwrap_or_default()), self.vlan_of(vrf));
        for (ether_type, packet) in free {
            let leaves = self.core_frame(mac, vlan, ether_type, &packet);
            self.made.push(leaves);
        }
        true
    }
}
