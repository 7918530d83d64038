//! A machine that is driven by hand, and what to feed it with.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use protocol_bfddp::machine::PORT;
use protocol_bfddp::message::Message;
use protocol_bfddp::{BfdDataPlane, Change, Command, Config, Report, Session, State};
use protocol_kit::{
    Arrival, Departure, Endpoint, Input, Interface, Machine, Output, STREAM_ROOM, Socket, Time,
};

pub const STREAM: Socket = Socket(0);

/// A machine with its time.
pub struct Driven {
    pub machine: BfdDataPlane,
    pub now: Time,
    pub departures: Vec<Departure>,
    /// Messages that have departed.
    pub sent: Vec<(u16, Message)>,
    /// Whether the transport takes what departs.
    pub takes: bool,
}

impl Driven {
    pub fn new(config: Config) -> Driven {
        let machine = BfdDataPlane::new(config);
        let (departures, sent) = (Vec::new(), Vec::new());
        let mut driven = Driven { machine, now: Time::ZERO, departures, sent, takes: true };
        assert_eq!(driven.poll(), []);
        assert!(matches!(driven.departures[..], [Departure::Open { socket: STREAM, .. }]));
        driven.departures.clear();
        driven
    }

    /// A machine that is connected.
    pub fn connected() -> Driven {
        let mut driven = Driven::new(config());
        assert_eq!(driven.connect(), [Report::Connected]);
        driven
    }

    pub fn arrive(&mut self, arrival: Arrival<'_>) -> Vec<Report> {
        self.machine.input(self.now, Input::Arrival(arrival));
        self.poll()
    }

    pub fn connect(&mut self) -> Vec<Report> {
        self.arrive(Arrival::Connected { socket: STREAM, local: None, peer: None })
    }

    pub fn feed(&mut self, messages: &[Message]) -> Vec<Report> {
        let bytes: Vec<u8> = messages.iter().flat_map(|message| message.emit(0)).collect();
        self.arrive(Arrival::Bytes { socket: STREAM, bytes: &bytes })
    }

    pub fn fail(&mut self) -> Vec<Report> {
        self.arrive(Arrival::Failed { socket: STREAM })
    }

    pub fn command(&mut self, command: Command) -> Vec<Report> {
        self.machine.input(self.now, Input::Command(command));
        self.poll()
    }

    pub fn pass(&mut self, span: Duration) -> Vec<Report> {
        self.now = self.now.after(span);
        self.poll()
    }

    /// All reports; departures and messages are kept.
    pub fn poll(&mut self) -> Vec<Report> {
        let mut reports = Vec::new();
        while let Some(output) = self.machine.poll(self.now) {
            match output {
                Output::Report(report) => reports.push(report),
                Output::Departure(Departure::Bytes { socket, bytes }) => {
                    assert_eq!(socket, STREAM);
                    self.sent.push(Message::parse(&bytes).expect("a message"));
                    if self.takes {
                        let taken = Arrival::Taken { socket, count: bytes.len() };
                        self.machine.input(self.now, Input::Arrival(taken));
                    }
                }
                Output::Departure(departure) => self.departures.push(departure),
            }
        }
        reports
    }

    /// The states that were told since the last call.
    pub fn told(&mut self) -> Vec<(u32, State)> {
        let told = std::mem::take(&mut self.sent).into_iter().map(|(_, message)| match message {
            Message::StateChange(discriminator, change) => (discriminator, change.state),
            other => panic!("{other:?}"),
        });
        told.collect()
    }

    /// Fills the stream's room with answers that nobody takes.
    pub fn congest(&mut self) {
        self.takes = false;
        while self.sent.len() * COUNTERS_LEN + COUNTERS_LEN <= STREAM_ROOM {
            self.feed(&[Message::RequestCounters(0)]);
        }
        self.sent.clear();
    }

    /// Takes all that has departed.
    pub fn relieve(&mut self) -> Vec<Report> {
        self.takes = true;
        self.arrive(Arrival::Taken { socket: STREAM, count: STREAM_ROOM })
    }
}

/// Bytes of a message with counters.
const COUNTERS_LEN: usize = 80;

pub fn config() -> Config {
    Config::new(Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))))
}

/// A session with a neighbour.
pub fn session(discriminator: u32, peer: u8) -> Session {
    Session {
        discriminator,
        local: Some([10, 9, 0, 1].into()),
        peer: [10, 9, 0, peer].into(),
        is_multihop: false,
        is_demand: false,
        is_independent: false,
        has_echo: false,
        is_passive: false,
        is_shut_down: false,
        desired_min_tx_us: 300_000,
        required_min_rx_us: 300_000,
        echo_tx_us: 50_000,
        required_echo_rx_us: 50_000,
        hold_time_ms: 0,
        ttl_min: 255,
        detect_multiplier: 3,
        interface: Some(Interface(3)),
        interface_name: "eth0".into(),
    }
}

pub fn add(discriminator: u32, peer: u8) -> Message {
    Message::AddSession(session(discriminator, peer))
}

pub fn change(state: State) -> Change {
    Change {
        state,
        peer_diagnostic: 3,
        peer_discriminator: 77,
        is_peer_independent: true,
        is_peer_demand: false,
        is_peer_multipoint: false,
        peer_desired_min_tx_us: 50_000,
        peer_required_min_rx_us: 60_000,
        peer_required_echo_rx_us: 0,
        peer_detect_multiplier: 5,
    }
}
