//! Drivers of devices that reflect routes of BGP instead of forwarding frames.
//!
//! A driver is given a [`RoutingService`] and starts a device that gives it. The device listens at
//! an address of the loopback interface and connects to nobody; its peers are addresses of 127/8
//! that connect to it. It has no routes of the kernel's, and next hops count as reachable. What it
//! cannot do a driver says in [`Limitation`]s, which end up in the record; what it cannot do at all
//! it refuses. Order of calls: `available`, `limitations`, `start`; then peers connect, `usage` is
//! read, and dropping [`RoutingRunning`] leaves the machine as it was. Because the processes of a
//! driver are bound to this one, that holds after a crash, too.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use function_kit::sections::function_key;
use keys::Invalid;
use protocol_bgp::families::{Family, FamilySet};
use schemars::Schema;
use serde_json::{Map, Value};

use crate::driver::{DeviceFacts, DriverError, Limitation, Unavailable, Usage};

/// A kind of route reflector under test, as the registry lists it.
pub trait RoutingDriver: Sync {
    /// Returns the name in `device.name` of a scenario.
    fn name(&self) -> &'static str;

    /// Returns a one-line summary for `plumbline list`.
    fn summary(&self) -> &'static str;

    /// Returns the JSON Schema of the driver's keys in the `device` section, without the keys that
    /// all devices have.
    fn schema(&self) -> Schema;

    /// Returns the version of the device that would run with these keys, as far as it is known
    /// without starting it.
    fn version(&self, _options: &Map<String, Value>) -> String {
        String::new()
    }

    /// Checks whether the device can run on this machine.
    ///
    /// # Errors
    /// The missing requirement, and the one command that would provide it.
    fn available(&self) -> Result<(), Unavailable>;

    /// Returns what the device cannot do of a service, or does differently, with these keys.
    ///
    /// # Errors
    /// When the device cannot provide the service at all, or a key is invalid.
    fn limitations(
        &self,
        service: &RoutingService,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, Invalid>;

    /// Starts the device and waits until it listens.
    ///
    /// # Errors
    /// When the device cannot be started; the machine is then as it was before.
    fn start(&self, request: &RoutingStart<'_>) -> Result<Box<dyn RoutingRunning>, DriverError>;
}

/// What a scenario wants of a route reflector.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutingService {
    /// Its AS.
    pub asn: u32,
    /// Its BGP identifier.
    pub identifier: Ipv4Addr,
    /// The number of its cluster.
    pub cluster: Ipv4Addr,
    /// Whether routes of clients go to other clients.
    pub client_to_client: bool,
    /// The families of routes that all peers are offered.
    pub families: FamilySet,
    /// For how long nothing may be heard of a peer, in seconds; 0 for ever.
    pub hold_time_s: u16,
    /// The peers. They connect to the device.
    pub peers: Vec<RoutingPeer>,
    /// Whether routes go only to who has asked for one of their targets (RFC 4684).
    pub route_target_constraint: bool,
    /// Whether the device asks its peers to keep its routes while it restarts (RFC 4724).
    pub graceful_restart: bool,
    /// Policies of its peers; used by devices that run this program. Without them a peer of another
    /// AS is heard and told as it is.
    pub policies: Policies,
    /// Further keys of the controller, as a mapping; used by devices that run this program. They
    /// win over what is said above.
    pub configuration: Value,
}

/// Policies, as the controller of this program has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policies {
    /// The list `policies` of its configuration; null for none.
    pub all: Value,
    /// The key `import` of each peer.
    pub import: Option<String>,
    /// The key `export` of each peer.
    pub export: Option<String>,
}

/// A peer of a route reflector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutingPeer {
    /// The address from which it connects, of 127/8.
    pub address: Ipv4Addr,
    /// Its AS.
    pub asn: u32,
    /// Whether it is a client; one of another AS is not.
    pub client: bool,
}

/// Parameters with which a device is started.
pub struct RoutingStart<'a> {
    /// Service that the device must provide.
    pub service: &'a RoutingService,
    /// The driver's keys of the `device` section.
    pub options: &'a Map<String, Value>,
    /// Cores for the device; if there are none, all that this process may use.
    pub cores: &'a [usize],
    /// Becomes true when the user asks to stop.
    pub stop: Arc<AtomicBool>,
}

/// A running device. Dropping it stops the device and restores the machine.
pub trait RoutingRunning: Send {
    /// Returns where it listens.
    fn address(&self) -> SocketAddr;

    /// Returns facts about the device for the record.
    fn facts(&self) -> DeviceFacts;

    /// Returns the device's resource usage since its start, with its lives before a restart.
    /// Memory is that of the present one.
    fn usage(&mut self) -> Usage;

    /// Checks that the device still runs.
    ///
    /// # Errors
    /// How the device ended, with the last lines of its output.
    fn health(&mut self) -> Result<(), DriverError>;

    /// Ends the device as a crash would, and starts it again with the same configuration and at the
    /// same address; returns when it listens.
    ///
    /// # Errors
    /// When the device did not start again.
    fn restart(&mut self) -> Result<(), DriverError>;
}

/// What [`Limitation::verdicts`] says of a device that tells peers routes for whose targets they
/// have not asked.
pub const ROUTE_TARGET_CONSTRAINT: &str = "route-target-constraint";

/// As [`ROUTE_TARGET_CONSTRAINT`], of one whose restart takes its routes from its peers.
pub const GRACEFUL_RESTART: &str = "graceful-restart";

/// As [`ROUTE_TARGET_CONSTRAINT`], of one that tells a client its own routes again.
pub const OWN_ROUTES: &str = "own-routes";

/// As [`ROUTE_TARGET_CONSTRAINT`], of one that may never have told a whole table.
pub const FULL_TABLE: &str = "full-table";

/// As [`ROUTE_TARGET_CONSTRAINT`], of one that makes a peer wait whose session has ended.
pub const COMING_BACK: &str = "coming-back";

/// As [`ROUTE_TARGET_CONSTRAINT`], of one that gives routes without MULTI_EXIT_DISC one of 0.
pub const ADDED_MED: &str = "added-med";

/// As [`ROUTE_TARGET_CONSTRAINT`], of one that takes routes with its own AS in their path, or keeps
/// the route before such a one.
pub const OWN_AS: &str = "own-as";

/// As [`OWN_AS`], of routes with its own identifier as ORIGINATOR_ID.
pub const OWN_ORIGINATOR: &str = "own-originator";

/// As [`OWN_AS`], of routes that have been in its cluster.
pub const OWN_CLUSTER: &str = "own-cluster";

/// As [`OWN_CLUSTER`], of those of non-clients alone.
pub const OWN_CLUSTER_OF_NON_CLIENTS: &str = "own-cluster-of-non-clients";

/// As [`ROUTE_TARGET_CONSTRAINT`], of one that tells routes with NO_ADVERTISE.
pub const NO_ADVERTISE: &str = "no-advertise";

/// As [`ROUTE_TARGET_CONSTRAINT`], of one that passes on what it does not know without the partial
/// bit.
pub const PARTIAL_BIT: &str = "partial-bit";

/// As [`ROUTE_TARGET_CONSTRAINT`], of one that does not tell non-clients what it must.
pub const NON_CLIENTS: &str = "non-clients";

/// As [`ROUTE_TARGET_CONSTRAINT`], of one whose decision about MULTI_EXIT_DISC depends on the order
/// in which routes come.
pub const ORDER_OF_ROUTES: &str = "order-of-routes";

impl RoutingService {
    /// Returns the peers by what they are to the device: their AS and whether they are clients.
    pub(super) fn kinds(&self) -> Vec<PeerKind> {
        let mut kinds: Vec<PeerKind> = Vec::new();
        for peer in &self.peers {
            let is_external = peer.asn != self.asn;
            let is_client = peer.client && !is_external;
            let known =
                kinds.iter_mut().find(|kind| (kind.asn, kind.is_client) == (peer.asn, is_client));
            match known {
                Some(kind) => kind.addresses.push(peer.address),
                None => kinds.push(PeerKind {
                    asn: peer.asn,
                    is_client,
                    is_external,
                    addresses: vec![peer.address],
                }),
            }
        }
        kinds
    }

    /// Returns the families that the device has to offer, with that of route targets where it has
    /// to know what peers ask for.
    pub(super) fn offered(&self) -> FamilySet {
        let mut families = self.families;
        if self.route_target_constraint {
            families.insert(Family::RouteTarget);
        }
        families
    }

    /// Refuses families that a device does not have.
    ///
    /// # Errors
    /// The first one.
    pub(super) fn refuse_but(
        &self,
        device: &str,
        has: &[(Family, &'static str)],
    ) -> Result<(), Invalid> {
        let is_absent = |family: &Family| !has.iter().any(|(known, _)| known == family);
        self.families.iter().find(is_absent).map_or(Ok(()), |family| {
            let names: Vec<String> = has.iter().map(|(family, _)| family.to_string()).collect();
            let remedy = format!("leave it out for this device, which has {}", names.join(", "));
            Err(function_key("families", format!("{device} does not have `{family}`"), &remedy))
        })
    }

    /// Refuses policies, which this program's own controller has alone.
    ///
    /// # Errors
    /// When there are any.
    pub(super) fn refuse_policies(&self, device: &str) -> Result<(), Invalid> {
        if self.policies == Policies::default() {
            return Ok(());
        }
        let what = format!("are those of this program, and {device} is not configured with them");
        Err(function_key("policies", what, "use embedded or process for them"))
    }

    /// Refuses what most daemons cannot do: not to reflect between clients.
    ///
    /// # Errors
    /// When that is asked for.
    pub(super) fn refuse_no_client_to_client(&self, device: &str) -> Result<(), Invalid> {
        if self.client_to_client {
            return Ok(());
        }
        let what = format!("{device} always reflects between clients");
        Err(function_key("client-to-client", what, "use frr, embedded or process for it"))
    }
}

/// Peers that are the same to a device.
pub(super) struct PeerKind {
    pub asn: u32,
    pub is_client: bool,
    pub is_external: bool,
    pub addresses: Vec<Ipv4Addr>,
}

/// Creates a limitation by which the check leaves something out.
pub(super) fn limited(what: &str, verdict: &'static str) -> Limitation {
    Limitation { what: what.to_owned(), verdicts: vec![verdict], ..Limitation::default() }
}
