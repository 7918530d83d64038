//! An access concentrator that is spoken with by hand.

use protocol_kit::{Input, Machine, Output, Time};
use protocol_pppoe::packet::{Packet, code};
use protocol_pppoe::tags::{Tags, kind, put};
use protocol_pppoe::{
    AccessConcentrator, Command, Config, Counters, Line, Opened, Origin, Reason, Report,
};
use wire::ethernet::MacAddr;

/// An access concentrator, and what it has said.
pub struct One {
    pub ac: AccessConcentrator,
    pub now: Time,
    pub sent: Vec<(Line, MacAddr, Vec<u8>)>,
    pub said: Vec<Report>,
}

impl One {
    pub fn new(config: Config) -> One {
        let ac = AccessConcentrator::new(config, [7; 32]).expect("it can be used");
        One { ac, now: Time::ZERO, sent: vec![], said: vec![] }
    }

    pub fn tell(&mut self, command: Command) {
        self.ac.input(self.now, Input::Command(command));
        self.poll();
    }

    /// Hands a packet over; returns what it is answered with.
    pub fn hear(&mut self, origin: Origin, packet: &[u8]) -> Option<Vec<u8>> {
        self.ac.receive(self.now, origin, packet);
        let mark = self.sent.len();
        self.poll();
        let (line, to, packet) = self.sent.get(mark..)?.last()?.clone();
        assert_eq!((line, to), (origin.line, origin.from), "it goes back where it came from");
        Some(packet)
    }

    /// Looks for a session and asks for it, with these tags beside the cookie; returns the answer
    /// to the second.
    pub fn ask(&mut self, origin: Origin, list: &[u8]) -> Option<Vec<u8>> {
        let all = Origin { is_to_group: true, ..origin };
        let offer = self.hear(all, &packet(code::PADI, list))?;
        let cookie = tag(&offer, kind::AC_COOKIE).expect("a cookie");
        self.hear(origin, &packet(code::PADR, &with(list, kind::AC_COOKIE, &cookie)))
    }

    /// The same with an empty service alone, and success.
    #[track_caller]
    pub fn open(&mut self, origin: Origin) -> (u32, Opened) {
        let answer = self.ask(origin, &any()).expect("an answer");
        assert_ne!(Packet::parse(&answer).expect("a packet").session_id, 0);
        match self.said.pop() {
            Some(Report::Opened { session, opened }) => (session, opened),
            other => panic!("{other:?}"),
        }
    }

    /// Sessions that are over, and why.
    pub fn closed(&self) -> Vec<(u32, Reason)> {
        let closed = self.said.iter().filter_map(|report| match report {
            Report::Closed { session, reason } => Some((*session, *reason)),
            _ => None,
        });
        closed.collect()
    }

    pub fn counters(&self) -> Counters {
        self.ac.counters()
    }

    fn poll(&mut self) {
        while let Some(output) = self.ac.poll(self.now) {
            match output {
                Output::Report(Report::Send { line, to, packet }) => {
                    self.sent.push((line, to, packet));
                }
                Output::Report(report) => self.said.push(report),
                Output::Departure(departure) => panic!("{departure:?}"),
            }
        }
    }
}

/// A host of this number on a line of this number.
pub fn host(line: u16, number: u8) -> Origin {
    Origin {
        line: Line { port: 1, outer: 100, inner: line },
        from: MacAddr([2, 0, 0, 0, 0, number]),
        is_to_group: false,
    }
}

/// The tag of any service.
pub fn any() -> Vec<u8> {
    with(&[], kind::SERVICE_NAME, b"")
}

/// Tags with another one behind.
pub fn with(list: &[u8], kind: u16, value: &[u8]) -> Vec<u8> {
    let mut list = list.to_vec();
    put(&mut list, kind, value);
    list
}

/// A packet without session.
pub fn packet(code: u8, list: &[u8]) -> Vec<u8> {
    Packet { code, session_id: 0, payload: list }.emit()
}

/// The value of the first tag of a kind in a packet.
pub fn tag(packet: &[u8], kind: u16) -> Option<Vec<u8>> {
    let packet = Packet::parse(packet).expect("a packet");
    Tags::parse(packet.payload).expect("tags").get(kind).map(<[u8]>::to_vec)
}
