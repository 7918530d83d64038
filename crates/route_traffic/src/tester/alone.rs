//! What the tester alone can take: as many sessions with a server that only writes.
//!
//! The server is a thread that knows nothing of routes. It answers each OPEN with one of its own,
//! and writes the bytes that the leading client was told in the last table, from one buffer, piece
//! by piece to all. A device that takes hardly longer than that is measured at the tester's limit.

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use measure::{Convergence, DeviceCpu, MeasureError, TrialProgress, Watch};
use protocol_bgp::message::write_keepalive;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::{Errno, read};
use rustix::net::{SendFlags, SocketFlags, accept_with, send};

use crate::heard::Heard;
use crate::kernel;
use crate::sessions::{Happening, Sessions};
use crate::speaking::{Speaker, Speaking};
use crate::tester::core::{Core, no_stalls};
use crate::tester::event::nanos;

/// Measures the tester alone; none if no table was told yet.
pub(crate) fn measure(
    core: &mut Core,
    patience: Duration,
    watch: &mut dyn Watch,
) -> Result<Option<Convergence>, MeasureError> {
    let Some((chain, len, hash)) = core.table.filter(|(_, len, _)| *len > 0) else {
        return Ok(None);
    };
    // Sessions with the device go on, without reading while the bytes are lent.
    let all = core.plan.speakers().count();
    (0..all).for_each(|session| core.sessions.set_reading(session, false));
    let bytes = Arc::new(core.heard.lend(chain));
    let stop = Arc::new(AtomicBool::new(false));
    let outcome = serve_and_measure(core, (&bytes, len, hash), &stop, (patience, watch));
    match Arc::try_unwrap(bytes) {
        Ok(bytes) => core.heard.give_back(chain, bytes),
        Err(_) => return Err(MeasureError::Device("the server of the tester still runs".into())),
    }
    (0..all).for_each(|session| core.sessions.set_reading(session, true));
    outcome.map(Some)
}

fn serve_and_measure(
    core: &mut Core,
    (bytes, len, hash): (&Arc<Vec<u8>>, usize, u128),
    stop: &Arc<AtomicBool>,
    (patience, watch): (Duration, &mut dyn Watch),
) -> Result<Convergence, MeasureError> {
    let refused = |what: &str, why: String| MeasureError::Device(format!("{what}: {why}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(|error| refused("the server of the tester cannot listen", error.to_string()))?;
    let address = listener
        .local_addr()
        .map_err(|error| refused("the server of the tester has no address", error.to_string()))?;
    let clients = core.plan.client_count();
    let speakers: Vec<Speaker> = (0..clients as u32).map(speaker).collect();
    let own_as = core.plan.speaking.own_as;
    let speaking = Speaking { device_as: own_as, hold_time_s: 0, ..core.plan.speaking.clone() };
    let go = Arc::new(AtomicBool::new(false));
    let server = Server {
        listener: listener.into(),
        bytes: Arc::clone(bytes),
        len,
        hello: hello(&speaking),
        stop: Arc::clone(stop),
        go: Arc::clone(&go),
    };
    let server = thread::Builder::new()
        .name("tester-alone".into())
        .spawn(move || server.run())
        .map_err(|error| refused("the server of the tester cannot start", error.to_string()))?;
    let sessions = Sessions::new(speaking, &speakers).map_err(MeasureError::Device);
    let outcome = sessions.and_then(|mut sessions| {
        sessions.set_device(address);
        let heard = Heard::new(Arc::clone(&core.known), clients, 2 * len + (64 << 20));
        let mut alone = Alone { sessions, heard, happenings: Vec::new(), clients };
        if core.plan.speaking.has_extended_messages {
            alone.heard.take_extended_messages();
        }
        alone.measure(core, (hash, &go), (patience, watch))
    });
    stop.store(true, Ordering::Relaxed);
    let served = server.join();
    let mut outcome = outcome?;
    let cpu = served
        .map_err(|_| MeasureError::Device("the server of the tester has panicked".into()))?
        .map_err(|why| refused("the server of the tester has failed", why))?;
    outcome.device = Some(DeviceCpu { ns: nanos(cpu), of: "a server that only writes".into() });
    Ok(outcome)
}

/// The tester's side.
struct Alone {
    sessions: Sessions,
    heard: Heard,
    happenings: Vec<Happening>,
    clients: usize,
}

impl Alone {
    fn measure(
        &mut self,
        core: &mut Core,
        (hash, go): (u128, &AtomicBool),
        (patience, watch): (Duration, &mut dyn Watch),
    ) -> Result<Convergence, MeasureError> {
        let first = Instant::now();
        let deadline = first + patience;
        for client in 0..self.clients {
            self.heard.begin_session(client);
            self.heard.expect(client, Some(hash));
            self.sessions.connect(client, deadline);
        }
        let mut kept = first;
        let mut turn = |alone: &mut Alone, core: &mut Core| -> Result<bool, MeasureError> {
            alone.step(core)?;
            let now = Instant::now();
            // The device still wants signs of life.
            if now.duration_since(kept) >= KEPT {
                kept = now;
                core.step(Duration::ZERO)?;
                let bytes = (0..alone.clients).map(|client| alone.heard.counts(client).bytes);
                let received = bytes.sum();
                let elapsed = now.duration_since(first);
                watch.at(TrialProgress { elapsed, sent: received, received });
            }
            Ok(now < deadline)
        };
        while !self.sessions.are_settled() && turn(self, core)? {}
        let sessions_up = first.elapsed();
        let time = kernel::thread_time();
        core.stalls = no_stalls();
        let since = Instant::now();
        go.store(true, Ordering::Release);
        let is_done =
            |alone: &Alone| (0..alone.clients).all(|client| alone.heard.done(client).is_some());
        while !is_done(self) && turn(self, core)? {}
        let mut outcome = Convergence {
            sessions_up: Some(sessions_up),
            tester_cpu_ns: nanos(kernel::thread_time().saturating_sub(time)),
            stalls: vec![core.stalls.clone()],
            ..Convergence::default()
        };
        for client in 0..self.clients {
            match self.heard.done(client) {
                Some(done) => outcome.clients_ns.push(nanos(done.saturating_duration_since(since))),
                None => {
                    let why = self.sessions.why(client);
                    outcome.wrong.push(format!("client {client} of the tester alone: {why}"));
                }
            }
            let counts = self.heard.counts(client);
            outcome.updates += counts.updates;
            outcome.routes += counts.routes;
            outcome.bytes += counts.bytes;
        }
        Ok(outcome)
    }

    fn step(&mut self, core: &Core) -> Result<(), MeasureError> {
        if core.stop.load(Ordering::Relaxed) {
            return Err(MeasureError::Interrupted);
        }
        let Alone { sessions, heard, happenings, .. } = self;
        let mut ear = |session: usize, bytes: &[u8], now: Instant| {
            heard.receive(session, bytes, now).map(|()| true)
        };
        sessions.pump(WAIT, &mut ear, happenings).map_err(MeasureError::Device)?;
        for happening in happenings.drain(..) {
            if let Happening::Down(session) = happening {
                heard.end_session(session, Instant::now());
                heard.begin_session(session);
            }
        }
        Ok(())
    }
}

/// A client of the server, with an address of its own.
fn speaker(number: u32) -> Speaker {
    let local = Ipv4Addr::from_bits(0x7f80_0001 + number);
    Speaker { local: IpAddr::V4(local), identifier: local.to_bits() }
}

/// What the server says first.
fn hello(speaking: &Speaking) -> Vec<u8> {
    let mut hello = Vec::new();
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    speaking.write_open(&Speaker { local, identifier: 1 }, &mut hello);
    write_keepalive(&mut hello);
    hello
}

/// The server's side.
struct Server {
    listener: OwnedFd,
    bytes: Arc<Vec<u8>>,
    len: usize,
    hello: Vec<u8>,
    stop: Arc<AtomicBool>,
    go: Arc<AtomicBool>,
}

impl Server {
    /// Serves until it is stopped; returns the processor time from the first byte of the table on.
    fn run(self) -> Result<Duration, String> {
        let refused = |errno: Errno| errno.to_string();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(refused)?;
        let new = epoll::EventData::new_u64(u64::MAX);
        epoll::add(&epoll, &self.listener, new, epoll::EventFlags::IN).map_err(refused)?;
        let mut places: Vec<(OwnedFd, usize)> = Vec::new();
        let (mut events, mut scratch) = (Vec::with_capacity(1024), vec![0; 1 << 16]);
        let mut began = None;
        while !self.stop.load(Ordering::Relaxed) {
            let is_going = self.go.load(Ordering::Acquire);
            if is_going && began.is_none() {
                began = Some(kernel::thread_time());
            }
            let mut is_blocked = true;
            for (socket, at) in places.iter_mut().filter(|_| is_going) {
                is_blocked &= !self.write(socket, at);
            }
            events.clear();
            let wait = if is_blocked { WAIT } else { Duration::ZERO };
            let nanos = wait.subsec_nanos() as _;
            let time = Timespec { tv_sec: 0, tv_nsec: nanos };
            match epoll::wait(&epoll, spare_capacity(&mut events), Some(&time)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(refused(errno)),
            }
            for event in &events {
                let number = event.data.u64();
                if number == u64::MAX {
                    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
                    let Ok(socket) = accept_with(&self.listener, flags) else { continue };
                    let data = epoll::EventData::new_u64(places.len() as u64);
                    epoll::add(&epoll, &socket, data, epoll::EventFlags::IN).map_err(refused)?;
                    // An OPEN fits into a buffer that is empty.
                    let _ = send(&socket, &self.hello, SendFlags::NOSIGNAL);
                    places.push((socket, 0));
                } else if let Some((socket, _)) = places.get(number as usize)
                    && matches!(read(socket, &mut scratch[..]), Ok(0) | Err(Errno::CONNRESET))
                {
                    let _ = epoll::delete(&epoll, socket);
                }
            }
        }
        Ok(began.map_or(Duration::ZERO, |began| kernel::thread_time().saturating_sub(began)))
    }

    /// Writes the next piece to a client; returns whether it took some.
    fn write(&self, socket: &OwnedFd, at: &mut usize) -> bool {
        let piece = &self.bytes[*at..(*at + PIECE).min(self.len)];
        match send(socket, piece, SendFlags::NOSIGNAL) {
            Ok(count) => {
                *at += count;
                count > 0
            }
            Err(_) => false,
        }
    }
}

/// Bytes that all clients are written before any gets the next ones.
const PIECE: usize = 64 << 10;

/// Longest wait of a round.
const WAIT: Duration = Duration::from_millis(1);

/// Time between two looks at the sessions with the device.
const KEPT: Duration = Duration::from_millis(250);
