//! Files of MRT with what peers have told: tables, and UPDATEs as they come (RFC 6396, RFC 8050).
//!
//! ```text
//!  table of the reflector --walk, a bounded part a turn--> rib.20261128.160000.mrt
//!  UPDATEs, sessions that come and go --------------------> updates.20261128.160000.mrt
//! ```
//! Routes are dumped as peers have told them, with all their paths. A dump of tables takes a
//! moment, and each route is in it as it is when the walk comes to it. A disk that is slow or full
//! holds up nothing: of UPDATEs that wait for it those beyond 8 MiB are left out and counted.
//!
//! The files in reading order: [`keys`] is what an operator says, `became` what becomes of files,
//! `table` walks over tables, `log` has UPDATEs, [`Dumps`] has both.

pub mod keys;

mod became;

mod log;

mod table;

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use controller_kit::{Action, Alarm, Severity, Unanswered};
use protocol_bgp::rules::Reading;
use protocol_kit::{Arrival, Departure, FileOpening, Kept, Opening, Output, Socket, Time};
use protocol_mrt::Stamp;
use protocol_mrt::session::{Ends, State};
use protocol_mrt::table::Peer;
use serde_json::{Value, json};
use units::Civil;

use crate::reflector::Reflector;
use became::Became;
use keys::MrtKeys;
use log::Log;
use table::TableDump;

/// All dumps of a reflector.
#[derive(Debug)]
pub(crate) struct Dumps {
    keys: MrtKeys,
    /// The own identifier.
    identifier: u32,
    /// How long after the beginning of 1970 the time of the machine began.
    began: Duration,
    table: Option<TableDump>,
    next_table: Option<Time>,
    log: Option<Log>,
    counters: Counters,
    /// What has gone wrong, or is right again: of tables and of UPDATEs.
    is_failed: [bool; 2],
    actions: VecDeque<Action>,
}

/// What was dumped, and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    /// Dumps of tables that are whole.
    tables: u64,
    /// Dumps that could not be written, or were not begun as one was at hand.
    tables_missed: u64,
    /// Paths that were left out of tables, as their peer came when the dump had begun.
    left_out: u64,
    /// Records of UPDATEs and sessions.
    records: u64,
    /// Those for which there was no room, or no file.
    records_missed: u64,
}

impl Dumps {
    /// Creates the dumps of a reflector with this identifier.
    pub fn new(keys: &MrtKeys, identifier: u32) -> Dumps {
        let mut dumps = Dumps {
            keys: keys.clone(),
            identifier,
            began: Duration::ZERO,
            table: None,
            next_table: None,
            log: keys.updates.then(Log::default),
            counters: Counters::default(),
            is_failed: [false; 2],
            actions: VecDeque::new(),
        };
        dumps.plan(Time::ZERO);
        dumps
    }

    /// The clock of the host is known, or another one than before.
    pub fn set_clock(&mut self, began: Duration, now: Time) {
        self.began = began;
        self.plan(now);
        if let Some(log) = &mut self.log {
            log.rotate_at = None;
        }
    }

    /// Plans the next dump of tables.
    fn plan(&mut self, now: Time) {
        let every = self.keys.tables_every_s;
        self.next_table = (every > 0).then(|| next_multiple(self.began, now, every));
    }

    /// The time of day.
    fn stamp(&self, now: Time) -> Stamp {
        stamp(self.began, now)
    }

    /// Begins to dump the tables of some peers, by their numbers. Returns the file.
    ///
    /// # Errors
    /// When a dump is at hand.
    pub fn dump_tables(
        &mut self,
        peers: impl Iterator<Item = (u16, Peer)>,
        now: Time,
    ) -> Result<String, Unanswered> {
        if let Some(table) = &self.table {
            let what = format!("{} is being written", table.name);
            return Err(Unanswered::new(what, "wait until it is there"));
        }
        let name = name(self.began, TABLES, now);
        let path = format!("{}/{name}", self.keys.folder);
        self.table = Some(TableDump::new(name, self.stamp(now), self.identifier, peers));
        Ok(path)
    }

    /// Whether the tables are to be dumped now.
    pub fn is_due(&mut self, now: Time) -> bool {
        if self.next_table.is_none_or(|at| at > now) {
            return false;
        }
        self.plan(now);
        let is_free = self.table.is_none();
        self.counters.tables_missed += u64::from(!is_free);
        is_free
    }

    /// A peer's session has begun or ended, or its number is another one's.
    pub fn session(&mut self, peer: u16, ends: &Ends, is_established: bool, now: Time) {
        if is_established && let Some(table) = &mut self.table {
            table.forget_peer(peer);
        }
        let at = self.stamp(now);
        let states = match is_established {
            true => (State::OPEN_CONFIRM, State::ESTABLISHED),
            false => (State::ESTABLISHED, State::IDLE),
        };
        if let Some(log) = &mut self.log {
            let is_kept = log.add(now, |out| {
                protocol_mrt::write::state_change(at, ends, states, out);
            });
            self.counters.count(is_kept);
        }
    }

    /// A peer has sent an UPDATE.
    pub fn update(
        &mut self,
        ends: impl FnOnce() -> Ends,
        reading: &Reading,
        body: &[u8],
        now: Time,
    ) {
        let at = self.stamp(now);
        let Some(log) = &mut self.log else { return };
        let ends = ends();
        let session = (reading.is_wide, !reading.path_ids.is_empty());
        let is_kept = log.add(now, |out| {
            protocol_mrt::write::update(at, &ends, session, body, out);
        });
        self.counters.count(is_kept);
    }

    /// Takes what has arrived at one of the files; false if it is for somebody else.
    pub fn arrive(&mut self, arrival: &Arrival<'_>, now: Time) -> bool {
        let (socket, what) = match *arrival {
            Arrival::Connected { socket, .. } => (socket, Became::There),
            Arrival::Taken { socket, count } => (socket, Became::Taken(count)),
            Arrival::Finished { socket } => (socket, Became::Whole),
            Arrival::Failed { socket } => (socket, Became::Lost),
            _ => return false,
        };
        match socket {
            TABLE => {
                if let Some(table) = self.table.take_if(|table| table.became(what)) {
                    let TableDump { name, left_out, .. } = table;
                    self.counters.left_out += left_out;
                    let is_whole = what == Became::Whole;
                    self.counters.tables += u64::from(is_whole);
                    self.counters.tables_missed += u64::from(!is_whole);
                    self.judge(0, !is_whole, &name);
                }
                true
            }
            LOG => {
                let Some(log) = &mut self.log else { return true };
                log.became(what, now);
                if matches!(what, Became::There | Became::Lost) {
                    let name = log.name.clone();
                    self.judge(1, what == Became::Lost, &name);
                }
                true
            }
            _ => false,
        }
    }

    /// Raises an alarm, or clears it.
    fn judge(&mut self, which: usize, is_failed: bool, name: &str) {
        if std::mem::replace(&mut self.is_failed[which], is_failed) == is_failed {
            return;
        }
        let source = ["dump of tables", "dump of updates"][which].to_owned();
        let text = match is_failed {
            true => format!("{}/{name} cannot be written; the log says why", self.keys.folder),
            false => String::new(),
        };
        let severity = is_failed.then_some(Severity::Minor);
        let alarm = Alarm { source, cause: "dump-failed", severity, text: text.into() };
        self.actions.push_back(Action::Alarm(alarm));
    }

    /// Returns what is wanted next. A part of a table has a bounded size.
    pub fn poll(&mut self, reflector: &Reflector, now: Time) -> Option<Output<Action>> {
        if let Some(action) = self.actions.pop_front() {
            return Some(Output::Report(action));
        }
        if let Some(mut table) = self.table.take() {
            if table.begins() {
                let opening = opening(&self.keys, TABLES, table.name.clone(), true);
                self.table = Some(table);
                return Some(Output::Departure(Departure::Open { socket: TABLE, opening }));
            }
            let departure = table.poll(TABLE, reflector);
            self.table = Some(table);
            if let Some(departure) = departure {
                return Some(Output::Departure(departure));
            }
        }
        self.poll_log(now).map(Output::Departure)
    }

    fn poll_log(&mut self, now: Time) -> Option<Departure> {
        let (began, keys) = (self.began, &self.keys);
        let log = self.log.as_mut()?;
        let next = || next_multiple(began, now, keys.rotate_every_s);
        log.rotate_at.get_or_insert_with(next);
        if !log.begins(now) {
            return log.poll(LOG, keys.file_bytes_max, now);
        }
        let name = name(began, UPDATES, now);
        (log.name, log.rotate_at) = (name.clone(), Some(next()));
        Some(Departure::Open { socket: LOG, opening: opening(keys, UPDATES, name, false) })
    }

    /// Returns when there is something to do.
    pub fn deadline(&self) -> Option<Time> {
        if !self.actions.is_empty() || self.table.as_ref().is_some_and(TableDump::is_ready) {
            return Some(Time::ZERO);
        }
        let log = self.log.as_ref().and_then(Log::deadline);
        self.next_table.into_iter().chain(log).min()
    }

    /// Returns what a person sees.
    pub fn show(&self) -> Value {
        let Counters { tables, tables_missed, left_out, records, records_missed } = self.counters;
        json!({
            "folder": self.keys.folder,
            "tables": tables,
            "tables-missed": tables_missed,
            "paths-left-out": left_out,
            "dumping": self.table.as_ref().map(|table| json!({
                "file": table.name,
                "routes": table.routes,
            })),
            "records": records,
            "records-missed": records_missed,
            "updates": self.log.as_ref().map(|log| log.name.clone()),
        })
    }
}

impl Counters {
    fn count(&mut self, is_kept: bool) {
        *if is_kept { &mut self.records } else { &mut self.records_missed } += 1;
    }
}

/// The time of day.
fn stamp(began: Duration, now: Time) -> Stamp {
    let micros = began.as_micros() + u128::from(now.0 / 1000);
    Stamp(u64::try_from(micros).unwrap_or(u64::MAX))
}

/// The next time that is a multiple of some seconds since 1970.
fn next_multiple(began: Duration, now: Time, every_s: u32) -> Time {
    let every = u128::from(every_s.max(1)) * 1_000_000_000;
    let wall = began.as_nanos() + u128::from(now.0);
    let wait = u64::try_from(every - wall % every).unwrap_or(u64::MAX);
    Time(now.0.saturating_add(wait))
}

/// The name of a file that begins now.
fn name(began: Duration, begin: &str, now: Time) -> String {
    let civil = Civil::of(stamp(began, now).0 / 1000);
    let Civil { year, month, day, hour, minute, second, .. } = civil;
    format!("{begin}{year:04}{month:02}{day:02}.{hour:02}{minute:02}{second:02}{END}")
}

fn opening(keys: &MrtKeys, begin: &str, name: String, appears_whole: bool) -> Opening {
    let kept = Kept { begin: begin.into(), end: END.into(), files_max: keys.files_max };
    let folder = keys.folder.clone();
    Opening::File(FileOpening { folder, name, appears_whole, kept: Some(kept) })
}

/// The ends of a session as records have them: of a local address that is not known, none.
pub(crate) fn ends(peer_as: u32, local_as: u32, peer: IpAddr, local: Option<IpAddr>) -> Ends {
    let none = match peer {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    Ends { peer_as, local_as, interface: 0, peer, local: local.unwrap_or(none) }
}

/// The socket of a table; listeners have the first numbers.
const TABLE: Socket = Socket(32);
/// The socket of UPDATEs.
const LOG: Socket = Socket(33);

/// How the names of tables begin.
const TABLES: &str = "rib.";
/// How the names of files of UPDATEs begin.
const UPDATES: &str = "updates.";
/// How all of them end.
const END: &str = ".mrt";
