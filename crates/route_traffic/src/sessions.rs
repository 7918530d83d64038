//! All sessions of a tester, on one thread: who connects, who has something to read or to write.
//!
//! Each round of [`Sessions::pump`] reads once from every session that has something and writes a
//! share to every one that takes something, so no session waits for another one's table. What was
//! read lies in one large buffer and is handed over before the next session is looked at.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol_bgp::message::{EXTENDED_LEN_MAX, LEN_MAX};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, read};

use crate::kernel;
use crate::session::{Session, State};
use crate::speaking::{Speaker, Speaking};

/// The sessions of a tester.
pub(crate) struct Sessions {
    speaking: Speaking,
    device: SocketAddr,
    epoll: OwnedFd,
    all: Vec<Session>,
    /// What the kernel looks at for each of them.
    interests: Vec<epoll::EventFlags>,
    events: Vec<epoll::Event>,
    buffer: Vec<u8>,
    ticked: Instant,
    /// When the first byte of a table was written, since that was last asked for.
    pub first_fed: Option<Instant>,
    /// Bytes of tables that were written.
    pub fed_bytes: u64,
    /// How long the last round has waited.
    pub waited: Duration,
}

/// What has become of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// It stands.
    Up(usize),
    /// It has ended; it tries again if it never stood and there is time.
    Down(usize),
}

/// Takes what a session has read, by its number; false if nobody looks at it. An error ends it.
pub(crate) type Ear<'a> = dyn FnMut(usize, &[u8], Instant) -> Result<bool, String> + 'a;

impl Sessions {
    /// Makes sessions that are not connected.
    ///
    /// # Errors
    /// In words, if there may not be as many sockets.
    pub fn new(speaking: Speaking, speakers: &[Speaker]) -> Result<Sessions, String> {
        kernel::let_be_open(speakers.len() * 2)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| format!("the kernel gives no epoll: {errno}"))?;
        let now = Instant::now();
        let all: Vec<Session> = speakers.iter().map(|one| Session::new(*one, now)).collect();
        Ok(Sessions {
            speaking,
            device: SocketAddr::from(([127, 0, 0, 1], 0)),
            epoll,
            interests: vec![epoll::EventFlags::empty(); all.len()],
            all,
            events: Vec::with_capacity(EVENTS_MAX),
            buffer: vec![0; BUFFER_BYTES],
            ticked: now,
            first_fed: None,
            fed_bytes: 0,
            waited: Duration::ZERO,
        })
    }

    /// Says where the device is.
    pub fn set_device(&mut self, device: SocketAddr) {
        self.device = device;
    }

    /// Has a session connect, and try again until a time.
    pub fn connect(&mut self, session: usize, until: Instant) {
        self.close(session, String::new());
        self.all[session].retry = Some((Instant::now(), until));
    }

    /// Closes a session without a word.
    pub fn close(&mut self, session: usize, why: String) {
        // The kernel forgets a socket that is closed.
        self.all[session].close(why);
        self.all[session].retry = None;
        self.interests[session] = epoll::EventFlags::empty();
    }

    /// Whether a session stands.
    pub fn is_up(&self, session: usize) -> bool {
        self.all[session].state == State::Established
    }

    /// Whether a session tries to come about.
    pub fn is_trying(&self, session: usize) -> bool {
        self.all[session].retry.is_some()
    }

    /// Whether no session is on its way.
    pub fn are_settled(&self) -> bool {
        self.all.iter().all(|one| one.retry.is_none())
    }

    /// Whether some table is not written to its end.
    pub fn are_feeding(&self) -> bool {
        self.all.iter().any(Session::is_feeding)
    }

    /// Why a session is over.
    pub fn why(&self, session: usize) -> &str {
        &self.all[session].why
    }

    /// Has a session read, or stop reading.
    pub fn set_reading(&mut self, session: usize, is_reading: bool) {
        self.all[session].is_reading = is_reading;
        self.all[session].hear(Instant::now());
        self.look_at(session);
    }

    /// Has a table told, with messages behind it.
    pub fn feed(&mut self, session: usize, table: &Arc<Vec<u8>>, behind: &[u8]) {
        self.all[session].feed(Arc::clone(table));
        self.send(session, behind);
    }

    /// Has whole messages sent.
    pub fn send(&mut self, session: usize, messages: &[u8]) {
        if self.is_up(session) {
            self.all[session].queue(messages);
            self.look_at(session);
        }
    }

    /// Connects, reads and writes, after waiting for at most some time; appends what has happened.
    ///
    /// # Errors
    /// In words, if the kernel refuses to wait.
    pub fn pump(
        &mut self,
        wait: Duration,
        ear: &mut Ear<'_>,
        happenings: &mut Vec<Happening>,
    ) -> Result<(), String> {
        let now = Instant::now();
        let wait = self.connect_due(now, happenings).map_or(wait, |due| wait.min(due));
        self.events.clear();
        let time = Timespec {
            tv_sec: wait.as_secs() as i64,
            tv_nsec: i64::from(wait.subsec_nanos()) as _,
        };
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&time)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(format!("waiting for sessions failed: {errno}")),
        }
        self.waited = now.elapsed();
        for at in 0..self.events.len() {
            let event = self.events[at];
            let session = event.data.u64() as usize;
            let before = self.all[session].state;
            let outcome = self.serve(session, event.flags, ear);
            self.conclude(session, before, outcome, happenings);
        }
        let now = Instant::now();
        if now.duration_since(self.ticked) >= TICK {
            self.ticked = now;
            for session in 0..self.all.len() {
                let before = self.all[session].state;
                let outcome = self.all[session].tick(now);
                self.conclude(session, before, outcome, happenings);
            }
        }
        Ok(())
    }

    /// Connects those that are due, of which only some are on their way at once; returns when the
    /// next one is.
    fn connect_due(&mut self, now: Instant, happenings: &mut Vec<Happening>) -> Option<Duration> {
        let is_under_way = |one: &Session| {
            matches!(one.state, State::Connecting | State::OpenSent | State::OpenConfirm)
        };
        let mut under_way = self.all.iter().filter(|one| is_under_way(one)).count();
        let mut next: Option<Duration> = None;
        for session in 0..self.all.len() {
            let one = &mut self.all[session];
            let Some((due, until)) = one.retry.filter(|_| one.state == State::Idle) else {
                continue;
            };
            if now >= until {
                one.retry = None;
                happenings.push(Happening::Down(session));
                continue;
            }
            if due > now || under_way >= UNDER_WAY_MAX {
                let wait = due.saturating_duration_since(now);
                // Whoever waits for others goes on as soon as they are through.
                if under_way < UNDER_WAY_MAX {
                    next = Some(next.map_or(wait, |next| next.min(wait)));
                }
                continue;
            }
            let outcome = one.connect(self.device, now).and_then(|()| {
                let Some(socket) = &one.socket else { return Ok(()) };
                let data = epoll::EventData::new_u64(session as u64);
                self.interests[session] = epoll::EventFlags::OUT;
                epoll::add(&self.epoll, socket, data, epoll::EventFlags::OUT)
                    .map_err(|errno| format!("the kernel does not look at a socket: {errno}"))
            });
            match outcome {
                Ok(()) => under_way += 1,
                Err(why) => self.fail(session, why, now),
            }
        }
        next
    }

    fn serve(
        &mut self,
        session: usize,
        flags: epoll::EventFlags,
        ear: &mut Ear<'_>,
    ) -> Result<(), String> {
        let now = Instant::now();
        let is_broken = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
        if self.all[session].state == State::Connecting {
            self.all[session].connected(&self.speaking, now)?;
        } else if self.all[session].is_reading && flags.contains(epoll::EventFlags::IN) || is_broken
        {
            self.read(session, ear)?;
        }
        self.write(session)
    }

    fn read(&mut self, session: usize, ear: &mut Ear<'_>) -> Result<(), String> {
        let one = &mut self.all[session];
        let Some(socket) = &one.socket else { return Ok(()) };
        let count = match read(socket, &mut self.buffer[..]) {
            Ok(0) => return Err("the device has closed the connection".into()),
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(errno) => return Err(format!("the connection is lost: {errno}")),
        };
        let now = Instant::now();
        one.hear(now);
        let mut bytes = &self.buffer[..count];
        if one.state != State::Established {
            one.greet(&mut bytes, &self.speaking)?;
        }
        if one.state == State::Established && !bytes.is_empty() && !ear(session, bytes, now)? {
            let extended = self.speaking.has_extended_messages;
            one.ignore(bytes, if extended { EXTENDED_LEN_MAX } else { LEN_MAX })?;
        }
        Ok(())
    }

    fn write(&mut self, session: usize) -> Result<(), String> {
        let one = &mut self.all[session];
        if one.state != State::Connecting && one.has_more() {
            let now = Instant::now();
            let fed = one.write(now)?;
            self.fed_bytes += fed as u64;
            if fed > 0 {
                self.first_fed.get_or_insert(now);
            }
        }
        self.look_at(session);
        Ok(())
    }

    /// Tells the kernel what there is to look at.
    fn look_at(&mut self, session: usize) {
        let one = &self.all[session];
        let Some(socket) = &one.socket else { return };
        let mut interest = epoll::EventFlags::empty();
        if one.is_reading {
            interest |= epoll::EventFlags::IN;
        }
        if one.has_more() || one.state == State::Connecting {
            interest |= epoll::EventFlags::OUT;
        }
        if interest != self.interests[session] {
            self.interests[session] = interest;
            let data = epoll::EventData::new_u64(session as u64);
            // A socket that is there can be looked at.
            let _ = epoll::modify(&self.epoll, socket, data, interest);
        }
    }

    /// Draws the conclusion of a turn of a session.
    fn conclude(
        &mut self,
        session: usize,
        before: State,
        outcome: Result<(), String>,
        happenings: &mut Vec<Happening>,
    ) {
        let now = Instant::now();
        match outcome {
            Ok(()) if before != State::Established && self.is_up(session) => {
                self.all[session].retry = None;
                happenings.push(Happening::Up(session));
            }
            Ok(()) => self.look_at(session),
            Err(why) => {
                // It may have come up in this very turn.
                if before != State::Established && self.is_up(session) {
                    self.all[session].retry = None;
                    happenings.push(Happening::Up(session));
                }
                self.fail(session, why, now);
                happenings.push(Happening::Down(session));
            }
        }
    }

    /// A session has failed; it tries again if it never stood.
    fn fail(&mut self, session: usize, why: String, now: Instant) {
        let until = self.all[session].retry.map(|(_, until)| until);
        self.all[session].close(why);
        self.interests[session] = epoll::EventFlags::empty();
        self.all[session].retry = until.map(|until| (now + RETRY, until));
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("all", &self.all).finish_non_exhaustive()
    }
}

/// Sessions that are on their way at once: fewer than what waits at a listener of a usual length.
const UNDER_WAY_MAX: usize = 100;

/// Time until a session that did not come about tries again.
const RETRY: Duration = Duration::from_millis(20);

/// Time between two looks at the timers.
const TICK: Duration = Duration::from_millis(250);

/// Events in one round.
const EVENTS_MAX: usize = 1024;

/// Bytes that are read at once. They are compared while they are in the cache.
const BUFFER_BYTES: usize = 256 << 10;
