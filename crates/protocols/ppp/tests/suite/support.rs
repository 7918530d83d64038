//! A session that is spoken with by hand.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use protocol_kit::{Input, Machine, Output, Secret, Time};
use protocol_ppp::packet::{self, Packet, code, protocol};
use protocol_ppp::{
    Answer, Command, Config, Credentials, Identity, Method, Network, Ppp, Reason, Report, V4, V6,
};

/// A machine with session 0, what it has sent, and what it has said beside.
pub struct One {
    pub ppp: Ppp,
    pub now: Time,
    pub sent: Vec<Vec<u8>>,
    pub said: Vec<Report>,
}

impl One {
    /// A session that has just begun.
    pub fn open(config: Config) -> One {
        One::open_with(config, 1492)
    }

    /// The same over a link of `mru` bytes.
    pub fn open_with(config: Config, mru: u16) -> One {
        let (sent, said) = (Vec::new(), Vec::new());
        let mut one = One { ppp: Ppp::new(1, [5; 32]), now: Time::ZERO, sent, said };
        one.tell(Command::Open { session: 0, config: Arc::new(config), mru });
        one
    }

    /// A session whose LCP is open, with a peer of the magic number 1 to 4.
    pub fn linked(config: Config) -> One {
        let mut one = One::open(config);
        let request = one.take_one();
        one.hear(&answered(&request, code::CONFIGURE_ACK));
        one.hear(&lcp(code::CONFIGURE_REQUEST, 1, &MAGIC));
        assert_eq!(code_of(&one.sent.remove(0)), (protocol::LCP, code::CONFIGURE_ACK));
        one
    }

    pub fn tell(&mut self, command: Command) {
        self.ppp.input(self.now, Input::Command(command));
        self.poll();
    }

    pub fn hear(&mut self, payload: &[u8]) {
        self.ppp.receive(self.now, 0, payload);
        self.poll();
    }

    /// Lets time pass, from deadline to deadline.
    pub fn pass(&mut self, span: Duration) {
        let end = self.now.after(span);
        while let Some(deadline) = self.ppp.deadline().filter(|deadline| *deadline <= end) {
            self.now = deadline.max(self.now);
            self.poll();
        }
        self.now = end;
    }

    /// The only payload that was sent since the last time.
    #[track_caller]
    pub fn take_one(&mut self) -> Vec<u8> {
        assert_eq!(self.sent.len(), 1, "{:02x?}", self.sent);
        self.sent.remove(0)
    }

    /// What was asked last.
    #[track_caller]
    pub fn asked(&self) -> (u32, Credentials) {
        let asked = self.said.iter().rev().find_map(|report| match report {
            Report::Asked { question, credentials, .. } => Some((*question, credentials.clone())),
            _ => None,
        });
        asked.expect("a question")
    }

    pub fn answer(&mut self, answer: Answer) {
        let (question, _) = self.asked();
        self.tell(Command::Answer { session: 0, question, answer });
    }

    /// Why it is over, if it is.
    pub fn ended(&self) -> Option<Reason> {
        self.said.iter().find_map(|report| match report {
            Report::Ended { reason, .. } => Some(*reason),
            _ => None,
        })
    }

    fn poll(&mut self) {
        while let Some(output) = self.ppp.poll(self.now) {
            match output {
                Output::Report(Report::Send { payload, .. }) => self.sent.push(payload),
                Output::Report(report) => self.said.push(report),
                Output::Departure(departure) => panic!("{departure:?}"),
            }
        }
    }
}

/// A configuration that asks for nothing.
pub fn open() -> Config {
    Config { requires: vec![], ..Config::new() }
}

/// One that asks by a method.
pub fn requires(methods: &[Method]) -> Config {
    Config { requires: methods.to_vec(), name: b"ac".to_vec(), ..Config::new() }
}

/// One of a client, which takes whatever addresses it is given.
pub fn client(methods: &[Method], secret: &[u8]) -> Config {
    let (name, secret) = (b"me".to_vec(), Secret(secret.to_vec()));
    let identity = Identity { methods: methods.to_vec(), name, secret };
    let v4 = V4 { asks_dns: true, ..V4::default() };
    let network = Some(Network { v4: Some(v4), v6: Some(V6::default()) });
    Config { requires: vec![], identity: Some(identity), network, ..Config::new() }
}

/// What a peer is given.
pub fn given() -> Network {
    let v4 = V4 {
        local: Ipv4Addr::new(10, 0, 0, 1),
        remote: Ipv4Addr::new(10, 0, 0, 2),
        dns: [Some(Ipv4Addr::new(9, 9, 9, 9)), None],
        asks_dns: false,
    };
    Network { v4: Some(v4), v6: Some(V6 { local: 0x11, remote: 0 }) }
}

/// A packet of LCP.
pub fn lcp(code: u8, id: u8, data: &[u8]) -> Vec<u8> {
    Packet { code, id, data }.emit(protocol::LCP)
}

/// The same packet with another code.
pub fn answered(payload: &[u8], code: u8) -> Vec<u8> {
    let mut payload = payload.to_vec();
    payload[2] = code;
    payload
}

/// Protocol and code of a payload.
pub fn code_of(payload: &[u8]) -> (u16, u8) {
    let (number, rest) = packet::split(payload).expect("a protocol");
    (number, Packet::parse(rest).expect("a packet").code)
}

/// Identifier and data of a payload.
pub fn data_of(payload: &[u8]) -> (u8, &[u8]) {
    let (_, rest) = packet::split(payload).expect("a protocol");
    let packet = Packet::parse(rest).expect("a packet");
    (packet.id, packet.data)
}

/// The option of a peer's magic number.
pub const MAGIC: [u8; 6] = [5, 6, 1, 2, 3, 4];
