//! The model of groups: every bucket of each group in a list, shared out anew after every change,
//! and the hash of a flow in wide numbers.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use function_l3_router::config::{Config, NextHop};
use model_kit::headers::Headers;
use model_kit::host::word;

use super::reassembly::Known;
use super::routes::To;
use crate::catalogue;

/// All groups.
pub(super) struct Groups {
    all: Vec<Group>,
    buckets: usize,
    seed: u128,
    /// Numbers of next hops are below.
    hops: u32,
}

/// A group.
#[derive(Clone)]
struct Group {
    /// The weights of its members, whether they are there or not.
    weights: BTreeMap<u32, u16>,
    /// Whose each bucket is.
    buckets: Vec<Option<u32>>,
}

impl Groups {
    pub fn new(config: &Config) -> Groups {
        let buckets = vec![None; config.ecmp_buckets as usize];
        let empty = Group { weights: BTreeMap::new(), buckets };
        let mut all = vec![empty; config.groups_max() as usize];
        for (group, hop, weight) in config.all_members() {
            all[group as usize].weights.insert(hop, weight);
        }
        let seed = u128::from(config.ecmp_seed);
        Groups {
            all,
            buckets: config.ecmp_buckets as usize,
            seed: seed << 32 | seed,
            hops: config.next_hops_max(),
        }
    }

    pub fn set(&mut self, group: u32, hop: u32, weight: u16) -> bool {
        let Some(group) = self.all.get_mut(group as usize) else { return false };
        let has_room = group.weights.contains_key(&hop) || group.weights.len() < 64;
        let is_possible = hop < self.hops && weight > 0 && has_room;
        if is_possible {
            group.weights.insert(hop, weight);
        }
        is_possible
    }

    pub fn remove(&mut self, group: u32, hop: u32) -> bool {
        let group = self.all.get_mut(group as usize);
        group.is_some_and(|group| group.weights.remove(&hop).is_some())
    }

    pub fn has(&self, number: u32) -> bool {
        (catalogue::GROUPS..catalogue::GROUPS + self.all.len() as u32).contains(&number)
    }

    /// After a change of a next hop or member: every bucket is somebody's who is there. From the
    /// first bucket on everybody keeps as many as are his by weight; the others go round among
    /// those who miss some, in the order of their numbers.
    pub fn share(&mut self, hop: u32, there: &BTreeMap<u32, NextHop>) {
        let is_its = |group: &&mut Group| {
            group.weights.contains_key(&hop) || group.buckets.contains(&Some(hop))
        };
        for group in self.all.iter_mut().filter(is_its) {
            let is_there = |one: &(&u32, &u16)| there.contains_key(one.0);
            let present: Vec<(u32, u32)> =
                group.weights.iter().filter(is_there).map(|(&n, &w)| (n, w.into())).collect();
            let weights: Vec<u32> = present.iter().map(|&(_, weight)| weight).collect();
            let mut missing = tables::oracle::shares(&weights, self.buckets);
            for bucket in &mut group.buckets {
                let owner = present.iter().position(|&(number, _)| Some(number) == *bucket);
                match owner.filter(|&owner| missing[owner] > 0) {
                    Some(owner) => missing[owner] -= 1,
                    None => *bucket = None,
                }
            }
            let mut turns = (0..present.len()).cycle();
            for bucket in group.buckets.iter_mut().filter(|bucket| bucket.is_none()) {
                let next = turns.by_ref().take(present.len()).find(|&turn| missing[turn] > 0);
                let Some(next) = next else { break };
                missing[next] -= 1;
                *bucket = Some(present[next].0);
            }
        }
    }

    /// The next hop of a packet whose route leads to a group; any other way as it is.
    pub fn of_packet(&self, to: To, packet: &[u8], known: Option<Known>) -> To {
        let is_ipv4 = packet[0] >> 4 == 4;
        let (addresses, rest) = if is_ipv4 { ipv4(packet) } else { ipv6(packet) };
        let of_known = known.map(|(protocol, ports)| {
            let ports = ports.map_or(0, |(from, to)| u128::from(from) << 16 | u128::from(to));
            ports * 256 + u128::from(protocol)
        });
        self.pick(to, addresses, of_known.unwrap_or(rest))
    }

    /// The same for what goes through a tunnel to its far end.
    pub fn of_tunnel(&self, to: To, remote: Ipv4Addr) -> To {
        self.pick(to, u128::from(remote.to_bits()), 0)
    }

    /// All next hops by which a route may lead.
    pub fn any_of(&self, to: To) -> Vec<u32> {
        match (to, self.group(to)) {
            (_, Some(group)) => group.weights.keys().copied().collect(),
            (To::NextHop(number), None) => vec![number],
            _ => Vec::new(),
        }
    }

    fn pick(&self, to: To, addresses: u128, rest: u128) -> To {
        let Some(group) = self.group(to) else { return to };
        let first = product(addresses ^ ROOT_2 ^ self.seed, rest ^ ROOT_3);
        let hash = product(first ^ ROOT_5, ROOT_7);
        let bucket = hash as usize % self.buckets;
        // A number that is nobody's stands for nobody.
        To::NextHop(group.buckets[bucket].unwrap_or(u32::MAX))
    }

    fn group(&self, to: To) -> Option<&Group> {
        match to {
            To::NextHop(number) => self.all.get(number.checked_sub(catalogue::GROUPS)? as usize),
            _ => None,
        }
    }
}

/// The addresses as a number, and what counts beside them.
fn ipv4(packet: &[u8]) -> (u128, u128) {
    let addresses = number(&packet[12..20]);
    let behind = usize::from(packet[0] & 15) * 4;
    let is_fragment = word(packet, 6) & 0x3fff != 0;
    (addresses, if is_fragment { 0 } else { rest(packet, packet[9], behind) })
}

fn ipv6(packet: &[u8]) -> (u128, u128) {
    let half = |at: usize| number(&packet[at..at + 8]);
    let source = product(half(8) ^ ROOT_5, half(16) ^ ROOT_7);
    let destination = product(half(24) ^ ROOT_5, half(32) ^ ROOT_7);
    let turned = destination * 2 % (1 << 64) + destination / (1 << 63);
    let headers = Headers::of_ipv6(packet, 8);
    let counts = match headers.behind {
        Some(behind) if !is_first_fragment(packet, &headers) => {
            rest(packet, headers.protocol, behind)
        }
        _ => 0,
    };
    (source ^ turned, counts)
}

/// Whether one of the extension headers says that other fragments follow this first one.
fn is_first_fragment(packet: &[u8], headers: &Headers) -> bool {
    headers.chain.iter().any(|&(kind, at)| kind == 44 && packet[at + 3] & 1 == 1)
}

fn rest(packet: &[u8], protocol: u8, behind: usize) -> u128 {
    let has_ports = [6, 17, 33, 132, 136].contains(&protocol) && packet.len() >= behind + 4;
    let ports = if has_ports { number(&packet[behind..behind + 4]) } else { 0 };
    ports * 256 + u128::from(protocol)
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, &byte| number * 256 + u128::from(byte))
}

/// The upper 64 bits of a product added to the lower ones without carry.
fn product(one: u128, other: u128) -> u128 {
    let product = one * other;
    (product % (1 << 64)) ^ (product / (1 << 64))
}

/// The first 64 binary digits behind the point of these roots.
const ROOT_2: u128 = 0x6a09_e667_f3bc_c908;
const ROOT_3: u128 = 0xbb67_ae85_84ca_a73b;
const ROOT_5: u128 = 0x3c6e_f372_fe94_f82b;
const ROOT_7: u128 = 0xa54f_f53a_5f1d_36f1;
