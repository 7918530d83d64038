//! The two sections of a scenario that measures a route reflector.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::oracle::{Own, Policies};
use crate::policy::{Policy, find};

/// The `function` section: what the reflector is. Its peers follow from the `traffic` section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Section {
    /// The AS of the reflector and its peers. Routes with it in their path are loops; that of the
    /// default is nobody's.
    #[serde(rename = "as")]
    #[schemars(range(min = 1))]
    pub asn: u32,
    /// The reflector's BGP identifier.
    pub identifier: Ipv4Addr,
    /// The number of the cluster; none for the identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Ipv4Addr>,
    /// Whether routes of clients go to other clients.
    pub client_to_client: bool,
    /// For how long nothing may be heard of a peer, in seconds: 0 for ever, else 3 or more.
    pub hold_time_s: u16,
    /// Bytes of UPDATEs that the reflector keeps for peers which lag; none for its default. Only
    /// `embedded` and `process` have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_048_576, max = 1_073_741_824))]
    pub stream_bytes: Option<u32>,
    /// Whether the reflector and its peers do graceful restart (RFC 4724): then peers keep what
    /// they were told while the reflector restarts.
    pub graceful_restart: bool,
    /// Policies, as the reflector's own configuration has them, for routes of IPv4 and IPv6 alone.
    /// Only `embedded` and `process` have them, and peers are of no `groups`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    pub policies: Vec<Policy>,
    /// The policy by which routes of all peers are taken; none for all as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    /// The policy by which all peers are told routes; none for all as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export: Option<String>,
}

impl Default for Section {
    fn default() -> Section {
        Section {
            asn: 4_200_000_001,
            identifier: Ipv4Addr::new(192, 0, 2, 1),
            cluster: None,
            client_to_client: true,
            hold_time_s: 90,
            stream_bytes: None,
            graceful_restart: false,
            policies: Vec::new(),
            import: None,
            export: None,
        }
    }
}

/// The `traffic` section: the routes, who tells them, and who is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Traffic {
    /// Where the routes come from.
    pub routes: Routes,
    /// The file of `routes: file`: a dump of MRT, of a table or of a session (RFC 6396).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Routes of IPv4; of `file` at most so many, and 0 for all; of `evpn` the MAC addresses.
    #[schemars(range(max = 200_000_000))]
    pub prefixes: u32,
    /// Routes of IPv6, of `synthetic`, `generated` and `vpn`.
    #[schemars(range(max = 200_000_000))]
    pub ipv6_prefixes: u32,
    /// Sets of attributes of `synthetic`; `generated` has as many as a table of the Internet of its
    /// size.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub attribute_sets: u32,
    /// Peers that are told routes. Of `evpn` and `vpn` they are the provider edges, which tell
    /// routes as well.
    #[schemars(range(min = 1, max = 16_000))]
    pub clients: u32,
    /// Peers that tell routes; provider edges are their own.
    #[schemars(range(min = 1, max = 255))]
    pub feeders: u16,
    /// How feeders share the routes.
    pub sharing: Sharing,
    /// VPNs of `evpn` and `vpn`.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub vpns: u32,
    /// Most provider edges of a VPN.
    #[schemars(range(min = 1, max = 16_000))]
    pub edges_per_vpn: u32,
    /// Whether provider edges ask for the routes of their own VPNs alone (RFC 4684).
    pub route_target_constraint: bool,
    /// Everything random follows from this number.
    #[schemars(range(min = 1))]
    pub random_seed: u64,
}

/// Where routes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Routes {
    /// Single hosts in sequence.
    Synthetic,
    /// A table that is distributed as that of the Internet.
    Generated,
    /// A dump of MRT.
    File,
    /// MAC addresses of EVPN (RFC 7432).
    Evpn,
    /// Routes of VPNs (RFC 4364, RFC 4659).
    Vpn,
}

/// How feeders share routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Each route has one feeder.
    Split,
    /// Every feeder tells every route, each with other attributes.
    Same,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic {
            routes: Routes::Generated,
            file: None,
            prefixes: 10_000,
            ipv6_prefixes: 0,
            attribute_sets: 100,
            clients: 10,
            feeders: 1,
            sharing: Sharing::Split,
            vpns: 100,
            edges_per_vpn: 4,
            route_target_constraint: false,
            random_seed: 1,
        }
    }
}

impl Section {
    /// Returns the reflector as the oracle knows it.
    pub fn own(&self) -> Own {
        Own {
            asn: self.asn,
            identifier: self.identifier,
            cluster: self.cluster.unwrap_or(self.identifier),
            client_to_client: self.client_to_client,
        }
    }

    /// Returns the policies that peers have.
    ///
    /// # Errors
    /// When there is none of a name.
    pub fn peers_policies(&self) -> Result<Policies, Invalid> {
        let of = |key, name| find(&self.policies, (key, name)).map(|policy| policy.cloned());
        let import = of("import", self.import.as_ref())?;
        Ok(Policies { import, export: of("export", self.export.as_ref())? })
    }

    /// Checks what the limits of keys do not say.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn check(&self) -> Result<(), Invalid> {
        if matches!(self.hold_time_s, 1 | 2) {
            let what = format!("is {}, which no peer accepts", self.hold_time_s);
            return Err(of("function", "hold-time-s", what, "give 0 for ever, or 3 or more"));
        }
        if self.identifier.is_unspecified() {
            let what = "is 0.0.0.0, which is nobody's".to_owned();
            return Err(of("function", "identifier", what, "give another address"));
        }
        self.peers_policies().map(drop)
    }
}

impl Traffic {
    /// Returns whether clients tell routes, too.
    pub fn clients_tell(&self) -> bool {
        matches!(self.routes, Routes::Evpn | Routes::Vpn)
    }

    /// Checks what one key says of another, and of the reflector.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn check(&self, section: &Section) -> Result<(), Invalid> {
        let has_policies = section.import.is_some() || section.export.is_some();
        if has_policies && self.clients_tell() {
            let what = "has routes of VPNs, and the bench's policies are of others".to_owned();
            return Err(of("traffic", "routes", what, "choose others, or leave policies out"));
        }
        let is_file = self.routes == Routes::File;
        if is_file != self.file.is_some() {
            let what = match is_file {
                true => "is missing, and the routes come from it".to_owned(),
                false => "is not read by these routes".to_owned(),
            };
            return Err(of("traffic", "file", what, "give `routes: file` and a dump of MRT"));
        }
        let has_ipv6 = matches!(self.routes, Routes::Synthetic | Routes::Generated | Routes::Vpn);
        if self.ipv6_prefixes > 0 && !has_ipv6 {
            let what = "are not of these routes".to_owned();
            return Err(of("traffic", "ipv6-prefixes", what, "leave it out"));
        }
        if !is_file && self.prefixes == 0 && self.ipv6_prefixes == 0 {
            let what = "is 0, so that there is no route".to_owned();
            return Err(of("traffic", "prefixes", what, "give at least 1"));
        }
        let edges = self.clients_tell();
        if edges && self.edges_per_vpn > self.clients {
            let what = format!("is more than the {} provider edges", self.clients);
            return Err(of("traffic", "edges-per-vpn", what, "give at most `clients`"));
        }
        if self.route_target_constraint && !edges {
            let what = "is of VPNs, and these routes have none".to_owned();
            return Err(of("traffic", "route-target-constraint", what, "leave it out"));
        }
        if edges && (self.feeders, self.sharing) != (1, Sharing::Split) {
            let what = "does not matter where provider edges tell routes".to_owned();
            return Err(of("traffic", "feeders", what, "leave `feeders` and `sharing` out"));
        }
        Ok(())
    }
}

fn of(section: &'static str, key: &str, what: String, remedy: &str) -> Invalid {
    Invalid { section, ..Invalid::new(key, what, remedy) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(traffic: &Traffic) -> Option<String> {
        traffic.check(&Section::default()).err().map(|invalid| invalid.key)
    }

    #[test]
    fn what_is_not_for_the_routes_is_refused_by_name() {
        assert_eq!(refused(&Traffic::default()), None);
        let of = |routes| Traffic { routes, ..Traffic::default() };
        assert_eq!(refused(&of(Routes::File)).as_deref(), Some("file"));
        let file = Some("table.mrt".into());
        assert_eq!(refused(&Traffic { file, ..Traffic::default() }).as_deref(), Some("file"));
        let evpn = Traffic { ipv6_prefixes: 1, ..of(Routes::Evpn) };
        assert_eq!(refused(&evpn).as_deref(), Some("ipv6-prefixes"));
        let none = Traffic { prefixes: 0, ..Traffic::default() };
        assert_eq!(refused(&none).as_deref(), Some("prefixes"));
        let few = Traffic { clients: 2, edges_per_vpn: 3, ..of(Routes::Vpn) };
        assert_eq!(refused(&few).as_deref(), Some("edges-per-vpn"));
        let asking = Traffic { route_target_constraint: true, ..Traffic::default() };
        assert_eq!(refused(&asking).as_deref(), Some("route-target-constraint"));
        let fed = Traffic { feeders: 2, ..of(Routes::Vpn) };
        assert_eq!(refused(&fed).as_deref(), Some("feeders"));
        let section = Section { import: Some("accept".to_owned()), ..Section::default() };
        assert!(section.check().is_ok());
        assert_eq!(of(Routes::Vpn).check(&section).expect_err("of VPNs").key, "routes");
        let section = Section { export: Some("out".to_owned()), ..Section::default() };
        assert_eq!(section.check().expect_err("there is none").key, "export");
    }

    #[test]
    fn a_hold_time_that_no_peer_accepts_is_refused() {
        for (hold_time_s, key) in [(0, None), (2, Some("hold-time-s")), (3, None)] {
            let section = Section { hold_time_s, ..Section::default() };
            assert_eq!(section.check().err().map(|it| it.key).as_deref(), key);
        }
    }
}
