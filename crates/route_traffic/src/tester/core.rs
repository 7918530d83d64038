//! Sessions and what clients were told, joined.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::{MeasureError, RoutingSize, Stalls};
use protocol_bgp::attributes::{AS_PATH, LOCAL_PREF, ORIGIN};
use protocol_bgp::builder::write_end_of_rib;
use protocol_bgp::message::LEN_MAX;
use protocol_bgp::{Builder, Family, FamilySet, Writing};

use crate::attributes::{self, Attribute};
use crate::hash::Hashes;
use crate::heard::Heard;
use crate::kernel;
use crate::known::{Expected, Known};
use crate::pack;
use crate::plan::Plan;
use crate::sessions::{Happening, Sessions};

/// What a tester has and knows.
#[derive(Debug)]
pub(crate) struct Core {
    pub plan: Plan,
    pub known: Arc<Known>,
    pub expected: Expected,
    pub sessions: Sessions,
    pub heard: Heard,
    pub stop: Arc<AtomicBool>,
    /// What each feeder sends.
    tables: Vec<Arc<Vec<u8>>>,
    /// Whether feeders tell their tables as soon as they have a session.
    is_feeding: bool,
    /// Where the chain of the last table ends: its number, bytes and hash.
    pub table: Option<(usize, usize, u128)>,
    /// Sessions that have ended, although they were to stand.
    pub lost: u32,
    /// Which sessions stand.
    up: Vec<bool>,
    /// When the last session came up.
    pub last_up: Option<Instant>,
    pub stalls: Stalls,
    happenings: Vec<Happening>,
}

impl Core {
    pub fn new(plan: Plan, stop: Arc<AtomicBool>) -> Result<Core, String> {
        plan.check()?;
        let tables = pack::tables(&plan.fed)?.into_iter().map(Arc::new).collect();
        let identifiers = plan.feeders.iter().map(|one| one.identifier).collect();
        let hashes = Hashes::new(plan.secret);
        let what = (plan.change, plan.passed.clone());
        let known = Arc::new(Known::passing(plan.fed.clone(), hashes, what, identifiers));
        let expected = Expected::new(Arc::clone(&known), Arc::clone(&plan.best));
        let speakers: Vec<_> = plan.speakers().copied().collect();
        let sessions = Sessions::new(plan.speaking.clone(), &speakers)?;
        let mut core = Core {
            heard: Heard::new(Arc::clone(&known), 0, 0),
            known,
            expected,
            sessions,
            stop,
            tables,
            is_feeding: false,
            table: None,
            lost: 0,
            up: vec![false; speakers.len()],
            last_up: None,
            stalls: no_stalls(),
            happenings: Vec::new(),
            plan,
        };
        core.forget();
        Ok(core)
    }

    pub fn size(&self) -> RoutingSize {
        let routes = self.plan.fed.routes();
        RoutingSize {
            feeders: self.plan.feeders.len() as u32,
            clients: self.plan.client_count() as u32,
            routes: u64::from(routes.count()),
            attribute_sets: u64::from(routes.sets()),
            bytes: self.tables.iter().map(|table| table.len() as u64).sum(),
        }
    }

    /// Closes all sessions, forgets what clients were told and what feeders have changed.
    pub fn forget(&mut self) {
        for session in 0..self.up.len() {
            self.sessions.close(session, String::new());
        }
        self.up.fill(false);
        self.is_feeding = false;
        self.table = None;
        let bytes = self.size().bytes as usize;
        self.heard = Heard::new(
            Arc::clone(&self.known),
            self.plan.client_count(),
            bytes.saturating_mul(STORED_TIMES).saturating_add(STORED_BYTES),
        );
        if self.plan.speaking.has_extended_messages {
            self.heard.take_extended_messages();
        }
        if self.expected.is_withdrawn() || self.expected.changes().next().is_some() {
            self.expected = Expected::new(Arc::clone(&self.known), Arc::clone(&self.plan.best));
        }
        self.expect();
    }

    /// Says to all clients what they are to have.
    pub fn expect(&mut self) {
        // Most clients are to have the same.
        let (mut last, mut hash) = (None, 0);
        for client in 0..self.plan.client_count() {
            let (own, targets) = (self.plan.feeder_of(client), self.plan.targets_of(client));
            if last != Some((own, targets)) {
                hash = self.expected.of(own, targets).0;
                last = Some((own, targets));
            }
            self.heard.expect(client, Some(hash));
        }
    }

    /// Has a session connect anew.
    pub fn connect(&mut self, session: usize, until: Instant) {
        self.disconnect(session);
        self.sessions.connect(session, until);
        if let Some(client) = self.plan.client_of(session) {
            self.heard.begin_session(client);
        }
    }

    /// Closes a session without a word.
    pub fn disconnect(&mut self, session: usize) {
        self.sessions.close(session, String::new());
        self.up[session] = false;
        if let Some(client) = self.plan.client_of(session) {
            self.heard.end_session(client, Instant::now());
        }
    }

    /// Has all feeders tell their tables.
    ///
    /// # Errors
    /// If a change cannot be written.
    pub fn feed(&mut self) -> Result<(), MeasureError> {
        self.is_feeding = true;
        self.sessions.first_fed = None;
        for feeder in 0..self.plan.feeders.len() {
            self.feed_one(feeder)?;
        }
        Ok(())
    }

    /// One round of all sessions.
    ///
    /// # Errors
    /// If the user has asked to stop, or the kernel refuses.
    pub fn step(&mut self, wait: Duration) -> Result<(), MeasureError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(MeasureError::Interrupted);
        }
        let (began, time) = (Instant::now(), kernel::thread_time());
        let Core { sessions, heard, plan, happenings, .. } = self;
        let mut ear = |session: usize, bytes: &[u8], now: Instant| match plan.client_of(session) {
            None => Ok(false),
            Some(client) => heard.receive(client, bytes, now).map(|()| true),
        };
        sessions.pump(wait, &mut ear, happenings).map_err(MeasureError::Device)?;
        heard.hear_changes(Instant::now());
        for happening in std::mem::take(&mut self.happenings) {
            match happening {
                Happening::Up(session) => self.came_up(session)?,
                Happening::Down(session) => self.went_down(session),
            }
        }
        let busy = kernel::thread_time().saturating_sub(time) + self.sessions.waited;
        let gap =
            u64::try_from(began.elapsed().saturating_sub(busy).as_nanos()).unwrap_or(u64::MAX);
        if gap >= self.stalls.threshold_ns {
            self.stalls.count += 1;
            self.stalls.total_ns += gap;
            self.stalls.long_ns += gap;
            self.stalls.longest_ns = self.stalls.longest_ns.max(gap);
        }
        Ok(())
    }

    /// Looks whether all sessions stand.
    ///
    /// # Errors
    /// With the first that does not, and why.
    pub fn check_sessions(&self) -> Result<(), MeasureError> {
        let speakers: Vec<_> = self.plan.speakers().collect();
        match (0..self.up.len()).find(|session| !self.sessions.is_up(*session)) {
            None => Ok(()),
            Some(session) => {
                let local = speakers[session].local;
                let down = (0..self.up.len()).filter(|one| !self.sessions.is_up(*one)).count();
                let why = self.sessions.why(session);
                Err(MeasureError::Device(format!(
                    "{down} of {} sessions do not stand; that from {local}: {why}",
                    self.up.len()
                )))
            }
        }
    }

    /// When the table of some client last changed.
    pub fn last_change(&self) -> Option<Instant> {
        (0..self.plan.client_count()).filter_map(|client| self.heard.changed(client)).max()
    }

    /// Says what a client lacks; in detail or not.
    pub fn lack(&mut self, client: usize, is_detailed: bool) -> String {
        let session = self.plan.session_of(client);
        let local = self.plan.speakers().nth(session).map(|one| one.local.to_string());
        let name = format!("client {}", local.unwrap_or_default());
        let mut words = Vec::new();
        if !self.sessions.is_up(session) {
            let said = self.heard.notified(client).map(|said| format!(", which says: {said}"));
            let why = self.sessions.why(session);
            words.push(format!("its session has ended: {why}{}", said.unwrap_or_default()));
        }
        if is_detailed {
            let whose = (self.plan.feeder_of(client), self.plan.targets_of(client));
            words.extend(self.heard.difference(client, &self.expected, whose));
        }
        if words.is_empty() {
            words.push("it does not have what it is to have".into());
        }
        format!("{name}: {}", words.join("; "))
    }

    fn came_up(&mut self, session: usize) -> Result<(), MeasureError> {
        self.up[session] = true;
        self.last_up = Some(Instant::now());
        let mut hello = Vec::new();
        let is_feeder = session < self.plan.feeders.len();
        if let Some(client) = self.plan.client_of(session)
            && let Some(targets) = self.plan.targets_of(client)
        {
            self.write_targets(targets, session, &mut hello)?;
        }
        let families = &self.plan.speaking.families;
        let is_ready = |family: &&Family| **family == Family::RouteTarget || !is_feeder;
        families.iter().filter(is_ready).for_each(|family| write_end_of_rib(*family, &mut hello));
        self.sessions.send(session, &hello);
        if is_feeder && self.is_feeding { self.feed_one(session) } else { Ok(()) }
    }

    fn went_down(&mut self, session: usize) {
        let was_up = std::mem::replace(&mut self.up[session], false);
        self.lost += u32::from(was_up);
        if let Some(client) = self.plan.client_of(session) {
            self.heard.end_session(client, Instant::now());
            if self.sessions.is_trying(session) {
                self.heard.begin_session(client);
            }
        }
    }

    /// Has a feeder tell its table with what has changed since, and that this is all.
    fn feed_one(&mut self, feeder: usize) -> Result<(), MeasureError> {
        let mut behind = Vec::new();
        let fed = &self.plan.fed;
        let of_feeder = |view: u32| usize::from(fed.feeder_of(view)) == feeder;
        for (route, view) in self.expected.changes().filter(|(_, view)| of_feeder(*view)) {
            pack::change(fed, route, view, &mut behind).map_err(MeasureError::NothingToMeasure)?;
        }
        let nothing = Arc::new(Vec::new());
        let mut table = &self.tables[feeder];
        if self.expected.is_withdrawn() {
            table = &nothing;
            behind.clear();
        }
        let families = &self.plan.speaking.families;
        let others = families.iter().filter(|family| **family != Family::RouteTarget);
        others.for_each(|family| write_end_of_rib(*family, &mut behind));
        self.sessions.feed(feeder, table, &behind);
        Ok(())
    }

    /// Appends the membership in route targets (RFC 4684 section 4).
    fn write_targets(
        &self,
        targets: &[u32],
        session: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), MeasureError> {
        let families: FamilySet = [Family::RouteTarget].into_iter().collect();
        let writing = Writing {
            families,
            path_ids: FamilySet::NONE,
            extended_next_hops: FamilySet::NONE,
            is_wide: true,
            len_max: LEN_MAX,
        };
        let next_hop = match self.plan.speakers().nth(session).map(|one| one.local) {
            Some(std::net::IpAddr::V6(local)) => local.octets().to_vec(),
            Some(std::net::IpAddr::V4(local)) => local.octets().to_vec(),
            None => Vec::new(),
        };
        let mut block = Vec::new();
        for (code, value) in [(ORIGIN, &[0][..]), (AS_PATH, &[]), (LOCAL_PREF, &[0, 0, 0, 100])] {
            attributes::write_one(Attribute { code, flags: 0x40, value }, &mut block);
        }
        let mut builder =
            Builder::announce(out, &writing, (Family::RouteTarget, &next_hop), &block);
        for target in targets {
            let Some(community) = self.plan.fed.routes().target_community(*target) else {
                continue;
            };
            let own_as = self.plan.speaking.own_as.to_be_bytes();
            let key = [&[96][..], &own_as, &community].concat();
            builder.push(0, &key, &[]).map_err(|why| {
                MeasureError::NothingToMeasure(format!("a route target cannot be told: {why}"))
            })?;
        }
        builder.finish();
        Ok(())
    }
}

pub(crate) fn no_stalls() -> Stalls {
    Stalls { thread: "tester".into(), threshold_ns: STALL_NS, ..Stalls::default() }
}

/// Shortest gap in the thread's own time that is counted.
const STALL_NS: u64 = 2_000_000;

/// Bytes of different messages that are kept, beside those of the feeders by the number below.
const STORED_BYTES: usize = 256 << 20;

/// How often what the feeders tell is kept in different messages: devices may pack it otherwise
/// for each client that comes back.
const STORED_TIMES: usize = 8;
