//! Machines beside functions: all are driven on one thread, and gone when they are dropped.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use host::Machines;
use protocol_kit::{
    Arrival, Companion, Departure, Input, Machine, Opening, Output, Socket, Time, Tls,
};

/// Opens a socket at an address, counts its polls and its failures.
struct Counting {
    local: Option<SocketAddr>,
    tls: Option<Tls>,
    polls: Arc<AtomicU64>,
    failures: Arc<AtomicU64>,
    next: Time,
}

impl Machine for Counting {
    type Command = Infallible;
    type Report = Infallible;

    fn input(&mut self, _: Time, input: Input<'_, Infallible>) {
        if let Input::Arrival(Arrival::Failed { .. }) = input {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Infallible>> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        self.next = now.after(Duration::from_millis(1));
        let opening = Opening::Datagrams { local: self.local.take()?, interface: None };
        Some(Output::Departure(Departure::Open { socket: Socket(0), opening }))
    }

    fn deadline(&self) -> Option<Time> {
        Some(self.next)
    }

    fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }
}

#[test]
fn all_are_driven_until_they_are_dropped_and_failures_are_told() {
    let counts: Vec<[Arc<AtomicU64>; 2]> = (0..3).map(|_| Default::default()).collect();
    // A documentation address, which no host has.
    let nobodys = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 77), 4000));
    let machine = |(number, [polls, failures]): (usize, &[Arc<AtomicU64>; 2])| -> Companion {
        Box::new(Counting {
            local: (number == 1).then_some(nobodys),
            tls: None,
            polls: Arc::clone(polls),
            failures: Arc::clone(failures),
            next: Time::ZERO,
        })
    };
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&told);
    let tell = move |error: &host::SocketError| {
        heard.lock().expect("no panic").push(error.to_string());
    };
    let machines = counts.iter().enumerate().map(machine).collect();
    let machines = Machines::start(machines, (&Arc::default(), "host"), tell).expect("a thread");
    let deadline = Instant::now() + Duration::from_secs(60);
    while counts.iter().any(|[polls, _]| polls.load(Ordering::Relaxed) < 5)
        || told.lock().expect("no panic").is_empty()
    {
        assert!(Instant::now() < deadline, "{counts:?}");
        thread::yield_now();
    }
    drop(machines);
    assert!(counts.iter().flatten().all(|count| Arc::strong_count(count) == 1), "they are gone");
    let failures = counts.iter().map(|[_, failures]| failures.load(Ordering::Relaxed));
    assert_eq!(failures.collect::<Vec<_>>(), [0, 1, 0]);
    let told = told.lock().expect("no panic");
    assert!(told.len() == 1 && told[0].contains("192.0.2.77"), "{told:?}");
}

#[test]
fn none_begins_whose_files_are_of_no_use() {
    let missing = |name: &str| format!("/nowhere/{name}");
    let (certificate, key) = (missing("east.pem"), missing("east.key"));
    let tls = Some(Tls { certificate, key, authorities: missing("ca.pem"), name: None });
    let (polls, failures) = Default::default();
    let machine = Counting { local: None, tls, polls, failures, next: Time::ZERO };
    let machines: Vec<Companion> = vec![Box::new(machine)];
    let refused = Machines::start(machines, (&Arc::default(), "host"), |_| ());
    let Err(why) = refused else { panic!("it has begun") };
    assert!(why.to_string().contains("/nowhere/east.pem: No such file"), "{why}");
}
