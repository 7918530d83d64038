//! The daemon as a virtual switch between guests, which are testpmds on shared memory.
//!
//! ```text
//! vm-to-vm    tester ==memif== guest ==port== [daemon] ==port== guest ==memif== tester
//! full-path   tester ==port== [daemon] ==port== guest ==port== [daemon] ==port== tester
//! ```
//! `port` is the kind that the scenario chooses, vhost-user or memif. In the full path the switch
//! is passed twice; since a function here has the two ports that its traffic needs, each way past
//! it is a daemon of its own with the same configuration, as two workers of one switch would be.
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use engine::{Link, Opened};
use keys::Invalid;
use model_kit::service::Service;
use netns::Namespace;
use serde_json::json;

use super::child::{Daemon, FILE, PATIENCE, POLL, Ready, SOCKET, folder, of_folder};
use super::device::{Device, Making};
use super::file;
use super::file::Wanted;
use super::links::{Links, open_port};
use super::options::{Options, Ports, Topology};
use crate::driver::{DriverError, Start, device_key};
use crate::testpmd::guest::{Guest, GuestPort};

/// Checks whether a service can be measured in a topology.
///
/// # Errors
/// Why it cannot, and the remedy.
pub(super) fn possible(topology: Topology, service: &Service) -> Result<(), Invalid> {
    let refused = |what: &str, remedy| Err(device_key("topology", what.to_owned(), remedy));
    match (topology, service) {
        (Topology::Direct, _) => Ok(()),
        (_, _) if service.ports() != 2 => {
            refused("guest topologies need two ports", "configure the function with two ports")
        }
        (Topology::VmToVm, _) => Ok(()),
        (Topology::FullPath, Service::Bridge(_)) => Ok(()),
        (Topology::FullPath, _) => refused(
            "on the full path a frame passes the function twice, and a router changes it twice",
            "use the function `l2-switch`, or `topology: vm-to-vm`",
        ),
    }
}

/// Starts switch and guests, and waits until frames can pass.
pub(super) fn start(topology: Topology, request: &Start<'_>) -> Result<Device, DriverError> {
    if request.standby.is_some() {
        let what = "a standby does not work with guests";
        return Err(DriverError::new(what, "remove the standby or `topology`"));
    }
    if !netns::is_installed("dpdk-testpmd") {
        let remedy = "install it: sudo apt-get install dpdk-dev";
        return Err(DriverError::new(
            "the guests need dpdk-testpmd, which is not installed",
            remedy,
        ));
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

/// Started components; fields drop in their order, as in the device: the tester's ports first.
struct Made {
    ports: Vec<Opened>,
    guests: Vec<Guest>,
    daemons: Vec<Daemon>,
    links: Vec<Links>,
}

impl Making<'_> {
    /// Starts a guest on each side of one daemon.
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

    /// Starts a guest in the middle, and a daemon for each pass through the switch.
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

    /// Creates the links of a daemon in a separate folder and writes its configuration file;
    /// returns the links and the path of the control socket.
    fn daemon_links(&self, name: &str) -> Result<(Links, std::path::PathBuf), DriverError> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).map_err(|error| of_folder(&error))?;
        let sockets = (0..2).map(|at| folder.join(format!("port{at}"))).collect();
        let links = Links::of_sockets(self.options, sockets);
        let socket = folder.join(SOCKET);
        let rest = self.options.rest();
        let section = self.request.configuration;
        let state = file::state(self.request, &folder, section)?;
        let wanted = Wanted { section, socket: &socket, state: state.as_deref(), rest };
        let text = file::text(self.request, &links, &wanted);
        std::fs::write(folder.join(FILE), text).map_err(|error| of_folder(&error))?;
        Ok((links, socket))
    }

    /// Starts a daemon and waits for its sockets, because a guest ends if nobody listens.
    fn spawn(&self, name: &str) -> Result<Ready<'_>, DriverError> {
        let folder = self.folder.join(name);
        let mut ready = Ready::spawn(self.program, self.namespace, &folder, &self.request.stop)?;
        let listens = self.options.ports == Ports::VhostUser;
        while listens && !(0..2).all(|at| folder.join(format!("port{at}")).exists()) {
            ready.go_on("its ports do not listen yet")?;
        }
        Ok(ready)
    }

    /// Returns a guest's end of the link to the daemon's port.
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
                return Err(DriverError::new(
                    "stopped while guests were being set up",
                    "start again",
                ));
            }
            if begun.elapsed() > PATIENCE {
                let what = format!("the path through the guests is not up: {why}");
                return Err(DriverError::new(what, "first try the device without `topology`"));
            }
            std::thread::park_timeout(POLL);
        }
    }
}

/// Returns the size of a memif buffer that holds the longest frame, in bytes.
fn buffer_bytes(frame_bytes_max: usize) -> usize {
    frame_bytes_max.next_multiple_of(1024).clamp(2048, 16_384)
}

/// Number of the next guest link of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);
