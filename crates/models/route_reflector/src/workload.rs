//! From the sections of a scenario to what the tester does: who tells which routes, and who is
//! told.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use protocol_bgp::Family;
use route_traffic::source::generated::Generated;
use route_traffic::source::{Evpn, Members, Synthetic, Vpn, mrt};
use route_traffic::{Best, Change, Fed, Plan, Sharing, Speaker, Speaking, Told};

use crate::oracle::{self, Peer};
use crate::otherwise::Otherwise;
use crate::path::Attributes;
use crate::sections::{self, Routes, Section, Traffic};
use crate::wire;

/// Returns the families that the routes of a section are of.
pub fn families(traffic: &Traffic) -> Vec<Family> {
    let both = |ipv4: Family, ipv6: Family| {
        let there = [(ipv4, traffic.prefixes), (ipv6, traffic.ipv6_prefixes)];
        there.into_iter().filter(|(_, count)| *count > 0).map(|(family, _)| family).collect()
    };
    match traffic.routes {
        Routes::Synthetic | Routes::Generated => both(Family::Ipv4Unicast, Family::Ipv6Unicast),
        Routes::File => vec![Family::Ipv4Unicast, Family::Ipv6Unicast],
        Routes::Vpn => both(Family::VpnV4, Family::VpnV6),
        Routes::Evpn => vec![Family::L2vpnEvpn],
    }
}

/// Returns the feeders and the clients of a section.
pub fn speakers(traffic: &Traffic) -> (Vec<Speaker>, Vec<Speaker>) {
    let many = |count: u32, from: Ipv4Addr| -> Vec<Speaker> {
        let one = |at: u32| {
            let address = Ipv4Addr::from_bits(from.to_bits() + at);
            Speaker { local: address.into(), identifier: address.to_bits() }
        };
        (0..count).map(one).collect()
    };
    let clients = many(traffic.clients, CLIENTS);
    match traffic.clients_tell() {
        true => (clients, Vec::new()),
        false => (many(traffic.feeders.into(), FEEDERS), clients),
    }
}

/// Makes the tester's plan of the sections, for a reflector that does some things otherwise.
///
/// # Errors
/// What cannot be had, in words that say what to change.
pub fn plan(section: &Section, traffic: &Traffic, otherwise: &[Otherwise]) -> Result<Plan, String> {
    let routes = routes(section, traffic)?;
    let (feeders, clients) = speakers(traffic);
    let sharing = match traffic.sharing {
        sections::Sharing::Split => Sharing::Split,
        sections::Sharing::Same => Sharing::Same { offset: 1 },
    };
    let count = u16::try_from(feeders.len()).map_err(|_| "too many feeders".to_owned())?;
    let fed = Fed::new(routes, count, sharing)?;
    let best = best(&fed, &feeders)?;
    let mut families: Vec<Family> = fed.families().collect();
    let mut targets = Vec::new();
    if traffic.route_target_constraint {
        families.push(Family::RouteTarget);
        let members = members(traffic)?;
        targets = (0..members.edges()).map(|edge| Some(members.networks(edge))).collect();
    }
    let cluster = section.own().cluster.to_bits();
    let change = match otherwise.contains(&Otherwise::AddsMed) {
        true => Change::ReflectedWithMed { cluster },
        false => Change::Reflected { cluster },
    };
    Ok(Plan {
        fed,
        speaking: Speaking {
            own_as: section.asn,
            device_as: section.asn,
            hold_time_s: section.hold_time_s,
            families,
            graceful_restart_s: section.graceful_restart.then_some(RESTART_S),
            has_extended_messages: true,
        },
        feeders,
        feeders_are_clients: traffic.clients_tell(),
        clients,
        targets,
        change,
        best,
        secret: [traffic.random_seed, 2, 3, 4],
    })
}

fn routes(section: &Section, traffic: &Traffic) -> Result<Arc<dyn route_traffic::Routes>, String> {
    let Traffic { prefixes, ipv6_prefixes, random_seed, .. } = *traffic;
    Ok(match traffic.routes {
        Routes::Synthetic => {
            let (start, count) = match ipv6_prefixes {
                0 => (IpAddr::V4(Ipv4Addr::new(16, 0, 0, 0)), prefixes),
                count => (IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0)), count),
            };
            Arc::new(Synthetic::new(start, count, traffic.attribute_sets)?)
        }
        Routes::Generated => {
            let generated = Generated { ipv4: prefixes, ipv6: ipv6_prefixes, seed: random_seed };
            Arc::new(generated.list()?)
        }
        Routes::File => {
            let file = traffic.file.as_deref().unwrap_or_else(|| "".as_ref());
            let prefixes = Some(prefixes).filter(|count| *count > 0);
            let options = mrt::Options { own_as: section.asn, prefixes, ..mrt::Options::default() };
            Arc::new(mrt::read(file, &options)?.0)
        }
        Routes::Evpn => Arc::new(Evpn::new(members(traffic)?, prefixes)?),
        Routes::Vpn => Arc::new(Vpn::new(members(traffic)?, prefixes, ipv6_prefixes)?),
    })
}

/// Which provider edges are in which VPNs; the number of a VPN is that of its route target.
fn members(traffic: &Traffic) -> Result<Members, String> {
    let narrow = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
    let (edges, most) = (narrow(traffic.clients), narrow(traffic.edges_per_vpn));
    Members::new(traffic.vpns, edges, most, traffic.random_seed)
}

/// Which of several feeders' routes is the best, as the oracle decides it.
fn best(fed: &Fed, feeders: &[Speaker]) -> Result<Best, String> {
    if fed.tellers() < 2 {
        return Ok(Arc::new(|_, told| (!told.is_empty()).then_some(0)));
    }
    let peer = |one: &Speaker| Peer {
        address: one.local,
        identifier: Ipv4Addr::from_bits(one.identifier),
        is_client: true,
    };
    let peers: Vec<Peer> = feeders.iter().map(peer).collect();
    let mut sets: Vec<Attributes> = Vec::new();
    for set in 0..fed.routes().sets() {
        let mut bytes = Vec::new();
        fed.routes().attributes(set, &mut bytes);
        sets.push(wire::attributes_of(&bytes)?);
    }
    Ok(Arc::new(move |_, told: &[Told]| {
        let of = |told: &Told| (usize::from(told.feeder), &sets[told.set as usize]);
        let paths: Vec<(usize, &Attributes)> = told.iter().map(of).collect();
        let feeder = oracle::best(&peers, &paths)?;
        told.iter().position(|told| usize::from(told.feeder) == feeder)
    }))
}

/// For how long a reflector that restarts is asked to keep a peer's routes, in seconds.
const RESTART_S: u16 = 120;

/// The first addresses of feeders and of clients, on loopback.
const FEEDERS: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);
const CLIENTS: Ipv4Addr = Ipv4Addr::new(127, 2, 0, 1);
