//! One session: the state of RFC 5880 section 6.8.1 and what changes it.
//!
//! Time is judged in [`Session::expire`] alone. The session says when it wants to send and when it
//! gives up, as plain times; whoever holds it keeps the timers.

use std::time::Duration;

use protocol_kit::{Random, Time};

use crate::authentication::Sequence;
use crate::config::{Config, micros};
use crate::packet::{Diagnostic, Packet, State};

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub config: Config,
    /// bfd.LocalDiscr.
    pub discriminator: u32,
    /// bfd.SessionState.
    pub state: State,
    /// bfd.LocalDiag.
    pub diagnostic: Diagnostic,
    /// What the peer's last packet said.
    pub peer: Peer,
    /// The intervals that packets announce.
    announced: Intervals,
    /// The intervals that hold until the peer has confirmed the announced ones (section 6.8.3).
    in_force: Intervals,
    poll: Poll,
    sequence: Sequence,
    /// A packet with the Final bit is to be sent.
    is_final_due: bool,
    /// A packet is to be sent before the next periodic one, as its contents have changed.
    is_change_due: bool,
    /// The session's state has changed since it was last reported.
    pub is_report_due: bool,
    last_received: Option<Time>,
    last_sent: Option<Time>,
    pub times: Times,
}

/// What the peer's last packet said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Peer {
    /// bfd.RemoteDiscr; zero if unknown.
    pub discriminator: u32,
    /// bfd.RemoteSessionState.
    pub state: State,
    /// Its diagnostic code.
    pub diagnostic: Diagnostic,
    pub is_independent: bool,
    pub is_demand: bool,
    pub detect_multiplier: u8,
    pub desired_min_tx_us: u32,
    /// bfd.RemoteMinRxInterval.
    pub required_min_rx_us: u32,
    pub required_min_echo_rx_us: u32,
}

/// Intervals of one end in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Intervals {
    /// bfd.DesiredMinTxInterval.
    desired_min_tx_us: u32,
    /// bfd.RequiredMinRxInterval.
    required_min_rx_us: u32,
}

/// A Poll Sequence (section 6.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Poll {
    None,
    /// Packets ask for an answer.
    Asked,
    /// Something has changed since the first packet that asked, so that the answer may belong to
    /// what was before: another sequence follows.
    AskedBefore,
}

/// When the session wants something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// The next periodic packet.
    pub transmit: Option<Time>,
    /// The end of the Detection Time.
    pub detect: Option<Time>,
    /// The next Echo packet.
    pub echo: Option<Time>,
    /// The end of the Detection Time of Echo packets.
    pub echo_detect: Option<Time>,
}

impl Times {
    /// All of them, in the order of the fields.
    pub fn all(self) -> [Option<Time>; 4] {
        let Times { transmit, detect, echo, echo_detect } = self;
        [transmit, detect, echo, echo_detect]
    }
}

impl Session {
    pub fn new(config: Config, discriminator: u32, random: &mut Random, now: Time) -> Session {
        let announced = Intervals {
            desired_min_tx_us: micros(config.desired_min_tx).max(SLOW_US),
            required_min_rx_us: micros(config.required_min_rx),
        };
        let mut session = Session {
            discriminator,
            state: State::Down,
            diagnostic: Diagnostic::NONE,
            peer: Peer { required_min_rx_us: 1, ..Peer::default() },
            announced,
            in_force: announced,
            poll: Poll::None,
            sequence: Sequence { sent: random.bits() as u32, received: None },
            is_final_due: false,
            is_change_due: false,
            is_report_due: false,
            last_received: None,
            last_sent: None,
            times: Times::default(),
            config,
        };
        session.times.transmit = session.may_transmit().then_some(now);
        session
    }

    /// Takes in a packet that was selected for this session; false if it is not authentic.
    /// `bytes` is the whole packet.
    pub fn receive(
        &mut self,
        packet: &Packet,
        bytes: &[u8],
        random: &mut Random,
        now: Time,
    ) -> bool {
        if !self.is_authentic(packet, bytes, now) {
            return false;
        }
        self.last_received = Some(now);
        self.peer = Peer {
            discriminator: packet.my_discriminator,
            state: packet.state,
            diagnostic: packet.diagnostic,
            is_independent: packet.is_independent,
            is_demand: packet.is_demand,
            detect_multiplier: packet.detect_multiplier,
            desired_min_tx_us: packet.desired_min_tx_us,
            required_min_rx_us: packet.required_min_rx_us,
            required_min_echo_rx_us: packet.required_min_echo_rx_us,
        };
        if packet.is_final {
            self.end_poll();
        }
        self.follow(packet.state);
        self.is_final_due |= packet.is_poll;
        self.times.detect = self.detection_time().map(|time| now.after(time));
        self.settle(random, now);
        true
    }

    /// The transitions of section 6.8.6 by the state of the peer.
    fn follow(&mut self, peer: State) {
        match (self.state, peer) {
            (State::AdminDown, _) => {}
            (State::Init | State::Up, State::AdminDown) | (State::Up, State::Down) => {
                self.change(State::Down, Diagnostic::NEIGHBOR_DOWN);
            }
            (State::Down, State::Down) => self.change(State::Init, self.diagnostic),
            (State::Down, State::Init) | (State::Init, State::Init | State::Up) => {
                self.change(State::Up, Diagnostic::NONE);
            }
            _ => {}
        }
    }

    /// Judges the time.
    pub fn expire(&mut self, random: &mut Random, now: Time) {
        let is_past = |time: Option<Time>| time.is_some_and(|time| time <= now);
        if is_past(self.times.detect) {
            self.times.detect = None;
            // Section 6.8.1: what the peer said no longer holds.
            self.peer = Peer { required_min_rx_us: 1, ..Peer::default() };
            if matches!(self.state, State::Init | State::Up) {
                self.change(State::Down, Diagnostic::TIME_EXPIRED);
            }
        }
        if is_past(self.times.echo_detect) {
            self.times.echo_detect = None;
            if self.state == State::Up {
                self.change(State::Down, Diagnostic::ECHO_FAILED);
            }
        }
        self.settle(random, now);
    }

    /// An Echo packet of this session has come back.
    pub fn echo_returned(&mut self, now: Time) {
        if self.times.echo_detect.is_some() {
            self.times.echo_detect = self.echo_detection_time().map(|time| now.after(time));
        }
    }

    /// Follows a change of the configuration, whose path stays.
    pub fn configure(&mut self, config: Config, random: &mut Random, now: Time) {
        self.is_change_due |= config.detect_multiplier != self.config.detect_multiplier
            || config.required_min_echo_rx != self.config.required_min_echo_rx;
        if config.authentication != self.config.authentication {
            self.sequence.received = None;
        }
        self.config = config;
        self.settle(random, now);
    }

    /// Holds the session down, or lets it come up again (section 6.8.16); a path may be down for
    /// another reason, which `diagnostic` tells (section 6.8.17).
    pub fn hold(&mut self, down: Option<Diagnostic>, random: &mut Random, now: Time) {
        match down {
            Some(Diagnostic::ADMIN_DOWN) => self.change(State::AdminDown, Diagnostic::ADMIN_DOWN),
            Some(diagnostic) if self.state != State::AdminDown => {
                self.change(State::Down, diagnostic);
            }
            None if self.state == State::AdminDown => self.change(State::Down, Diagnostic::NONE),
            _ => {}
        }
        self.settle(random, now);
    }

    /// Returns the next packet that is to be sent.
    pub fn transmit(&mut self, random: &mut Random, now: Time) -> Option<Vec<u8>> {
        let is_periodic = self.times.transmit.is_some_and(|time| time <= now);
        let is_change = std::mem::take(&mut self.is_change_due) && self.may_transmit();
        if !is_periodic && !is_change && !self.is_final_due {
            return None;
        }
        let is_final = std::mem::take(&mut self.is_final_due);
        let keys = self.config.authentication.as_ref();
        if keys.is_some_and(|keys| keys.algorithm.is_meticulous() || is_change) {
            self.sequence.sent = self.sequence.sent.wrapping_add(1);
        }
        let section = keys.map(|keys| keys.section(self.sequence.sent));
        let packet = Packet {
            diagnostic: self.diagnostic,
            state: self.state,
            is_poll: !is_final && self.poll != Poll::None,
            is_final,
            is_independent: false,
            is_demand: false,
            detect_multiplier: self.config.detect_multiplier,
            my_discriminator: self.discriminator,
            your_discriminator: self.peer.discriminator,
            desired_min_tx_us: self.announced.desired_min_tx_us,
            required_min_rx_us: self.announced.required_min_rx_us,
            required_min_echo_rx_us: micros(self.config.required_min_echo_rx),
            authentication: section.as_deref(),
        };
        let mut bytes = packet.emit();
        if let Some(keys) = keys {
            keys.sign(&mut bytes);
        }
        // An answer leaves without regard to the periodic packets.
        if is_periodic || is_change {
            self.last_sent = Some(now);
            self.times.transmit = None;
            self.settle(random, now);
        }
        Some(bytes)
    }

    /// Returns the interval until the next Echo packet if one is to be sent now.
    pub fn transmit_echo(&mut self, random: &mut Random, now: Time) -> bool {
        let is_due = self.times.echo.is_some_and(|time| time <= now);
        if is_due {
            let interval = self.echo_interval().unwrap_or(SLOW);
            self.times.echo = Some(now.after(self.jittered(interval, random)));
        }
        is_due
    }

    /// Whether something is to be sent or said without waiting.
    pub fn is_due(&self, now: Time) -> bool {
        let is_past = |time: Option<Time>| time.is_some_and(|time| time <= now);
        self.is_final_due
            || self.is_change_due
            || self.is_report_due
            || is_past(self.times.transmit)
            || is_past(self.times.echo)
    }

    /// Returns the time without a packet after which the session goes down (section 6.8.4).
    pub fn detection_time(&self) -> Option<Duration> {
        let interval = self.in_force.required_min_rx_us.max(self.peer.desired_min_tx_us);
        let multiplier = u64::from(self.peer.detect_multiplier);
        (multiplier > 0).then(|| Duration::from_micros(u64::from(interval) * multiplier))
    }

    /// Returns the interval of periodic packets before jitter (section 6.8.7).
    pub fn transmit_interval(&self) -> Duration {
        let us = self.in_force.desired_min_tx_us.max(self.peer.required_min_rx_us);
        Duration::from_micros(u64::from(us))
    }

    fn change(&mut self, to: State, diagnostic: Diagnostic) {
        if self.state != to || self.diagnostic != diagnostic {
            self.is_report_due |= self.state != to;
            (self.state, self.diagnostic) = (to, diagnostic);
            self.is_change_due = true;
        }
    }

    /// Brings everything that follows from the state in line with it.
    fn settle(&mut self, random: &mut Random, now: Time) {
        self.settle_echo(random, now);
        self.settle_intervals();
        let (from, interval) = (self.last_sent.unwrap_or(now), self.transmit_interval());
        self.times.transmit = self.may_transmit().then(|| match self.times.transmit {
            // What is due stays due; what waits longer than the interval that holds now is earlier.
            Some(time) if time <= from.after(interval) => time,
            _ if self.last_sent.is_none() => now,
            _ => from.after(self.jittered(interval, random)),
        });
        if let (Some(last), Some(time)) = (self.last_received, self.detection_time())
            && self.times.detect.is_some()
        {
            self.times.detect = Some(last.after(time));
        }
    }

    /// Announces other intervals where the state asks for them, and polls (section 6.8.3).
    fn settle_intervals(&mut self) {
        let is_up = self.state == State::Up;
        let slow_tx = if is_up { 0 } else { SLOW_US };
        let slow_rx = if self.times.echo.is_some() { SLOW_US } else { 0 };
        let wanted = Intervals {
            desired_min_tx_us: micros(self.config.desired_min_tx).max(slow_tx),
            required_min_rx_us: micros(self.config.required_min_rx).max(slow_rx),
        };
        if wanted != self.announced {
            self.announced = wanted;
            self.is_change_due = true;
            self.poll = match self.poll {
                Poll::None => Poll::Asked,
                Poll::Asked | Poll::AskedBefore => Poll::AskedBefore,
            };
        }
        let Intervals { desired_min_tx_us, required_min_rx_us } = &mut self.in_force;
        // Slower sending, and faster detection, wait until the peer knows of them.
        if !is_up || wanted.desired_min_tx_us < *desired_min_tx_us {
            *desired_min_tx_us = wanted.desired_min_tx_us;
        }
        if !is_up || wanted.required_min_rx_us > *required_min_rx_us {
            *required_min_rx_us = wanted.required_min_rx_us;
        }
    }

    /// Sends Echo packets while the session is up and the peer returns them (section 6.8.9).
    fn settle_echo(&mut self, random: &mut Random, now: Time) {
        let interval = self.echo_interval().filter(|_| self.state == State::Up);
        self.times.echo = interval.map(|interval| {
            let latest = now.after(interval);
            self.times
                .echo
                .filter(|time| *time <= latest)
                .unwrap_or_else(|| now.after(self.jittered(interval, random)))
        });
        self.times.echo_detect = interval
            .and(self.times.echo_detect)
            .or_else(|| interval.and(self.echo_detection_time()).map(|time| now.after(time)));
    }

    fn echo_interval(&self) -> Option<Duration> {
        let us = self.peer.required_min_echo_rx_us;
        let own = self.config.echo.filter(|_| us > 0)?;
        Some(own.max(Duration::from_micros(u64::from(us))))
    }

    fn echo_detection_time(&self) -> Option<Duration> {
        Some(self.echo_interval()? * u32::from(self.config.detect_multiplier))
    }

    /// The peer has answered a poll.
    fn end_poll(&mut self) {
        self.poll = match self.poll {
            Poll::AskedBefore => Poll::Asked,
            Poll::None | Poll::Asked => {
                self.in_force = self.announced;
                Poll::None
            }
        };
    }

    /// Whether periodic packets may be sent (section 6.8.7).
    fn may_transmit(&self) -> bool {
        let is_waiting = self.config.is_passive && self.peer.discriminator == 0;
        let is_up = self.state == State::Up && self.peer.state == State::Up;
        let is_quiet = self.peer.is_demand && is_up && self.poll == Poll::None;
        !is_waiting && !is_quiet && self.peer.required_min_rx_us > 0
    }

    fn jittered(&self, interval: Duration, random: &mut Random) -> Duration {
        let least = if self.config.detect_multiplier == 1 { JITTER_LEAST_OF_ONE } else { 0 };
        random.shortened(interval, least, JITTER_MOST)
    }

    fn is_authentic(&mut self, packet: &Packet, bytes: &[u8], now: Time) -> bool {
        match (&self.config.authentication, packet.authentication) {
            (None, None) => true,
            (Some(keys), Some(section)) => {
                // Section 6.8.1, bfd.AuthSeqKnown: forgotten after twice the Detection Time.
                let silence = self.last_received.map(|last| now.since(last));
                let limit = self.detection_time().map(|time| time * 2);
                if silence.zip(limit).is_none_or(|(silence, limit)| silence >= limit) {
                    self.sequence.received = None;
                }
                let whole = &bytes[..bytes.len().min(crate::packet::HEADER_LEN + section.len())];
                keys.accept(whole, section, packet.detect_multiplier, &mut self.sequence)
            }
            _ => false,
        }
    }
}

/// Interval at which a session that is not up sends at most, in microseconds (section 6.8.3).
const SLOW_US: u32 = 1_000_000;
const SLOW: Duration = Duration::from_secs(1);

/// Most by which jitter shortens an interval, in percent (section 6.8.7).
const JITTER_MOST: u32 = 25;

/// Least by which it does where a single missing packet ends the session.
const JITTER_LEAST_OF_ONE: u32 = 10;
