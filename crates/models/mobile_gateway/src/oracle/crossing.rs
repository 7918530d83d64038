//! The model's packets from one user to another.

use std::time::Duration;

use function_mobile_gateway::config::UserToUser;
use function_mobile_gateway::gateway::ACCESS;
use model_kit::check::Expected;

use super::errors::{NOBODY, PROHIBITED};
use super::packets::UserPacket;
use super::{Came, Judgement, Model, prefix_of};

impl Model {
    /// A packet of a user to a network of users, which has made its hop.
    pub(super) fn cross(&mut self, packet: UserPacket, now: Duration) -> Judgement {
        if self.section.user_to_user == UserToUser::Drop {
            return self.refuse_user(&packet, PROHIBITED, now);
        }
        if let UserPacket::V4 { destination, .. } = packet
            && !self.workers.has(destination)
        {
            let worker = self.workers.of(destination);
            return Ok(self.packet_to_worker(worker, packet.ether_type(), packet.bytes()));
        }
        self.deliver(packet, now)
    }

    /// It goes down the tunnel of the user who has its destination.
    pub(super) fn deliver(&mut self, packet: UserPacket, now: Duration) -> Judgement {
        let teid = match packet {
            UserPacket::V4 { destination, .. } => self.teid_by_ipv4(destination),
            UserPacket::V6 { destination, .. } => self.teid_by_ipv6(prefix_of(destination)),
        };
        let Some((teid, mut bearer)) = teid.and_then(|teid| Some((teid, self.bearer(teid)?)))
        else {
            return self.refuse_user(&packet, NOBODY, now);
        };
        let conforms = bearer.downlink.conforms(packet.len(), now);
        self.changed.insert(teid, Some(bearer));
        if !conforms {
            return Err("rate-exceeded");
        }
        if packet.len() + self.growth() > self.mtu(ACCESS) {
            return self.fit_downlink(None, (teid, bearer), packet, now);
        }
        let outer = self.tunnelled((teid, bearer), packet.ether_type(), packet.bytes());
        self.leave_for(bearer.base_station, &outer, now)
    }

    /// A packet that another worker is to deliver.
    pub(super) fn packet_to_worker(&self, worker: u32, ether_type: u16, packet: &[u8]) -> Expected {
        let own = &self.section.gw_mac.0;
        let frame = [own, own, &ether_type.to_be_bytes()[..], packet].concat();
        let came = Came { port: ACCESS, frame: &frame, is_together: false, asked: 0 };
        self.to_worker(2, worker, came)
    }
}
