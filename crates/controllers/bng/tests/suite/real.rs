//! The controller with the real gateway: what it punts is understood, what it is told it takes, and
//! what it has counted is accounted.

use std::net::Ipv4Addr;

use controller_bng::Bng;
use controller_kit::{Action, Controller, Event, Happening, Punt, Setup};
use engine::{Function, StageTotals};
use function_bng::config::Config as GatewayConfig;
use function_bng::{BroadbandGateway, Pipeline, Update, reasons};
use function_kit::NetworkFunction;
use function_kit::erased::configured;
use machine::clock::Clock;
use packet::{Batch, PortId, Room, Verdict};
use protocol_kit::{Arrival, Bytes, Departure, Input, Interface, Machine, Output, Time};
use protocol_ppp::Method;
use protocol_radius::List;
use serde_json::json;

use crate::host::{Host, ipv4_frame};
use crate::server::{START, STOP, Server};
use crate::world::keys;

struct Real {
    bng: Bng,
    gateway: Pipeline,
    batch: Batch,
    server: Server,
    host: Host,
    now: Time,
    number: u64,
    /// Frames that have left for the Internet.
    left: usize,
}

impl Real {
    fn new(host: Host) -> Real {
        let mut config: GatewayConfig = serde_json::from_value(json!({
            "access-mac": "02:b0:00:00:00:01",
            "access-addresses": ["10.1.0.1"],
            "session-capacity": 64,
            "profiles": [{"name": "default"}],
            "next-hops": [{"address": "192.0.2.254", "mac": "02:00:00:00:00:fe"}],
            "routes": [{"prefix": "0.0.0.0/0", "next-hop": "192.0.2.254"}],
        }))
        .expect("keys");
        BroadbandGateway::validate(&mut config).expect("a gateway");
        let room = Room::default();
        let mut gateway =
            Pipeline::new(&config, function_kit::Shard::WHOLE, Clock::with_rate(1e9), 0)
                .expect("a gateway");
        gateway.make_room(room).expect("memory");
        let keys = keys(json!({
            "ipoe": {"authentication": "radius"},
            "pppoe": {"authentication": "radius"},
        }));
        let function = configured::<BroadbandGateway>(config);
        let setup = Setup { function: Some(&*function), state: Vec::new(), seed: 1 };
        let batch = Batch::new(256, room).expect("memory");
        let bng = Bng::new(&keys, setup).expect("a controller");
        let mut server = Server { is_open: true, ..Server::default() };
        server.add("somebody", "right", List::new());
        Real { bng, gateway, batch, server, host, now: Time::ZERO, number: 0, left: 0 }
    }

    /// Lets a second pass in steps of 10 ms.
    fn run(&mut self, seconds: u64) {
        for _ in 0..seconds * 100 {
            self.now = Time(self.now.0 + 10_000_000);
            for frame in self.host.poll(self.now) {
                self.hear(PortId(0), &frame);
            }
            self.gateway.tick(self.now.0);
            while let Some(event) = self.gateway.event() {
                let happening = Happening {
                    worker: 0,
                    kind: event.kind,
                    subject: event.subject,
                    detail: event.detail,
                    at: self.now,
                };
                self.bng.input(self.now, Input::Command(Event::Happened(happening)));
            }
            while let Some(output) = self.bng.poll(self.now) {
                self.take(output);
            }
        }
    }

    fn take(&mut self, output: Output<Action>) {
        let now = self.now;
        match output {
            Output::Report(Action::Updates(updates) | Action::Passing(updates)) => {
                for update in &updates {
                    let update: Update = update.typed().cloned().expect("its own");
                    self.gateway.apply(update, now.0).expect("it takes it");
                    let (first, count) = (self.number, 1);
                    self.number += 1;
                    let applied = Event::Applied { first, count, at: now };
                    self.bng.input(now, Input::Command(applied));
                }
            }
            Output::Report(Action::Inject(injection)) => {
                let number = injection.interface.to_le_bytes();
                self.hear(PortId::HOST, &[&number[..], &injection.frame].concat());
            }
            Output::Departure(Departure::Datagram { socket, to: from, bytes, .. }) => {
                if let Some(answer) = self.server.hear(&bytes) {
                    let to = "192.0.2.9".parse().expect("an address");
                    let (interface, bytes) = (Interface(0), &answer[..]);
                    let arrival = Arrival::Datagram { socket, interface, from, to, ttl: 64, bytes };
                    self.bng.input(now, Input::Arrival(arrival));
                }
            }
            _ => {}
        }
    }

    /// A frame comes in at a port.
    fn hear(&mut self, port: PortId, frame: &[u8]) {
        self.batch.clear();
        self.batch.append(port, frame.len()).expect("room").copy_from_slice(frame);
        let mut totals = StageTotals::default();
        self.gateway.process(&mut self.batch, self.now.0, &mut totals.start(self.now.0));
        let slots: Vec<_> = self.batch.slots().collect();
        for slot in slots {
            let bytes = self.batch.frame(slot).to_vec();
            match self.batch.verdict(slot) {
                Verdict::Forward(PortId(0)) => self.host.hear(&bytes, self.now),
                Verdict::Forward(_) => self.left += 1,
                Verdict::Punt(reason) => {
                    let punt = Punt {
                        worker: 0,
                        reason: reasons::PUNTS[usize::from(reason.0)],
                        port: 0,
                        context: self.gateway.context(&self.batch, slot),
                        at: self.now,
                        frame: Bytes::from(bytes),
                    };
                    self.bng.input(self.now, Input::Command(Event::Punted(punt)));
                }
                Verdict::Drop(reason) => panic!("dropped: {}", reasons::name(reason)),
            }
        }
    }

    /// Comes up, sends a packet, and ends.
    fn live(mut self, user: &str) {
        self.host.begin(self.now);
        self.run(8);
        let address = self.host.address().expect("it is up");
        assert!(self.server.of_user(user, START).is_some());
        let place = (self.host.line, self.host.mac);
        let to = Ipv4Addr::new(198, 51, 100, 1);
        let mut frame = ipv4_frame(place, (address, to), &[0; 72]);
        if let Some(id) = self.host.pppoe() {
            let at = 12 + 4 * usize::from(self.host.line.inner > 0);
            let packet = frame.split_off(at + 2);
            frame[at + 1] = 0x64;
            frame[at] = 0x88;
            let len = (packet.len() + 2) as u16;
            frame.extend([0x11, 0]);
            frame.extend([id, len].map(u16::to_be_bytes).concat());
            frame.extend([0x00, 0x21]);
            frame.extend(packet);
        }
        frame[..6].copy_from_slice(&[0x02, 0xb0, 0, 0, 0, 1]);
        self.hear(PortId(0), &frame);
        assert_eq!(self.left, 1, "its first packet leaves");
        for frame in self.host.end(true, self.now) {
            self.hear(PortId(0), &frame);
        }
        self.run(3);
        let stop = self.server.of_user(user, STOP).expect("it has ended");
        assert_eq!(stop.octets, [100, 0], "as the gateway has counted");
    }
}

#[test]
fn a_client_of_dhcp_comes_up_at_the_real_gateway() {
    Real::new(Host::dhcp(7, 1)).live("02:00:00:00:01:01");
}

#[test]
fn a_peer_of_ppp_comes_up_at_the_real_gateway() {
    Real::new(Host::dialled(7, 1, &[Method::ChapMd5], "somebody", "right")).live("somebody");
}
