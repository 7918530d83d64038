//! Clients that bring their sessions up at a gateway that has a controller: what each sends, step
//! by step, and what the gateway must answer.
//!
//! ```text
//! IPoE     DHCPv4: DISCOVER, OFFER, REQUEST, ACK          for an address
//! PPPoE    PADI, PADO, PADR, PADS; LCP; IPCP; IPv6CP      for an address
//! both     DHCPv6: SOLICIT, ADVERTISE, REQUEST, REPLY     for an address and a prefix
//! packets  one to a server and one back, of each address  so the session is up
//! ```
//! Packets are of what a client was given, in ordinary traffic, too. Clients are written from the
//! RFCs and share no code with the gateway's own machines.

mod dhcpv4;
mod dhcpv6;
mod pppoe;

use function_bng::gateway::{ACCESS, CORE};
use machine::clock::Ticks;
use model_kit::test_packets::PORT_MIN;
use packet::PortId;
use traffic::{SessionAction, SessionStep, Sessions, Stamp};
use wire::bytes::u16_at;
use wire::{MacAddr, ethernet};

use self::dhcpv4::Dhcpv4;
use self::dhcpv6::Dhcpv6;
use self::pppoe::{Message, Pppoe};
use crate::catalogue::Subscriber;
use crate::frames::{Frames, LEN_MIN_IPV4, LEN_MIN_IPV6, PPP_IPV6, Packet, TYPE_PPPOE, Version};
use crate::given::Addresses;
use crate::section::{Section, SetUp};

/// The clients of all subscribers.
pub(crate) struct Clients {
    section: Section,
    /// The steps of opening a session: of IPoE, and of PPPoE.
    opened: [Vec<Step>; 2],
    /// Those of using it.
    used: Vec<Step>,
    dhcpv4: Dhcpv4,
    dhcpv6: Dhcpv6,
    pppoe: Pppoe,
    /// The frame that is said beside the steps.
    said: Vec<u8>,
}

/// What a step sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A message of DHCPv4: a DISCOVER, or a REQUEST.
    Dhcpv4 { is_request: bool },
    /// A message of DHCPv6: a SOLICIT, or a REQUEST.
    Dhcpv6 { is_request: bool },
    /// A message of PPPoE or PPP.
    Pppoe(Message),
    /// A packet to a server.
    Up(Version),
    /// A packet from a server.
    Down(Version),
}

impl Clients {
    /// The clients of a section; none if its sessions are there from the start.
    pub fn new(section: &Section) -> Option<Clients> {
        if section.generated.set_up == SetUp::Configured {
            return None;
        }
        let (ipv4, ipv6) = section.generated.stack.versions();
        let versions: &[Version] = match (ipv4, ipv6) {
            (true, true) => &[Version::Ipv4, Version::Na, Version::Delegated],
            (true, false) => &[Version::Ipv4],
            (false, _) => &[Version::Na, Version::Delegated],
        };
        let used: Vec<Step> =
            versions.iter().flat_map(|&one| [Step::Up(one), Step::Down(one)]).collect();
        let (mut ipoe, mut pppoe) = (Vec::new(), Vec::new());
        pppoe.extend([Message::Initiation, Message::Request, Message::Link].map(Step::Pppoe));
        if ipv4 {
            ipoe.extend([false, true].map(|is_request| Step::Dhcpv4 { is_request }));
            pppoe.extend([Message::AnyAddress, Message::Address].map(Step::Pppoe));
        }
        if ipv6 {
            let dhcp = [false, true].map(|is_request| Step::Dhcpv6 { is_request });
            ipoe.extend(dhcp);
            pppoe.push(Step::Pppoe(Message::Interface));
            pppoe.extend(dhcp);
        }
        let opened = [ipoe, pppoe].map(|steps| [steps, used.clone()].concat());
        Some(Clients {
            section: section.clone(),
            opened,
            used,
            dhcpv4: Dhcpv4::default(),
            dhcpv6: Dhcpv6::default(),
            pppoe: Pppoe::default(),
            said: Vec::new(),
        })
    }

    pub fn sessions(&self) -> Sessions {
        let all = self.section.generated.subscribers.into();
        Sessions { open: all, most: all, closes: false, opens_more: false }
    }

    /// A session of the tester by its number: that of the subscriber of this number.
    #[inline]
    pub fn session(&self, number: u64) -> Option<Packet> {
        let is_there = number < self.section.generated.subscribers.into();
        is_there.then_some(Packet {
            uplink: true,
            version: Version::Ipv4,
            dscp: 0,
            port: PORT_MIN,
            plain_len: LEN_MIN_IPV4,
            subscriber: number as u32,
            server: 0,
        })
    }

    fn script(&self, of: &Packet, action: SessionAction) -> &[Step] {
        let is_pppoe = Subscriber::new(&self.section, of.subscriber).pppoe != 0;
        match action {
            SessionAction::Open => &self.opened[usize::from(is_pppoe)],
            SessionAction::Use | SessionAction::Keep => &self.used,
            SessionAction::Close => &[],
        }
    }

    /// How many steps an action on a session has.
    #[inline]
    pub fn steps(&self, of: &Packet, action: SessionAction) -> u8 {
        self.script(of, action).len() as u8
    }

    #[inline]
    fn step(&self, of: &Packet, (action, step): (SessionAction, u8)) -> Option<Step> {
        self.script(of, action).get(usize::from(step)).copied()
    }

    /// Whether a step is the server's, and so enters at the port `core`.
    #[inline]
    pub fn is_servers(&self, of: &Packet, what: (SessionAction, u8)) -> bool {
        matches!(self.step(of, what), Some(Step::Down(_)))
    }

    /// Length of a step's frame in bytes.
    #[inline]
    pub fn frame_len(&self, frames: &Frames, of: &Packet, what: (SessionAction, u8)) -> usize {
        let plain_len = |version| usize::from(packet(of, version, true).plain_len);
        let on_line = |len: usize| ethernet::HEADER_LEN + frames.line_len(of.subscriber) + len;
        match self.step(of, what) {
            Some(Step::Dhcpv4 { .. }) => on_line(dhcpv4::LEN),
            Some(Step::Dhcpv6 { is_request }) => on_line(self.dhcpv6.len(is_request)),
            Some(Step::Pppoe(message)) => {
                let subscriber = Subscriber::new(&self.section, of.subscriber);
                let given = given(frames, of.subscriber);
                frames.tagged_len() + self.pppoe.write(message, &subscriber, given).len()
            }
            Some(Step::Up(version)) => plain_len(version) + frames.line_len(of.subscriber),
            Some(Step::Down(version)) => plain_len(version),
            None => 0,
        }
    }

    /// Writes a step's frame.
    #[inline]
    pub fn write(
        &self,
        frames: &Frames,
        of: &Packet,
        what: (SessionAction, u8),
        time: Ticks,
        frame: &mut [u8],
    ) {
        let subscriber = Subscriber::new(&self.section, of.subscriber);
        let (action, step) = what;
        let stream = SessionStep::stream(action, step);
        let stamp = Stamp { stream, sequence: of.subscriber.into(), time };
        let given = given(frames, of.subscriber);
        match self.step(of, what) {
            Some(Step::Up(version)) => frames.write(&packet(of, version, true), stamp, frame),
            Some(Step::Down(version)) => frames.write(&packet(of, version, false), stamp, frame),
            Some(Step::Dhcpv4 { is_request }) => {
                let what = (Version::Ipv4, dhcpv4::LEN);
                let at = frames.write_head(MacAddr::BROADCAST, &subscriber, what, frame);
                self.dhcpv4.write(is_request, &subscriber, given.ipv4, &mut frame[at..]);
            }
            Some(Step::Dhcpv6 { is_request }) => {
                let what = (Version::Na, self.dhcpv6.len(is_request));
                let at = frames.write_head(dhcpv6::SERVERS_MAC, &subscriber, what, frame);
                self.dhcpv6.write(is_request, &subscriber, given, &mut frame[at..]);
            }
            Some(Step::Pppoe(message)) => {
                let to = match message {
                    Message::Initiation => MacAddr::BROADCAST,
                    _ => frames.access_mac,
                };
                frames.write_tagged(to, &subscriber, frame);
                let rest = self.pppoe.write(message, &subscriber, given);
                frame[frames.tagged_len()..].copy_from_slice(&rest);
            }
            None => {}
        }
    }

    /// What step of which session has come out, if it is one.
    #[inline]
    pub fn seen(
        &mut self,
        frames: &Frames,
        port: PortId,
        frame: &[u8],
    ) -> Option<(SessionStep, Packet)> {
        if port == ACCESS
            && let Some(found) = self.answered(frames, frame)
        {
            return Some(found);
        }
        let stamp = Stamp::read(frame)?;
        let (session, action, step) = SessionStep::of(&stamp)?;
        let draw = self.session(session)?;
        let is_right = match self.step(&draw, (action, step))? {
            Step::Up(version) => {
                port == CORE && frames.is_routed(&packet(&draw, version, true), frame)
            }
            Step::Down(version) => {
                port == ACCESS && frames.is_on_its_line(&packet(&draw, version, false), frame)
            }
            Step::Dhcpv4 { .. } | Step::Dhcpv6 { .. } | Step::Pppoe(_) => false,
        };
        let time = Some(stamp.time);
        Some((SessionStep { session, action, step, time, is_right }, draw))
    }

    /// The subscriber to whom a frame of the gateway goes, and what it is from the EtherType on.
    fn addressed<'a>(&self, frames: &Frames, frame: &'a [u8]) -> Option<(Subscriber, &'a [u8])> {
        let &[0x02, 0x5b, 0x00, a, b, c, ..] = frame else { return None };
        let draw = self.session(u32::from_be_bytes([0, a, b, c]).into())?;
        let subscriber = Subscriber::new(&self.section, draw.subscriber);
        Some((subscriber, frames.to_subscriber(&subscriber, frame)?))
    }

    /// An answer of the gateway to a message. What is offered is noted, and what is given must be
    /// that.
    fn answered(&mut self, frames: &Frames, frame: &[u8]) -> Option<(SessionStep, Packet)> {
        let (subscriber, rest) = self.addressed(frames, frame)?;
        let before = given(frames, subscriber.number);
        let packet = match (u16_at(rest.get(..10)?, 0), u16_at(rest, 8)) {
            (TYPE_PPPOE, PPP_IPV6) => &rest[10..],
            (TYPE_PPPOE, _) => &[],
            _ => &rest[2..],
        };
        let (step, now, is_its) = if let Some(answer) = self.dhcpv4.read(packet) {
            let dhcpv4::Answer { session, is_ack: is_request, address, mac } = answer;
            let is_its = session == u64::from(subscriber.number) && mac == subscriber.mac;
            (Step::Dhcpv4 { is_request }, Addresses { ipv4: address, ..before }, is_its)
        } else if let Some(answer) = self.dhcpv6.read(packet) {
            let dhcpv6::Answer { session, is_reply: is_request, na, delegated, mac } = answer;
            let is_its = session == u64::from(subscriber.number) && mac == Some(subscriber.mac);
            (Step::Dhcpv6 { is_request }, Addresses { na, delegated, ..before }, is_its)
        } else {
            let pppoe::Heard { message, given } = self.pppoe.read(subscriber.mac, rest, before)?;
            (Step::Pppoe(message), given, true)
        };
        let is_something = match step {
            Step::Dhcpv4 { .. } | Step::Pppoe(Message::Address) => now.ipv4 != 0,
            Step::Dhcpv6 { .. } => now.na != 0 && now.delegated != 0,
            _ => true,
        };
        let is_offer =
            !matches!(step, Step::Dhcpv4 { is_request: true } | Step::Dhcpv6 { is_request: true });
        let is_right = is_its && is_something && (is_offer || now == before);
        if is_right && let Some(given) = &frames.given {
            given.note(subscriber.number, now);
        }
        let session = subscriber.number.into();
        let (action, draw) = (SessionAction::Open, self.session(session)?);
        let step = self.script(&draw, action).iter().position(|known| *known == step)? as u8;
        Some((SessionStep { session, action, step, time: None, is_right }, draw))
    }

    /// The next frame that a client has to send beside its steps.
    pub fn says(&mut self, frames: &Frames) -> Option<&[u8]> {
        let (MacAddr([_, _, _, a, b, c]), rest) = self.pppoe.next()?;
        let subscriber = Subscriber::new(&self.section, u32::from_be_bytes([0, a, b, c]));
        self.said.resize(frames.tagged_len(), 0);
        frames.write_tagged(frames.access_mac, &subscriber, &mut self.said);
        self.said.extend(rest);
        Some(&self.said)
    }

    /// Whether a frame at the port `access` is what the gateway says to a client beside its steps.
    pub fn is_said(&self, frames: &Frames, frame: &[u8]) -> bool {
        self.addressed(frames, frame).is_some_and(|(_, rest)| pppoe::is_control(rest))
    }
}

/// A session's packet of one version, up or down.
#[inline]
fn packet(of: &Packet, version: Version, uplink: bool) -> Packet {
    let plain_len = if version == Version::Ipv4 { LEN_MIN_IPV4 } else { LEN_MIN_IPV6 };
    Packet { uplink, version, plain_len, ..*of }
}

fn given(frames: &Frames, subscriber: u32) -> Addresses {
    frames.given.as_ref().map(|given| given.get(subscriber)).unwrap_or_default()
}
