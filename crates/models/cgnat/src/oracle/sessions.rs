//! How packets of sessions become those of the other side, and how sessions begin.
use std::net::IpAddr;
use std::time::Duration;

use function_cgnat::config::Filtering;

use super::packets::Packet;
use super::state::{Judgement, Left, Model};
use super::tables::{Begun, End, Own, Session};

impl Model {
    /// A subscriber's packet: its source becomes that of its mapping (RFC 4787 REQ-1).
    pub(super) fn leaving(&mut self, packet: &Packet, now: Duration, left: Left<'_>) -> Judgement {
        let own = (packet.protocol, (self.who(packet.source.0), packet.source.1));
        let begun = self.begin(own, packet.destination, packet.flags(), now, left)?;
        let translated = packet.with_ends(begun.outside, packet.destination);
        self.onward(&begun, &translated.clamped(self.config.mss_clamp), now, left)
    }

    /// The session of a subscriber's packet to `far`.
    pub(super) fn begin(
        &mut self,
        own: Own,
        far: End,
        tcp_flags: u8,
        now: Duration,
        left: Left<'_>,
    ) -> Result<Begun, &'static str> {
        let known = self.tables.mappings.get(&own);
        let has_session = known.is_some_and(|mapping| mapping.sessions.contains_key(&far));
        if !has_session {
            let maps = known.is_none();
            self.may_open(own, far, tcp_flags)?;
            self.concerned = own.1.0;
            self.check_limits(own.1.0, maps, left)?;
            if maps {
                let outside = self.choose(own, now, left)?;
                self.tables.begin(own, outside);
            }
            let mut session = Session::default();
            if own.0 == 6 && tcp_flags & 2 == 0 {
                session.syn = [true; 2];
            }
            self.tables.join(own, far, session);
        }
        let mapping = self.tables.mappings.get_mut(&own).ok_or("unhandled")?;
        let outside = mapping.outside;
        let session = mapping.sessions.get_mut(&far).ok_or("unhandled")?;
        session.leaves(tcp_flags, now);
        self.note_b4(own.1.0.realm);
        Ok(Begun { own, outside, is_new: !has_session })
    }

    /// A packet to an outside address: its destination becomes that of the mapping's subscriber.
    pub(super) fn arriving(&mut self, packet: &Packet, now: Duration, left: Left<'_>) -> Judgement {
        let outside = packet.destination;
        if !self.is_outside(outside.0) {
            return Err("no-address");
        }
        let own = match self.tables.owner(packet.protocol, outside) {
            Some(own) => own,
            None => self.open_static(packet, now, left)?,
        };
        let mapping = self.tables.mappings.get(&own).ok_or("unhandled")?;
        if !mapping.sessions.contains_key(&packet.source) {
            let known = mapping.sessions.keys().any(|far| far.0 == packet.source.0);
            let whose = [None, Some(packet.source.0)];
            let is_expected = whose.iter().any(|who| mapping.expected.contains_key(who));
            let expected = is_expected || mapping.granted.is_some();
            match self.config.filtering {
                Filtering::EndpointIndependent => {}
                Filtering::AddressDependent if known => {}
                _ if expected => {}
                _ => return Err("filtered"),
            }
            let session = Session::of_mapping(mapping, (own.0, now), &self.config);
            self.check_far(own, packet.source.0)?;
            self.concerned = own.1.0;
            self.check_limits(own.1.0, false, left)?;
            self.tables.join(own, packet.source, session);
        }
        let mapping = self.tables.mappings.get_mut(&own).ok_or("unhandled")?;
        let session = mapping.sessions.get_mut(&packet.source).ok_or("unhandled")?;
        session.comes(packet.flags(), now, &self.config);
        match own.1.0.address {
            IpAddr::V4(inside) => {
                let far = packet.source;
                let packet = packet.with_ends(far, (inside, own.1.1));
                let packet = packet.clamped(self.config.mss_clamp);
                let packet = self.by_gateway(packet, (own, far, false), now, left);
                Ok(self.frame_in(own.1.0.realm, &packet.bytes))
            }
            IpAddr::V6(inside) => self.arriving_ipv6(packet, (inside, own.1.1)),
        }
    }

    /// A packet for an address, or a port of one, that a subscriber has for itself.
    fn open_static(
        &mut self,
        packet: &Packet,
        now: Duration,
        left: Left<'_>,
    ) -> Result<Own, &'static str> {
        let outside = packet.destination;
        let fixed = self.inside_of(packet.protocol, outside);
        if (fixed.is_some() || packet.protocol != 1) && !self.is_here(packet.protocol, outside) {
            return Err("other-worker");
        }
        let (inside, port) = fixed.ok_or("no-mapping")?;
        if self.config.filtering != Filtering::EndpointIndependent {
            return Err("filtered");
        }
        let own = (packet.protocol, (self.who_in(0, inside), port));
        self.concerned = own.1.0;
        self.check_limits(own.1.0, true, left)?;
        let outside = self.choose(own, now, left)?;
        self.tables.begin(own, outside);
        self.tables.join(own, packet.source, Session::new(now));
        Ok(own)
    }
}
