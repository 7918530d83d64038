//! The network protocols of a session: when they begin, and when none is left.

use crate::automaton::State;
use crate::control::{Phase, Reason, Report};
use crate::ipcp::Ipcp;
use crate::ipv6cp::Ipv6cp;
use crate::negotiation::{Negotiation, Signals};
use crate::outbox::Outbox;
use crate::packet::protocol;
use crate::session::Session;

impl Session {
    /// Negotiates network protocols, if authentication is done on both sides.
    pub fn begin_network(&mut self, out: &mut Outbox<'_>) {
        let is_known = self.authenticator.as_ref().is_none_or(|one| one.is_done());
        let has_proven = self.prover.as_ref().is_none_or(|one| one.is_done());
        let Some(network) = self.network.filter(|_| is_known && has_proven) else { return };
        if self.phase != Phase::Authenticate {
            return;
        }
        self.phase = Phase::Network;
        self.v4 = network.v4.map(|v4| Negotiation::new(Ipcp::new(v4)));
        let is_wide = self.lcp.layer.link().mtu >= IPV6_MTU_MIN;
        let v6 = network.v6.filter(|_| is_wide);
        self.v6 = v6.map(|v6| Negotiation::new(Ipv6cp::new(v6, out.draws)));
        if let Some(v4) = &mut self.v4 {
            v4.begin(out);
        }
        if let Some(v6) = &mut self.v6 {
            v6.begin(out);
        }
        self.review(out);
    }

    pub fn hear_v4(&mut self, signals: Signals, out: &mut Outbox<'_>) {
        let session = out.session;
        if signals.is_down {
            out.reports.push_back(Report::V4Down { session });
        }
        if signals.is_up
            && let Some(v4) = &self.v4
        {
            let (link, addresses) = (self.lcp.layer.link(), v4.layer.agreed());
            out.reports.push_back(Report::V4Up { session, link, addresses });
        }
        self.hear_network(signals, out);
    }

    pub fn hear_v6(&mut self, signals: Signals, out: &mut Outbox<'_>) {
        let session = out.session;
        if signals.is_down {
            out.reports.push_back(Report::V6Down { session });
        }
        if signals.is_up
            && let Some(v6) = &self.v6
        {
            let (link, Ipv6cp { local, remote, .. }) = (self.lcp.layer.link(), &v6.layer);
            let (local, remote) = (*local, *remote);
            out.reports.push_back(Report::V6Up { session, link, local, remote });
        }
        self.hear_network(signals, out);
    }

    pub fn hear_network(&mut self, signals: Signals, out: &mut Outbox<'_>) {
        if signals.is_up {
            (self.is_told, self.until) = (true, None);
        }
        // Also where the peer has ended it: it may begin anew, and end it again.
        if signals.is_down {
            self.count_reopening(out);
        }
        self.review(out);
    }

    /// Ends the session when no network protocol is open, and none can be any more.
    pub fn review(&mut self, out: &mut Outbox<'_>) {
        let is_alive = |state: State| state >= State::ReqSent;
        let has_v4 = self.v4.as_ref().is_some_and(|v4| is_alive(v4.state()));
        let has_v6 = self.v6.as_ref().is_some_and(|v6| is_alive(v6.state()));
        if self.phase == Phase::Network && !has_v4 && !has_v6 {
            self.close(Reason::NoNetwork, out);
        }
    }

    /// The peer has rejected a protocol (RFC 1661 section 5.7).
    pub fn lose_protocol(&mut self, number: u16, out: &mut Outbox<'_>) {
        let session = out.session;
        match number {
            protocol::LCP => {
                let signals = self.lcp.is_rejected(true, out);
                self.hear_link(signals, out);
            }
            protocol::IPCP => {
                if self.is_v4_up() {
                    out.reports.push_back(Report::V4Down { session });
                }
                self.v4 = None;
                self.review(out);
            }
            protocol::IPV6CP => {
                if self.is_v6_up() {
                    out.reports.push_back(Report::V6Down { session });
                }
                self.v6 = None;
                self.review(out);
            }
            protocol::PAP | protocol::CHAP if self.phase == Phase::Authenticate => {
                self.close(Reason::Unproven, out);
            }
            _ => out.counters.stale += 1,
        }
    }
}

/// The least MTU of IPv6 (RFC 8200 section 5).
const IPV6_MTU_MIN: u16 = 1280;
