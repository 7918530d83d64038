//! One machine, whose neighbours are what a test says.

use std::net::IpAddr;
use std::time::Duration;

use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Opening, Output, Socket, Time};
use protocol_vrrp::packet::{self, Addresses, Coverage, Ends, Packet};
use protocol_vrrp::{Command, Config, Key, Reason, Report, State, Vrrp, frames};

/// The machine, its time, and what it has wanted and said since somebody looked.
pub struct Bench {
    pub vrrp: Vrrp,
    pub now: Time,
    pub departures: Vec<Departure>,
    pub reports: Vec<Report>,
    /// Whether sockets cannot be opened.
    pub refuses: bool,
}

/// The interface of all virtual routers.
pub const LINK: Interface = Interface(4);

/// A router of 10.0.0.5 with the virtual addresses 10.0.0.100 and .101, every 100 ms.
pub fn config(vrid: u8, priority: u8) -> Config {
    let key = Key { interface: LINK, vrid, is_v6: false };
    let addresses = vec![[10, 0, 0, 100].into(), [10, 0, 0, 101].into()];
    let mut config = Config::new(key, [10, 0, 0, 5].into(), addresses);
    (config.priority, config.interval) = (priority, ms(100));
    config
}

/// A number of milliseconds.
pub fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

impl Bench {
    /// A machine that was given these commands.
    pub fn new(commands: impl IntoIterator<Item = Command>) -> Bench {
        let mut bench = Bench {
            vrrp: Vrrp::new(4, 4),
            now: Time::ZERO,
            departures: Vec::new(),
            reports: Vec::new(),
            refuses: false,
        };
        commands.into_iter().for_each(|command| bench.tell(command));
        bench
    }

    /// A machine with virtual router 7 of a priority, numbered 0, that is active.
    pub fn active(priority: u8) -> Bench {
        let mut bench = Bench::new([Command::Add(0, config(7, priority))]);
        bench.pass(ms(2_000));
        assert_eq!(bench.state(), State::Active);
        bench.forget();
        bench
    }

    /// Gives a command.
    pub fn tell(&mut self, command: Command) {
        self.vrrp.input(self.now, Input::Command(command));
        self.drain();
    }

    /// Lets something arrive.
    pub fn arrive(&mut self, arrival: Arrival<'_>) {
        self.vrrp.input(self.now, Input::Arrival(arrival));
        self.drain();
    }

    /// Lets an advertisement of virtual router 7 arrive from 10.0.0.x, with the right addresses and
    /// an interval of 100 ms.
    pub fn hear(&mut self, from: u8, priority: u8) {
        self.hear_other(from, priority, 10, &config(7, 100).addresses);
    }

    /// Lets another one arrive.
    pub fn hear_other(&mut self, from: u8, priority: u8, interval_cs: u16, addresses: &[IpAddr]) {
        let ends = Ends { from: [10, 0, 0, from].into(), to: frames::group(false) };
        let octets = packet::octets(addresses);
        let addresses = Addresses::new(false, &octets);
        let packet = Packet { vrid: 7, priority, interval_cs, addresses };
        let bytes = packet.emit(ends, Coverage::Message);
        let mac = config(7, 100).key.mac();
        self.frame(&frames::advertisement(mac, ends, &bytes));
    }

    /// Lets a frame arrive.
    pub fn frame(&mut self, bytes: &[u8]) {
        self.arrive(Arrival::Frame { socket: Socket(0), interface: LINK, bytes });
    }

    /// Lets time pass, and the machine act when it wants to.
    pub fn pass(&mut self, span: Duration) {
        let end = self.now.after(span);
        while let Some(deadline) = self.vrrp.deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.drain();
        }
        self.now = end;
    }

    /// The state of router 0.
    pub fn state(&self) -> State {
        self.vrrp.view(0).map_or(State::Initialize, |view| view.state)
    }

    /// Why router 0 has changed its state, and what it told of accepting packets.
    pub fn take_changes(&mut self) -> Vec<(State, Reason, bool)> {
        let changes = self.reports.iter().filter_map(|report| match report {
            Report::Changed { router: 0, state, reason, accepts } => {
                Some((*state, *reason, *accepts))
            }
            _ => None,
        });
        let changes = changes.collect();
        self.reports.clear();
        changes
    }

    /// Takes the priorities of advertisements that were sent by frames.
    pub fn take_sent(&mut self) -> Vec<u8> {
        let all = std::mem::take(&mut self.departures);
        let frames = all.iter().filter_map(|departure| match departure {
            Departure::Frame { bytes, .. } => frames::parse(bytes),
            _ => None,
        });
        let read = frames.map(|payload| Packet::parse(payload.bytes, payload.ends));
        read.map(|packet| packet.expect("what is sent is right").priority).collect()
    }

    /// Takes the frames that are no advertisements.
    pub fn take_announced(&mut self) -> Vec<Vec<u8>> {
        let all = std::mem::take(&mut self.departures);
        let frames = all.into_iter().filter_map(|departure| match departure {
            Departure::Frame { bytes, .. } => Some(bytes),
            _ => None,
        });
        frames.filter(|bytes| frames::parse(bytes).is_none()).collect()
    }

    /// Takes what was opened.
    pub fn take_opened(&mut self) -> Vec<(Socket, Opening)> {
        let all = std::mem::take(&mut self.departures);
        let opened = all.into_iter().filter_map(|departure| match departure {
            Departure::Open { socket, opening } => Some((socket, opening)),
            _ => None,
        });
        opened.collect()
    }

    /// Forgets what it has wanted and said.
    pub fn forget(&mut self) {
        self.departures.clear();
        self.reports.clear();
    }

    fn drain(&mut self) {
        for count in 0.. {
            match self.vrrp.poll(self.now) {
                None => return,
                Some(Output::Departure(departure)) => {
                    if let (true, Departure::Open { socket, .. }) = (self.refuses, &departure) {
                        let failed = Arrival::Failed { socket: *socket };
                        self.vrrp.input(self.now, Input::Arrival(failed));
                    }
                    self.departures.push(departure);
                }
                Some(Output::Report(report)) => self.reports.push(report),
            }
            assert!(count < 10_000, "it does not come to rest");
        }
    }
}
