//! The control thread: makes connections, keeps them, and ends them; frames never wait for it.
//!
//! It sleeps in `poll` until a peer says something, a queue complains, or the port is closed. A
//! slave without a master looks for one again every [`RETRY`]; a peer that does not go on with the
//! handshake is dropped after [`PATIENCE`].

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::breach::Breach;
use crate::config::{Address, Role};
use crate::handshake::{Lines, Master, Slave, Step, Terms};
use crate::message::Message;
use crate::shared::Shared;
use crate::socket::{Channel, Heard, Listener};
use crate::text::Text;

/// Interval at which a slave tries to connect to its master.
const RETRY: Duration = Duration::from_millis(50);

/// Time limit for a handshake.
const PATIENCE: Duration = Duration::from_secs(5);

/// Interval of the checks whether queues have released old memory.
const FOLLOW: Duration = Duration::from_millis(20);

/// Largest number of peers in the handshake at a time.
const CANDIDATES_MAX: usize = 4;

/// Runs until the port is closed.
pub fn run(terms: &Terms, listener: Option<Listener>, shared: &Arc<Shared>) {
    let address = terms.config.address();
    let mut control =
        Control { terms, address, listener, shared, candidates: Vec::new(), current: None };
    let mut retry_at = Instant::now();
    while !shared.stop.load(Ordering::Acquire) {
        let now = Instant::now();
        control.candidates_in_time(now);
        if control.may_connect() && now >= retry_at {
            control.connect(now);
            retry_at = now + RETRY;
        }
        let ready = control.wait(now, retry_at);
        if ready.woken {
            shared.wake.clear();
        }
        if let Some(breach) = control.complaint(ready.current) {
            control.end(breach);
        }
        control.candidates_go_on(&ready.candidates);
        if ready.listener {
            control.accept();
        }
    }
    control.close();
}

/// Result of `poll`.
struct Ready {
    woken: bool,
    current: bool,
    listener: bool,
    /// Candidates with pending messages, by index.
    candidates: Vec<bool>,
}

struct Control<'a> {
    terms: &'a Terms,
    address: Address,
    listener: Option<Listener>,
    shared: &'a Arc<Shared>,
    candidates: Vec<Candidate<'a>>,
    current: Option<Channel>,
}

/// A peer in the handshake.
struct Candidate<'a> {
    channel: Channel,
    part: Part<'a>,
    deadline: Instant,
}

/// Role of this side.
enum Part<'a> {
    Master(Master<'a>),
    Slave(Slave<'a>),
}

impl<'a> Control<'a> {
    fn may_connect(&self) -> bool {
        let is_slave = self.terms.config.role == Role::Slave;
        is_slave && self.current.is_none() && self.candidates.is_empty()
    }

    fn connect(&mut self, now: Instant) {
        match Channel::connect(&self.address) {
            Ok(channel) => {
                let part = Part::Slave(Slave::new(self.terms));
                self.candidates.push(Candidate { channel, part, deadline: now + PATIENCE });
            }
            Err(error) => self.shared.set_down(&format!("cannot connect to the master: {error}")),
        }
    }

    fn accept(&mut self) {
        let Some(channel) = self.listener.as_ref().and_then(Listener::accept) else { return };
        let (part, hello) = Master::new(self.terms);
        let deadline = Instant::now() + PATIENCE;
        match channel.say(&hello, None) {
            Ok(()) => {
                self.candidates.push(Candidate { channel, part: Part::Master(part), deadline });
            }
            Err(breach) => self.shared.breaches.count(breach),
        }
    }

    /// Sleeps until an event or the next deadline.
    fn wait(&self, now: Instant, retry_at: Instant) -> Ready {
        let interest = PollFlags::IN;
        let mut polled = vec![PollFd::new(&self.shared.wake.event, interest)];
        polled.extend(self.current.iter().map(|channel| PollFd::new(channel, interest)));
        let first = polled.len();
        let candidates = self.candidates.iter();
        polled.extend(candidates.map(|peer| PollFd::new(&peer.channel, interest)));
        let listener = self.listener.as_ref().filter(|_| self.candidates.len() < CANDIDATES_MAX);
        polled.extend(listener.map(|listener| PollFd::new(listener, interest)));

        let retry = self.may_connect().then_some(retry_at);
        let follow = (!self.shared.clear()).then_some(now + FOLLOW);
        let deadlines = self.candidates.iter().map(|peer| peer.deadline);
        let due = deadlines.chain(retry).chain(follow).min();
        let timeout = due.map(|due| due.saturating_duration_since(now));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        // An interruption finds nothing ready, and the round begins again.
        let found = rustix::event::poll(&mut polled, timeout.as_ref()).unwrap_or(0) > 0;
        let is_ready = |place: usize| {
            found && polled.get(place).is_some_and(|polled| !polled.revents().is_empty())
        };
        let last = first + self.candidates.len();
        Ready {
            woken: is_ready(0),
            current: self.current.is_some() && is_ready(1),
            listener: listener.is_some() && is_ready(last),
            candidates: (first..last).map(is_ready).collect(),
        }
    }

    /// Returns the reason why the connection must end; `None` if it continues.
    fn complaint(&self, is_ready: bool) -> Option<Breach> {
        let channel = self.current.as_ref()?;
        let heard = || match channel.hear() {
            Ok(Heard::Nothing) => None,
            Ok(Heard::Message(Message::Disconnect { .. }, _)) => Some(Breach::PeerDisconnected),
            Ok(Heard::Message(..)) => Some(Breach::UnexpectedMessage),
            Err(breach) => Some(breach),
        };
        self.shared.complaint().or_else(|| if is_ready { heard() } else { None })
    }

    /// Ends the connection.
    fn end(&mut self, breach: Breach) {
        if let Some(channel) = self.current.take() {
            self.shared.breaches.count(breach);
            tell(&channel, breach);
            self.shared.set_down(&breach.to_string());
            self.shared.mailboxes.iter().for_each(|mailbox| mailbox.offer(None));
        }
    }

    fn candidates_in_time(&mut self, now: Instant) {
        let breaches = &self.shared.breaches;
        self.candidates.retain(|peer| {
            let in_time = now < peer.deadline;
            if !in_time {
                breaches.count(Breach::HandshakeTimeout);
                tell(&peer.channel, Breach::HandshakeTimeout);
            }
            in_time
        });
    }

    fn candidates_go_on(&mut self, ready: &[bool]) {
        let peers = std::mem::take(&mut self.candidates);
        for (mut peer, is_ready) in peers.into_iter().zip(ready) {
            if !is_ready {
                self.candidates.push(peer);
                continue;
            }
            match peer.go_on(self.current.is_some()) {
                Ok(None) => self.candidates.push(peer),
                Ok(Some(lines)) => self.up(peer.channel, lines),
                Err(breach) => {
                    self.shared.breaches.count(breach);
                    tell(&peer.channel, breach);
                    if self.current.is_none() {
                        self.shared.set_down(&breach.to_string());
                    }
                }
            }
        }
    }

    /// Passes the rings to the queues.
    fn up(&mut self, channel: Channel, lines: Lines) {
        self.current = Some(channel);
        let mut lines = lines.into_iter();
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.offer(lines.next()));
        self.shared.set_up();
    }

    fn close(&mut self) {
        for channel in self.current.iter().chain(self.candidates.iter().map(|peer| &peer.channel)) {
            let reason = Text::new("the port is closed");
            let _ = channel.say(&Message::Disconnect { code: 0, reason }, None);
        }
        self.shared.set_down("the port is closed");
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.offer(None));
    }
}

impl Candidate<'_> {
    /// Processes one message; returns the rings when the handshake is complete.
    fn go_on(&mut self, is_busy: bool) -> Result<Option<Lines>, Breach> {
        let Heard::Message(message, handed) = self.channel.hear()? else { return Ok(None) };
        let step = match &mut self.part {
            Part::Slave(slave) => slave.hear(message)?,
            Part::Master(master) => {
                let step = master.hear(message, handed)?;
                if is_busy && master.is_known() {
                    return Err(Breach::Busy);
                }
                step
            }
        };
        match step {
            Step::Wait => Ok(None),
            Step::Say(message) => self.channel.say(&message, None).map(|()| None),
            Step::Hand(message, handed) => self.hand(&message, &handed).map(|()| None),
            Step::Up(message, lines) => {
                message.map_or(Ok(()), |message| self.channel.say(&message, None))?;
                Ok(Some(lines))
            }
        }
    }

    fn hand(&self, message: &Message, handed: &OwnedFd) -> Result<(), Breach> {
        self.channel.say(message, Some(handed.as_fd()))
    }
}

/// Notifies a peer of the reason, if it still listens.
fn tell(channel: &Channel, breach: Breach) {
    if breach.is_told() {
        let reason = Text::new(&breach.to_string());
        let _ = channel.say(&Message::Disconnect { code: 0, reason }, None);
    }
}
