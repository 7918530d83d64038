//! The daemon as a virtual switch between guests, which are testpmds on shared memory.
//!
//! ```text
//! vm-to-vm    tester ==memif== guest ==port== [daemon] ==port== guest ==memif== tester
//! full-path   tester ==port== [daemon] ==port== guest ==port== [daemon] ==port== tester
//! ```
//! `port` is the kind that the scenario chooses, vhost-user or memif. In the full path the switch is
//! passed twice; since a function here has the two ports that its traffic needs, each way past it is a
//! daemon of its own with the same configuration, as two workers of one switch would be.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use engine::{Link, Opened};
use functions::service::Service;
use netns::Namespace;
use serde_json::json;

use daemon::config::Rest;

use super::file::Wanted;
use super::links::{Links, open_port};
use super::options::{Options, Ports, Topology};
use super::{Daemon, Device, FILE, Making, PATIENCE, POLL, Ready, SOCKET, file, folder, of_folder};
use crate::driver::{DriverError, Start};
use crate::testpmd::guest::{Guest, GuestPort};

/// Whether a service can be measured in a topology.
///
/// # Errors
/// Why not, and what to do.
pub(super) fn possible(topology: Topology, service: &Service) -> Result<(), DriverError> {
    let refused = |what: &str, remedy: &str| Err(DriverError::new(what, remedy));
    match (topology, service) {
        (Topology::Direct, _) => Ok(()),
        (_, _) if service.ports() != 2 => {
            refused("guests stand between two ports", "give the function two ports")
        }
        (Topology::VmToVm, _) => Ok(()),
        (Topology::FullPath, Service::Bridge(_)) => Ok(()),
        (Topology::FullPath, _) => refused(
            "on the full path a frame passes the function twice, which a router changes twice",
            "use the function `l2-switch`, or `topology: vm-to-vm`",
        ),
    }
}

/// Starts switch and guests, and waits until frames can pass.
pub(super) fn start(topology: Topology, request: &Start<'_>) -> Result<Device, DriverError> {
    if request.standby.is_some() {
        let what = "a standby has no guests beside the active daemon";
        return Err(DriverError::new(what, "leave the standby or `topology` out"));
    }
    if !netns::is_installed("dpdk-testpmd") {
        let remedy = "install it: sudo apt-get install dpdk-dev";
        return Err(DriverError::new("the guests are dpdk-testpmd, which is not there", remedy));
    }
    let options = Options::read(request.options)?;
    let program = options.program()?;
    let namespace = Namespace::new()?;
    let folder = folder()?;
    let making = Making {
        options: &options,
        program: &program,
        namespace: &namespace,
        folder: folder.path(),
        request,
    };
    let made = match topology {
        Topology::VmToVm => making.vm_to_vm()?,
        Topology::FullPath | Topology::Direct => making.full_path()?,
    };
    let Made { ports, guests, daemons, links } = made;
    let monitors = ports.iter().map(|port| port.monitor.clone()).collect();
    Ok(Device {
        ports,
        monitors,
        guests,
        daemons,
        standby: None,
        options,
        program,
        stop: request.stop.clone(),
        links,
        namespace,
        folder,
    })
}

/// The parts; as in the device, the tester's ports go first.
struct Made {
    ports: Vec<Opened>,
    guests: Vec<Guest>,
    daemons: Vec<Daemon>,
    links: Vec<Links>,
}

impl Making<'_> {
    /// A guest on each side of one daemon.
    fn vm_to_vm(&self) -> Result<Made, DriverError> {
        let (near, socket) = self.daemon_links("switch")?;
        let ready = self.spawn("switch")?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let names = [0, 1].map(|end| format!("plumbline-g{}-{number}-{end}", std::process::id()));
        let (mut ports, mut guests) = (Vec::new(), Vec::new());
        for (at, name) in names.iter().enumerate() {
            let keys = json!({
                "socket": format!("@{name}"),
                "role": "master",
                "buffer-bytes": buffer_bytes(self.request.frame_bytes_max),
            });
            // Abstract names belong to a network namespace.
            let open = || open_port(Ports::Memif, keys, at, self.request);
            ports.push(self.namespace.run(open)??);
            let ends = [GuestPort::MemifClient(name.clone()), self.towards_switch("switch", at)];
            guests.push(self.guest(at, &ends)?);
        }
        let daemons = vec![Daemon::of(ready, &socket)?];
        self.finish(Made { ports, guests, daemons, links: vec![near] })
    }

    /// A guest in the middle, and a daemon for each way past the switch.
    fn full_path(&self) -> Result<Made, DriverError> {
        let (first, first_socket) = self.daemon_links("first")?;
        let (second, second_socket) = self.daemon_links("second")?;
        let waiting = [self.spawn("first")?, self.spawn("second")?];
        // Port 0 is the first one's outer port, port 1 the second one's.
        let ports = vec![first.open_socket(0, self.request)?, second.open_socket(1, self.request)?];
        let ends = [self.towards_switch("first", 1), self.towards_switch("second", 0)];
        let guests = vec![self.guest(0, &ends)?];
        let [one, other] = waiting;
        let daemons = vec![Daemon::of(one, &first_socket)?, Daemon::of(other, &second_socket)?];
        self.finish(Made { ports, guests, daemons, links: vec![first, second] })
    }

    /// The links of a daemon in a folder of its own, and its control socket; its file is written.
    fn daemon_links(&self, name: &str) -> Result<(Links, std::path::PathBuf), DriverError> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).map_err(|error| of_folder(&error))?;
        let sockets = (0..2).map(|at| folder.join(format!("port{at}"))).collect();
        let links = Links::of_sockets(self.options, sockets);
        let names = file::port_names(self.request.function)?;
        let names = names.get(..self.request.service.ports()).unwrap_or(names);
        let socket = folder.join(SOCKET);
        let shares_cores = self.options.guest_cores.is_empty();
        let rest = if shares_cores { Rest::Yield } else { Rest::Poll };
        let wanted = Wanted { section: self.request.configuration, socket: &socket, rest };
        let text = file::text(self.request, names, &links, &wanted);
        std::fs::write(folder.join(FILE), text).map_err(|error| of_folder(&error))?;
        Ok((links, socket))
    }

    /// A daemon whose sockets are there: a guest that finds nobody listening gives up.
    fn spawn(&self, name: &str) -> Result<Ready<'_>, DriverError> {
        let folder = self.folder.join(name);
        let mut ready = Ready::spawn(self.program, self.namespace, &folder, &self.request.stop)?;
        let listens = self.options.ports == Ports::VhostUser;
        while listens && !(0..2).all(|at| folder.join(format!("port{at}")).exists()) {
            ready.go_on("its ports do not listen yet")?;
        }
        Ok(ready)
    }

    /// A guest's end of the daemon's port.
    fn towards_switch(&self, name: &str, port: usize) -> GuestPort {
        let path = self.folder.join(name).join(format!("port{port}")).display().to_string();
        match self.options.ports {
            Ports::VhostUser => GuestPort::Virtio(path),
            _ => GuestPort::MemifServer(path),
        }
    }

    fn guest(&self, number: usize, ends: &[GuestPort; 2]) -> Result<Guest, DriverError> {
        let given = &self.options.guest_cores;
        let cores = if given.is_empty() { self.request.cores } else { given.as_slice() };
        let core = cores.get(number % cores.len().max(1)).copied();
        let folder = self.folder.join(format!("guest{number}"));
        let frame_bytes_max = self.request.frame_bytes_max;
        Guest::start(self.namespace, &folder, ends, core.as_slice(), frame_bytes_max)
    }

    /// Waits until the guests forward and the tester's links are up.
    fn finish(&self, mut made: Made) -> Result<Made, DriverError> {
        for guest in &mut made.guests {
            guest.wait(&self.request.stop)?;
        }
        let begun = Instant::now();
        loop {
            let down = made.ports.iter().find_map(|port| match port.monitor.link() {
                Link::Up => None,
                Link::Down(why) => Some(why),
            });
            let Some(why) = down else { return Ok(made) };
            made.guests.iter_mut().try_for_each(Guest::health)?;
            if self.request.stop.load(Ordering::Relaxed) {
                return Err(DriverError::new("stopped while guests were set up", "start again"));
            }
            if begun.elapsed() > PATIENCE {
                let what = format!("the way through the guests is not up: {why}");
                return Err(DriverError::new(what, "try the device without a topology first"));
            }
            std::thread::park_timeout(POLL);
        }
    }
}

/// Bytes of a buffer of memif that holds the longest frame, as the guest has it.
fn buffer_bytes(frame_bytes_max: usize) -> usize {
    frame_bytes_max.next_multiple_of(1024).clamp(2048, 16_384)
}

/// Numbers the guests' links of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);
