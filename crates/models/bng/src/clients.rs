//! Clients that bring their sessions up at a gateway that has a controller: what each sends, step
//! by step, and what the gateway must answer.
//!
//! ```text
//! DHCPv4   DISCOVER, OFFER  REQUEST, ACK      for an address
//! DHCPv6   SOLICIT, ADVERTISE  REQUEST, REPLY for an address and a prefix
//! packets  one to a server and one back, of each address: so the session is up
//! ```
//! Packets are of what a client was given, in ordinary traffic, too. Clients are written from the
//! RFCs and share no code with the gateway's own machines.

mod dhcpv4;
mod dhcpv6;
mod given;

use function_bng::gateway::{ACCESS, CORE};
use function_kit::Invalid;
use function_kit::sections::function_key;
use machine::clock::Ticks;
use model_kit::test_packets::PORT_MIN;
use packet::PortId;
use serde_json::{Value, json};
use traffic::{SessionAction, SessionStep, Sessions, Stamp};
use wire::{MacAddr, ethernet};

use self::dhcpv4::Dhcpv4;
use self::dhcpv6::Dhcpv6;
use self::given::Addresses;
pub(crate) use self::given::Given;
use crate::catalogue::{POOLS, PROFILE, Subscriber};
use crate::frames::{Frames, LEN_MIN_IPV4, LEN_MIN_IPV6, Packet, Version};
use crate::section::{Kind, Section, SetUp};

/// The clients of all subscribers.
pub(crate) struct Clients {
    section: Section,
    /// The steps of opening a session, and of using it.
    scripts: [Vec<Step>; 2],
    dhcpv4: Dhcpv4,
    dhcpv6: Dhcpv6,
}

/// What a step sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A message of DHCPv4: a DISCOVER, or a REQUEST.
    Dhcpv4 { is_request: bool },
    /// A message of DHCPv6: a SOLICIT, or a REQUEST.
    Dhcpv6 { is_request: bool },
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
        let (mut opened, mut used) = (Vec::new(), Vec::new());
        if ipv4 {
            opened.extend([false, true].map(|is_request| Step::Dhcpv4 { is_request }));
            used.extend([Step::Up(Version::Ipv4), Step::Down(Version::Ipv4)]);
        }
        if ipv6 {
            opened.extend([false, true].map(|is_request| Step::Dhcpv6 { is_request }));
            for version in [Version::Na, Version::Delegated] {
                used.extend([Step::Up(version), Step::Down(version)]);
            }
        }
        opened.extend(&used);
        Some(Clients {
            section: section.clone(),
            scripts: [opened, used],
            dhcpv4: Dhcpv4::default(),
            dhcpv6: Dhcpv6::default(),
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

    #[inline]
    fn script(&self, action: SessionAction) -> &[Step] {
        match action {
            SessionAction::Open => &self.scripts[0],
            SessionAction::Use | SessionAction::Keep => &self.scripts[1],
            SessionAction::Close => &[],
        }
    }

    /// How many steps an action has.
    #[inline]
    pub fn steps(&self, action: SessionAction) -> u8 {
        self.script(action).len() as u8
    }

    #[inline]
    fn step(&self, (action, step): (SessionAction, u8)) -> Option<Step> {
        self.script(action).get(usize::from(step)).copied()
    }

    /// Whether a step is the server's, and so enters at the port `core`.
    #[inline]
    pub fn is_servers(&self, what: (SessionAction, u8)) -> bool {
        matches!(self.step(what), Some(Step::Down(_)))
    }

    /// Length of a step's frame in bytes.
    #[inline]
    pub fn frame_len(&self, frames: &Frames, of: &Packet, what: (SessionAction, u8)) -> usize {
        let plain_len = |version| usize::from(packet(of, version, true).plain_len);
        match self.step(what) {
            Some(Step::Dhcpv4 { .. }) => frames.ethernet_len() + dhcpv4::LEN,
            Some(Step::Dhcpv6 { is_request }) => {
                frames.ethernet_len() + self.dhcpv6.len(is_request)
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
        match self.step(what) {
            Some(Step::Up(version)) => frames.write(&packet(of, version, true), stamp, frame),
            Some(Step::Down(version)) => frames.write(&packet(of, version, false), stamp, frame),
            Some(Step::Dhcpv4 { is_request }) => {
                let (to, ether_type) = (MacAddr::BROADCAST, ethernet::TYPE_IPV4);
                let at = frames.write_ethernet(to, ether_type, &subscriber, frame);
                let offered = given(frames, of.subscriber).ipv4;
                self.dhcpv4.write(is_request, &subscriber, offered, &mut frame[at..]);
            }
            Some(Step::Dhcpv6 { is_request }) => {
                let (to, ether_type) = (dhcpv6::SERVERS_MAC, ethernet::TYPE_IPV6);
                let at = frames.write_ethernet(to, ether_type, &subscriber, frame);
                let offered = given(frames, of.subscriber);
                self.dhcpv6.write(is_request, &subscriber, offered, &mut frame[at..]);
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
        let is_right = match self.step((action, step))? {
            Step::Up(version) => {
                port == CORE && frames.is_routed(&packet(&draw, version, true), frame)
            }
            Step::Down(version) => {
                port == ACCESS && frames.is_on_its_line(&packet(&draw, version, false), frame)
            }
            Step::Dhcpv4 { .. } | Step::Dhcpv6 { .. } => false,
        };
        let time = Some(stamp.time);
        Some((SessionStep { session, action, step, time, is_right }, draw))
    }

    /// An answer of the gateway to a message. What an offer offers is noted, and what is given must
    /// be that.
    fn answered(&mut self, frames: &Frames, frame: &[u8]) -> Option<(SessionStep, Packet)> {
        let bytes = frame.get(frames.ethernet_len()..)?;
        let (session, mac, step, addresses) = if let Some(answer) = self.dhcpv4.read(bytes) {
            let dhcpv4::Answer { session, is_ack: is_request, address, mac } = answer;
            let addresses = Addresses { ipv4: address, ..given(frames, session as u32) };
            (session, Some(mac), Step::Dhcpv4 { is_request }, addresses)
        } else {
            let dhcpv6::Answer { session, is_reply: is_request, na, delegated, mac } =
                self.dhcpv6.read(bytes)?;
            let addresses = Addresses { na, delegated, ..given(frames, session as u32) };
            (session, mac, Step::Dhcpv6 { is_request }, addresses)
        };
        let draw = self.session(session)?;
        let subscriber = Subscriber::new(&self.section, draw.subscriber);
        let is_last =
            matches!(step, Step::Dhcpv4 { is_request: true } | Step::Dhcpv6 { is_request: true });
        let is_something = match step {
            Step::Dhcpv4 { .. } => addresses.ipv4 != 0,
            _ => addresses.na != 0 && addresses.delegated != 0,
        };
        let is_right = is_something
            && mac == Some(subscriber.mac)
            && frames.is_on_line_of(&subscriber, frame)
            && (!is_last || addresses == given(frames, draw.subscriber));
        if is_right
            && !is_last
            && let Some(given) = &frames.given
        {
            given.note(draw.subscriber, addresses);
        }
        let action = SessionAction::Open;
        let step = self.scripts[0].iter().position(|known| *known == step)? as u8;
        Some((SessionStep { session, action, step, time: None, is_right }, draw))
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

/// What stands beside the function in a daemon's file: the controller, and what comes up to it.
pub(crate) fn beside(section: &Section) -> Vec<(&'static str, Value)> {
    if section.generated.set_up == SetUp::Configured {
        return Vec::new();
    }
    let (ipv4, ipv6) = section.generated.stack.versions();
    let is_asked_for = |kind: &str| if kind == "ipv4" { ipv4 } else { ipv6 };
    let pools = POOLS.into_iter().filter(|(kind, _)| is_asked_for(kind));
    let pool = |(kind, prefix)| json!({"name": kind, "kind": kind, "prefix": prefix});
    let controller = json!({
        "name": "bng",
        "profile": PROFILE,
        "line-leases": 65_535,
        "lease-time-s": 86_400,
        "pools": pools.map(pool).collect::<Value>(),
    });
    let rate = json!({"per-s": 0, "per-s-and-source": 0, "ring-kib": PUNT_RING_KIB});
    vec![("controller", controller), ("punt", json!({"dhcpv4": rate, "dhcpv6": rate}))]
}

/// The same sessions, there from the start.
pub(crate) fn alone(section: &Section) -> Section {
    let mut section = section.clone();
    section.generated.set_up = SetUp::Configured;
    section
}

/// Checks what clients can bring up.
///
/// # Errors
/// The first key that cannot be used.
pub(crate) fn validate(section: &Section) -> Result<(), Invalid> {
    let generated = &section.generated;
    if generated.set_up == SetUp::Configured {
        return Ok(());
    }
    let refuse = |key, what: &str, remedy| Err(function_key(key, what.to_owned(), remedy));
    if generated.kind != Kind::Ipoe {
        return refuse("kind", "clients come up by DHCP alone", "Set `kind: ipoe`");
    }
    if generated.fluct_session > 0.0 || generated.fluct_profile > 0.0 {
        let key = if generated.fluct_session > 0.0 { "fluct-session" } else { "fluct-profile" };
        let what = "sessions that clients bring up are the controller's to change";
        return refuse(key, what, "Set it to 0, or `set-up: configured`");
    }
    if generated.lists_generated > 1 {
        let what = "clients are given the list of their profile";
        return refuse("lists-generated", what, "Set it to 1, or `set-up: configured`");
    }
    Ok(())
}

/// Room for what has come and is not looked at yet, in KiB.
const PUNT_RING_KIB: u32 = 8192;
