//! Route reflectors as a unit of the lab: they forward no frames, and methods measure what their
//! peers are told.

use std::any::Any;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use devices::driver::Limitation;
use devices::routing::driver::{
    ADDED_MED, COMING_BACK, NO_ADVERTISE, NON_CLIENTS, ORDER_OF_ROUTES, OWN_AS, OWN_CLUSTER,
    OWN_CLUSTER_OF_NON_CLIENTS, OWN_ORIGINATOR, OWN_ROUTES, PARTIAL_BIT, Policies, RoutingDriver,
    RoutingPeer, RoutingRunning, RoutingService, RoutingStart,
};
use function_kit::Invalid;
use measure::record::{Check, CheckLimitation, ClaimLevel, Covered, Mismatch, Unavailable};
use measure::{Load, MeasureError, Measurer, Routing, Subject, Trial, Watch};
use model_route_reflector::check::{self, Compared};
use model_route_reflector::otherwise::Otherwise;
use model_route_reflector::sections::{Section, Traffic};
use model_route_reflector::workload;
use protocol_bgp::Family;
use route_traffic::{Speaker, Tester, Usage};
use schemars::Schema;
use serde_json::{Map, Value, json};

use crate::scenario::DeviceChoice;
use crate::unit::{
    DeviceFacts, FunctionUnit, Listed, OpenDevice, OpenError, OpenOptions, Sections,
};

/// The entry of the registry.
pub struct RouteReflector;

/// Both sections of a cell.
struct Cell {
    section: Section,
    traffic: Traffic,
}

impl Listed for RouteReflector {
    fn name(&self) -> &'static str {
        NAME
    }

    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    fn meant_by(&self, _: &str) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn summary(&self) -> &'static str {
        "route reflector: BGP routes of feeders told to clients (RFC 4456)"
    }

    fn config_schema(&self) -> Schema {
        schemars::schema_for!(Section)
    }

    fn traffic_schema(&self) -> Schema {
        schemars::schema_for!(Traffic)
    }
}

impl Sections for Cell {
    fn name(&self) -> &'static str {
        NAME
    }

    fn section(&self) -> Map<String, Value> {
        json!(self.section).as_object().cloned().unwrap_or_default()
    }

    fn traffic(&self) -> Map<String, Value> {
        json!(self.traffic).as_object().cloned().unwrap_or_default()
    }

    fn population(&self) -> (&'static str, u64) {
        ("clients", self.traffic.clients.into())
    }

    fn seed(&self) -> u64 {
        self.traffic.random_seed
    }
}

impl FunctionUnit for RouteReflector {
    fn subject(&self) -> Subject {
        Subject::Routes
    }

    fn read(
        &self,
        section: Map<String, Value>,
        traffic: Map<String, Value>,
    ) -> Result<Arc<dyn Sections>, Invalid> {
        let section: Section = keys::read("function", section)?;
        let traffic: Traffic = keys::read("traffic", traffic)?;
        section.check()?;
        traffic.check(&section)?;
        Ok(Arc::new(Cell { section, traffic }))
    }

    fn suits(&self, sections: &dyn Sections, device: &DeviceChoice) -> Result<(), Invalid> {
        let Some((cell, driver)) = cell_of(sections).zip(device.device.routing) else {
            let what = format!("{} reflects no routes", device.name());
            let fit = devices::registry::ROUTING.iter().map(|driver| driver.name());
            let remedy = format!("devices: {}", fit.collect::<Vec<_>>().join(", "));
            return Err(Invalid { section: "device", ..Invalid::new("name", what, remedy) });
        };
        let limitations = driver.limitations(&service(cell), &device.options)?;
        if cell.traffic.clients_tell() && otherwise(&limitations).contains(&Otherwise::TellsOwn) {
            let what = format!("{} may tell clients their own routes again", device.name());
            let remedy = "choose `routes` that clients do not tell, or another device";
            return Err(Invalid { section: "device", ..Invalid::new("name", what, remedy) });
        }
        Ok(())
    }

    fn open(
        &self,
        sections: &dyn Sections,
        device: &DeviceChoice,
        host: &OpenOptions,
    ) -> Result<Box<dyn OpenDevice>, OpenError> {
        let Some((cell, driver)) = cell_of(sections).zip(device.device.routing) else {
            return Err(OpenError::Host(format!("{} reflects no routes", device.name())));
        };
        driver.available().map_err(|missing| {
            OpenError::Unavailable(Unavailable { why: missing.why, remedy: missing.remedy })
        })?;
        let begun = Instant::now();
        let mut launcher = Launcher {
            driver,
            service: service(cell),
            options: device.options.clone(),
            cores: host.worker_cores.clone(),
            stop: host.stop.clone(),
            running: None,
        };
        route_traffic::Device::start(&mut launcher).map_err(OpenError::Host)?;
        let setup = begun.elapsed();
        let limitations = launcher.limitations().map_err(OpenError::Host)?;
        let plan = workload::plan(&cell.section, &cell.traffic, &otherwise(&limitations))
            .map_err(OpenError::Host)?;
        let tester = Tester::new(plan, launcher, host.stop.clone()).map_err(OpenError::Host)?;
        Ok(Box::new(Opened {
            tester,
            section: cell.section.clone(),
            seed: cell.traffic.random_seed,
            setup,
            stop: host.stop.clone(),
        }))
    }
}

fn cell_of(sections: &dyn Sections) -> Option<&Cell> {
    let sections: &dyn Any = sections;
    sections.downcast_ref()
}

/// What a device is asked to be: a reflector for feeders, clients, and the peers of the check.
fn service(cell: &Cell) -> RoutingService {
    let Cell { section, traffic } = cell;
    let own = section.own();
    let peer = |address: IpAddr, client: bool| match address {
        IpAddr::V4(address) => Some(RoutingPeer { address, asn: own.asn, client }),
        IpAddr::V6(_) => None,
    };
    let (feeders, clients) = workload::speakers(traffic);
    let speakers = feeders.iter().chain(&clients).map(|one: &Speaker| (one.local, true));
    let checked = check::peers().into_iter().map(|one| (one.address, one.is_client));
    let peers = speakers.chain(checked).filter_map(|(address, client)| peer(address, client));
    // The check has routes of IPv4 in any case.
    let families = workload::families(traffic).into_iter().chain([Family::Ipv4Unicast]);
    let mut further = Map::new();
    if let Some(bytes) = section.stream_bytes {
        further.insert("stream-bytes".to_owned(), json!(bytes));
    }
    RoutingService {
        asn: own.asn,
        identifier: own.identifier,
        cluster: own.cluster,
        client_to_client: own.client_to_client,
        families: families.collect(),
        hold_time_s: section.hold_time_s,
        peers: peers.collect(),
        route_target_constraint: traffic.route_target_constraint,
        graceful_restart: section.graceful_restart,
        policies: Policies {
            all: match section.policies.is_empty() {
                true => Value::Null,
                false => json!(section.policies),
            },
            import: section.import.clone(),
            export: section.export.clone(),
        },
        configuration: Value::Object(further),
    }
}

/// Starts the device anew for each table.
struct Launcher {
    driver: &'static dyn RoutingDriver,
    service: RoutingService,
    options: Map<String, Value>,
    cores: Vec<usize>,
    stop: Arc<AtomicBool>,
    running: Option<Box<dyn RoutingRunning>>,
}

impl Launcher {
    fn limitations(&self) -> Result<Vec<Limitation>, String> {
        let all = self.driver.limitations(&self.service, &self.options);
        all.map_err(|invalid| invalid.to_string())
    }

    fn running(&mut self) -> Result<&mut Box<dyn RoutingRunning>, String> {
        self.running.as_mut().ok_or_else(|| "the device was not started".to_owned())
    }
}

impl route_traffic::Device for Launcher {
    fn start(&mut self) -> Result<SocketAddr, String> {
        self.running = None;
        let request = RoutingStart {
            service: &self.service,
            options: &self.options,
            cores: &self.cores,
            stop: self.stop.clone(),
        };
        let running = self.driver.start(&request).map_err(|error| in_words(&error))?;
        let address = running.address();
        self.running = Some(running);
        Ok(address)
    }

    fn restart(&mut self) -> Result<SocketAddr, String> {
        let running = self.running()?;
        running.restart().map_err(|error| in_words(&error))?;
        Ok(running.address())
    }

    fn usage(&mut self) -> Usage {
        let Some(running) = &mut self.running else { return Usage::default() };
        let usage = running.usage();
        Usage { cpu_ns: usage.cpu_ns, cpu_of: usage.cpu_of, resident_bytes: usage.resident_bytes }
    }

    fn health(&mut self) -> Result<(), String> {
        self.running()?.health().map_err(|error| in_words(&error))
    }
}

fn in_words(error: &devices::driver::DriverError) -> String {
    match error.remedy.as_str() {
        "" => error.what.clone(),
        remedy => format!("{}; {remedy}", error.what),
    }
}

/// A reflector, set up, with its tester.
struct Opened {
    tester: Tester<Launcher>,
    section: Section,
    seed: u64,
    setup: Duration,
    stop: Arc<AtomicBool>,
}

impl OpenDevice for Opened {
    fn facts(&mut self) -> DeviceFacts {
        let size = self.tester.size();
        let mut details = vec![
            ("clients".to_owned(), json!(size.clients)),
            ("feeders".to_owned(), json!(size.feeders)),
            ("routes".to_owned(), json!(size.routes)),
            ("attribute-sets".to_owned(), json!(size.attribute_sets)),
            ("update-bytes".to_owned(), json!(size.bytes)),
        ];
        let launcher = self.tester.device();
        let facts = launcher.running.as_ref().map(|running| running.facts()).unwrap_or_default();
        details.extend(facts.details);
        DeviceFacts {
            setup_seconds: self.setup.as_secs_f64(),
            version: Some(facts.version).filter(|version| !version.is_empty()),
            details,
            ..DeviceFacts::default()
        }
    }

    fn check(&mut self) -> Result<Check, MeasureError> {
        let launcher = self.tester.device();
        let device = launcher.running().map_err(MeasureError::Device)?.address();
        let families = launcher.service.families;
        let limitations = launcher.limitations().map_err(MeasureError::Device)?;
        let refused = |invalid: Invalid| MeasureError::Device(invalid.to_string());
        let course = check::Check {
            device,
            own: self.section.own(),
            hold_time_s: self.section.hold_time_s,
            has_ipv6: families.contains(Family::Ipv6Unicast),
            seed: self.seed,
            patience: check::PATIENCE,
            otherwise: otherwise(&limitations),
            policies: self.section.peers_policies().map_err(refused)?,
        };
        let compared = course.run(&self.stop).map_err(|why| match &*why {
            "interrupted" => MeasureError::Interrupted,
            _ => MeasureError::Device(format!("the check could not be carried out: {why}")),
        })?;
        Ok(as_record(&compared, limitations))
    }

    fn measurer(&mut self) -> &mut dyn Measurer {
        self
    }
}

/// Returns what a device does otherwise, by its limitations.
fn otherwise(limitations: &[Limitation]) -> Vec<Otherwise> {
    let verdicts = limitations.iter().flat_map(|limitation| &limitation.verdicts);
    let of = |verdict: &&str| OTHERWISE.iter().find(|(name, _)| name == verdict);
    verdicts.filter_map(of).map(|(_, otherwise)| *otherwise).collect()
}

fn as_record(compared: &Compared, limitations: Vec<Limitation>) -> Check {
    let passed = compared.different == 0;
    let limitation = |one: Limitation| {
        let skipped = otherwise(std::slice::from_ref(&one));
        let skipped = skipped.iter().filter_map(|otherwise| compared.skipped.get(otherwise));
        CheckLimitation {
            skipped: skipped.sum(),
            verdicts: one.verdicts.into_iter().map(str::to_owned).collect(),
            what: one.what,
        }
    };
    let limitations: Vec<CheckLimitation> = limitations.into_iter().map(limitation).collect();
    let skipped = limitations.iter().map(|one| one.skipped).sum();
    let claim = match (passed, limitations.is_empty()) {
        (false, _) => ClaimLevel::None,
        (true, false) => ClaimLevel::Partial,
        (true, true) => ClaimLevel::Full,
    };
    let mismatch = |one: &check::Difference| Mismatch {
        what: one.about.clone(),
        expected: one.expected.clone(),
        got: one.got.clone(),
        ..Mismatch::default()
    };
    let covered =
        |(name, count): (&&str, &u64)| Covered { name: (*name).to_owned(), frames: *count };
    Check {
        of: Subject::Routes,
        passed,
        frames: compared.routes,
        mismatch_count: compared.different,
        mismatches: compared.differences.iter().map(mismatch).collect(),
        coverage: compared.events.iter().map(covered).collect(),
        claim,
        skipped,
        limitations,
        ..Check::default()
    }
}

impl Measurer for Opened {
    fn measure(&mut self, _: Load, _: Duration, _: &mut dyn Watch) -> Result<Trial, MeasureError> {
        Err(MeasureError::Unsupported("it forwards no frames"))
    }

    fn routing(&mut self) -> Option<&mut dyn Routing> {
        Some(&mut self.tester)
    }
}

/// What the check and the tester know of what drivers call their devices' limitations.
const OTHERWISE: &[(&str, Otherwise)] = &[
    (ADDED_MED, Otherwise::AddsMed),
    (OWN_ROUTES, Otherwise::TellsOwn),
    (OWN_AS, Otherwise::TakesOwnAs),
    (OWN_ORIGINATOR, Otherwise::TakesOwnOriginator),
    (OWN_CLUSTER, Otherwise::TakesOwnCluster),
    (OWN_CLUSTER_OF_NON_CLIENTS, Otherwise::TakesOwnClusterOfOthers),
    (NO_ADVERTISE, Otherwise::TellsNoAdvertise),
    (PARTIAL_BIT, Otherwise::LeavesPartial),
    (NON_CLIENTS, Otherwise::NeglectsNonClients),
    (ORDER_OF_ROUTES, Otherwise::ComparesInOrder),
    (COMING_BACK, Otherwise::ComesBackLate),
];

/// The name of the function in scenarios, and of the controller.
const NAME: &str = "route-reflector";
