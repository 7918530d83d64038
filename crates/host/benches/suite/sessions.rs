//! Streams of TCP over the loopback interface, both ends on this thread, on which little happens.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use host::Host;
use protocol_kit::{
    Arrival, Departure, Endpoint, Input, Machine, Opening, Output, Socket, StreamOptions, Time,
};

use crate::Usage;

/// One end of many streams, each of which sends 19 bytes now and then.
struct Sessions {
    outputs: VecDeque<Output<()>>,
    standing: usize,
    interval: Option<Duration>,
    /// The streams that send, the first in front.
    due: VecDeque<(Time, Socket)>,
    arrived: u64,
}

impl Sessions {
    fn new(interval: Option<Duration>) -> Sessions {
        let (outputs, due) = (VecDeque::new(), VecDeque::new());
        Sessions { outputs, standing: 0, interval, due, arrived: 0 }
    }
}

impl Machine for Sessions {
    type Command = Departure;
    type Report = ();

    fn input(&mut self, now: Time, input: Input<'_, Departure>) {
        match input {
            Input::Command(departure) => self.outputs.push_back(Output::Departure(departure)),
            Input::Arrival(Arrival::Connected { socket, .. }) => {
                self.standing += 1;
                let due = self.interval.map(|interval| (now.after(interval), socket));
                self.due.extend(due);
            }
            Input::Arrival(Arrival::Bytes { bytes, .. }) => self.arrived += bytes.len() as u64,
            Input::Arrival(_) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<()>> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        let (due, socket) = self.due.front().copied().filter(|(due, _)| *due <= now)?;
        self.due.pop_front();
        self.due.push_back((due.after(self.interval?), socket));
        Some(Output::Departure(Departure::Bytes { socket, bytes: vec![0xff; 19].into() }))
    }

    fn deadline(&self) -> Option<Time> {
        self.due.front().map(|(due, _)| *due)
    }
}

/// Lets a number of streams stand for a time.
pub fn run(count: u32, interval: Option<Duration>, span: Duration) {
    let at = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener").local_addr();
    let at: SocketAddr = at.expect("an address");
    let mut hosts = [0, 1].map(|_| Host::new(Sessions::new(interval)).expect("a host"));
    let (to, options, streams) = (Endpoint::Tcp(at), StreamOptions::default(), 0..count);
    let opening = Opening::Listener { at: to.clone(), options: options.clone(), streams };
    hosts[0].command(Departure::Open { socket: Socket(count), opening });
    hosts[0].turn(Duration::ZERO).expect("it turns");
    let connecting = Usage::begin();
    let mut begun = 0;
    let stand = |hosts: &[Host<Sessions>; 2]| hosts.each_ref().map(|host| host.machine().standing);
    while stand(&hosts).iter().any(|standing| *standing < count as usize) {
        // Not more at once than the kernel keeps for a listener.
        while begun < count && begun < stand(&hosts)[0] as u32 + 512 {
            let (to, options) = (to.clone(), options.clone());
            let opening = Opening::Stream { from: None, to, options };
            hosts[1].command(Departure::Open { socket: Socket(begun), opening });
            begun += 1;
        }
        for host in &mut hosts {
            host.turn(Duration::ZERO).expect("it turns");
            let failures = host.take_failures();
            assert!(failures.is_empty(), "{}: is `ulimit -n` large enough?", failures[0]);
            assert_eq!(host.counters().errors, 0, "is `ulimit -n` large enough?");
        }
    }
    println!("sessions: {count} stand after {:?}", connecting.start.elapsed());
    let [mut one, mut other] = hosts;
    let shares = std::thread::scope(|scope| {
        let other = scope.spawn(|| turn(&mut other, span));
        [turn(&mut one, span), other.join().expect("it ends")]
    });
    println!(
        "sessions: {count} that send 19 bytes every {interval:?}: {:.2} % and {:.2} % of a \
         processor for their ends, {} bytes arrived, {} late turns",
        shares[0],
        shares[1],
        one.machine().arrived + other.machine().arrived,
        one.counters().late + other.counters().late,
    );
}

/// Turns a host for a time; returns the share of a processor that it has used, in percent.
fn turn(host: &mut Host<Sessions>, span: Duration) -> f64 {
    let usage = Usage::begin();
    while usage.start.elapsed() < span {
        host.turn(span.saturating_sub(usage.start.elapsed())).expect("it turns");
    }
    usage.percent()
}
