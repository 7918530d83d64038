//! Subscribers of VRFs: all that others do, by themselves and at the same time as others with the
//! same addresses, and frames that are of no VRF.
use function_cgnat::config::Prefixed;
use function_cgnat::control::Update;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::set;
use wire::{arp, ethernet, icmp, tcp};

use super::any_realm::OF_ANY_REALM;
use super::build::{self, datagram, datagram_of, query, segment, with_tag};
use super::fragments::{arrives, in_pieces};
use super::steps::{Sample, Sent};
use super::{fragments, host, refusals};

/// All of it, where there are VRFs.
pub(super) fn all(sample: &mut Sample) {
    let vlans = sample.places.vlans();
    let Some(&first) = vlans.first() else { return };
    tags(sample, first);
    for &vlan in &vlans {
        for part in OF_ANY_REALM.into_iter().chain([strangers as fn(&mut Sample)]) {
            sample.forget();
            sample.vlan = vlan;
            part(sample);
            sample.vlan = 0;
        }
    }
    let realms = [&[0], &vlans[..]].concat();
    for part in [same_address, between, pieces, clear, own_pools, deterministic] {
        sample.forget();
        part(sample, &realms);
        sample.vlan = 0;
    }
}

/// Tags of nobody, tags that are none, and what may not be behind one.
fn tags(sample: &mut Sample, known: u16) {
    let ends = [(sample.visitor(0), 4000), (sample.server(0), 53)];
    let packet = datagram(ends[0], ends[1]);
    let plain = sample.framed(INSIDE, &packet);
    let unknown = (1..=4094).find(|vlan| sample.config.vrfs.iter().all(|vrf| vrf.vlan != *vlan));
    if let Some(unknown) = unknown {
        sample.frame(INSIDE, "a tag of no VRF", with_tag(plain.clone(), unknown));
        let mut all = with_tag(plain.clone(), unknown);
        all[..6].fill(0xff);
        sample.frame(INSIDE, "the same for all stations", all);
    }
    sample.frame(INSIDE, "a tag with a priority alone", with_tag(plain.clone(), 0xa000));
    let whole = with_tag(plain.clone(), known);
    for len in [15, 16, 17, 18, 30] {
        sample.frame(INSIDE, "a frame that ends in its tag, or behind", whole[..len].to_vec());
    }
    let mut other = whole.clone();
    other[4] ^= 0x10;
    sample.frame(INSIDE, "a tagged frame for another station", other);
    sample.frame(INSIDE, "a tag in a tag", with_tag(whole.clone(), known));
    let mut service = whole.clone();
    service[12..14].copy_from_slice(&[0x88, 0xa8]);
    sample.frame(INSIDE, "a service tag", service);
    let mut ipv6 = whole.clone();
    ipv6[16..18].copy_from_slice(&ethernet::TYPE_IPV6.to_be_bytes());
    sample.frame(INSIDE, "IPv6 in a VRF", ipv6);
    let outside = sample.framed(OUTSIDE, &packet);
    sample.frame(OUTSIDE, "a tag at the outside port", with_tag(outside, known));
    for tci in [known, known | 0xf000] {
        for (to_port, ip) in
            [(true, sample.config.inside_ip), (false, sample.config.inside_ip), (false, ends[0].0)]
        {
            let asked = refusals::question(sample, (INSIDE, to_port), arp::OPERATION_REQUEST, ip);
            sample.frame(INSIDE, "ARP in a VRF", with_tag(asked, tci));
        }
    }
}

/// Who is of no network of the VRF, and a connection that nobody began.
fn strangers(sample: &mut Sample) {
    let server = (sample.server(0), 80);
    if let Some(stranger) = sample.places.stranger {
        sample.inside("a stranger in a VRF", &datagram((stranger, 4000), server));
    }
    let visitor = (sample.visitor(0), 4000);
    sample.inside("a segment of no connection", &segment(visitor, server, tcp::FLAG_ACK));
    sample.unanswerable(INSIDE, &datagram(visitor, server));
}

/// The same packet of each realm: each has its own session, and is answered for itself.
pub(super) fn same_address(sample: &mut Sample, realms: &[u16]) {
    let server = (sample.server(0), 53);
    let mut sent = Vec::new();
    for &vlan in realms {
        sample.vlan = vlan;
        let visitor = (sample.visitor(0), 5000);
        let (asked, echo) = (datagram(visitor, server), icmp::v4::ECHO_REQUEST);
        let one = sample.inside("a subscriber of each realm asks", &asked);
        let ping = query(visitor.0, server.0, echo, 77);
        let ping = sample.inside("and pings", &ping);
        sent.push((vlan, visitor, one, ping));
    }
    for &(vlan, visitor, one, ping) in sent.iter().rev() {
        sample.vlan = vlan;
        let got = sample.answer_to((OUTSIDE, one), "each is answered", &datagram(server, visitor));
        let reply = query(server.0, visitor.0, icmp::v4::ECHO_REPLY, 0);
        sample.answer_to((OUTSIDE, ping), "and its ping", &reply);
        let error = build::error(visitor.0, server.0, icmp::v4::UNREACHABLE, &[0; 28]);
        sample.answer(INSIDE, "and does not want it", &error, vec![(got, (14, 28, 42))]);
        sample.inside("each goes on", &datagram(visitor, server));
    }
}

/// Subscribers of different realms by their outside addresses.
pub(super) fn between(sample: &mut Sample, realms: &[u16]) {
    let server = (sample.server(0), 3478);
    let mut peers = Vec::new();
    for &vlan in realms {
        sample.vlan = vlan;
        let peer = (sample.visitor(1), 8000);
        let known = sample.inside("a peer asks for its address", &datagram(peer, server));
        peers.push((vlan, peer, known));
    }
    for (index, &(vlan, one, at_one)) in peers.iter().enumerate() {
        let (other_vlan, other, at_other) = peers[(index + 1) % peers.len()];
        let to = |sample: &mut Sample, way: (u16, u16, Sent), about, packet: &[u8]| -> Sent {
            sample.vlan = way.0;
            let sent = sample.answer_to((INSIDE, way.2), about, packet);
            sample.leaves_towards(sent, way.1);
            sent
        };
        let out = (vlan, other_vlan, at_other);
        let back = (other_vlan, vlan, at_one);
        let first = to(sample, out, "to a peer of another realm", &datagram(one, server));
        to(sample, back, "which answers", &datagram(other, server));
        let syn = segment(one, server, tcp::FLAG_SYN);
        to(sample, out, "a connection to nobody", &syn);
        sample.vlan = other_vlan;
        let error = build::error(other.0, server.0, icmp::v4::UNREACHABLE, &[0; 28]);
        let parts = vec![(first, (14, 28, 42)), (first, (26, 4, 30))];
        sample.answer(INSIDE, "an error about a packet of another realm", &error, parts);
        host::rest(sample);
        let mut last = datagram(one, server);
        set(8, 2)(&mut last);
        to(sample, out, "a packet whose hops end between realms", &last);
    }
}

/// Datagrams in pieces with the same addresses and identification in each realm, mixed, and to
/// another realm.
pub(super) fn pieces(sample: &mut Sample, realms: &[u16]) {
    let server = (sample.server(0), 6200);
    let whole: Vec<_> = realms
        .iter()
        .map(|&vlan| {
            sample.vlan = vlan;
            let visitor = (sample.visitor(0), 6100);
            (vlan, in_pieces(&datagram_of(visitor, server, 100), 3))
        })
        .collect();
    for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0]] {
        for index in order {
            for (vlan, pieces) in &whole {
                sample.vlan = *vlan;
                sample.inside("a piece, as in other realms", &pieces[index]);
            }
        }
        sample.vlan = 0;
        fragments::rest(sample);
    }
    sample.vlan = realms[realms.len() - 1];
    let peer = (sample.visitor(2), 8002);
    let known = sample.inside("a peer asks for its address", &datagram(peer, server));
    for order in [[0, 1, 2], [2, 0, 1]] {
        for &vlan in realms {
            sample.vlan = vlan;
            let pieces = in_pieces(&datagram_of((sample.visitor(0), 6102), server, 100), 4);
            for index in order {
                arrives(sample, (INSIDE, known), "a piece to another realm", &pieces[index]);
            }
        }
        fragments::rest(sample);
    }
}

/// The sessions of one end, and those of the same address elsewhere go on.
pub(super) fn clear(sample: &mut Sample, realms: &[u16]) {
    let server = (sample.server(0), 53);
    let packets = |sample: &mut Sample| {
        for &vlan in realms {
            sample.vlan = vlan;
            sample.inside("in each realm", &datagram((sample.visitor(0), 5000), server));
        }
    };
    packets(sample);
    for &vlan in realms {
        sample.vlan = vlan;
        sample.clear(sample.visitor(0));
        sample.clear(sample.visitor(0));
        packets(sample);
    }
    let address = sample.visitor(0).into();
    sample.update(Update::ClearSubscriber { address, vlan: 4095 });
    sample.update(Update::SetSessionLimit { sessions: 1 });
    packets(sample);
    for &vlan in realms {
        sample.vlan = vlan;
        sample.inside("one too many", &datagram((sample.visitor(0), 5002), server));
        sample.unanswerable(INSIDE, &datagram((sample.visitor(0), 5002), server));
    }
    let sessions = sample.config.session_limit();
    sample.update(Update::SetSessionLimit { sessions });
}

/// Pools of VRFs are drained: others go on.
fn own_pools(sample: &mut Sample, realms: &[u16]) {
    let server = (sample.server(0), 53);
    let pools: Vec<Prefixed<_>> =
        sample.config.vrfs.iter().flat_map(|vrf| vrf.pools.clone()).collect();
    let packets = |sample: &mut Sample, number: usize| {
        for &vlan in realms {
            sample.vlan = vlan;
            sample.inside("in each realm", &datagram((sample.visitor(number), 5000), server));
            sample.unanswerable(INSIDE, &datagram((sample.visitor(number), 5000), server));
        }
    };
    packets(sample, 0);
    pools.iter().for_each(|&pool| sample.update(Update::DrainPool { pool }));
    packets(sample, 0);
    packets(sample, 1);
    pools.iter().for_each(|&pool| sample.update(Update::AddPool { pool }));
    packets(sample, 1);
    sample.change_pools(|pool| Update::DrainPool { pool });
    packets(sample, 2);
    sample.change_pools(|pool| Update::AddPool { pool });
    packets(sample, 2);
}

/// A subscriber with a deterministic rule in its VRF, and the same address elsewhere.
fn deterministic(sample: &mut Sample, realms: &[u16]) {
    let server = (sample.server(0), 53);
    let rules = sample.config.deterministic.clone();
    for rule in rules.iter().filter(|rule| rule.realm != 0) {
        let size = 1u64 << (32 - rule.inside.len);
        let first = rule.inside.address.to_bits() & !((size - 1) as u32);
        let own = std::net::Ipv4Addr::from_bits(first + size as u32 / 2);
        for &vlan in realms {
            sample.vlan = vlan;
            let asked = datagram((own, 9000), server);
            let sent = sample.inside("an address that has a rule in one realm", &asked);
            sample.answer_to((OUTSIDE, sent), "it is answered", &datagram(server, (own, 9000)));
        }
    }
}
