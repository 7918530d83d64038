//! A client of either version, from RFC 2131 section 4.4 and RFC 8415 section 18.2.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use protocol_dhcp::framed::{emit, parse};
use protocol_dhcp::{Command, Line, Said};
use protocol_kit::{
    Arrival, Departure, Input, Interface, Machine, Opening, Output, Random, Socket, Takes, Time,
};
use wire::MacAddr;

use super::Event;
use crate::client4::{self, Message4};
use crate::client6::{self, Message6, association};
use crate::lines::{ANYBODY, ANYBODY6};

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Init,
    Selecting,
    Requesting,
    Bound,
}

/// A client of either version.
pub struct Client {
    is_v6: bool,
    interface: Interface,
    mac: [u8; 6],
    random: Random,
    state: State,
    xid: u8,
    /// What was offered, or is had: the address and, of version 6, the prefix.
    offered: Option<Held>,
    /// When what is had is renewed, and when it is over.
    times: (Time, Time, Time),
    wake: Time,
    tries: u32,
    /// What it is about, and when its first message left.
    exchange: Option<Step>,
    asked: Time,
    outputs: VecDeque<Output<Event>>,
    is_open: bool,
    /// When it is unplugged; its clock may begin anywhere.
    stops_at: Option<Time>,
}

impl Machine for Client {
    type Command = Command;
    type Report = Event;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        if let Input::Arrival(Arrival::Frame { bytes, .. }) = input {
            self.hear(bytes, now);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Event>> {
        if !self.is_open {
            self.is_open = true;
            let ether_type = if self.is_v6 { 0x86dd } else { 0x0800 };
            let takes = vec![Takes { ether_type, protocol: Some(17) }];
            let (interface, groups) = (self.interface, vec![]);
            let opening = Opening::Frames { interface, takes, groups };
            return Some(Output::Departure(Departure::Open { socket: Socket(0), opening }));
        }
        if self.outputs.is_empty() && self.wake <= now {
            self.step(now);
        }
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Time> {
        Some(self.wake)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    address: [u8; 16],
    prefix: Option<[u8; 16]>,
    valid: Duration,
    /// What the server calls itself.
    server: Vec<u8>,
}

impl Held {
    fn names(&self) -> Vec<String> {
        let all = [Some(self.address), self.prefix].into_iter().flatten();
        all.map(|octets| format!("{octets:02x?}")).collect()
    }
}

impl Client {
    pub fn new(is_v6: bool, number: u32, seed: u64) -> Client {
        let mut random = Random::new(seed);
        Client {
            is_v6,
            interface: Interface(number),
            mac: [2, 1, 0, 0, 0, number as u8],
            state: State::Init,
            xid: random.bits() as u8,
            offered: None,
            times: Default::default(),
            wake: Time::ZERO,
            tries: 0,
            exchange: None,
            asked: Time::ZERO,
            outputs: VecDeque::new(),
            is_open: false,
            stops_at: None,
            random,
        }
    }

    /// What it believes to have.
    pub fn has(&self, now: Time) -> Vec<String> {
        let is_bound = self.state == State::Bound && now < self.times.2;
        self.offered.iter().filter(|_| is_bound).flat_map(Held::names).collect()
    }

    /// Something is due.
    fn step(&mut self, now: Time) {
        if now >= *self.stops_at.get_or_insert(now.after(STOPS)) {
            // It is unplugged: what it has is no more.
            if self.state == State::Bound {
                self.lose();
            }
            self.wake = Time(u64::MAX);
            return;
        }
        let (t1, t2, end) = self.times;
        match self.state {
            State::Init => {
                self.exchange = None;
                self.state = State::Selecting;
                self.tries = 0;
                self.send(Step::Discover, now);
            }
            State::Selecting | State::Requesting if self.tries >= 4 => {
                self.state = State::Init;
                self.wake = now.after(Duration::from_millis(self.random.below(2000)));
            }
            State::Selecting => self.send(Step::Discover, now),
            State::Requesting => self.send(Step::Request, now),
            State::Bound if now >= end => self.lose(),
            State::Bound if now >= t2 => self.send(Step::Rebind, now),
            State::Bound if now >= t1 => self.send(Step::Renew, now),
            // Between: it may go, or find that somebody else has its address.
            State::Bound => match self.random.below(20) {
                gone @ (0 | 1) => {
                    self.send(if gone == 0 { Step::Release } else { Step::Decline }, now);
                    self.lose();
                    // What it begins next must not overtake that.
                    self.wake = now.after(Duration::from_millis(500));
                }
                _ => self.wake = now.after(Duration::from_millis(500)).min(t1),
            },
        }
    }

    fn lose(&mut self) {
        self.state = State::Init;
        self.offered = None;
        self.wake = Time::ZERO;
        self.outputs.push_back(Output::Report(Event::Lost));
    }

    fn send(&mut self, step: Step, now: Time) {
        self.tries += 1;
        let back = Duration::from_millis(200 << self.tries.min(4));
        self.wake = now.after(back + Duration::from_millis(self.random.below(200)));
        // An exchange has a transaction of its own, and what it brings counts from its first
        // message (RFC 2131 section 4.4.1, RFC 8415 sections 15 and 16.1).
        if self.exchange.replace(step) != Some(step) {
            self.asked = now;
            if step != Step::Request {
                self.xid = self.xid.wrapping_add(1);
            }
        }
        let own = self.offered.as_ref();
        let (bytes, (from, to)) = match self.is_v6 {
            false => self.message4(step, own),
            true => (self.message6(step, own), ANYBODY6),
        };
        let port = if self.is_v6 { 547 } else { 67 };
        let mac =
            if step == Step::Renew { MacAddr([2, 0, 0, 0, 0, 1]) } else { MacAddr::BROADCAST };
        let said = Said { line: Line(0), mac, from, to, port, bytes };
        let bytes = emit(MacAddr(self.mac), &said, port - 1).expect("a frame");
        self.outputs.push_back(Output::Departure(Departure::Frame { socket: Socket(0), bytes }));
    }

    fn message4(&self, step: Step, own: Option<&Held>) -> (Vec<u8>, (IpAddr, IpAddr)) {
        let address: [u8; 4] = own.map_or([0; 4], |own| own.address[..4].try_into().expect("four"));
        let server: [u8; 4] = own.map_or([0; 4], |own| own.server[..].try_into().expect("four"));
        let new = |kind| Message4::new(kind, u32::from(self.xid), self.mac).with(55, &[1, 3]);
        let mut message = match step {
            Step::Discover => new(client4::DISCOVER),
            Step::Request => new(client4::REQUEST).with(50, &address).with(54, &server),
            Step::Renew | Step::Rebind => new(client4::REQUEST),
            Step::Release => new(client4::RELEASE).with(54, &server),
            Step::Decline => new(client4::DECLINE).with(50, &address).with(54, &server),
        };
        if matches!(step, Step::Renew | Step::Rebind | Step::Release) {
            message.ciaddr = address;
        }
        let ends = match step {
            Step::Renew | Step::Release => (address.into(), server.into()),
            _ => ANYBODY,
        };
        (message.bytes(), ends)
    }

    fn message6(&self, step: Step, own: Option<&Held>) -> Vec<u8> {
        let kind = match step {
            Step::Discover => client6::SOLICIT,
            Step::Request => client6::REQUEST,
            Step::Renew => client6::RENEW,
            Step::Rebind => client6::REBIND,
            Step::Release => client6::RELEASE,
            Step::Decline => client6::DECLINE,
        };
        let one: Vec<_> = own.iter().map(|own| client6::address(own.address)).collect();
        let net = own.and_then(|own| own.prefix).map(|net| client6::prefix(net, 56));
        let net: Vec<_> = net.into_iter().collect();
        let mut message = Message6::new(kind, self.xid, &[&[0, 3, 0, 1][..], &self.mac].concat());
        message = message.with(3, &association(1, &one)).with(25, &association(2, &net));
        if let Some(own) = own.filter(|_| !matches!(step, Step::Discover | Step::Rebind)) {
            message = message.with(2, &own.server);
        }
        message.bytes()
    }

    fn hear(&mut self, frame: &[u8], now: Time) {
        let port = if self.is_v6 { 546 } else { 68 };
        let Some(heard) = parse(frame, Line(0), port) else { return };
        if self.stops_at.is_some_and(|at| at <= now) {
            return;
        }
        let (kind, held) = match self.is_v6 {
            false => self.read4(&heard.bytes),
            true => self.read6(&heard.bytes),
        };
        match (kind, held, self.state) {
            (Kind::Offer, Some(held), State::Selecting) => {
                self.offered = Some(held);
                self.state = State::Requesting;
                self.tries = 0;
                self.wake = now;
                self.send(Step::Request, now);
            }
            (Kind::Ack, Some(held), State::Requesting | State::Bound) => {
                // What is not the same was not asked for; of version 4 it never is.
                if self.state == State::Bound && self.offered.as_ref() != Some(&held) {
                    return self.lose();
                }
                self.bind(held);
            }
            // Nothing was given, or less than there was.
            (Kind::Nak | Kind::Ack, _, State::Requesting) => self.lose(),
            (Kind::Nak | Kind::Ack, _, State::Bound) if now >= self.times.0 => self.lose(),
            _ => {}
        }
    }

    fn bind(&mut self, held: Held) {
        let valid = held.valid;
        let at = |share: u32| self.asked.after(valid * share / 8);
        self.times = (at(4), at(7), at(8));
        let is_new = self.state != State::Bound;
        self.exchange = None;
        self.state = State::Bound;
        self.tries = 0;
        self.wake = self.asked.after(Duration::from_millis(500)).min(self.times.0);
        if is_new {
            self.outputs.push_back(Output::Report(Event::Has(held.names())));
        }
        self.offered = Some(held);
    }

    fn read4(&self, bytes: &[u8]) -> (Kind, Option<Held>) {
        let message = Message4::read(bytes);
        if (message.xid, message.chaddr) != (u32::from(self.xid), self.mac) {
            return (Kind::Other, None);
        }
        let kind = match message.kind() {
            client4::OFFER => Kind::Offer,
            client4::ACK => Kind::Ack,
            client4::NAK => Kind::Nak,
            _ => Kind::Other,
        };
        let mut address = [0; 16];
        address[..4].copy_from_slice(&message.yiaddr);
        let valid = message.option(51).try_into().map_or(0, u32::from_be_bytes);
        let valid = Duration::from_secs(valid.into());
        let server = message.option(54).to_vec();
        (kind, (valid > Duration::ZERO).then_some(Held { address, prefix: None, valid, server }))
    }

    fn read6(&self, bytes: &[u8]) -> (Kind, Option<Held>) {
        let message = Message6::read(bytes);
        let own = [&[0, 3, 0, 1][..], &self.mac].concat();
        if message.xid[2] != self.xid || message.option(1) != own {
            return (Kind::Other, None);
        }
        let kind = match message.kind {
            client6::ADVERTISE => Kind::Offer,
            // A release and a decline are answered by a status.
            client6::REPLY if message.status(0).is_some() => Kind::Other,
            client6::REPLY => Kind::Ack,
            _ => Kind::Other,
        };
        let address = message.address().filter(|(_, _, valid)| *valid > 0);
        let prefix = message.prefix().filter(|(_, _, valid)| *valid > 0);
        let held = address.zip(prefix).map(|((address, _, valid), (prefix, ..))| {
            let valid = Duration::from_secs(valid.into());
            let server = message.option(2).to_vec();
            Held { address, prefix: Some(prefix), valid, server }
        });
        (kind, held)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Discover,
    Request,
    Renew,
    Rebind,
    Release,
    Decline,
}

enum Kind {
    Offer,
    Ack,
    Nak,
    Other,
}

/// Clients stop at this time of their clocks, each life anew.
const STOPS: Duration = Duration::from_secs(80);
