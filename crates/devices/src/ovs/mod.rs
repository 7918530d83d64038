//! Open vSwitch as a device: a switch of its own, in a network namespace, programmed by OpenFlow.
//!
//! A service becomes flows: stations, routes by priority, users and their tunnels. The switch's two
//! programs are started by hand with a private run directory and are bound to this process, so that
//! nothing of the host's switch is touched and nothing is left, also after a crash. Ready is what
//! the switch says of itself. Deliberately absent: a controller, and configuration kept between
//! runs.

mod access;
mod bridge;
mod bridges;
mod daemons;
mod gateway;
mod openflow;
mod options;
mod plan;
mod ready;
mod router;
mod usage;

#[cfg(test)]
mod tests;
use std::collections::BTreeMap;
use std::path::Path;

use bridges::Plan;
use daemons::{Daemons, Place};
use engine::{Opened, PortRequest};
use keys::Invalid;
use model_kit::service::{Bridge, Service};
use netns::Namespace;
use packet::PortId;
use schemars::Schema;
use serde_json::{Map, Value, json};

use crate::driver::{
    self, DeviceFacts, Driver, DriverError, Limitation, Running, Start, Unavailable, Usage,
    no_broadband, no_chain, no_nat, refuse_beyond,
};
use crate::wires::{TesterPorts, Wires};

pub use options::{Datapath, Interfaces, Options};

/// The driver.
pub struct Ovs;

impl Driver for Ovs {
    fn name(&self) -> &'static str {
        "ovs"
    }

    fn summary(&self) -> &'static str {
        "Open vSwitch, programmed by OpenFlow, in a network namespace over virtual Ethernet"
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(Options)
    }

    fn available(&self) -> Result<(), Unavailable> {
        available_for(Datapath::default())
    }

    fn limitations(
        &self,
        service: &Service,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, Invalid> {
        limitations(service, &Options::read(options)?)
    }

    fn start(&self, request: &Start<'_>) -> Result<Box<dyn Running>, DriverError> {
        Ok(Box::new(Switch::start(request.service, request)?))
    }

    /// Starts a wire of two flows that forward the frames of each link to the other.
    fn wire(&self, request: &Start<'_>) -> Result<Option<Box<dyn Running>>, DriverError> {
        let patch = Some([None, None]);
        let wire = Bridge { ports: 2, patch, ..Bridge::default() };
        Ok(Some(Box::new(Switch::start(&Service::Bridge(wire), request)?)))
    }
}

/// A running switch. Fields drop in their order: ports and programs before the namespaces and
/// folders that they use.
struct Switch {
    ports: Vec<Opened>,
    daemons: Daemons,
    _links: Links,
    device: Namespace,
    facts: DeviceFacts,
    bridges: Vec<&'static str>,
    before: BTreeMap<String, u64>,
}

impl Switch {
    fn start(service: &Service, request: &Start<'_>) -> Result<Switch, DriverError> {
        let options = Options::read(request.options)?;
        limitations(service, &options)?;
        available_for(options.datapath)
            .map_err(|missing| DriverError::new(missing.why, missing.remedy))?;
        let frame_bytes_max = frame_bytes_max(service, request.frame_bytes_max, &options)?;
        let device = Namespace::new()?;
        // The bridges' own interfaces must say nothing.
        device.sysctl("net/ipv6/conf/default/disable_ipv6", "1")?;
        let links = Links::join(&device, &options, service.ports(), frame_bytes_max)?;
        let cores = &request.cores[..request.cores.len().min(request.workers.max(1))];
        let place = Place { datapath: options.datapath, cores };
        let mut daemons = Daemons::start(&device, &place, &request.stop)?;
        let plan = plan::plan(service, &links.names(), &options);
        let kind = options.datapath.datapath_type();
        ready::carry_out(&mut daemons, &device, &plan, kind, request)?;
        let ports = links.open(&daemons, &options, frame_bytes_max, request)?;
        ready::wait(&mut daemons, &device, &plan, &ports, request)?;
        let version = version(&device, &daemons, &options)?;
        let bridges: Vec<&'static str> = plan.bridges.iter().map(|bridge| bridge.name).collect();
        let before = usage::drops(&daemons, &device, &bridges);
        let details = details(&plan, &options, &daemons, &device, cores);
        let facts = DeviceFacts { version, details };
        Ok(Switch { ports, daemons, _links: links, device, facts, bridges, before })
    }
}

impl Running for Switch {
    fn ports(&mut self) -> Vec<Opened> {
        std::mem::take(&mut self.ports)
    }

    fn facts(&self) -> DeviceFacts {
        self.facts.clone()
    }

    fn usage(&mut self) -> Usage {
        let process = self.daemons.process();
        let (cpu_ns, cpu_of) = usage::cpu(process);
        let drops = usage::drops(&self.daemons, &self.device, &self.bridges);
        Usage {
            cpu_ns,
            cpu_of,
            resident_bytes: usage::resident_bytes(process),
            drops: driver::counted_since(&self.before, drops),
            ..Usage::default()
        }
    }

    fn health(&mut self) -> Result<(), DriverError> {
        self.daemons.health()
    }
}

/// Connections between the device and the tester.
enum Links {
    /// Virtual Ethernet.
    Veth(Wires),
    /// Sockets in the switch's folder, by name.
    Shared(Vec<String>),
}

impl Links {
    fn join(
        device: &Namespace,
        options: &Options,
        count: usize,
        frame_bytes_max: usize,
    ) -> Result<Links, DriverError> {
        if options.interfaces() == Interfaces::VhostUser {
            return Ok(Links::Shared((0..count).map(|port| format!("vhost{port}")).collect()));
        }
        Ok(Links::Veth(Wires::join(device, count, frame_bytes_max)?))
    }

    /// Returns the names of the switch's ends.
    fn names(&self) -> Vec<String> {
        match self {
            Links::Veth(wires) => wires.near().into_iter().map(str::to_owned).collect(),
            Links::Shared(names) => names.clone(),
        }
    }

    fn open(
        &self,
        daemons: &Daemons,
        options: &Options,
        frame_bytes_max: usize,
        request: &Start<'_>,
    ) -> Result<Vec<Opened>, DriverError> {
        let ticks_per_second = request.clock.ticks_per_second();
        let names = match self {
            Links::Veth(wires) => return wires.open(&options.ports, ticks_per_second),
            Links::Shared(names) => names,
        };
        let kind = ports::find("vhost-user").ok_or_else(|| {
            DriverError::new("there is no port vhost-user", "choose another type by `interfaces`")
        })?;
        let open = |(name, id): (&String, u8)| {
            let keys = json!({"path": daemons.file(name), "role": "frontend"});
            let port = kind.read(keys).map_err(|error| {
                DriverError::new(error.to_string(), "choose another type by `interfaces`")
            })?;
            let request = PortRequest {
                name: format!("tester's {name}"),
                id: PortId(id),
                queues: 1,
                frame_bytes_max,
                ticks_per_second,
            };
            Ok(port.open(&request)?)
        };
        names.iter().zip(0..).map(open).collect()
    }
}

/// Checks that a switch with this datapath can run on this machine.
fn available_for(datapath: Datapath) -> Result<(), Unavailable> {
    let package = match datapath {
        Datapath::Dpdk => "openvswitch-switch-dpdk",
        Datapath::Netdev | Datapath::System => "openvswitch-switch",
    };
    let program = daemons::program(datapath);
    let is_there = |program: &str| Path::new(program).is_file() || netns::is_installed(program);
    let programs = [program.as_str(), "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ip"];
    let absent = programs.iter().find(|program| !is_there(program));
    if let Some(absent) = absent.or((!is_there(daemons::SCHEMA)).then_some(&daemons::SCHEMA)) {
        return Err(Unavailable {
            why: format!("Open vSwitch is not installed: no {absent}"),
            remedy: format!("sudo apt-get install {package} iproute2"),
        });
    }
    if datapath == Datapath::System && !Path::new("/sys/module/openvswitch").exists() {
        return Err(Unavailable {
            why: "the kernel's module openvswitch is not loaded".to_owned(),
            remedy: "sudo modprobe openvswitch".to_owned(),
        });
    }
    if !netns::may_make_namespaces() {
        return Err(Unavailable {
            why: "no right to make network namespaces (CAP_SYS_ADMIN)".to_owned(),
            remedy: "run plumbline with sudo".to_owned(),
        });
    }
    TesterPorts::default()
        .available()
        .map_err(|error| Unavailable { why: error.what, remedy: error.remedy })
}

fn limitations(service: &Service, options: &Options) -> Result<Vec<Limitation>, Invalid> {
    refuse_beyond("ovs", service)?;
    let mut found = match service {
        Service::Bridge(bridge) => bridge::limitations(bridge),
        Service::Router(router) => router::limitations(router)?,
        Service::MobileGateway(gateway) => gateway::limitations(gateway, options)?,
        Service::Nat(_) => return Err(no_nat()),
        Service::BroadbandGateway(_) => return Err(no_broadband()),
        Service::Chain(_) => return Err(no_chain()),
    };
    found.push(Limitation {
        what: "a link cannot carry frames shorter than an Ethernet header".to_owned(),
        verdicts: vec!["truncated"],
        ..Limitation::default()
    });
    Ok(found)
}

/// Returns the longest frame on the links, including the tunnel headers of a gateway.
fn frame_bytes_max(
    service: &Service,
    sent: usize,
    options: &Options,
) -> Result<usize, DriverError> {
    let len = match service {
        Service::MobileGateway(_) => sent + TUNNEL_BYTES,
        Service::Bridge(_)
        | Service::Router(_)
        | Service::Nat(_)
        | Service::BroadbandGateway(_)
        | Service::Chain(_) => sent,
    };
    if options.interfaces() == Interfaces::AfXdp && len > AF_XDP_FRAME_MAX {
        let what = format!("the switch's AF_XDP carries no frames of {len} bytes");
        return Err(DriverError::new(what, "set `interfaces: af-packet`, or use shorter frames"));
    }
    Ok(len)
}

/// Returns the version: `ovs-vswitchd (Open vSwitch) 3.1.0`, and the version of DPDK if it is used.
fn version(
    device: &Namespace,
    daemons: &Daemons,
    options: &Options,
) -> Result<String, DriverError> {
    let said = daemons.appctl(device, &["version"])?;
    let number = said.lines().next().and_then(|line| line.rsplit(' ').next()).unwrap_or("unknown");
    if options.datapath != Datapath::Dpdk {
        return Ok(format!("Open vSwitch {number}"));
    }
    let said = device.command(&daemons::program(options.datapath), &["--version"], None)?;
    let dpdk = said.lines().find(|line| line.starts_with("DPDK")).unwrap_or("DPDK");
    Ok(format!("Open vSwitch {number}, {dpdk}"))
}

/// Returns further facts for the record.
fn details(
    plan: &Plan,
    options: &Options,
    daemons: &Daemons,
    device: &Namespace,
    cores: &[usize],
) -> Vec<(String, Value)> {
    let sum = |of: fn(&bridges::Bridge) -> usize| plan.bridges.iter().map(of).sum::<usize>();
    let shown = daemons.appctl(device, &["dpif/show"]).unwrap_or_default();
    let ports: Vec<&str> = shown
        .lines()
        .map(str::trim)
        .filter(|line| ["(afxdp", "(system", "(dpdk"].iter().any(|kind| line.contains(kind)))
        .collect();
    let (_, threads) = usage::cpu(daemons.process());
    let is_shared = options.interfaces() == Interfaces::VhostUser;
    let tester = if is_shared { "vhost-user" } else { options.ports.name() };
    [
        ("datapath", json!(options.datapath.name())),
        ("interfaces", json!(options.interfaces().name())),
        ("ports", json!(ports)),
        ("tester-ports", json!(tester)),
        ("polling-cores", json!(cores)),
        ("threads", json!(threads)),
        ("flows", json!(sum(|bridge| bridge.flow_count))),
        ("meters", json!(sum(|bridge| bridge.meters.len()))),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// Bytes of tunnel headers that a gateway adds: Ethernet, IPv4, UDP and VXLAN.
const TUNNEL_BYTES: usize = 50;

/// Longest frame with AF_XDP: the switch's chunks have 4,096 bytes, of which switch and kernel use
/// some, and virtual Ethernet runs XDP in its driver up to about this length.
const AF_XDP_FRAME_MAX: usize = 3000;
