//! The model's base stations and next hops without a MAC address: who is asked, and what waits.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use function_kit::Shard;
use function_mobile_gateway::gateway::CORE;
use model_kit::check::Expected;
use model_kit::neighbours::{self, Due, Own};
use packet::PortId;
use wire::MacAddr;

use super::packets;
use super::routes::Hop;
use crate::section::Section;

/// The neighbours that were asked for; the key is the port, and the source of frames to each.
pub(super) struct Neighbours {
    list: neighbours::Neighbours<(PortId, MacAddr), (u16, Vec<u8>)>,
    /// The gateway on its links.
    pub own: Own,
    shard: Shard,
    /// Frames that are made.
    pub made: Vec<Expected>,
}

impl Neighbours {
    pub fn new(section: &Section, shard: Shard) -> Neighbours {
        let [a, b, c, d, e, f] = section.gw_mac.0;
        let word = |high: u8, low: u8| u16::from_be_bytes([high, low]);
        let [one, two] = [word(a ^ 2, b), word(c, 0xff)];
        let link_local = Ipv6Addr::new(0xfe80, 0, 0, 0, one, two, word(0xfe, d), word(e, f));
        let config = section.config();
        let most = config.base_station_capacity + config.next_hop_capacity;
        Neighbours {
            list: neighbours::Neighbours::new(most, 64, 1200),
            own: Own { mac: section.gw_mac.0, ipv4: Some(section.gw_ip), ipv6: Some(link_local) },
            shard,
            made: Vec::new(),
        }
    }

    fn find(&self, (port, address): (PortId, IpAddr)) -> Option<usize> {
        self.list.find(|entry| entry.key.0 == port && entry.address == address)
    }

    /// A packet leaves to a next hop that is known, or waits.
    pub fn send(
        &mut self,
        (hop, address): (Hop, IpAddr),
        ether_type: u16,
        content: &[u8],
        now: Duration,
    ) -> Result<Expected, &'static str> {
        let number = match self.find((hop.port, address)) {
            Some(number) => number,
            None => {
                let (number, asks) = self.list.add((hop.port, hop.source), address, now)?;
                if asks {
                    self.ask(hop.port, address, None);
                }
                number
            }
        };
        match self.list.get(number).and_then(|entry| entry.mac) {
            Some(mac) => {
                let frame = packets::frame(MacAddr(mac), hop.source, ether_type, content);
                Ok(Expected::Forward { port: hop.port, frame })
            }
            None => Err(self.list.wait(number, (ether_type, content.to_vec()))),
        }
    }

    fn ask(&mut self, port: PortId, address: IpAddr, station: Option<[u8; 6]>) {
        let frame = neighbours::question(&self.own, address, station);
        self.made.extend(frame.map(|frame| Expected::Forward { port, frame }));
    }

    /// Every other worker gets what a neighbour said, with the link in place of who sent it.
    pub fn tell(&mut self, port: PortId, frame: &[u8]) {
        let Shard { index, count } = self.shard;
        for other in (0..count).filter(|other| *other != index) {
            let frame = [&self.own.mac[..], &[3, 0, 0, 0, 0, port.0], &frame[12..]].concat();
            self.made.push(Expected::Forward { port: PortId(CORE.0 + 1 + other as u8), frame });
        }
    }

    /// Takes note of what is said; whether it was of any use.
    pub fn heard(
        &mut self,
        from: (PortId, IpAddr),
        said: (&[u8], bool, bool),
        now: Duration,
    ) -> bool {
        let Some(number) = self.find(from) else { return false };
        let Some(free) = self.list.heard(number, said, now) else { return false };
        let Some(entry) = self.list.get(number) else { return false };
        let (mac, (port, source)) = (entry.mac.unwrap_or_default(), entry.key);
        for (ether_type, content) in free {
            let frame = packets::frame(MacAddr(mac), source, ether_type, &content);
            self.made.push(Expected::Forward { port, frame });
        }
        true
    }

    /// A neighbour is removed.
    pub fn forget(&mut self, neighbour: (PortId, IpAddr)) {
        if let Some(number) = self.find(neighbour) {
            let dropped = self.list.forget(number).len();
            self.drop_all(dropped);
        }
    }

    fn drop_all(&mut self, count: usize) {
        self.made.extend((0..count).map(|_| Expected::Drop("unresolved")));
    }

    /// What was made until now.
    pub fn made(&mut self, now: Duration) -> Vec<Expected> {
        for due in self.list.tick(now) {
            match due {
                Due::Ask((port, _), address, station) => self.ask(port, address, station),
                Due::Gone(free) => self.drop_all(free.len()),
            }
        }
        std::mem::take(&mut self.made)
    }
}
