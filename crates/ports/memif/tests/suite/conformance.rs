//! The memif port does what every port must, in both roles, with the other role as its peer.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use engine::{Link, Monitor, Opened, PortError, PortRequest};
use packet::PortId;
use port_conformance::{Bench, LostBetween, PortPeer, Promises, run};
use port_memif::{Config, Role};

use crate::hostile::{self, RINGS, Raw, scribble};
use crate::kit::{abstract_name, config, open, wait_for};

/// A memif port of one role whose peer has the other role.
struct Pair {
    port: Config,
    peer: Option<PortPeer>,
    misbehaving: Option<(Raw, OwnedFd)>,
    /// Monitor of the port under test, while it is open.
    monitor: Option<Arc<dyn Monitor>>,
    /// Received frames that earlier peers lost.
    lost_by_others: u64,
}

impl Pair {
    fn new(role: Role) -> Pair {
        let port = config(role, &abstract_name());
        let mut pair =
            Pair { port, peer: None, misbehaving: None, monitor: None, lost_by_others: 0 };
        pair.revive_peer();
        pair
    }
}

impl Bench for Pair {
    fn promises(&self) -> Promises {
        Promises {
            frame_bytes_max: FRAME_BYTES_MAX,
            frame_bytes_min: 14,
            queues_max: QUEUES,
            in_flight_min: PLACES / FRAME_BYTES_MAX.div_ceil(2048),
            in_flight_max: Some(PLACES),
            lost_after_sending: &["peer-gone"],
            peer_dies: true,
            exact_over_death: true,
            opens_without_peer: true,
            peer_survives_reopening: true,
            peer_misbehaves: self.port.role == Role::Master,
            ..Promises::default()
        }
    }

    fn open(&mut self, request: &PortRequest) -> Result<Opened, PortError> {
        let opened = open(&self.port, request)?;
        self.monitor = Some(opened.monitor.clone());
        if let Some(peer) = &self.peer {
            // A master is up before its slave has heard of it and has given it buffers.
            let ends = [&opened.monitor, peer.monitor()];
            wait_for("both links", || ends.iter().all(|end| end.link() == Link::Up));
        }
        Ok(opened)
    }

    fn peer_send(&mut self, frames: &[Vec<u8>]) -> usize {
        let Some(peer) = &mut self.peer else { return 0 };
        // The master is up before the slave hears of it.
        let is_up = |monitor: &Arc<dyn Monitor>| monitor.link() == Link::Up;
        wait_for("the peer's link", || {
            is_up(peer.monitor()) || !self.monitor.as_ref().is_some_and(is_up)
        });
        peer.send(frames)
    }

    fn peer_receive(&mut self, sink: &mut dyn FnMut(&[u8])) {
        if let Some(peer) = &mut self.peer {
            peer.receive(sink);
        }
    }

    fn lost_between(&mut self) -> LostBetween {
        let lost = self.peer.as_ref().map_or(0, PortPeer::lost_in);
        LostBetween { to_port: 0, from_port: self.lost_by_others + lost }
    }

    fn kill_peer(&mut self) {
        self.lost_by_others = self.lost_between().from_port;
        self.peer = None;
        self.misbehaving = None;
    }

    fn revive_peer(&mut self) {
        let role = match self.port.role {
            Role::Master => Role::Slave,
            Role::Slave => Role::Master,
        };
        let request = PortRequest {
            name: "peer".to_owned(),
            id: PortId(0),
            queues: QUEUES,
            frame_bytes_max: FRAME_BYTES_MAX,
            ticks_per_second: 1e9,
        };
        let opened = open(&Config { role, ..self.port.clone() }, &request);
        self.peer = Some(PortPeer::new(opened.expect("the name is free"), FRAME_BYTES_MAX));
    }

    fn peer_misbehaves(&mut self, bytes: &[u8]) {
        if self.peer.is_some() {
            self.kill_peer();
        }
        if self.misbehaving.is_none() {
            self.misbehaving = hostile::slave(&self.port.socket, 6);
        }
        let Some((raw, memory)) = &self.misbehaving else { return };
        for part in bytes.chunks(10) {
            let (place, what) = part.split_at(part.len().min(2));
            let place = u64::from(place[0]) << 1 | u64::from(part.len() as u8 & 1) << 15;
            scribble(memory, RINGS[0] + place, what);
        }
        if bytes.len().is_multiple_of(5) {
            raw.say_bytes(bytes, None);
            self.misbehaving = None;
        }
    }
}

const FRAME_BYTES_MAX: usize = 9000;
const QUEUES: usize = 2;
const PLACES: usize = 64;

#[test]
fn a_master_conforms() {
    run("memif master", || Some(Pair::new(Role::Master)));
}

#[test]
fn a_slave_conforms() {
    run("memif slave", || Some(Pair::new(Role::Slave)));
}
