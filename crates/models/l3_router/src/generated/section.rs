//! What a section says of generated tables, and by which numbers next hops and groups of them go.
use crate::ports::{DOWNLINK, UPLINK};
use packet::PortId;
use std::net::IpAddr;
use std::sync::Arc;

use function_l3_router::config::{Config, Prefixed, group_number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::passing::Passing;

/// The `function` section: what is generated, and what an operator writes.
pub type Section = model_kit::Section<Generated, Config>;

/// What the bench generates. Keys and meaning are TIPSY's where TIPSY has them (`l3fwd`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Generated {
    /// Generated routes behind the uplink port; with `ipv6`, each has one of IPv6 (a /48) beside
    /// it.
    #[schemars(range(max = 1_000_000))]
    pub upstream_l3_table_size: u32,
    /// Next hops behind the uplink port; generated routes take them in turn.
    #[schemars(range(max = 65_024))]
    pub upstream_group_table_size: u32,
    /// Generated routes behind the downlink port.
    #[schemars(range(max = 1_000_000))]
    pub downstream_l3_table_size: u32,
    /// Next hops behind the downlink port.
    #[schemars(range(max = 65_024))]
    pub downstream_group_table_size: u32,
    /// Routes added a second, and as many removed.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub fluct_l3_table: f64,
    /// Next hops added a second, and as many removed; their routes are there all the time.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub fluct_group_table: f64,
    /// The source address of frames to generated next hops: that of the `port` by which they leave,
    /// or one of the `next-hop`, as TIPSY has it by the name `l3fwd`. Not in TIPSY.
    pub source_mac: SourceMac,
    /// Generated next hops of a port that are a group each, for generated routes to lead to; 0 for
    /// routes that lead to one next hop. Not in TIPSY.
    #[schemars(range(max = 64))]
    pub ecmp_members: u32,
    /// The weights of the members of generated groups, in turn; 1 each where there are none. Not in
    /// TIPSY.
    #[schemars(length(max = 64), inner(range(min = 1)))]
    pub ecmp_weights: Vec<u16>,
    /// Routes of IPv4 behind the uplink port like the Internet's, by the lengths of its prefixes
    /// and as crowded; its next hops take them in turn. The Internet of 2025 had 901,899. Not in
    /// TIPSY.
    #[schemars(range(max = 2_000_000))]
    pub internet_routes: u32,
    /// Number of generated IPv6 routes, of which the Internet of 2025 had 160,147. Not in TIPSY.
    #[schemars(range(max = 2_000_000))]
    pub internet_routes_ipv6: u32,
    /// A file of further such routes, a prefix a line: `192.0.2.0/24`. Not in TIPSY.
    pub route_file: Option<String>,
    /// What stands in that file; checking the section reads it.
    #[serde(skip)]
    pub routes_read: Arc<Vec<Prefixed<IpAddr>>>,
    /// Generated ACL rules, behind those of `ingress-acl`; only the last matches packets. Not in
    /// TIPSY.
    #[schemars(range(max = 65_536))]
    pub acl_generated: u32,
    /// Generated policers, copies of the last one, its parent included, numbered behind the list;
    /// with `police-by: source`, a packet's source chooses among them. Not in TIPSY.
    #[schemars(range(max = 1_000_000))]
    pub policers_generated: u32,
}

/// Source address of frames to generated next hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceMac {
    /// The port's own, as every router does it.
    Port,
    /// One that the next hop's entry has, as TIPSY's group tables do it.
    NextHop,
}

impl Default for Generated {
    fn default() -> Generated {
        Generated {
            upstream_l3_table_size: 10,
            upstream_group_table_size: 2,
            downstream_l3_table_size: 2,
            downstream_group_table_size: 1,
            fluct_l3_table: 0.0,
            fluct_group_table: 0.0,
            source_mac: SourceMac::Port,
            ecmp_members: 0,
            ecmp_weights: Vec::new(),
            internet_routes: 0,
            internet_routes_ipv6: 0,
            route_file: None,
            routes_read: Arc::default(),
            acl_generated: 0,
            policers_generated: 0,
        }
    }
}

impl Generated {
    /// Generated routes behind a port.
    pub fn table_size(&self, behind: PortId) -> u32 {
        match behind {
            DOWNLINK => self.downstream_l3_table_size,
            UPLINK => self.upstream_l3_table_size,
            _ => 0,
        }
    }

    /// Generated next hops behind a port.
    pub fn group_size(&self, behind: PortId) -> u32 {
        match behind {
            DOWNLINK => self.downstream_group_table_size,
            UPLINK => self.upstream_group_table_size,
            _ => 0,
        }
    }

    /// Generated groups behind a port, where generated routes lead to such: every so many next hops
    /// are one, and the last may have fewer.
    pub(super) fn groups(&self, behind: PortId) -> u32 {
        match self.ecmp_members {
            0 => 0,
            members => self.group_size(behind).div_ceil(members),
        }
    }

    /// How many next hops or groups the generated routes behind a port take in turn.
    pub fn targets(&self, behind: PortId) -> u32 {
        match self.groups(behind) {
            0 => self.group_size(behind).max(1),
            groups => groups,
        }
    }

    /// How many next hops come and go, and are given a route from the start.
    pub fn passing_hops(&self) -> u32 {
        Passing::new(self.fluct_group_table).count()
    }
}

/// Where generated route `number` behind a port leads: the number of a next hop or group, which
/// routes take in turn.
#[inline]
pub fn target(section: &Section, behind: PortId, number: u32) -> u32 {
    let generated = &section.generated;
    match generated.groups(behind) {
        0 => hop_number(section, behind, number % generated.group_size(behind).max(1)),
        groups => {
            let before = match behind {
                DOWNLINK => 0,
                _ => generated.groups(DOWNLINK),
            };
            let listed = section.config.next_hop_groups.len() as u32;
            group_number(listed + before + number % groups)
        }
    }
}

/// The number of generated next hop `number` behind a port: the listed ones come first, then those
/// behind the downlink and the uplink port.
#[inline]
pub fn hop_number(section: &Section, behind: PortId, number: u32) -> u32 {
    let listed = section.config.next_hops.len() as u32;
    match behind {
        DOWNLINK => listed + number,
        _ => listed + section.generated.group_size(DOWNLINK) + number,
    }
}

/// The number of next hop `number` of those that come and go, behind all others.
pub fn passing_hop_number(section: &Section, number: u32) -> u32 {
    hop_number(section, UPLINK, section.generated.group_size(UPLINK) + number)
}
