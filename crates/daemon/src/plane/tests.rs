//! Frames between a worker and interfaces whose other ends the tests hold.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use controller_kit::Injection;
use engine::{Context, Drops, Event, EventKind, Function, PuntLimit, Refusal, StageClock, Worker};
use machine::clock::Ticks;
use nix::sys::eventfd::{EfdFlags, EventFd};
use offload::{HEADER_LEN, Header};
use packet::{Batch, Reason, Room, Slot, Verdict};
use protocol_kit::Bytes;
use serde_json::json;

use super::carrier::Carrier;
use super::interface::Interface;
use super::{HostThread, Joining, Opened};
use crate::board::{Board, EventBox};
use crate::exchange::Exchange;

/// A function that punts what the host sends, to the interface by which it was to leave.
struct Mirror {
    interfaces: [u16; 256],
    /// How many events it still tells.
    events: u64,
}

impl Function for Mirror {
    type Update = ();
    const STAGES: &'static [&'static str] = &["mirror"];
    const DROPS: Drops = Drops(&["unhandled"]);
    const TALLIES: &'static [&'static str] = &[];
    const PUNTS: &'static [&'static str] = &["mirrored", "other"];

    fn process(&mut self, batch: &mut Batch, _: Ticks, stages: &mut StageClock<'_>) {
        for slot in batch.slots() {
            self.interfaces[usize::from(slot)] = engine::plane::split(batch, slot).unwrap_or(0);
            batch.set_verdict(slot, Verdict::Punt(Reason(0)));
        }
        stages.lap(0, batch.len());
    }

    fn context(&self, _: &Batch, slot: Slot) -> Context {
        Context { interface: self.interfaces[usize::from(slot)], ..Context::default() }
    }

    fn event(&mut self) -> Option<Event> {
        self.events = self.events.checked_sub(1)?;
        let (kind, subject) = match self.events {
            0 => (EventKind::Missed, 3),
            events => (EventKind::Idle, events),
        };
        Some(Event { kind, subject, detail: [0; 5], at: 0 })
    }

    fn apply(&mut self, (): (), _: Ticks) -> Result<(), Refusal> {
        Err(Refusal::Invalid)
    }

    fn tallies(&self) -> &[u64] {
        &[]
    }

    fn state_bytes(&self) -> usize {
        0
    }
}

fn worker() -> Worker<Mirror> {
    worker_with(0)
}

fn worker_with(events: u64) -> Worker<Mirror> {
    let mirror = Mirror { interfaces: [0; 256], events };
    Worker::new(mirror, Vec::new(), 64, Room::default()).expect("memory").0
}

/// An interface, and the kernel's end of it.
fn interface(number: u16) -> (Interface, UnixDatagram) {
    let (near, far) = UnixDatagram::pair().expect("sockets");
    near.set_nonblocking(true).expect("a socket");
    far.set_read_timeout(Some(Duration::from_millis(1))).expect("a socket");
    (Interface::of_file(number, File::from(OwnedFd::from(near))), far)
}

fn joining() -> Joining {
    let alarm = EventFd::from_flags(EfdFlags::EFD_NONBLOCK).expect("a counter");
    let limit = PuntLimit { per_s: 0, per_s_and_source: 0, ..PuntLimit::default() };
    Joining { limits: vec![limit; 2], ticks_per_s: 1e9, secret: [1, 2], alarm: Arc::new(alarm) }
}

/// Sends a frame and lets the worker run until it is back.
fn is_mirrored(worker: &mut Worker<Mirror>, far: &UnixDatagram, frame: &[u8]) {
    far.send(&[&[0; HEADER_LEN], frame].concat()).expect("there is room");
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut room = [0; 2000];
    while Instant::now() < deadline {
        worker.round();
        match far.recv(&mut room) {
            Ok(len) => return assert_eq!(&room[HEADER_LEN..len], frame),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("waited in vain for the frame");
}

#[test]
fn frames_pass_both_ways_and_go_on_after_a_panic() {
    let mut worker = worker();
    let joining = joining();
    let plane = joining.join(&mut worker);
    let ((first, kernel_first), (second, kernel_second)) = (interface(3), interface(7));
    let opened = Opened { interfaces: vec![first, second], joining, names: Mirror::PUNTS };
    let host = HostThread::start(opened, vec![plane], None, (&Arc::default(), &Arc::default()))
        .expect("a thread");
    let mut frame = [0; 1514];
    frame[..3].copy_from_slice(&[1, 2, 3]);
    is_mirrored(&mut worker, &kernel_first, &frame);
    is_mirrored(&mut worker, &kernel_second, &frame[..60]);
    for count in 1..=2 {
        host.panic();
        let deadline = Instant::now() + Duration::from_secs(60);
        while host.watch.view()["restarts"] != count {
            assert!(Instant::now() < deadline, "it panics and goes on");
            thread::yield_now();
        }
        is_mirrored(&mut worker, &kernel_first, &frame[..61]);
        is_mirrored(&mut worker, &kernel_second, &frame[..62]);
    }
    // A frame is counted once it is written.
    let deadline = Instant::now() + Duration::from_secs(60);
    let three = json!({"up": 3, "up_refused": 0, "down": 3, "down_full": 0, "down_unfit": 0});
    let shown = loop {
        let shown = host.watch.view();
        if ["interface3", "interface7"].iter().all(|name| shown["interfaces"][name] == three) {
            break shown;
        }
        assert!(Instant::now() < deadline, "{shown}");
        thread::yield_now();
    };
    assert_eq!(shown["reasons"]["mirrored"]["delivered"], 6, "{shown}");
    assert_eq!(shown["reasons"]["other"]["delivered"], 0, "{shown}");
}

#[test]
fn a_worker_that_rests_is_woken_when_the_host_sends() {
    let mut worker = worker();
    let plane = joining().join(&mut worker);
    let (interface, kernel) = interface(3);
    let mut carrier = Carrier::new(vec![plane], vec![interface], Arc::default(), Arc::default());
    carrier.worker = Some(thread::current());
    // Nobody has woken this thread before, and nothing does when there is nothing.
    thread::park_timeout(Duration::ZERO);
    assert!(!carrier.turn());
    kernel.send(&[0; 1000]).expect("there is room");
    assert!(carrier.turn());
    let began = Instant::now();
    thread::park_timeout(Duration::from_secs(60));
    assert!(began.elapsed() < Duration::from_secs(60), "it rests for its whole time");
}

#[test]
fn what_nobody_takes_is_counted_and_gone() {
    let mut worker = worker();
    let plane = joining().join(&mut worker);
    let (interface, kernel) = interface(3);
    let mut carrier = Carrier::new(vec![plane], vec![interface], Arc::default(), Arc::default());
    // The worker does not run: its ring of a MiB is full at some time.
    let mut sent = 0;
    for _ in 0..2000 {
        kernel.send(&[0; 1000]).expect("the thread has taken the last one");
        sent += 1;
        assert!(carrier.turn());
    }
    let count = |carrier: &Carrier| {
        use std::sync::atomic::Ordering::Relaxed;
        let counts = &carrier.interfaces[0].counts;
        (counts.down.load(Relaxed), counts.down_full.load(Relaxed))
    };
    let (down, full) = count(&carrier);
    assert_eq!(down + full, sent);
    assert!(down > 900 && full > 900, "{down} {full}");
    // And then all that it has is mirrored, to an interface that takes but few.
    let mut rounds = 0;
    while worker.round().1 > 0 {
        rounds += 1;
        assert!(rounds < 2000, "the ring comes to its end");
        carrier.turn();
    }
    while carrier.turn() {}
    let up = &carrier.interfaces[0].counts;
    let [up, refused] =
        [&up.up, &up.up_refused].map(|one| one.load(std::sync::atomic::Ordering::Relaxed));
    let unread = carrier.planes[0].counts(Reason(0)).ring_full;
    assert_eq!(up + refused + unread, down);
    assert!(up > 0 && refused > 0, "{up} {refused}");
    assert!(carrier.goes_to_rest());
    worker.round();
}

#[test]
fn frames_of_interfaces_that_the_host_lacks_are_counted() {
    let mut worker = worker();
    let mut plane = joining().join(&mut worker);
    assert!(plane.inject(5, &[1; 60]) && plane.inject(900, &[1; 60]));
    worker.round();
    let mut carrier = Carrier::new(
        vec![plane],
        vec![interface(3).0, interface(6).0],
        Arc::default(),
        Arc::default(),
    );
    assert!(carrier.turn());
    assert_eq!(carrier.counts.unclaimed.load(std::sync::atomic::Ordering::Relaxed), 2);
}

#[test]
fn frames_pass_between_a_worker_and_the_controller_that_takes_them() {
    let mut worker = worker();
    let plane = joining().join(&mut worker);
    let (interface, kernel) = interface(3);
    let exchange = Arc::<Exchange>::default();
    let mut carrier =
        Carrier::new(vec![plane], vec![interface], Arc::default(), Arc::clone(&exchange));
    let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK).expect("a counter"));
    let boxes = exchange.take(&[(Reason(0), "mirrored")], &bell);
    let injection = Injection { interface: 3, frame: Bytes::from_static(&[7; 60]) };
    exchange.inject(injection.clone());
    assert!(!carrier.goes_to_rest(), "a frame waits");
    assert!(carrier.turn());
    worker.round();
    assert!(carrier.turn());
    let raised = boxes[0].next().expect("a frame");
    assert_eq!((raised.worker, raised.context.interface, raised.frame), (0, 3, injection.frame));
    // Nothing of it came to the kernel.
    assert!(kernel.recv(&mut [0; 100]).is_err());
    // Another reason, which nobody takes any more, goes there.
    exchange.take(&[(Reason(1), "other")], &bell);
    is_mirrored_by(&mut carrier, &mut worker, &kernel);
    // What the worker has no room for is counted.
    for _ in 0..20_000 {
        exchange.inject(Injection { interface: 3, frame: Bytes::from_static(&[7; 60]) });
        carrier.turn();
    }
    let count = |of: &std::sync::atomic::AtomicU64| of.load(std::sync::atomic::Ordering::Relaxed);
    let (injected, full) = (count(&carrier.counts.injected), count(&carrier.counts.injected_full));
    assert_eq!(injected + full, 20_001, "{injected} {full}");
    assert!(injected > 1000 && full > 1000, "{injected} {full}");
}

/// Sends a frame from the kernel's end, and has it back there.
fn is_mirrored_by(carrier: &mut Carrier, worker: &mut Worker<Mirror>, kernel: &UnixDatagram) {
    kernel.send(&[0; HEADER_LEN + 60]).expect("there is room");
    assert!(carrier.turn());
    worker.round();
    assert!(carrier.turn());
    assert_eq!(kernel.recv(&mut [0; 100]).expect("a frame"), HEADER_LEN + 60);
}

#[test]
fn what_a_worker_tells_reaches_controllers_or_is_counted() {
    // More than there is room for between the two.
    let mut worker = worker_with(5000);
    let plane = joining().join(&mut worker);
    let board = Arc::<Board>::default();
    let mut carrier =
        Carrier::new(vec![plane], vec![interface(3).0], Arc::clone(&board), Arc::default());
    let own = Arc::new(EventBox::new().expect("a box"));
    board.begin(&own);
    for _ in 0..100 {
        worker.round();
    }
    let before = own.take();
    assert_eq!((before.told.len(), before.missed), (0, 0));
    while carrier.turn() {}
    let first = own.take();
    assert!((1..4999).contains(&first.told.len()), "{}", first.told.len());
    assert_eq!(first.missed, 0, "what has no room yet stays with the function");
    for _ in 0..100 {
        worker.round();
    }
    while carrier.turn() {}
    let rest = own.take();
    assert_eq!(rest.missed, 3, "what the function had no room for itself");
    let told = first.told.iter().chain(&rest.told);
    let subjects = told.map(|told| (told.worker, told.event.subject));
    assert!(subjects.eq((1..5000).rev().map(|one| (0, one))));
}

/// A segment of TCP over IPv6 as the kernel hands it over: longer than the link takes, and its
/// checksum only begun.
fn long_segment(payload_len: usize) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
    frame.extend((20 + payload_len as u16).to_be_bytes());
    frame.extend([6, 64]);
    frame.extend([0x20; 32]);
    frame.extend([0, 179, 0, 179, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0, 9, 0, 0, 0, 0]);
    frame.extend((0..payload_len).map(|at| at as u8));
    frame
}

#[test]
fn long_segments_go_down_in_frames_and_come_up_as_one() {
    let mut worker = worker();
    let plane = joining().join(&mut worker);
    let (interface, kernel) = interface(3);
    let mut carrier = Carrier::new(vec![plane], vec![interface], Arc::default(), Arc::default());
    let header = [1, 4, 74, 0, 0xe8, 3, 54, 0, 16, 0];
    let sent = long_segment(30_500);
    kernel.send(&[&header[..], &sent].concat()).expect("there is room");
    // A header that says something else of the same frame, and half a header.
    kernel.send(&[&[1, 1, 74, 0, 0xe8, 3, 54, 0, 16, 0], &sent[..]].concat()).expect("room");
    kernel.send(&header[..9]).expect("there is room");
    assert!(carrier.turn());
    worker.round();
    assert!(carrier.turn());
    let mut came = vec![0; 70_000];
    let len = kernel.recv(&mut came).expect("it is back");
    let (came_header, frame) = came[..len].split_first_chunk().expect("a header");
    let came_header = Header::parse(came_header);
    assert_eq!((came_header.bytes(), came_header.frames(frame.len())), (header, 31));
    // All but the checksum, which is begun anew.
    assert!(frame[..70] == sent[..70] && frame[72..] == sent[72..]);
    let count = |of: &std::sync::atomic::AtomicU64| of.load(std::sync::atomic::Ordering::Relaxed);
    let counts = &carrier.interfaces[0].counts;
    assert_eq!([count(&counts.down), count(&counts.down_unfit), count(&counts.up)], [31, 2, 31]);
}
