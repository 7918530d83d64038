//! What the model expects of the session that watches a next hop: in the functional check nobody
//! answers, so the next hop is not there, and the router goes on asking (RFC 5880 section 6.8.7).
use model_kit::host::{internet_sum, word};
use packet::PortId;

use super::state::Model;
use crate::far_end::{ends, watched};
use crate::ports::Numbered;

impl Model {
    /// Whether a frame is a packet of the session: UDP to port 3784 of the next hop (RFC 5881
    /// section 4).
    pub(super) fn is_of_session(&self, port: PortId, frame: &[u8]) -> bool {
        let Some((_, hop)) = watched(&self.config) else { return false };
        let ip_len = if hop.ip.is_some() { 20 } else { 40 };
        port == self.config.number_of(hop.port)
            && frame.starts_with(&hop.mac.0.0)
            && frame.len() == 14 + ip_len + 8 + 24
            && word(frame, 14 + ip_len + 2) == 3784
    }

    /// Judges such a frame.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn judge_session(&self, frame: &[u8]) -> Result<(), String> {
        let Some((_, hop)) = watched(&self.config) else { return Err("no session".into()) };
        let Some((own, peer)) = ends(&self.config, &hop) else { return Err("no ends".into()) };
        let octets = |address: std::net::IpAddr| match address {
            std::net::IpAddr::V4(address) => address.octets().to_vec(),
            std::net::IpAddr::V6(address) => address.octets().to_vec(),
        };
        let addresses = [octets(own), octets(peer)].concat();
        let (addresses_at, ttl_at, udp_at) =
            if own.is_ipv4() { (26, 22, 34) } else { (22, 21, 54) };
        let mac = hop.source.unwrap_or(function_l3_router::config::Mac(
            self.config.mac(self.config.number_of(hop.port)),
        ));
        let bfd = &frame[udp_at + 8..];
        let is_right = [
            ("its source station", frame[6..12] == mac.0.0),
            ("its addresses", frame[addresses_at..addresses_at + addresses.len()] == addresses[..]),
            ("its Time To Live", frame[ttl_at] == 255),
            ("its IPv4 checksum", !own.is_ipv4() || internet_sum(&frame[14..34]) == 0xffff),
            ("its source port", word(frame, udp_at) >= 49152),
            // Version 1, any diagnostic; Down, which is all that can be said without an answer.
            ("its version", bfd[0] >> 5 == 1),
            ("its state", bfd[1] >> 6 == 1),
            ("its length", bfd[3] == 24),
            ("its discriminators", bfd[4..8] != [0; 4] && bfd[8..12] == [0; 4]),
        ];
        match is_right.iter().find(|(_, is_right)| !is_right) {
            Some((what, _)) => Err(format!("a packet of BFD: {what} is wrong")),
            None => Ok(()),
        }
    }
}
