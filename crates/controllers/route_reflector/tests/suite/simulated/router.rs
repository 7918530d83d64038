//! A peer of the reflector: it tells routes, keeps what it is told, and reads as slowly as it is
//! told to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use controller_route_reflector::fuzz::model::{Attributes, Prefix};
use controller_route_reflector::fuzz::wire::{self, Paths, Table};
use protocol_bgp::builder::write_end_of_rib;
use protocol_bgp::config::Config;
use protocol_bgp::ended::Ended;
use protocol_bgp::families::Family;
use protocol_bgp::message::LEN_MAX;
use protocol_bgp::negotiated::Negotiated;
use protocol_bgp::refresh::Refresh;
use protocol_bgp::speaker::{self, Speaker};
use protocol_bgp::update::Scan;
use protocol_kit::{Input, Machine, Output, Time};

/// The machine.
pub struct Router {
    speaker: Speaker,
    is_external: bool,
    /// What it tells, and what it was told.
    pub own: Table,
    pub known: Paths,
    /// What of that is to be told again.
    stale: BTreeSet<(Family, Prefix, u32)>,
    /// What of a session was agreed on, while it stands.
    pub session: Option<Box<Negotiated>>,
    /// Messages that have no room yet.
    outbox: VecDeque<Vec<u8>>,
    /// Until when it reads nothing, and until when it reads little at a time.
    stops_until: Option<Time>,
    slow_until: Option<Time>,
    said: VecDeque<Said>,
    scan: Scan,
    /// Routes that it was told are gone, and those that were kept and not told again.
    pub withdrawn: usize,
    pub swept: usize,
}

/// What is wanted of a router.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// It tells prefixes with these attributes.
    Announce(Family, Vec<Prefix>, Attributes),
    /// It takes them back.
    Withdraw(Family, Vec<Prefix>),
    /// It asks for all routes of a family again.
    Refresh(Family),
    /// It tells all of a family again.
    TellAgain(Family),
    /// It ends the session, which begins anew.
    Reset,
    /// It says what nobody understands.
    Stammer,
    /// It reads nothing for a time.
    Stop(Duration),
    /// It reads little at a time for a time.
    ReadSlowly(Duration),
}

/// What a router says.
#[derive(Clone, Debug)]
pub enum Said {
    /// The session stands.
    Up,
    /// It has ended.
    Down { why: Ended, hold: Duration },
    /// It was told what it may not be told.
    Wrong(String),
}

impl Router {
    /// A router with its peer, and what it tells from the beginning.
    pub fn new(at: SocketAddr, config: Config, own: Table, seed: u64) -> Router {
        Router {
            is_external: config.is_external(),
            speaker: Speaker::new(at, vec![config], seed),
            own,
            known: Paths::new(),
            stale: BTreeSet::new(),
            session: None,
            outbox: VecDeque::new(),
            stops_until: None,
            slow_until: None,
            said: VecDeque::new(),
            scan: Scan::default(),
            withdrawn: 0,
            swept: 0,
        }
    }

    /// Why it has no session.
    pub fn state(&self) -> String {
        let peer = self.speaker.peer(0);
        format!("{:?}: {:?}", peer.state().0, peer.last().map(ToString::to_string))
    }

    fn obey(&mut self, wanted: Wanted, now: Time) {
        match wanted {
            Wanted::Announce(family, prefixes, attributes) => {
                for prefix in &prefixes {
                    self.own.insert((family, *prefix), attributes.clone());
                }
                self.announce(family, &attributes, prefixes);
            }
            Wanted::Withdraw(family, prefixes) => {
                prefixes.iter().for_each(|prefix| drop(self.own.remove(&(family, *prefix))));
                if let Some(agreed) = self.session.as_ref().filter(|it| has(it, family)) {
                    let mut out = Vec::new();
                    wire::withdraw(&mut out, &agreed.writing, family, prefixes);
                    self.outbox.extend(messages(&out));
                }
            }
            Wanted::Refresh(family) => {
                self.say_refresh(family, Refresh::Wanted);
            }
            Wanted::TellAgain(family) => {
                let is_enhanced = self.session.as_ref().is_some_and(|it| it.has_enhanced_refresh);
                if is_enhanced {
                    self.say_refresh(family, Refresh::Begins);
                }
                self.tell_all(family);
                if is_enhanced {
                    self.say_refresh(family, Refresh::Ends);
                }
            }
            Wanted::Reset => self.command(now, speaker::Command::Reset(0, "why not".to_owned())),
            Wanted::Stammer => self.outbox.push_back(vec![0; 19]),
            Wanted::Stop(span) => {
                self.stops_until = Some(now.after(span));
                self.command(now, speaker::Command::Read(0, false));
            }
            Wanted::ReadSlowly(span) => self.slow_until = Some(now.after(span)),
        }
    }

    fn command(&mut self, now: Time, command: speaker::Command) {
        self.speaker.input(now, Input::Command(command));
    }

    fn say_refresh(&mut self, family: Family, what: Refresh) {
        if self.session.as_ref().is_some_and(|agreed| has(agreed, family)) {
            let mut out = Vec::new();
            what.write(family, &mut out);
            self.outbox.push_back(out);
        }
    }

    fn announce(&mut self, family: Family, attributes: &Attributes, prefixes: Vec<Prefix>) {
        let Some(agreed) = self.session.as_ref().filter(|it| has(it, family)) else { return };
        let mut out = Vec::new();
        let session = (&agreed.writing, self.is_external);
        wire::announce(&mut out, session, family, attributes, prefixes);
        self.outbox.extend(messages(&out));
    }

    fn tell_all(&mut self, family: Family) {
        let mut alike: BTreeMap<Attributes, Vec<Prefix>> = BTreeMap::new();
        for ((_, prefix), attributes) in self.own.iter().filter(|((of, _), _)| *of == family) {
            alike.entry(attributes.clone()).or_default().push(*prefix);
        }
        for (attributes, prefixes) in alike {
            self.announce(family, &attributes, prefixes);
        }
    }

    fn hear(&mut self, report: speaker::Report) {
        match report {
            speaker::Report::Established(_, agreed) => {
                if self.session.is_some() {
                    self.said.push_back(Said::Wrong("a second session".to_owned()));
                }
                // What is kept of an earlier session, the peer has to say that it has it still.
                let kept = agreed.restart.map(|it| it.preserved).unwrap_or_default();
                self.stale.retain(|(family, ..)| kept.contains(*family));
                let stale = &self.stale;
                self.known.retain(|key, _| stale.contains(key));
                self.session = Some(agreed.clone());
                self.outbox.clear();
                for family in agreed.writing.families.iter() {
                    self.tell_all(family);
                    let mut out = Vec::new();
                    write_end_of_rib(family, &mut out);
                    self.outbox.push_back(out);
                }
                self.said.push_back(Said::Up);
            }
            speaker::Report::Down { why, is_graceful, .. } => {
                let Some(agreed) = self.session.take() else { return };
                self.outbox.clear();
                let restart = agreed.restart.filter(|_| is_graceful);
                let kept = restart.map(|it| it.families).unwrap_or_default();
                self.known.retain(|(family, ..), _| kept.contains(*family));
                self.stale = self.known.keys().copied().collect();
                self.said.push_back(Said::Down { why, hold: agreed.hold_time });
            }
            speaker::Report::Refresh(_, family, Refresh::Wanted) => self.tell_all(family),
            speaker::Report::Refresh(_, family, Refresh::Begins) => {
                self.stale.extend(self.known.keys().filter(|(of, ..)| *of == family));
            }
            speaker::Report::Refresh(_, family, Refresh::Ends) => self.sweep(family),
            speaker::Report::Update(_, body) => {
                let Some(agreed) = &self.session else { return };
                let reading = &agreed.reading;
                let learnt = wire::learn_paths(&mut self.scan, &body, reading, &mut self.known);
                match learnt {
                    Ok((named, end_of_rib)) => {
                        for key in &named {
                            self.stale.remove(key);
                        }
                        let is_gone = |key: &&(Family, Prefix, u32)| !self.known.contains_key(*key);
                        self.withdrawn += named.iter().filter(is_gone).count();
                        let own = named.iter().find(|key| self.is_own(key));
                        let own = own.map(|key| format!("its own route {key:?}"));
                        self.said.extend(own.map(Said::Wrong));
                        end_of_rib.into_iter().for_each(|family| self.sweep(family));
                    }
                    Err(what) => self.said.push_back(Said::Wrong(what)),
                }
            }
        }
    }

    /// Whether it is told of a path that it has told itself: a next hop is one router's.
    fn is_own(&self, key: &(Family, Prefix, u32)) -> bool {
        let (known, own) = (self.known.get(key), self.own.get(&(key.0, key.1)));
        own.is_some() && known.map(|it| it.next_hop) == own.map(|it| it.next_hop)
    }

    fn sweep(&mut self, family: Family) {
        let (gone, stale) =
            std::mem::take(&mut self.stale).into_iter().partition(|it| it.0 == family);
        self.stale = stale;
        let gone: BTreeSet<(Family, Prefix, u32)> = gone;
        self.swept += gone.len();
        gone.iter().for_each(|key| drop(self.known.remove(key)));
    }

    /// Goes on to read, and pauses after a little where it reads slowly.
    fn pace(&mut self, now: Time) {
        if self.stops_until.take_if(|until| *until <= now).is_some() {
            self.command(now, speaker::Command::Read(0, true));
        }
        self.slow_until.take_if(|until| *until <= now);
    }
}

impl Machine for Router {
    type Command = Wanted;
    type Report = Said;

    fn input(&mut self, now: Time, input: Input<'_, Wanted>) {
        match input {
            Input::Command(wanted) => self.obey(wanted, now),
            Input::Arrival(arrival) => {
                let is_read = matches!(arrival, protocol_kit::Arrival::Bytes { .. });
                self.speaker.input(now, Input::Arrival(arrival));
                if is_read && self.slow_until.is_some() && self.stops_until.is_none() {
                    self.obey(Wanted::Stop(PAUSE), now);
                }
            }
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Said>> {
        self.pace(now);
        loop {
            if let Some(said) = self.said.pop_front() {
                return Some(Output::Report(said));
            }
            match self.speaker.poll(now) {
                Some(Output::Departure(departure)) => return Some(Output::Departure(departure)),
                Some(Output::Report(report)) => self.hear(report),
                None => {
                    let room = self.speaker.peer(0).room();
                    self.outbox.front().filter(|message| message.len() <= room)?;
                    let message = self.outbox.pop_front()?;
                    self.command(now, speaker::Command::Send(0, message));
                }
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        let until = [self.stops_until, self.slow_until];
        self.speaker.deadline().into_iter().chain(until.into_iter().flatten()).min()
    }
}

fn has(agreed: &Negotiated, family: Family) -> bool {
    agreed.writing.families.contains(family)
}

/// The messages of some bytes, as many at once as have room.
fn messages(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    let mut rest = bytes;
    while let Some(len) = rest.get(16..18) {
        let len = usize::from(u16::from_be_bytes([len[0], len[1]]));
        let (message, behind) = rest.split_at(len);
        rest = behind;
        match all.last_mut().filter(|last| last.len() + message.len() <= LEN_MAX) {
            Some(last) => last.extend(message),
            None => all.push(message.to_vec()),
        }
    }
    all
}

/// For how long one that reads slowly pauses.
const PAUSE: Duration = Duration::from_millis(300);
