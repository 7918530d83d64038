//! From the sections of a scenario to what the tester does: who tells which routes, and who is
//! told.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use protocol_bgp::Family;
use route_traffic::source::generated::Generated;
use route_traffic::source::{Divided, Evpn, Members, Synthetic, Vpn, mrt};
use route_traffic::{Best, Change, Fed, Plan, Routes, Sharing, Speaker, Speaking, Told};

use crate::oracle::{self, Peer, Policies};
use crate::otherwise::Otherwise;
use crate::path::{Attributes, Prefix};
use crate::policy::Policy;
use crate::sections::{self, Routes as From, Section, Traffic};
use crate::wire;

/// Returns the families that the routes of a section are of.
pub fn families(traffic: &Traffic) -> Vec<Family> {
    let both = |ipv4: Family, ipv6: Family| {
        let there = [(ipv4, traffic.prefixes), (ipv6, traffic.ipv6_prefixes)];
        there.into_iter().filter(|(_, count)| *count > 0).map(|(family, _)| family).collect()
    };
    match traffic.routes {
        From::Synthetic | From::Generated => both(Family::Ipv4Unicast, Family::Ipv6Unicast),
        From::File => vec![Family::Ipv4Unicast, Family::Ipv6Unicast],
        From::Vpn => both(Family::VpnV4, Family::VpnV6),
        From::Evpn => vec![Family::L2vpnEvpn],
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
    let policies = section.peers_policies().map_err(|invalid| invalid.to_string())?;
    let (routes, passing) = passing(routes(section, traffic)?, policies)?;
    let (feeders, clients) = speakers(traffic);
    let sharing = match traffic.sharing {
        sections::Sharing::Split => Sharing::Split,
        sections::Sharing::Same => Sharing::Same { offset: 1 },
    };
    let count = u16::try_from(feeders.len()).map_err(|_| "too many feeders".to_owned())?;
    let fed = Fed::new(routes, count, sharing)?;
    let best = best(&fed, &feeders, passing.as_ref())?;
    let passed = passing.map(|passing| {
        let of = move |set: u32| passing.told[set as usize].as_deref().map(<[u8]>::to_vec);
        Arc::new(of) as route_traffic::Passed
    });
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
        passed,
        best,
        secret: [traffic.random_seed, 2, 3, 4],
    })
}

fn routes(section: &Section, traffic: &Traffic) -> Result<Arc<dyn Routes>, String> {
    let Traffic { prefixes, ipv6_prefixes, random_seed, .. } = *traffic;
    Ok(match traffic.routes {
        From::Synthetic => {
            let (start, count) = match ipv6_prefixes {
                0 => (IpAddr::V4(Ipv4Addr::new(16, 0, 0, 0)), prefixes),
                count => (IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0)), count),
            };
            Arc::new(Synthetic::new(start, count, traffic.attribute_sets)?)
        }
        From::Generated => {
            let generated = Generated { ipv4: prefixes, ipv6: ipv6_prefixes, seed: random_seed };
            Arc::new(generated.list()?)
        }
        From::File => {
            let file = traffic.file.as_deref().unwrap_or_else(|| "".as_ref());
            let prefixes = Some(prefixes).filter(|count| *count > 0);
            let options = mrt::Options { own_as: section.asn, prefixes, ..mrt::Options::default() };
            Arc::new(mrt::read(file, &options)?.0)
        }
        From::Evpn => Arc::new(Evpn::new(members(traffic)?, prefixes)?),
        From::Vpn => Arc::new(Vpn::new(members(traffic)?, prefixes, ipv6_prefixes)?),
    })
}

/// Which provider edges are in which VPNs; the number of a VPN is that of its route target.
fn members(traffic: &Traffic) -> Result<Members, String> {
    let narrow = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
    let (edges, most) = (narrow(traffic.clients), narrow(traffic.edges_per_vpn));
    Members::new(traffic.vpns, edges, most, traffic.random_seed)
}

/// What policies make of the sets of attributes of a source.
#[derive(Clone)]
struct Passing {
    /// What of each set is in the table; none where its routes are not taken.
    taken: Arc<Vec<Option<Attributes>>>,
    /// What of each set is told, as the tester has it; none where its routes are not told.
    told: Arc<Vec<Option<Box<[u8]>>>>,
}

/// Divides the routes of a source by the rules that their prefixes fit, and goes through the
/// policies for each set of attributes.
fn passing(
    routes: Arc<dyn Routes>,
    policies: Policies,
) -> Result<(Arc<dyn Routes>, Option<Passing>), String> {
    if policies == Policies::default() {
        return Ok((routes, None));
    }
    let Policies { import, export } = policies;
    let nothing = Policy::default();
    let all = [import.as_ref(), export.as_ref()].map(|policy| policy.unwrap_or(&nothing));
    let mut classes: HashMap<[Vec<bool>; 2], u32> = HashMap::new();
    let mut class_of = Vec::with_capacity(routes.count() as usize);
    let mut wire = Vec::new();
    for route in 0..routes.count() {
        wire.clear();
        routes.wire(route, &mut wire);
        let family = routes.family(routes.set(route));
        let prefix = prefix_of(family, &wire)?;
        let next = classes.len() as u32;
        class_of.push(*classes.entry(all.map(|policy| policy.naming(prefix))).or_insert(next));
    }
    let mut namings: Vec<&[Vec<bool>; 2]> = classes.keys().collect();
    namings.sort_by_key(|naming| classes[*naming]);
    let divided = Divided::new(routes, |route| class_of[route as usize]);
    let (mut taken, mut told, mut set) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..divided.sets() {
        set.clear();
        divided.attributes(number, &mut set);
        let said = wire::attributes_of(&set)?;
        let naming = namings[divided.class(number) as usize];
        let is_ipv4 = divided.family(number) == Family::Ipv4Unicast;
        let pass = |policy: &Option<Policy>, at: usize, it: &Attributes| match policy {
            Some(policy) => policy.pass_named(&naming[at], is_ipv4, it),
            None => Some(it.clone()),
        };
        let own = pass(&import, 0, &said);
        let is_kept = own.as_ref().is_some_and(|own| own.communities.contains(&NO_ADVERTISE));
        let out = own.as_ref().filter(|_| !is_kept).and_then(|own| pass(&export, 1, own));
        told.push(out.map(|out| wire::rewritten(&set, &said, &out).into_boxed_slice()));
        taken.push(own);
    }
    let (taken, told) = (Arc::new(taken), Arc::new(told));
    Ok((Arc::new(divided), Some(Passing { taken, told })))
}

/// The prefix of a route of IPv4 or IPv6 as it stands on the wire.
fn prefix_of(family: Family, wire: &[u8]) -> Result<Prefix, String> {
    let (len, bytes) = wire.split_first().ok_or("a route of nothing")?;
    let mut octets = [0; 16];
    octets.iter_mut().zip(bytes).for_each(|(octet, byte)| *octet = *byte);
    let address = match family {
        Family::Ipv4Unicast => Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into(),
        Family::Ipv6Unicast => Ipv6Addr::from(octets).into(),
        other => return Err(format!("policies of the bench are not for routes of {other}")),
    };
    Ok(Prefix { address, len: *len })
}

/// Which of several feeders' routes is the best, as the oracle decides it, and is told.
fn best(fed: &Fed, feeders: &[Speaker], passing: Option<&Passing>) -> Result<Best, String> {
    let passing = passing.cloned();
    if fed.tellers() < 2 {
        let is_told = move |told: &Told| {
            passing.as_ref().is_none_or(|passing| passing.told[told.set as usize].is_some())
        };
        return Ok(Arc::new(move |_, told| told.first().filter(|one| is_told(one)).map(|_| 0)));
    }
    let peer = |one: &Speaker| Peer {
        address: one.local,
        identifier: Ipv4Addr::from_bits(one.identifier),
        is_client: true,
    };
    let peers: Vec<Peer> = feeders.iter().map(peer).collect();
    let mut sets: Vec<Option<Attributes>> = Vec::new();
    for set in 0..fed.routes().sets() {
        let mut bytes = Vec::new();
        fed.routes().attributes(set, &mut bytes);
        sets.push(match &passing {
            Some(passing) => passing.taken[set as usize].clone(),
            None => Some(wire::attributes_of(&bytes)?),
        });
    }
    Ok(Arc::new(move |_, told: &[Told]| {
        let of = |told: &Told| Some((usize::from(told.feeder), sets[told.set as usize].as_ref()?));
        let paths: Vec<(usize, &Attributes)> = told.iter().filter_map(of).collect();
        let feeder = oracle::best(&peers, &paths)?;
        let at = told.iter().position(|told| usize::from(told.feeder) == feeder)?;
        let is_told = |passing: &Passing| passing.told[told[at].set as usize].is_some();
        passing.as_ref().is_none_or(is_told).then_some(at)
    }))
}

/// NO_ADVERTISE (RFC 1997).
const NO_ADVERTISE: u32 = 0xffff_ff02;

/// For how long a reflector that restarts is asked to keep a peer's routes, in seconds.
const RESTART_S: u16 = 120;

/// The first addresses of feeders and of clients, on loopback.
const FEEDERS: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);
const CLIENTS: Ipv4Addr = Ipv4Addr::new(127, 2, 0, 1);
