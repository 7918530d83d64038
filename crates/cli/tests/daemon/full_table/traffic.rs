//! Datagrams that are forwarded by routes while these change.

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What flows, from one socket to another that takes whatever comes to its host.
pub struct Traffic {
    pub from: UdpSocket,
    pub to: UdpSocket,
    /// Where datagrams go, in turn.
    pub destinations: Vec<IpAddr>,
    pub rate_pps: f64,
    pub is_over: AtomicBool,
    sent: AtomicU64,
    received: AtomicU64,
    /// The longest time without any since it was asked.
    gap: Mutex<Duration>,
}

/// What has flowed in a while.
#[derive(Clone, Copy)]
pub struct Flowed {
    sent: u64,
    pub lost: u64,
    /// Longest time without a datagram.
    gap: Duration,
}

impl Display for Flowed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Flowed { sent, lost, gap } = self;
        write!(f, "of {sent} datagrams {lost} lost, none for {} ms", gap.as_millis())
    }
}

impl Traffic {
    pub fn new(from: UdpSocket, to: UdpSocket, destinations: Vec<IpAddr>, rate: f64) -> Traffic {
        to.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket");
        Traffic {
            from,
            to,
            destinations,
            rate_pps: rate,
            is_over: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            gap: Mutex::default(),
        }
    }

    /// Sends at an even rate until it is over.
    pub fn send(&self) {
        let (begun, mut number) = (Instant::now(), 0_u64);
        while !self.is_over.load(Ordering::Relaxed) {
            let due = (begun.elapsed().as_secs_f64() * self.rate_pps) as u64;
            // What a busy machine has missed is not sent all at once.
            number = number.max(due.saturating_sub(100));
            while number < due {
                let to = self.destinations[(number % self.destinations.len() as u64) as usize];
                number += 1;
                if self.from.send_to(&number.to_be_bytes(), (to, PORT)).is_ok() {
                    self.sent.fetch_add(1, Ordering::Relaxed);
                }
            }
            thread::park_timeout(Duration::from_micros(500));
        }
    }

    /// Takes what comes until it is over.
    pub fn take(&self) {
        let (mut last, mut bytes) = (Instant::now(), [0; 16]);
        while !self.is_over.load(Ordering::Relaxed) {
            let is_one = self.to.recv_from(&mut bytes).is_ok();
            let mut gap = self.gap.lock().expect("nobody panics with it");
            *gap = last.elapsed().max(*gap);
            if is_one {
                self.received.fetch_add(1, Ordering::Relaxed);
                last = Instant::now();
            }
        }
    }

    /// What flowed while something happened.
    pub fn during<T>(&self, happens: impl FnOnce() -> T) -> (T, Flowed) {
        let counts = || [&self.sent, &self.received].map(|count| count.load(Ordering::Relaxed));
        let before = counts();
        *self.gap.lock().expect("nobody panics with it") = Duration::ZERO;
        let done = happens();
        let sent = self.sent.load(Ordering::Relaxed);
        // What is on its way arrives.
        thread::park_timeout(Duration::from_millis(100));
        let [later, received] = counts();
        let (sent, late) = (sent - before[0], later - sent);
        let lost = sent.saturating_sub((received - before[1]).saturating_sub(late));
        (done, Flowed { sent, lost, gap: *self.gap.lock().expect("nobody panics with it") })
    }
}

/// The port that datagrams go to.
pub const PORT: u16 = 9;

/// Whether an address is of IPv4, for which alone traffic is sent.
pub fn inside(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => Some(Ipv4Addr::from_bits(address.to_bits() + 1).into()),
        IpAddr::V6(_) => None,
    }
}
