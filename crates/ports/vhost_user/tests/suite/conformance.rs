//! Both sides of vhost-user do what every port must, with the other side as the peer.

use std::path::PathBuf;

use engine::{Opened, PortError, PortKind, PortRequest};
use port_conformance::{Bench, LostBetween, PortPeer, Promises, request, run};
use port_vhost_user::{Config, Role, VhostUser};
use tempfile::TempDir;

use crate::hostile::Hostile;

/// The port in one role, and its peer in the other.
struct Pair {
    role: Role,
    folder: TempDir,
    /// Size of a frontend's receive buffers in bytes.
    buffer_bytes: Option<u32>,
    /// True if the backend creates the socket.
    backend_listens: bool,
    peer: Option<PortPeer>,
    hostile: Option<Hostile>,
    lost_before: u64,
}

impl Pair {
    fn new(role: Role, backend_listens: bool, buffer_bytes: Option<u32>) -> Pair {
        let folder = tempfile::tempdir().expect("a folder");
        let mut pair = Pair {
            role,
            folder,
            buffer_bytes,
            backend_listens,
            peer: None,
            hostile: None,
            lost_before: 0,
        };
        pair.revive_peer();
        pair
    }

    fn config(&self, role: Role) -> Config {
        let path: PathBuf = self.folder.path().join("vm.sock");
        let config = Config { role, ..Config::backend(path) };
        let server = Some(self.backend_listens == (role == Role::Backend));
        Config { server, buffer_bytes: self.buffer_bytes, ..config }
    }
}

impl Bench for Pair {
    fn promises(&self) -> Promises {
        let buffers = match (self.role, self.buffer_bytes) {
            (_, None) => 1,
            (_, Some(bytes)) => (FRAME_BYTES_MAX + 12).div_ceil(bytes as usize),
        };
        Promises {
            frame_bytes_max: FRAME_BYTES_MAX,
            frame_bytes_min: 14,
            queues_max: QUEUES_MAX,
            in_flight_min: RING / buffers,
            in_flight_max: Some(RING),
            peer_dies: true,
            opens_without_peer: true,
            peer_survives_reopening: true,
            takes_long: true,
            // A driver that connects; a device's garbage is tried on the rings alone.
            peer_misbehaves: self.role == Role::Backend && self.backend_listens,
            ..Promises::default()
        }
    }

    fn open(&mut self, request: &PortRequest) -> Result<Opened, PortError> {
        VhostUser::open(&self.config(self.role), request)
    }

    fn peer_send(&mut self, frames: &[Vec<u8>]) -> usize {
        self.peer.as_mut().map_or(0, |peer| peer.send(frames))
    }

    fn peer_receive(&mut self, sink: &mut dyn FnMut(&[u8])) {
        if let Some(peer) = &mut self.peer {
            peer.receive(sink);
        }
    }

    fn lost_between(&mut self) -> LostBetween {
        let now = self.peer.as_ref().map_or(0, PortPeer::lost_in);
        LostBetween { to_port: 0, from_port: self.lost_before + now }
    }

    fn kill_peer(&mut self) {
        self.lost_before = self.lost_between().from_port;
        self.peer = None;
        self.hostile = None;
    }

    fn peer_misbehaves(&mut self, bytes: &[u8]) {
        if self.hostile.is_none() {
            self.kill_peer();
        }
        let path = self.folder.path().join("vm.sock");
        self.hostile.get_or_insert_with(|| Hostile::new(path)).misbehave(bytes);
    }

    fn revive_peer(&mut self) {
        self.kill_peer();
        let other = if self.role == Role::Backend { Role::Frontend } else { Role::Backend };
        let request = request(QUEUES_MAX, FRAME_BYTES_MAX);
        let opened = VhostUser::open(&self.config(other), &request).expect("the peer opens");
        self.peer = Some(PortPeer::new(opened, FRAME_BYTES_MAX));
    }
}

const FRAME_BYTES_MAX: usize = 9000;
const QUEUES_MAX: usize = 4;
const RING: usize = 256;

#[test]
fn the_backend_conforms() {
    run("vhost-user backend", || Some(Pair::new(Role::Backend, true, None)));
}

#[test]
fn the_backend_conforms_with_frames_spread_over_buffers() {
    run("vhost-user backend, small buffers", || Some(Pair::new(Role::Backend, true, Some(1024))));
}

#[test]
fn the_frontend_conforms() {
    run("vhost-user frontend", || Some(Pair::new(Role::Frontend, true, Some(2048))));
}

#[test]
fn the_frontend_conforms_when_it_listens() {
    run("vhost-user frontend, listening", || Some(Pair::new(Role::Frontend, false, None)));
}
