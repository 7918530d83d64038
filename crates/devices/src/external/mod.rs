//! Any box with real ports: a router, switch or gateway of a lab, to which nothing is told.
//!
//! A person configures the box by the set-up sheet, which says in words what the function's
//! configuration asks for. The tester opens its ports, asks for the box's Ethernet addresses, and
//! sends a probe through it before anything is measured; where nothing comes back it says what was
//! sent where. What the box drops, uses or counts is its own affair: nobody can read it here.

mod options;
mod probe;
mod sheet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::{Link, Monitor, Opened, PortRequest};
use keys::Invalid;
use model_kit::service::{Interface, Service};
use packet::PortId;
use probe::Exchange;
use schemars::Schema;
use serde_json::{Map, Value, json};
use wire::MacAddr;

use crate::driver::{
    DeviceFacts, Driver, DriverError, Limitation, Running, SECTION, Start, Unavailable, Usage,
    device_key,
};

pub use options::{Options, Port};

/// The driver.
pub struct External;

impl Driver for External {
    fn name(&self) -> &'static str {
        "external"
    }

    fn summary(&self) -> &'static str {
        "any device configured by an operator, connected to this machine's ports"
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(Options)
    }

    fn available(&self) -> Result<(), Unavailable> {
        let mut reasons = Vec::new();
        for kind in ports::PORTS {
            match kind.available() {
                Ok(()) => return Ok(()),
                Err(error) => reasons.push(error),
            }
        }
        let why = "no port type can be used on this machine".to_owned();
        let remedy = reasons.first().map(|error| error.remedy.clone()).unwrap_or_default();
        Err(Unavailable { why, remedy })
    }

    fn version(&self, options: &Map<String, Value>) -> String {
        Options::read(options).map(|options| options.version).unwrap_or_default()
    }

    fn limitations(
        &self,
        service: &Service,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, Invalid> {
        let options = Options::read(options)?;
        right_number(&options, service)?;
        read_ports(&options)?;
        let of = |what: &str, verdicts| Limitation {
            what: what.to_owned(),
            verdicts,
            ..Limitation::default()
        };
        let mut found = vec![
            of("the device's own counters are not read: its drop reasons are unknown", vec![]),
            of("a link cannot carry frames shorter than an Ethernet header", vec!["truncated"]),
        ];
        let by_hand = service.beyond().into_iter().map(|beyond| Limitation {
            what: format!(
                "`{}` ({}) must be configured by hand; the check shows whether it is",
                beyond.key, beyond.what
            ),
            verdicts: Vec::new(),
            ..Limitation::default()
        });
        found.extend(by_hand);
        if !options.exceptions.is_empty() {
            // A few words for as long as the program runs.
            let verdicts = options.exceptions.iter().map(|name| &*name.clone().leak());
            found.push(of(
                "the scenario excludes these from the check (`exceptions`)",
                verdicts.collect(),
            ));
        }
        Ok(found)
    }

    fn start(&self, request: &Start<'_>) -> Result<Box<dyn Running>, DriverError> {
        let options = Options::read(request.options)?;
        right_number(&options, request.service)?;
        if let Some(file) = &options.sheet {
            let text = sheet::sheet(request.service, usize::MAX);
            std::fs::write(file, text).map_err(|error| {
                let what = format!("device.sheet: {file} cannot be written: {error}");
                DriverError::new(what, "name a file in an existing folder")
            })?;
        }
        let mut ports = open(&options, request)?;
        let patience = Duration::from_secs_f64(options.ready_within_s.unwrap_or(READY_WITHIN_S));
        wait_for_links(&ports, request, patience)?;
        let mut exchange = Exchange::new(&mut ports, request.frame_bytes_max, &request.stop)?;
        let macs = check_addresses(&mut exchange, &options, request.service, patience)?;
        let probes = probe_through(&mut exchange, request.service, patience)?;
        drop(exchange);
        let monitors = ports.iter().map(|port| port.monitor.clone()).collect();
        Ok(Box::new(TheBox { ports, monitors, options, macs, probes }))
    }
}

/// An external device that forwards.
struct TheBox {
    ports: Vec<Opened>,
    monitors: Vec<Arc<dyn Monitor>>,
    options: Options,
    macs: Vec<(usize, MacAddr, &'static str)>,
    probes: Vec<String>,
}

impl Running for TheBox {
    fn ports(&mut self) -> Vec<Opened> {
        std::mem::take(&mut self.ports)
    }

    fn facts(&self) -> DeviceFacts {
        let mut details = vec![("probes".to_owned(), json!(self.probes))];
        for (port, mac, how) in &self.macs {
            details.push((format!("port-{port}-mac"), json!(format!("{mac}, {how}"))));
        }
        for (number, port) in self.options.ports.iter().enumerate() {
            details.push((format!("port-{number}"), json!(port)));
        }
        let version = match self.options.version.as_str() {
            "" => "a device of unknown make".to_owned(),
            version => version.to_owned(),
        };
        DeviceFacts { version, details }
    }

    fn usage(&mut self) -> Usage {
        Usage::default()
    }

    fn health(&mut self) -> Result<(), DriverError> {
        for (number, monitor) in self.monitors.iter().enumerate() {
            if let Link::Down(why) = monitor.link() {
                let what = format!("the link to the device's port {number} is down: {why}");
                return Err(DriverError::new(what, "check the cable and the device"));
            }
        }
        Ok(())
    }
}

/// Checks that the tester has one port for each port of the function.
fn right_number(options: &Options, service: &Service) -> Result<(), Invalid> {
    let wanted = service.ports();
    if options.ports.len() != wanted {
        let what = format!("{} ports, but the function has {wanted}", options.ports.len());
        let remedy = "list one port of this machine per port of the function, such as `{type: \
                      af-packet, interface: eth1}`, in the function's order";
        return Err(device_key("ports", what, remedy));
    }
    if options.macs.len() > wanted {
        let what = format!("{} addresses for {wanted} ports", options.macs.len());
        return Err(device_key("macs", what, "list one address per port, in port order"));
    }
    Ok(())
}

/// Reads the keys of the tester's ports.
fn read_ports(options: &Options) -> Result<Vec<Box<dyn ports::Configured>>, Invalid> {
    let read = |(at, port): (usize, &Port)| {
        let at = format!("ports[{at}]");
        let Some(kind) = ports::find(&port.kind) else {
            let known: Vec<&str> = ports::PORTS.iter().map(|kind| kind.name()).collect();
            let what = format!("there is no port type `{}`", port.kind);
            let remedy = format!("choose one of {}", known.join(", "));
            return Err(device_key("type", what, &remedy).under(&at));
        };
        let read = kind.read(Value::Object(port.keys.clone()));
        read.map_err(|invalid| Invalid { section: SECTION, ..invalid.under(&at) })
    };
    options.ports.iter().enumerate().map(read).collect()
}

fn interfaces(service: &Service) -> &[Interface] {
    match service {
        Service::Bridge(_) | Service::Chain(_) => &[],
        Service::Router(router) => &router.interfaces,
        Service::MobileGateway(gateway) => &gateway.router.interfaces,
        Service::Nat(nat) => &nat.router.interfaces,
        Service::BroadbandGateway(gateway) => &gateway.router.interfaces,
    }
}

fn open(options: &Options, request: &Start<'_>) -> Result<Vec<Opened>, DriverError> {
    let numbers = (0_u8..).map(PortId);
    let open_one = |(port, id): (Box<dyn ports::Configured>, PortId)| {
        let request = PortRequest {
            name: format!("tester's port {}", id.0),
            id,
            queues: 1,
            frame_bytes_max: request.frame_bytes_max + ADDED_MAX,
            ticks_per_second: request.clock.ticks_per_second(),
        };
        let opened = port.open(&request);
        opened.map_err(|error| {
            let what = format!("{SECTION}.ports[{}]: {}", id.0, error.what);
            DriverError::new(what, error.remedy)
        })
    };
    read_ports(options)?.into_iter().zip(numbers).map(open_one).collect()
}

fn wait_for_links(
    ports: &[Opened],
    request: &Start<'_>,
    patience: Duration,
) -> Result<(), DriverError> {
    let end = Instant::now() + patience;
    for (number, port) in ports.iter().enumerate() {
        while let Link::Down(why) = port.monitor.link() {
            let is_stopped = request.stop.load(Ordering::Relaxed);
            if is_stopped || Instant::now() > end {
                let what = format!("the link to the device's port {number} is down: {why}");
                return Err(DriverError::new(what, "check the cable and the device"));
            }
            std::thread::park_timeout(POLL);
        }
    }
    Ok(())
}

/// Checks that the Ethernet addresses of the external device are the destinations of the function's
/// frames.
fn check_addresses(
    exchange: &mut Exchange<'_>,
    options: &Options,
    service: &Service,
    patience: Duration,
) -> Result<Vec<(usize, MacAddr, &'static str)>, DriverError> {
    let given = options.addresses()?;
    let mut macs = Vec::new();
    for (port, interface) in interfaces(service).iter().enumerate() {
        let mut asked = || probe::resolve(exchange, port, interface, patience.min(RESOLVE_MAX));
        let found = match given.get(port) {
            Some(&mac) => Some((mac, "as given")),
            None => asked().map(|mac| (mac, "as resolved")),
        };
        let Some((mac, how)) = found else {
            let address = interface.ipv4.map(|(address, _)| address.to_string());
            let address = address.or(interface.ipv6.map(|(address, _)| address.to_string()));
            let what = format!(
                "no host at port {port} has {}: ARP and Neighbor Discovery were not answered",
                address.unwrap_or_else(|| "an address".to_owned())
            );
            return Err(not_configured(what, service, "or give `macs` in the device section"));
        };
        if mac != interface.mac {
            let what = format!(
                "the device's port {port} has the Ethernet address {mac} ({how}), but the \
                 function's frames go to {}",
                interface.mac
            );
            let remedy = format!(
                "set the address of that port in the function section to {mac}, or that of the \
                 device to {}",
                interface.mac
            );
            return Err(DriverError::new(what, remedy));
        }
        macs.push((port, mac, how));
    }
    Ok(macs)
}

/// Sends frames that must be forwarded, and waits until they arrive.
fn probe_through(
    exchange: &mut Exchange<'_>,
    service: &Service,
    patience: Duration,
) -> Result<Vec<String>, DriverError> {
    let mut passed = Vec::new();
    for probe in probe::probes(service) {
        let has_mark = |port: usize, frame: &[u8]| {
            let marked = frame.windows(probe::MARK.len()).any(|part| part == probe::MARK);
            (marked && port == probe.to).then_some(())
        };
        if exchange.ask(probe.from, &probe.frame, patience, has_mark).is_none() {
            let what = format!(
                "the device does not forward: {} was sent into port {}, and nothing arrived from \
                 port {} for {} s",
                probe.what,
                probe.from,
                probe.to,
                patience.as_secs_f64()
            );
            return Err(not_configured(what, service, "and check the cables"));
        }
        passed.push(format!("{}: port {} to port {}", probe.what, probe.from, probe.to));
    }
    Ok(passed)
}

fn not_configured(what: String, service: &Service, or: &str) -> DriverError {
    let sheet = sheet::sheet(service, LINES_IN_ERROR);
    DriverError::new(what, format!("configure the device as follows, {or}:\n{sheet}"))
}

/// Largest size of tunnel headers that an external device may add to a frame, in bytes.
const ADDED_MAX: usize = 64;

/// Default of `ready-within`, in seconds.
const READY_WITHIN_S: f64 = 10.0;
const RESOLVE_MAX: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(5);

/// Number of lines of each kind in an error.
const LINES_IN_ERROR: usize = 5;
