//! What peers tell reaches the collectors that are told it.

use protocol_bgp::ended::Ended;
use protocol_bgp::negotiated::Negotiated;
use protocol_bgp::rules::Reading;
use protocol_kit::{Bytes, Time};

use super::Monitors;
use super::speakers::{Ends, Speaker};
use crate::reflector::Gone;

impl Monitors {
    /// Whether some collector gets what peers tell.
    pub fn hears(&self) -> bool {
        self.all.iter().any(|monitor| monitor.heard.is_some())
    }

    /// The session of a peer stands.
    pub fn peer_up(&mut self, peer: u16, ends: Ends, agreed: &Negotiated, now: Time) {
        let speaker = Speaker::new(ends, agreed);
        let mut out = Vec::new();
        speaker.up(self.micros(now), &mut out);
        self.speakers.insert(peer, speaker);
        self.tell_of(peer, out);
    }

    /// A peer is known that has a session already, before there are collectors that hear of it.
    pub fn learn(&mut self, peer: u16, ends: Ends, agreed: &Negotiated) {
        self.speakers.entry(peer).or_insert_with(|| Speaker::new(ends, agreed));
    }

    /// The session of a peer has ended.
    pub fn peer_down(&mut self, peer: u16, why: &Ended, now: Time) {
        let Some(speaker) = self.speakers.remove(&peer) else { return };
        let mut out = Vec::new();
        speaker.down(why, self.micros(now), &mut out);
        self.tell_of(peer, out);
    }

    fn tell_of(&mut self, peer: u16, out: Vec<u8>) {
        self.all.iter_mut().filter_map(|it| it.heard.as_mut()).for_each(|it| it.forget(peer));
        self.tell(out);
    }

    /// A peer has told something, which may have errors.
    pub fn update(&mut self, peer: u16, told: (&[u8], &Reading), is_faulty: bool, now: Time) {
        let Some(speaker) = self.speakers.get(&peer).filter(|_| self.is_told()) else { return };
        let mut out = Vec::new();
        speaker.update(told, is_faulty, self.micros(now), &mut out);
        self.tell(out);
    }

    /// Paths of peers with sessions are gone of which those have not said so.
    pub fn gone(&mut self, gone: &[Gone], now: Time) {
        let mut out = Vec::new();
        for run in gone.chunk_by(|one, other| (one.peer, one.family) == (other.peer, other.family))
        {
            if let Some(speaker) = self.speakers.get(&run[0].peer) {
                speaker.gone(run[0].family, run, self.micros(now), &mut out);
            }
        }
        self.tell(out);
    }

    /// Whether anybody hears what peers tell at present.
    fn is_told(&self) -> bool {
        self.all.iter().any(|it| it.heard.is_some() && it.collector.is_up())
    }

    /// Tells those that hear what peers tell.
    fn tell(&mut self, out: Vec<u8>) {
        let out = Bytes::from(out);
        let up = self.all.iter_mut().filter(|monitor| monitor.collector.is_up());
        up.filter_map(|monitor| monitor.heard.as_mut()).for_each(|heard| heard.push(&out));
    }
}
