//! What the tester sends to a broadband network gateway, and how it recognises what comes back.
//!
//! Uplink frames come from subscribers on their lines to servers; downlink frames from servers to
//! subscribers. A frame follows from the seed, its direction and its number. Its packet is UDP with
//! port 7 (echo) at the server's end and carries the stamp at its end.

use function_bng::Update;
use function_bng::gateway::{ACCESS, CORE};
use function_kit::sections::Dir;
use machine::clock::Ticks;
use model_kit::test_packets::{PORT_MIN, PORTS};
use packet::PortId;
use traffic::passing::Passing;
use traffic::random::{Bits, below};
use traffic::workload::{Change, EventKind, PolicedFrame, Policer};
use traffic::{
    Changes, Delivery, Direction, Draw, FarEnds, Floods, Frames, Pacing, Policers, Random,
    SessionAction, SessionFrames, SessionStep, Sessions, Sizes, Stamp,
};
use wire::ethernet;

use crate::catalogue::{OTHER_PROFILE, PROFILE, Subscriber};
use crate::clients::Clients;
use crate::frames::{self, plain_len};
pub use crate::frames::{Packet, Version};
use crate::section::{Section, Stack};
use crate::sections::Traffic;

/// The subscribers' traffic.
pub struct Subscribers {
    directions: Vec<Direction>,
    random: [Random; 2],
    section: Section,
    traffic: Traffic,
    subscriber_draw: Draw,
    server_draw: Draw,
    port_draw: Draw,
    sizes: Sizes,
    /// Of 2^16.
    ipv6_share: u32,
    /// Subscribers below this number have packets of three classes.
    three_classes: u32,
    frames: frames::Frames,
    /// Who brings the sessions up, where they are not there from the start.
    clients: Option<Clients>,
    events: Vec<EventKind>,
    kinds: Vec<Kind>,
    event_random: Random,
    passing: Passing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Session,
    Profile,
}

impl Subscribers {
    /// The traffic that validated sections describe.
    pub fn new(section: &Section, traffic: &Traffic) -> Subscribers {
        let generated = &section.generated;
        let uplink = Direction { name: "uplink", from: ACCESS, to: CORE };
        let downlink = Direction { name: "downlink", from: CORE, to: ACCESS };
        let directions = match traffic.dir {
            Dir::Uplink => vec![uplink],
            Dir::Downlink => vec![downlink],
            Dir::Bidir => vec![uplink, downlink],
        };
        let ipv6_share = traffic.ipv6_share.unwrap_or(match generated.stack {
            Stack::Ipv4 => 0.0,
            Stack::Ipv6 => 1.0,
            Stack::Dual => 0.5,
        });
        let seed = traffic.random_seed;
        let mut subscribers = Subscribers {
            directions,
            random: [Random::new(seed, 0), Random::new(seed, 1)],
            section: section.clone(),
            traffic: traffic.clone(),
            subscriber_draw: {
                let some = traffic.subscribers.unwrap_or(generated.subscribers);
                traffic.subscriber_draw.over(some)
            },
            server_draw: traffic.server_draw.over(generated.server),
            port_draw: traffic.port_draw.over(PORTS),
            sizes: traffic.pkt_size.clone(),
            ipv6_share: (ipv6_share * f64::from(1u32 << 16)) as u32,
            three_classes: (traffic.three_class_share * f64::from(generated.subscribers)) as u32,
            frames: frames::Frames::new(section),
            clients: Clients::new(section),
            events: Vec::new(),
            kinds: Vec::new(),
            event_random: Random::new(seed, 2),
            passing: Passing::new(generated.fluct_session),
        };
        let pacing = traffic.event_pacing;
        subscribers.add_event(Kind::Session, 2.0 * generated.fluct_session, pacing);
        subscribers.add_event(Kind::Profile, generated.fluct_profile, pacing);
        subscribers
    }

    fn add_event(&mut self, kind: Kind, rate_per_s: f64, pacing: Pacing) {
        if rate_per_s > 0.0 {
            self.events.push(EventKind { name: kind.name(), rate_per_s, pacing });
            self.kinds.push(kind);
        }
    }

    /// The first packet for a subscriber, as it is sent in a probe.
    fn packet(&self, subscriber: u32) -> Packet {
        let version = match self.section.generated.stack {
            Stack::Ipv6 => Version::Na,
            Stack::Ipv4 | Stack::Dual => Version::Ipv4,
        };
        Packet {
            uplink: false,
            version,
            dscp: 0,
            port: PORT_MIN,
            plain_len: plain_len(self.sizes.pick(0), version),
            subscriber,
            server: 0,
        }
    }

    /// The next session that begins, or ends.
    fn next_session(&mut self, number: u64) -> Option<Change<Update>> {
        let (passing, adds) = self.passing.next(number)?;
        let subscriber = self.section.generated.subscribers + passing;
        let subscriber = Subscriber::new(&self.section, subscriber);
        let update = if adds { subscriber.added(&self.section) } else { subscriber.removed() };
        let subject = Kind::Session.subject(passing) | if adds { 0 } else { REMOVAL };
        Some(Change { subject, steering: None, update })
    }

    /// A random subscriber gets another profile, which no frame shows.
    fn next_profile(&self, number: u64) -> Change<Update> {
        let bits = self.event_random.at(number);
        let subscriber = below((bits >> 32) as u32, self.section.generated.subscribers);
        let profile = if bits.is_multiple_of(2) { PROFILE } else { OTHER_PROFILE };
        let update = Update::SetProfile { number: subscriber + 1, profile };
        Change { subject: Kind::Profile.subject(subscriber), steering: None, update }
    }

    /// Version of IP and code point of a packet, by bits of their own.
    #[inline(always)]
    fn character(&self, bits: u64, subscriber: u32) -> (Version, u8) {
        let bits = Random::rehash(bits);
        let version = match (bits as u32 & 0xffff) < self.ipv6_share {
            false => Version::Ipv4,
            true if bits >> 16 & 1 == 0 => Version::Na,
            true => Version::Delegated,
        };
        let class = below((bits >> 32) as u32, CODE_POINTS.len() as u32);
        let is_of_three = subscriber < self.three_classes;
        (version, if is_of_three { CODE_POINTS[class as usize] } else { 0 })
    }
}

impl Frames for Subscribers {
    type Draw = Packet;

    fn directions(&self) -> &[Direction] {
        &self.directions
    }

    #[inline(always)]
    fn draw(&self, direction: usize, number: u64) -> Packet {
        let uplink = self.directions[direction].from == ACCESS;
        let random = &self.random[usize::from(!uplink)];
        // Subscribers, servers, ports and sizes together use 62 of the 64 bits at their limits.
        let mut bits = Bits(random.at(number));
        let subscriber = self.subscriber_draw.item(&mut bits, random, number);
        let server = self.server_draw.item(&mut bits, random, !number);
        let port = self.port_draw.item(&mut bits, random, number ^ PORT_TWIST);
        let size = self.sizes.pick(bits.below(256) as u8);
        let (version, dscp) = self.character(random.at(number), subscriber);
        let port = PORT_MIN + port as u16;
        let plain_len = plain_len(size, version);
        Packet { uplink, version, dscp, port, plain_len, subscriber, server }
    }

    #[inline(always)]
    fn frame_len(&self, packet: &Packet) -> usize {
        let line = if packet.uplink { self.frames.line_len(packet.subscriber) } else { 0 };
        usize::from(packet.plain_len) + line
    }

    #[inline(always)]
    fn steering(&self, packet: &Packet) -> u32 {
        (Random::rehash(packet.subscriber.into()) >> 32) as u32
    }

    #[inline(always)]
    fn write(&self, packet: &Packet, stamp: Stamp, frame: &mut [u8]) {
        self.frames.write(packet, stamp, frame);
    }

    #[inline(always)]
    fn delivery(
        &mut self,
        direction: usize,
        packet: &Packet,
        _: &Stamp,
        port: PortId,
        frame: &[u8],
    ) -> Delivery {
        let is_right = port == self.directions[direction].to
            && match packet.uplink {
                true => self.frames.is_routed(packet, frame),
                false => self.frames.is_on_its_line(packet, frame),
            };
        if !is_right {
            return Delivery::Misdelivered;
        }
        match packet.subscriber.checked_sub(self.section.generated.subscribers) {
            Some(number) if self.passing.show(number) => {
                Delivery::Shows(Kind::Session.subject(number))
            }
            _ => Delivery::AsExpected,
        }
    }

    fn is_report(&self, port: PortId, frame: &[u8]) -> bool {
        let clients = self.clients.as_ref().filter(|_| port == ACCESS);
        clients.is_some_and(|clients| clients.is_said(&self.frames, frame))
    }

    /// Of clients, which know what they were given.
    fn twin(&self) -> Option<Subscribers> {
        self.clients.as_ref()?;
        let mut twin = Subscribers::new(&self.section, &self.traffic);
        twin.frames.given.clone_from(&self.frames.given);
        Some(twin)
    }
}

impl Changes for Subscribers {
    type Update = Update;

    fn events(&self) -> &[EventKind] {
        &self.events
    }

    fn next_update(&mut self, kind: usize, number: u64) -> Option<Change<Update>> {
        match *self.kinds.get(kind)? {
            Kind::Session => self.next_session(number),
            Kind::Profile => Some(self.next_profile(number)),
        }
    }

    fn kind_of(&self, subject: u64) -> Option<usize> {
        let (kind, _) = Kind::of(subject & !REMOVAL);
        self.kinds.iter().position(|&known| Some(known) == kind)
    }

    fn settled(&mut self, _: u64, _: Option<Ticks>) {}

    fn probe(&self, subject: u64) -> Option<(usize, Packet)> {
        let (kind, number) = Kind::of(subject);
        let downlink = self.directions.iter().position(|direction| direction.from == CORE)?;
        let packet = || self.packet(self.section.generated.subscribers + number);
        (kind? == Kind::Session).then(|| (downlink, packet()))
    }
}

impl Floods for Subscribers {}

impl Policers for Subscribers {
    /// What subscribers send is policed by the bytes of IP packets; what they get is queued, by the
    /// bytes of frames on their lines. Of traffic both ways the policed frames count.
    #[inline]
    fn policed(&self, packet: &Packet) -> Option<PolicedFrame> {
        let counts = packet.uplink != (self.traffic.dir == Dir::Downlink);
        let is_its = packet.subscriber < self.section.generated.subscribers;
        let bytes = match packet.uplink {
            true => usize::from(packet.plain_len) - ethernet::HEADER_LEN,
            false => usize::from(packet.plain_len) + self.frames.line_len(packet.subscriber),
        };
        let frame = PolicedFrame { subscriber: packet.subscriber, bytes: bytes as u32 };
        (counts && is_its).then_some(frame)
    }

    fn policer(&self) -> Option<Policer> {
        let generated = &self.section.generated;
        let is_queued = self.traffic.dir == Dir::Downlink;
        let (there, waiting) = match is_queued {
            true => (generated.queues > 0, generated.queue_bytes),
            false => (generated.policers > 0, 0),
        };
        there.then(|| Policer {
            bytes_per_s: generated.session_rate.0,
            // What waits at the end of a trial comes, too.
            burst_bytes: f64::from(generated.burst(generated.session_rate)) + f64::from(waiting),
            subscribers: self.traffic.subscribers.unwrap_or(generated.subscribers),
        })
    }
}

impl FarEnds for Subscribers {}

impl SessionFrames for Subscribers {
    fn sessions(&self) -> Option<Sessions> {
        self.clients.as_ref().map(Clients::sessions)
    }

    fn session(&self, number: u64) -> Option<Packet> {
        self.clients.as_ref()?.session(number)
    }

    fn session_steps(&self, of: &Packet, action: SessionAction) -> u8 {
        self.clients.as_ref().map_or(0, |clients| clients.steps(of, action))
    }

    fn session_ports(&self) -> [PortId; 2] {
        [ACCESS, CORE]
    }

    fn session_side(&self, of: &Packet, action: SessionAction, step: u8) -> usize {
        let clients = self.clients.as_ref();
        usize::from(clients.is_some_and(|clients| clients.is_servers(of, (action, step))))
    }

    fn session_frame_len(&self, of: &Packet, action: SessionAction, step: u8) -> usize {
        let clients = self.clients.as_ref();
        clients.map_or(0, |clients| clients.frame_len(&self.frames, of, (action, step)))
    }

    fn write_session(&self, of: &Packet, what: (SessionAction, u8), time: Ticks, frame: &mut [u8]) {
        if let Some(clients) = &self.clients {
            clients.write(&self.frames, of, what, time, frame);
        }
    }

    fn session_seen(&mut self, port: PortId, frame: &[u8]) -> Option<(SessionStep, Packet)> {
        self.clients.as_mut()?.seen(&self.frames, port, frame)
    }

    fn session_says(&mut self) -> Option<&[u8]> {
        self.clients.as_mut()?.says(&self.frames)
    }
}

impl Kind {
    const ALL: [Kind; 2] = [Kind::Session, Kind::Profile];

    fn name(self) -> &'static str {
        match self {
            Kind::Session => "session-update",
            Kind::Profile => "profile-update",
        }
    }

    /// The subject of a change of this kind.
    fn subject(self, number: u32) -> u64 {
        (self as u64 + 1) << 32 | u64::from(number)
    }

    fn of(subject: u64) -> (Option<Kind>, u32) {
        let kind = Kind::ALL.into_iter().find(|&kind| kind as u64 + 1 == subject >> 32);
        (kind, subject as u32)
    }
}

/// Marks the subject of a removal, which shows in no frame.
const REMOVAL: u64 = 1 << 63;

/// Keeps the port's Zipf draw apart from the subscriber's.
const PORT_TWIST: u64 = 1 << 62;

/// Expedited forwarding, the first class of assured forwarding, best effort (RFC 3246, 2597, 2474).
const CODE_POINTS: [u8; 3] = [46, 10, 0];
