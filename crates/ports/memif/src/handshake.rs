//! What is said until frames may flow: both roles as machines that take messages and give messages.
//!
//! ```text
//! master                     slave
//!   HELLO ------------------>          what the master takes
//!         <------------------ INIT     which interface, and the secret
//!   ACK   ------------------>
//!         <------------------ ADD_REGION, ADD_RING … with a descriptor; each acknowledged
//!         <------------------ CONNECT
//!   CONNECTED -------------->
//! ```
//! They know no socket, so that any sequence of messages can be tried on them.

use std::os::fd::OwnedFd;

use crate::breach::Breach;
use crate::config::Config;
use crate::lines::{Line, MasterLine, SlaveLine};
use crate::memory::Memory;
use crate::message::{AddRing, Hello, Init, Message, VERSION};
use crate::region::{REGIONS_MAX, Region, Regions};
use crate::ring::{RING_SIZE_LOG2_MAX, Ring};
use crate::text::Text;

/// Parameters of both state machines.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Keys of the port.
    pub config: Config,
    /// Name of the port.
    pub name: String,
    /// Number of queues of the port.
    pub queues: u16,
}

/// Result of a message.
#[derive(Debug)]
pub enum Step {
    /// No answer.
    Wait,
    /// Send this message.
    Say(Message),
    /// Send this message with the descriptor.
    Hand(Message, OwnedFd),
    /// Send this message, if any; then frames may pass over these rings.
    Up(Option<Message>, Lines),
}

/// Rings of a connection, a pair for each queue, up to the peer's number of queues.
pub type Lines = Vec<Line>;

/// State machine of the master.
#[derive(Debug)]
pub struct Master<'a> {
    terms: &'a Terms,
    peer: Option<Text<32>>,
    regions: Vec<Region>,
    s2m: Vec<AddRing>,
    m2s: Vec<AddRing>,
    is_up: bool,
}

impl<'a> Master<'a> {
    /// Returns the initial state and the first message.
    pub fn new(terms: &'a Terms) -> (Master<'a>, Message) {
        let hello = Hello {
            name: own_name(),
            version_min: VERSION,
            version_max: VERSION,
            region_max: REGIONS_MAX as u16 - 1,
            ring_m2s_max: terms.queues - 1,
            ring_s2m_max: terms.queues - 1,
            ring_size_log2_max: RING_SIZE_LOG2_MAX,
        };
        let none = (Vec::new(), Vec::new());
        let (s2m, m2s) = none;
        let regions = Vec::new();
        (Master { terms, peer: None, regions, s2m, m2s, is_up: false }, Message::Hello(hello))
    }

    /// Returns true if the slave has named the interface and knows the secret.
    pub fn is_known(&self) -> bool {
        self.peer.is_some()
    }

    /// Processes a message and its descriptor.
    ///
    /// # Errors
    /// The slave's protocol violation.
    pub fn hear(&mut self, message: Message, handed: Option<OwnedFd>) -> Result<Step, Breach> {
        match message {
            Message::Disconnect { .. } => Err(Breach::PeerDisconnected),
            Message::Init(init) if self.peer.is_none() => self.init(&init),
            _ if self.peer.is_none() || self.is_up => Err(Breach::UnexpectedMessage),
            Message::AddRegion { index, size } => {
                if usize::from(index) != self.regions.len() || self.regions.len() >= REGIONS_MAX {
                    return Err(Breach::RegionIndex);
                }
                let memory = handed.ok_or(Breach::MissingDescriptor)?;
                let unsealed = self.terms.config.accept_unsealed;
                self.regions.push(Region::accept(&memory, size, unsealed)?);
                Ok(Step::Say(Message::Ack))
            }
            Message::AddRing(ring) => {
                // The eventfd is for slaves that want to be woken; this side polls and wakes
                // nobody.
                drop(handed.ok_or(Breach::MissingDescriptor)?);
                let rings = if ring.is_s2m { &mut self.s2m } else { &mut self.m2s };
                if usize::from(ring.index) != rings.len() || ring.index >= self.terms.queues {
                    return Err(Breach::RingIndex);
                }
                if ring.private_header_bytes != 0 {
                    return Err(Breach::RingSize);
                }
                rings.push(ring);
                Ok(Step::Say(Message::Ack))
            }
            Message::Connect(_) => self.connect(),
            _ => Err(Breach::UnexpectedMessage),
        }
    }

    fn init(&mut self, init: &Init) -> Result<Step, Breach> {
        let config = &self.terms.config;
        let secret = config.secret.as_deref().map(Text::<24>::new);
        if init.version != VERSION {
            Err(Breach::Version)
        } else if init.id != config.id {
            Err(Breach::Id)
        } else if init.mode != MODE_ETHERNET {
            Err(Breach::Mode)
        } else if secret.is_some_and(|secret| !secret.same_secret(&init.secret)) {
            Err(Breach::Secret)
        } else {
            self.peer = Some(init.name);
            Ok(Step::Say(Message::Ack))
        }
    }

    fn connect(&mut self) -> Result<Step, Breach> {
        let regions: Regions = std::mem::take(&mut self.regions).into();
        let ring = |place: &AddRing| {
            let ring = Ring::at(&regions, place.region, place.offset, place.size_log2)?;
            if ring.has_cookie() { Ok(ring) } else { Err(Breach::RingCookie) }
        };
        let mut lines = Vec::new();
        for queue in 0..usize::from(self.terms.queues) {
            let incoming = self.s2m.get(queue).map(ring).transpose()?;
            let outgoing = self.m2s.get(queue).map(ring).transpose()?;
            if incoming.is_some() || outgoing.is_some() {
                lines.push(Line::Master(MasterLine::new(incoming, outgoing)));
            }
        }
        self.is_up = true;
        Ok(Step::Up(Some(Message::Connected(Text::new(&self.terms.name))), lines))
    }
}

/// State machine of the slave.
#[derive(Debug)]
pub struct Slave<'a> {
    terms: &'a Terms,
    memory: Option<Memory>,
    /// Messages that remain to be sent, in reverse order, each after an acknowledgement.
    unsaid: Vec<(Message, Option<OwnedFd>)>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start,
    Telling,
    Told,
    Up,
}

impl<'a> Slave<'a> {
    /// Returns the initial state.
    pub fn new(terms: &'a Terms) -> Slave<'a> {
        Slave { terms, memory: None, unsaid: Vec::new(), stage: Stage::Start }
    }

    /// Processes a message.
    ///
    /// # Errors
    /// The master's protocol violation, or why this side cannot continue.
    pub fn hear(&mut self, message: Message) -> Result<Step, Breach> {
        match (self.stage, message) {
            (_, Message::Disconnect { .. }) => Err(Breach::PeerDisconnected),
            (Stage::Start, Message::Hello(hello)) => {
                self.prepare(&hello)?;
                self.stage = Stage::Telling;
                Ok(Step::Say(Message::Init(Init {
                    version: VERSION,
                    id: self.terms.config.id,
                    mode: MODE_ETHERNET,
                    secret: Text::new(self.terms.config.secret.as_deref().unwrap_or_default()),
                    name: own_name(),
                })))
            }
            (Stage::Telling, Message::Ack) => Ok(match self.unsaid.pop() {
                Some((message, Some(handed))) => Step::Hand(message, handed),
                Some((message, None)) => {
                    self.stage = Stage::Told;
                    Step::Say(message)
                }
                None => Step::Wait,
            }),
            (Stage::Told, Message::Connected(_)) => {
                let memory = self.memory.take().ok_or(Breach::UnexpectedMessage)?;
                self.stage = Stage::Up;
                let lines = memory.into_pairs();
                let line = |(outgoing, incoming)| Line::Slave(SlaveLine::new(outgoing, incoming));
                Ok(Step::Up(None, lines.map(line).collect()))
            }
            _ => Err(Breach::UnexpectedMessage),
        }
    }

    /// Creates the memory within the master's limits, and the list of messages about it.
    fn prepare(&mut self, hello: &Hello) -> Result<(), Breach> {
        if !(hello.version_min..=hello.version_max).contains(&VERSION) {
            return Err(Breach::Version);
        }
        let config = &self.terms.config;
        let size_log2 = config.ring_size_log2().min(hello.ring_size_log2_max);
        let takes = |highest: u16| self.terms.queues.min(highest.saturating_add(1));
        let (s2m, m2s) = (takes(hello.ring_s2m_max), takes(hello.ring_m2s_max));
        let made = Memory::create(s2m, m2s, size_log2, config.buffer_bytes);
        let (memory, shared) = made.map_err(|_| Breach::RegionMapping)?;
        let no_event = |_| Breach::MissingDescriptor;
        self.unsaid.push((Message::Connect(Text::new(&self.terms.name)), None));
        for ring in memory.places().into_iter().rev() {
            let flags =
                rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
            let event = rustix::event::eventfd(0, flags).map_err(no_event)?;
            self.unsaid.push((Message::AddRing(ring), Some(event)));
        }
        let region = Message::AddRegion { index: 0, size: memory.bytes() };
        self.unsaid.push((region, Some(shared)));
        self.memory = Some(memory);
        Ok(())
    }
}

fn own_name() -> Text<32> {
    Text::new(concat!("plumbline ", env!("CARGO_PKG_VERSION")))
}

const MODE_ETHERNET: u8 = 0;

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use proptest::prelude::*;

    use super::*;
    use crate::config::Role;
    use crate::message::MESSAGE_BYTES;

    fn terms(role: Role, queues: u16) -> Terms {
        let config = Config {
            socket: "@none".to_owned(),
            role,
            id: 1,
            secret: Some("between us".to_owned()),
            ring_size: 32,
            buffer_bytes: 64,
            accept_unsealed: false,
        };
        Terms { config, name: "port".to_owned(), queues }
    }

    /// Runs both state machines until the connection is up; returns the rings of both.
    fn talk(master_queues: u16, slave_queues: u16) -> (Lines, Lines) {
        let terms = [terms(Role::Master, master_queues), terms(Role::Slave, slave_queues)];
        let (mut master, hello) = Master::new(&terms[0]);
        let mut slave = Slave::new(&terms[1]);
        let mut said = hello;
        let mut masters = None;
        loop {
            let (message, handed) = match slave.hear(said).expect("the master keeps the rules") {
                Step::Say(message) => (message, None),
                Step::Hand(message, handed) => (message, Some(handed)),
                Step::Up(None, lines) => return (masters.expect("the master is up first"), lines),
                other => panic!("{other:?}"),
            };
            said = match master.hear(message, handed).expect("the slave keeps the rules") {
                Step::Say(message) => message,
                Step::Up(Some(message), lines) => {
                    masters = Some(lines);
                    message
                }
                other => panic!("{other:?}"),
            };
        }
    }

    #[test]
    fn both_roles_agree_on_the_smaller_number_of_queues() {
        for (master, slave) in [(1, 1), (4, 4), (2, 5), (5, 2)] {
            let (masters, slaves) = talk(master, slave);
            let agreed = usize::from(master.min(slave));
            assert_eq!((masters.len(), slaves.len()), (agreed, agreed));
        }
    }

    /// Generates messages of known or unknown type, with small or arbitrary numbers.
    fn message() -> impl Strategy<Value = [u8; MESSAGE_BYTES]> {
        let wild = prop::collection::vec(any::<u8>(), MESSAGE_BYTES);
        let small = prop::collection::vec(prop_oneof![4 => Just(0u8), 1 => 0..4u8], MESSAGE_BYTES);
        (0..10u16, prop_oneof![wild, small]).prop_map(|(kind, bytes)| {
            let mut message: [u8; MESSAGE_BYTES] = bytes.try_into().unwrap_or([0; MESSAGE_BYTES]);
            message[..2].copy_from_slice(&kind.to_le_bytes());
            message
        })
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_and_what_is_read_is_written_back(bytes in message()) {
            if let Some(message) = Message::parse(&bytes) {
                prop_assert_eq!(Message::parse(&message.emit()), Some(message));
            }
        }

        #[test]
        fn no_sequence_of_messages_harms_a_master(
            said in prop::collection::vec((message(), any::<bool>()), 1..20),
            introduced in any::<bool>(),
        ) {
            let terms = terms(Role::Master, 2);
            let (mut master, _) = Master::new(&terms);
            let (_, memory) = Region::create(1 << 16).expect("memory");
            if introduced {
                let secret = Text::new("between us");
                let init = Init { version: VERSION, id: 1, mode: 0, secret, name: Text::new("x") };
                master.hear(Message::Init(init), None).expect("it keeps the rules");
            }
            for (bytes, hands) in said {
                let Some(message) = Message::parse(&bytes) else { continue };
                let handed = hands.then(|| memory.as_fd().try_clone_to_owned().expect("a copy"));
                match master.hear(message, handed) {
                    Ok(Step::Up(_, lines)) => prop_assert!(introduced && lines.len() <= 2),
                    Ok(_) => prop_assert!(master.is_known()),
                    Err(_) => break,
                }
            }
        }

        #[test]
        fn no_sequence_of_messages_harms_a_slave(
            said in prop::collection::vec(message(), 1..20),
        ) {
            let terms = terms(Role::Slave, 2);
            let mut slave = Slave::new(&terms);
            for message in said.iter().filter_map(Message::parse) {
                if slave.hear(message).is_err() {
                    break;
                }
            }
        }
    }
}
