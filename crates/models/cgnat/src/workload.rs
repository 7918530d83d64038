//! What the tester sends through a carrier-grade NAT, and how it recognises what comes out.
//!
//! A session is a number; `random-seed` decides which client, server and ports it has, each
//! combination once. Packets downlink are addressed to the translation that the tester has seen of
//! the session's packets uplink, whatever device chose it, so no rule need be known beforehand.
//! What comes out is held to what any NAT may do: addresses and ports of the server and the client,
//! an outside address of the pools (or of the static rule), one hop less, right checksums. Two
//! sessions that share a translation are noticed downlink, where one of them reaches the other's
//! client.
use std::net::Ipv4Addr;
use std::time::Duration;

use engine::steering::Steering;
use export::Collector;
use function_cgnat::config::{Config, Dir};
use function_cgnat::log;
use function_cgnat::sessions::steering;
use machine::clock::Ticks;
use packet::PortId;
use traffic::random::Bits;
use traffic::{
    Changes, Delivery, Direction, FarEnds, Floods, Frames, Policers, Population, Random,
    SessionAction, SessionFrames, SessionStep, Sessions, Sizes, Stamp,
};

use self::flow::{Flow, Space};
use self::form::Inside;
use self::frames::{ACK, Ends, PSH, Protocol, Seen, Segment};
use self::handshake::{data_segment, handshake, handshake_of};
use self::ipv6::{FORM_LEN, Form};
use self::learned::{Learned, Translation};
use self::mix::{Drawn, Mix};
use self::outside::Outside;
use crate::sections::Traffic;

mod ds_lite;
mod flow;
mod form;
mod frames;
mod handshake;
mod ipv6;
mod learned;
pub mod mix;
mod outside;
mod permutation;

/// The port to clients.
const INSIDE: PortId = PortId(0);
/// The port to servers.
const OUTSIDE: PortId = PortId(1);

/// Clients that speak with servers.
#[derive(Clone, Debug)]
pub struct Clients {
    directions: Vec<Direction>,
    random: [Random; 2],
    space: Space,
    /// Applications of clients, instead of single sessions.
    mix: Option<Box<Mix>>,
    sizes: Sizes,
    open: u64,
    most: u64,
    closes: bool,
    new_sessions: bool,
    macs: Macs,
    /// What frames of clients are, if not the same as outside, and by how many bytes less frames
    /// are there.
    inside: Option<Inside>,
    less: u16,
    outside: Outside,
    learned: Learned,
    /// How clients find their worker.
    keyed: Steering,
    /// Where the NAT's logs go.
    collector: Option<Collector>,
}

/// Destination and source of frames, as they are sent to the NAT and as they leave it.
#[derive(Clone, Copy, Debug)]
struct Macs {
    /// Sent to the inside and to the outside port.
    sent: [[u8; 12]; 2],
    /// The same as they leave the inside and the outside port.
    left: [[u8; 12]; 2],
}

/// What a frame's number decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Whose it is.
    pub session: u64,
    /// Between whom.
    pub flow: Flow,
    /// Whether it goes from client to server.
    pub uplink: bool,
    /// Length of the frame without check sequence, in bytes; inside, where that is not the same.
    pub len: u16,
    /// Of a segment.
    pub flags: u8,
}

impl Clients {
    /// The traffic that a validated configuration describes.
    pub fn new(config: &Config, traffic: &Traffic) -> Clients {
        let uplink = Direction { name: "uplink", from: INSIDE, to: OUTSIDE };
        let downlink = Direction { name: "downlink", from: OUTSIDE, to: INSIDE };
        let directions = match traffic.dir {
            Dir::Uplink => vec![uplink],
            Dir::Downlink => vec![downlink],
            Dir::Bidir => vec![uplink, downlink],
        };
        let mix = Mix::new(traffic).map(Box::new);
        let most = mix.as_ref().map_or_else(|| traffic.sessions_most(), |mix| mix.places());
        let most = most.min(SESSIONS_MAX);
        let seed = traffic.random_seed;
        let form = Inside::new(config, traffic);
        let (inside, outside) = (config.inside_mac.0, config.outside_mac.0);
        let next_hops = [config.inside_next_hop_mac.0, config.outside_next_hop_mac.0];
        Clients {
            directions,
            random: [Random::new(seed, 0), Random::new(seed, 1)],
            space: Space::new(traffic),
            mix,
            sizes: traffic.pkt_size.clone(),
            open: traffic.sessions.min(most),
            most,
            closes: traffic.tcp_share > 0.0,
            new_sessions: traffic.new_sessions,
            macs: Macs {
                sent: [frames::macs(inside, next_hops[0]), frames::macs(outside, next_hops[1])],
                left: [frames::macs(next_hops[0], inside), frames::macs(next_hops[1], outside)],
            },
            less: form.map_or(0, |form| form.growth() as u16),
            inside: form,
            outside: Outside::new(config, traffic),
            learned: Learned::new(most),
            keyed: config.steering(),
            collector: config.logging.as_ref().map(|logging| log::collector(config, logging)),
        }
    }

    /// The session of frame `number` of a direction.
    #[inline(always)]
    fn session_of(&self, uplink: bool, number: u64, bits: &mut Bits) -> u64 {
        if uplink && self.new_sessions {
            return (self.open + number) % self.most;
        }
        let among = if self.open == 0 { self.most } else { self.open };
        u64::from(bits.below(among as u32))
    }

    /// Addresses and ports of a packet as it is sent. To a session of which no translation is
    /// known, it goes to a port that no NAT has mapped.
    #[inline(always)]
    fn ends(&self, session: u64, flow: &Flow, uplink: bool) -> Ends {
        if uplink {
            return flow.uplink();
        }
        let unknown = Translation { address: self.outside.first().to_bits(), port: 0 };
        flow.downlink(self.learned.get(session, self.turn(flow)).unwrap_or(unknown))
    }

    /// Whether a frame that left by a port is one of a flow, translated as it may be.
    #[inline(always)]
    fn is_right(&self, uplink: bool, flow: &Flow, seen: &Seen) -> bool {
        let wanted = match uplink {
            true => flow.uplink(),
            false => flow.downlink(Translation { address: flow.client, port: flow.client_port }),
        };
        let ends = &seen.ends;
        let translated = match uplink {
            true => {
                let is_same = ends.destination == wanted.destination
                    && ends.destination_port == wanted.destination_port;
                is_same && self.outside.may_be(flow, ends.source, ends.source_port)
            }
            false => *ends == wanted,
        };
        translated
            && seen.is_sound
            && seen.protocol == flow.protocol
            && seen.is_request == (uplink || flow.protocol != Protocol::Icmp)
            && seen.ttl == frames::TTL - 1
            && seen.macs == self.macs.left[usize::from(uplink)]
    }

    /// Whether a session's packet to a server is translated as the ones before.
    fn is_known(&self, uplink: bool, session: u64, seen: &Seen) -> bool {
        !uplink || self.learned.get(session, 0) == Some(translation(seen))
    }

    /// What tells the sessions of a mix that have one place in turn apart: of one that the NAT
    /// has not seen yet, the translation is not known, and the one before it is another host's by
    /// now.
    #[inline(always)]
    fn turn(&self, flow: &Flow) -> u16 {
        match self.mix {
            Some(_) => flow.client as u16 ^ flow.client_port.rotate_left(5) ^ flow.server as u16,
            None => 0,
        }
    }

    /// The part of a frame to be sent in which it is written as it would be outside.
    #[inline(always)]
    fn bare_form<'a>(&self, uplink: bool, frame: &'a mut [u8]) -> &'a mut [u8] {
        if uplink { &mut frame[usize::from(self.less)..] } else { frame }
    }

    /// Makes a frame of a client what is sent.
    #[inline(always)]
    fn finish(&self, uplink: bool, frame: &mut [u8]) {
        if let Some(inside) = self.inside.as_ref().filter(|_| uplink) {
            inside.widen(frame);
        }
    }

    /// Whether frames of a step bear data and a stamp.
    fn has_stamp(flow: &Flow, action: SessionAction) -> bool {
        let bears_data = matches!(action, SessionAction::Use | SessionAction::Keep);
        flow.protocol != Protocol::Tcp || bears_data
    }

    fn step_seen(
        &self,
        frame: &[u8],
        seen: &Seen,
    ) -> Option<(u64, SessionAction, u8, Option<u64>)> {
        if seen.protocol == Protocol::Tcp && !seen.has_data {
            let (session, action, step) = handshake_of(seen.segment)?;
            return Some((u64::from(session), action, step, None));
        }
        let stamp = Stamp::read(frames::unpadded(frame, seen))?;
        let (session, action, step) = SessionStep::of(&stamp)?;
        Some((session, action, step, Some(stamp.time)))
    }
}

impl Frames for Clients {
    type Draw = Packet;

    fn directions(&self) -> &[Direction] {
        &self.directions
    }

    #[inline(always)]
    fn draw(&self, direction: usize, number: u64) -> Packet {
        let uplink = self.directions[direction].from == INSIDE;
        if let Some(mix) = &self.mix {
            return drawn(mix, uplink, number);
        }
        let mut bits = Bits(self.random[usize::from(!uplink)].at(number));
        let session = self.session_of(uplink, number, &mut bits);
        let size = self.sizes.pick(bits.below(256) as u8) - CHECK_SEQUENCE_LEN;
        let flow = self.space.flow(session);
        let least = frames::len_min(flow.protocol) as u16 + self.less;
        Packet { session, flow, uplink, len: size.max(least), flags: PSH | ACK }
    }

    #[inline(always)]
    fn frame_len(&self, packet: &Packet) -> usize {
        usize::from(packet.len - if packet.uplink { 0 } else { self.less })
    }

    #[inline(always)]
    fn steering(&self, packet: &Packet) -> u32 {
        let client = packet.flow.client;
        steering::of_address(
            &self.keyed,
            match &self.inside {
                Some(inside) => inside.address(client),
                None => Ipv4Addr::from_bits(client).into(),
            },
        )
    }

    #[inline(always)]
    fn prefetch(&self, packet: &Packet) {
        if !packet.uplink {
            self.learned.prefetch(packet.session);
        }
    }

    #[inline(always)]
    fn write(&self, packet: &Packet, stamp: Stamp, frame: &mut [u8]) {
        let Packet { session, flow, uplink, flags, .. } = packet;
        let ends = self.ends(*session, flow, *uplink);
        let segment = Segment { flags: *flags, ..data_segment(*session as u32, *uplink) };
        let what = (flow.protocol, &ends, segment);
        let macs = &self.macs.sent[usize::from(!uplink)];
        frames::write_data(macs, what, *uplink, stamp, self.bare_form(*uplink, frame));
        self.finish(*uplink, frame);
    }

    #[inline]
    fn delivery(
        &mut self,
        direction: usize,
        packet: &Packet,
        _: &Stamp,
        port: PortId,
        frame: &[u8],
    ) -> Delivery {
        let mut form: Form;
        let frame = match &self.inside {
            Some(inside) if !packet.uplink => {
                form = [0; FORM_LEN];
                match inside.narrow(frame, &mut form) {
                    Some(frame) => frame,
                    None => return Delivery::Misdelivered,
                }
            }
            _ => frame,
        };
        let Some(seen) = frames::read(frame) else {
            return if is_error(frame) { Delivery::Beside } else { Delivery::Misdelivered };
        };
        let is_whole = frame.len() == usize::from(packet.len - self.less)
            && usize::from(seen.total_len) + ETHERNET_LEN == frame.len();
        let is_right = port == self.directions[direction].to
            && is_whole
            && self.is_right(packet.uplink, &packet.flow, &seen);
        if !is_right {
            return Delivery::Misdelivered;
        }
        // Of sessions that were opened before, the translation is known; to look it up again costs
        // more than all the rest.
        if packet.uplink && packet.session >= self.open {
            self.learned.note(packet.session, self.turn(&packet.flow), translation(&seen));
        }
        Delivery::AsExpected
    }

    fn is_report(&self, port: PortId, frame: &[u8]) -> bool {
        self.collector.is_some_and(|collector| collector.is_message(port, frame))
    }

    fn population(&self) -> Option<Population> {
        let mix = self.mix.as_ref()?;
        Some(Population { clients: u64::from(mix.clients()), frames_per_s: mix.frames_per_s() })
    }

    fn delay(&self, direction: usize) -> Duration {
        let is_answer = self.directions[direction].from == OUTSIDE;
        self.mix.as_ref().filter(|_| is_answer).map_or(Duration::ZERO, |mix| mix.round_trip())
    }

    fn twin(&self) -> Option<Clients> {
        Some(self.clone())
    }
}

impl Changes for Clients {
    type Update = function_cgnat::control::Update;
}

impl Floods for Clients {}

impl Policers for Clients {}

impl FarEnds for Clients {}

impl SessionFrames for Clients {
    fn sessions(&self) -> Option<Sessions> {
        if self.mix.is_some() {
            // They come and go with its frames.
            return None;
        }
        let Clients { open, most, closes, new_sessions: opens_more, .. } = *self;
        Some(Sessions { open, most, closes, opens_more })
    }

    #[inline(always)]
    fn session(&self, number: u64) -> Option<Packet> {
        let flow = (number < self.most).then(|| self.space.flow(number))?;
        Some(Packet { session: number, flow, uplink: true, len: 0, flags: 0 })
    }

    #[inline]
    fn session_steps(&self, packet: &Packet, action: SessionAction) -> u8 {
        match (packet.flow.protocol, action) {
            (_, SessionAction::Use | SessionAction::Keep)
            | (Protocol::Udp | Protocol::Icmp, SessionAction::Open) => 2,
            (Protocol::Tcp, SessionAction::Open | SessionAction::Close) => 3,
            (Protocol::Udp | Protocol::Icmp, SessionAction::Close) => 0,
        }
    }

    fn session_ports(&self) -> [PortId; 2] {
        [INSIDE, OUTSIDE]
    }

    #[inline]
    fn session_frame_len(&self, packet: &Packet, action: SessionAction, step: u8) -> usize {
        let more = if step.is_multiple_of(2) { usize::from(self.less) } else { 0 };
        match Self::has_stamp(&packet.flow, action) {
            true => frames::len_min(packet.flow.protocol) + more,
            false => ETHERNET_LEN_MIN + more,
        }
    }

    #[inline]
    fn write_session(
        &self,
        packet: &Packet,
        (action, step): (SessionAction, u8),
        time: Ticks,
        frame: &mut [u8],
    ) {
        let Packet { session, flow, .. } = *packet;
        let uplink = step.is_multiple_of(2);
        let ends = self.ends(session, &flow, uplink);
        let macs = &self.macs.sent[usize::from(!uplink)];
        let form = self.bare_form(uplink, frame);
        if Self::has_stamp(&flow, action) {
            let segment = data_segment(session as u32, uplink);
            let stream = SessionStep::stream(action, step);
            let stamp = Stamp { stream, sequence: session, time };
            frames::write_data(macs, (flow.protocol, &ends, segment), uplink, stamp, form);
        } else {
            frames::write_bare(macs, &ends, handshake(session as u32, action, step), form);
        }
        self.finish(uplink, frame);
    }

    #[inline]
    fn session_seen(&mut self, port: PortId, frame: &[u8]) -> Option<(SessionStep, Packet)> {
        let mut form: Form;
        let frame = match &self.inside {
            Some(inside) if port == INSIDE => {
                form = [0; FORM_LEN];
                inside.narrow(frame, &mut form)?
            }
            _ => frame,
        };
        let seen = frames::read(frame)?;
        let (number, action, step, time) = self.step_seen(frame, &seen)?;
        let packet = self.session(number)?;
        let uplink = step.is_multiple_of(2);
        let is_right = port == (if uplink { OUTSIDE } else { INSIDE })
            && step < self.session_steps(&packet, action)
            && self.is_right(uplink, &packet.flow, &seen)
            && (action != SessionAction::Keep || self.is_known(uplink, number, &seen));
        if is_right && uplink {
            self.learned.note(number, 0, translation(&seen));
        }
        Some((SessionStep { session: number, action, step, time, is_right }, packet))
    }
}

/// A frame of a mix.
#[inline]
fn drawn(mix: &Mix, uplink: bool, number: u64) -> Packet {
    let Drawn { place: session, flow, len, flags } = mix.draw(uplink, number);
    let len = len.max(frames::len_min(flow.protocol) as u16);
    Packet { session, flow, uplink, len, flags }
}

/// Whether a frame is an ICMP error, by which a NAT says that a packet found no room: it is lost,
/// and what comes back is not it.
#[cold]
fn is_error(frame: &[u8]) -> bool {
    let rest = form::behind_tag(frame);
    let is_icmp = rest.starts_with(&[8, 0, 0x45]) && rest.get(11) == Some(&1);
    is_icmp && matches!(rest.get(2 + 20), Some(3 | 11))
}

fn translation(seen: &Seen) -> Translation {
    Translation { address: seen.ends.source, port: seen.ends.source_port }
}

const CHECK_SEQUENCE_LEN: u16 = 4;
const ETHERNET_LEN: usize = 14;
/// The shortest Ethernet frame without check sequence.
const ETHERNET_LEN_MIN: usize = 60;

/// Sessions that are numbered at most: of each, 8 bytes are learned.
const SESSIONS_MAX: u64 = 1 << 29;

#[cfg(test)]
mod tests;
