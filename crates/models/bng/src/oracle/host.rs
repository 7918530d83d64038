//! What the model's gateway says itself: errors, and answers to pings.

use std::net::IpAddr;
use std::time::Duration;

use function_bng::config::Session;
use model_kit::check::Expected;
use model_kit::host::{self as standards, Cause};

use super::control::neighbours_address;
use super::packets::Packet;
use super::{FromCore, Judgement, Model};

impl Model {
    /// Whether an address is the gateway's, at either port.
    pub(super) fn is_own(&self, address: IpAddr) -> bool {
        let config = &self.config;
        let links = [config.access_mac, config.core_mac].map(neighbours_address);
        config.access_addresses.contains(&address)
            || config.core_addresses.contains(&address)
            || links.contains(&address)
    }

    /// RFC 792, RFC 4443 section 4.2: the reply to a ping to the gateway, within the limit; nothing
    /// else is for it.
    pub(super) fn ping(&mut self, packet: &Packet, now: Duration) -> Result<Vec<u8>, &'static str> {
        let protocol = packet.bytes[if packet.is_ipv4() { 9 } else { 6 }];
        if protocol != if packet.is_ipv4() { 1 } else { 58 } || self.config.pings_per_s == 0 {
            return Err("local");
        }
        if !self.pings.takes(now) {
            return Err("ping-limit");
        }
        let reply = match packet.is_ipv4() {
            true => standards::echo_ipv4(&packet.bytes)?,
            false => standards::echo_ipv6(&packet.bytes)?,
        };
        reply.ok_or("local")
    }

    /// A packet of a subscriber goes no further, and it is told.
    pub(super) fn refuse_subscriber(
        &mut self,
        session: &Session,
        packet: &Packet,
        cause: Cause,
        now: Duration,
    ) -> Judgement {
        let own = self.config.access_addresses.clone();
        if let Some(error) = self.error(&own, packet, cause, now) {
            let leaves = self.on_its_line(session, &error);
            self.made.push(leaves);
        }
        Err(cause.reason)
    }

    /// A packet from the Internet's side goes no further, and its sender is told.
    pub(super) fn refuse_core(
        &mut self,
        came: FromCore,
        packet: &Packet,
        cause: Cause,
        now: Duration,
    ) -> Judgement {
        let own = self.config.core_addresses.clone();
        if !came.from.is_multicast()
            && let Some(error) = self.error(&own, packet, cause, now)
        {
            let answer = self.answer_core(came, packet.ether_type(), &error);
            self.made.push(answer);
        }
        Err(cause.reason)
    }

    /// What the gateway says to the station that sent a frame from the Internet's side.
    pub(super) fn answer_core(&self, asked: FromCore, ether_type: u16, packet: &[u8]) -> Expected {
        self.core_frame(asked.from, asked.vrf.1, ether_type, packet)
    }

    /// The error about a packet from the first of these addresses that can say it, if there may be
    /// one now.
    fn error(
        &mut self,
        own: &[IpAddr],
        packet: &Packet,
        cause: Cause,
        now: Duration,
    ) -> Option<Vec<u8>> {
        let from = own.iter().find(|address| address.is_ipv4() == packet.is_ipv4())?;
        let error = match *from {
            IpAddr::V4(own) => standards::error_ipv4(&packet.bytes, own, cause.v4),
            IpAddr::V6(own) => standards::error_ipv6(&packet.bytes, own, cause.v6),
        };
        let error = error.filter(|_| self.config.icmp_errors_per_s > 0)?;
        self.errors.takes(now).then_some(error)
    }
}
