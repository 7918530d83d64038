//! The Linux kernel as a device: its router, bridge, tunnels or translation of addresses, in a
//! network namespace.
//!
//! The kernel of this machine forwards between the device's ends of virtual Ethernet pairs; the
//! tester has the other ends. Everything is told to it by `ip`, `bridge` and `nft`, and found again
//! by looking before the device counts as ready. Namespaces, interfaces and routes are bound to
//! this process and vanish with it, also after a crash; the host's own network is never touched.
//! Deliberately absent: tuning of the host (interrupts, governors, `net.core`).

mod access;
mod bridge;
mod commands;
mod forwarding;
mod gateway;
mod limits;
mod nat;
mod options;
mod plan;
mod ready;
mod reverse_path;
mod sysctls;
mod usage;

#[cfg(test)]
mod tests;
use std::collections::BTreeMap;

use commands::{Expected, Plan};
use engine::Opened;
use forwarding::Place;
use keys::Invalid;
use model_kit::service::{Bridge, Service};
use netns::Namespace;
use schemars::Schema;
use serde_json::{Map, Value, json};

use crate::driver::{
    self, DeviceFacts, Driver, DriverError, Limitation, Running, Start, Unavailable, Usage,
};
use crate::wires::{TesterPorts, Wires};

pub use options::{Forwarding, Options};

/// The driver.
pub struct Linux;

impl Driver for Linux {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn summary(&self) -> &'static str {
        "the Linux kernel of this machine, in a network namespace over virtual Ethernet"
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(Options)
    }

    fn version(&self, _options: &Map<String, Value>) -> String {
        version()
    }

    fn available(&self) -> Result<(), Unavailable> {
        let packages: Vec<&str> = (PROGRAMS.iter())
            .filter(|(program, _)| !netns::is_installed(program))
            .map(|&(_, package)| package)
            .collect();
        if !packages.is_empty() {
            let packages = packages.join(" ");
            return Err(Unavailable {
                why: format!("programs that set the kernel up are not installed: {packages}"),
                remedy: format!("sudo apt-get install {packages}"),
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

    fn available_for(&self, service: &Service) -> Result<(), Unavailable> {
        self.available()?;
        nat::of(service).map_or(Ok(()), |_| nat::available())
    }

    fn lacks(&self) -> Vec<(&'static str, Unavailable)> {
        nat::available().err().into_iter().map(|error| ("cgnat", error)).collect()
    }

    fn limitations(
        &self,
        service: &Service,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, Invalid> {
        limits::limitations(service, &Options::read(options)?)
    }

    fn start(&self, request: &Start<'_>) -> Result<Box<dyn Running>, DriverError> {
        Ok(Box::new(Kernel::start(request.service, request)?))
    }

    /// Starts a wire of two rules that redirect the frames of each link to the other.
    fn wire(&self, request: &Start<'_>) -> Result<Option<Box<dyn Running>>, DriverError> {
        let patch = Some([None, None]);
        let wire = Bridge { ports: 2, patch, ..Bridge::default() };
        Ok(Some(Box::new(Kernel::start(&Service::Bridge(wire), request)?)))
    }
}

/// A kernel that forwards. Fields drop in their order: ports before the interfaces on which they
/// are opened.
struct Kernel {
    ports: Vec<Opened>,
    device: Namespace,
    wires: Wires,
    place: Place,
    options: Options,
    sysctls: Vec<String>,
    expected: Expected,
    has_rules: bool,
    has_nft: bool,
    translates: bool,
    before: BTreeMap<String, u64>,
}

impl Kernel {
    fn start(service: &Service, request: &Start<'_>) -> Result<Kernel, DriverError> {
        let options = Options::read(request.options)?;
        limits::limitations(service, &options)?;
        let device = Namespace::new()?;
        let mut sysctls = set_sysctls(&device, service, options.icmp)?;
        let tunnels = matches!(service, Service::MobileGateway(_));
        let translator = nat::of(service);
        let has_rules = tunnels || translator.is_some();
        let added = if tunnels { gateway::ADDED } else { 0 };
        let wires = Wires::join(&device, service.ports(), request.frame_bytes_max + added)?;
        let plan = plan::plan(service, &wires.near(), &options)?;
        carry_out(&device, &plan, has_rules, request)?;
        for (key, value) in translator.map(nat::sysctls).unwrap_or_default() {
            device.sysctl(&key, &value)?;
            sysctls.push(format!("{}={value}", key.replace('/', ".")));
        }
        let place = Place::settle(&device, &wires, options.forwarding, request.cores)?;
        let ports = wires.open(&options.ports, request.clock.ticks_per_second())?;
        let has_nft = !plan.nft.is_empty();
        let before = usage::drops(&device, &wires, has_nft);
        let expected = plan.expected;
        Ok(Kernel {
            ports,
            device,
            wires,
            place,
            options,
            sysctls,
            expected,
            has_rules,
            has_nft,
            translates: translator.is_some(),
            before,
        })
    }
}

impl Running for Kernel {
    fn ports(&mut self) -> Vec<Opened> {
        std::mem::take(&mut self.ports)
    }

    fn facts(&self) -> DeviceFacts {
        let expected = &self.expected;
        let mut details = vec![
            ("forwarding".to_owned(), json!(self.options.forwarding.name())),
            ("tester-ports".to_owned(), json!(self.options.ports.name())),
            ("ipv4-routes".to_owned(), json!(expected.ipv4_routes)),
            ("ipv6-routes".to_owned(), json!(expected.ipv6_routes)),
            ("stations".to_owned(), json!(expected.stations)),
            ("nftables".to_owned(), json!(self.has_nft)),
            ("sysctls".to_owned(), json!(self.sysctls)),
        ];
        if self.translates {
            let [most, buckets] = nat::room(&self.device);
            details.push(("conntrack-max".to_owned(), json!(most)));
            details.push(("conntrack-buckets".to_owned(), json!(buckets)));
        }
        for (number, name) in self.wires.near().into_iter().enumerate() {
            let features = self.device.command("ethtool", &["-k", name], None);
            let on = features.as_deref().map(features_on).unwrap_or_default();
            details.push((format!("port-{number}-features"), json!(on)));
        }
        DeviceFacts { version: version(), details }
    }

    fn usage(&mut self) -> Usage {
        let (cpu_ns, cpu_of) = self.place.cpu();
        let tables = usage::tables(&self.device, self.has_rules);
        let drops = usage::drops(&self.device, &self.wires, self.has_nft);
        // What the kernel does not tell is not guessed at.
        let is_told =
            self.expected.ipv4_routes > 1 && self.expected.ipv6_routes <= 1 && !self.translates;
        Usage {
            cpu_ns,
            cpu_of,
            resident_bytes: is_told.then_some(tables.ipv4_bytes),
            drops: driver::counted_since(&self.before, drops),
            ..Usage::default()
        }
    }

    fn sessions(&mut self) -> Option<u64> {
        if self.translates { nat::connections(&self.device) } else { None }
    }

    fn health(&mut self) -> Result<(), DriverError> {
        for name in self.wires.near() {
            let state = self.device.attribute(name, "operstate")?;
            if state != "up" {
                let what = format!("the device's interface {name} is {state}");
                return Err(DriverError::new(what, "see the kernel's log: dmesg"));
            }
        }
        Ok(())
    }
}

/// Applies the plan to the kernel, and waits until all of it is in place.
fn carry_out(
    device: &Namespace,
    plan: &Plan,
    has_rules: bool,
    request: &Start<'_>,
) -> Result<(), DriverError> {
    let batch = |program: &str, family: &str, text: &str| -> Result<(), DriverError> {
        if !text.is_empty() {
            ready::go_on(request)?;
            let arguments = [family, "-batch", "-"];
            let arguments = if family.is_empty() { &arguments[1..] } else { &arguments };
            device.command(program, arguments, Some(text))?;
        }
        Ok(())
    };
    batch("ip", "", &plan.links)?;
    ready::wait_for_interfaces(device, plan)?;
    let before = usage::tables(device, false);
    batch("ip", "-4", &plan.ipv4)?;
    batch("ip", "-6", &plan.ipv6)?;
    batch("bridge", "", &plan.stations)?;
    if !plan.nft.is_empty() {
        ready::go_on(request)?;
        device.command("nft", &["-f", "-"], Some(&plan.nft))?;
    }
    ready::wait(device, plan, before, has_rules, request)
}

/// Sets the sysctls that this kernel has; returns those that were set.
fn set_sysctls(
    device: &Namespace,
    service: &Service,
    icmp: bool,
) -> Result<Vec<String>, DriverError> {
    let mut set = Vec::new();
    for (key, value) in sysctls::sysctls(service, icmp) {
        let path = format!("/proc/sys/{key}");
        // Whether it is there depends on the namespace.
        if device.run(|| std::path::Path::new(&path).exists())? {
            device.sysctl(&key, value)?;
            set.push(format!("{}={value}", key.replace('/', ".")));
        }
    }
    Ok(set)
}

/// Returns the names of the features that are on, from `ethtool -k`, in short form.
fn features_on(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.trim().split_once(": "));
    let is_on = |&(name, state): &(&str, &str)| state == "on" && FEATURES.contains(&name);
    lines.filter(is_on).map(|(name, _)| name).collect()
}

fn version() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim())
}

/// Programs that configure the kernel, with their Debian packages.
const PROGRAMS: [(&str, &str); 3] =
    [("ip", "iproute2"), ("ethtool", "ethtool"), ("nft", "nftables")];

/// Features of an interface that change how it forwards.
const FEATURES: [&str; 7] = [
    "rx-checksumming",
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "rx-udp-gro-forwarding",
];
