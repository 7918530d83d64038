//! The bodies of the fuzz targets, callable on the stable toolchain.
//!
//! A body takes any bytes and panics when a promise is broken: a getter panics, or a header that
//! was accepted is not written back as it was read. [`TARGETS`] is the one list; the fuzz package
//! has a file of five lines for each, and [`smoke`] runs a body over seeded inputs without a
//! fuzzer. What a fuzzer finds becomes a file in the unit's `regressions` folder.
//!
//! A new target is a function here, a line in the list, and its file in the fuzz package.

use std::hint::black_box;
use std::net::{Ipv4Addr, Ipv6Addr};

use wire::{MacAddr, arp, checksum, embedded, ethernet, gtpu, ipv4, ipv6, pcp, tcp, udp, vxlan};

use crate::random::Random;
use examples::examples;

mod alg;
mod examples;
mod forwarders;
mod gateway;
mod logs;
mod nat;
mod replication;
mod translation;

pub use alg::{fuzz_cgnat_ftp, fuzz_cgnat_pptp, fuzz_cgnat_shifts, fuzz_cgnat_sip};
pub use forwarders::{fuzz_chain, fuzz_l2_switch, fuzz_l3_router};
pub use gateway::fuzz_mobile_gateway;
pub use logs::fuzz_cgnat_log;
pub use nat::fuzz_cgnat;
pub use replication::fuzz_cgnat_replication;
pub use translation::fuzz_translation;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its file and binary in the fuzz package.
    pub name: &'static str,
    /// Its body.
    pub run: fn(&[u8]),
}

/// Every target, by name.
pub const TARGETS: &[Target] = &[
    Target { name: "cgnat", run: fuzz_cgnat },
    Target { name: "cgnat_ftp", run: fuzz_cgnat_ftp },
    Target { name: "cgnat_log", run: fuzz_cgnat_log },
    Target { name: "cgnat_pptp", run: fuzz_cgnat_pptp },
    Target { name: "cgnat_replication", run: fuzz_cgnat_replication },
    Target { name: "cgnat_shifts", run: fuzz_cgnat_shifts },
    Target { name: "cgnat_sip", run: fuzz_cgnat_sip },
    Target { name: "chain", run: fuzz_chain },
    Target { name: "l2_switch", run: fuzz_l2_switch },
    Target { name: "l3_router", run: fuzz_l3_router },
    Target { name: "mobile_gateway", run: fuzz_mobile_gateway },
    Target { name: "translation", run: fuzz_translation },
    Target { name: "wire_arp", run: fuzz_wire_arp },
    Target { name: "wire_checksum", run: fuzz_wire_checksum },
    Target { name: "wire_embedded", run: fuzz_wire_embedded },
    Target { name: "wire_ethernet", run: fuzz_wire_ethernet },
    Target { name: "wire_gtpu", run: fuzz_wire_gtpu },
    Target { name: "wire_ipv4", run: fuzz_wire_ipv4 },
    Target { name: "wire_ipv6", run: fuzz_wire_ipv6 },
    Target { name: "wire_mac", run: fuzz_wire_mac },
    Target { name: "wire_pcp", run: fuzz_wire_pcp },
    Target { name: "wire_tcp", run: fuzz_wire_tcp },
    Target { name: "wire_udp", run: fuzz_wire_udp },
    Target { name: "wire_vxlan", run: fuzz_wire_vxlan },
];

/// ARP: what is accepted is written back the same, and a reply goes back to the sender.
pub fn fuzz_wire_arp(data: &[u8]) {
    let Ok(view) = arp::View::parse(data) else { return };
    let mut written = [0; arp::HEADER_LEN];
    view.fields().emit(&mut written);
    assert_eq!(written, data[..arp::HEADER_LEN]);

    let mac = MacAddr([0x02, 0, 0, 0, 0, 1]);
    let mut packet = data.to_vec();
    arp::ViewMut::parse(&mut packet).expect("accepted before").turn_into_reply(mac);
    let reply = arp::View::parse(&packet).expect("a reply can be read");
    assert_eq!(reply.fields(), view.fields().answer(mac));
    assert_eq!((reply.target_mac(), reply.target_ip()), (view.sender_mac(), view.sender_ip()));
}

/// Checksum: the fast sum is the slow sum, and an update is a recomputation.
pub fn fuzz_wire_checksum(data: &[u8]) {
    let words = data
        .chunks(2)
        .map(|pair| u64::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u64::from));
    // Ones'-complement addition is addition modulo 0xffff, in which only nothing sums to zero.
    let expected = match words.sum::<u64>() {
        0 => 0,
        sum => (sum - 1) % 0xffff + 1,
    };
    assert_eq!(u64::from(checksum::Sum::ZERO.add_bytes(data).fold()), expected);

    let Some((new, rest)) = data.split_first_chunk::<4>() else { return };
    let Some(old) = rest.first_chunk::<4>().filter(|_| new != &[0; 4]) else { return };
    let changed = [new, &rest[4..]].concat();
    let [old, new] = [old, new].map(|word| u32::from_be_bytes(*word));
    let updated = checksum::update_u32(checksum::checksum(rest), old, new);
    assert_eq!(updated, checksum::checksum(&changed));
}

/// IPv4 in IPv6 addresses: what is embedded comes out again, under every prefix that is accepted.
pub fn fuzz_wire_embedded(data: &[u8]) {
    let Some((prefix, rest)) = data.split_first_chunk::<16>() else { return };
    let Some((address, rest)) = rest.split_first_chunk::<4>() else { return };
    let Some(&len) = rest.first() else { return };
    let (address, any) = (Ipv4Addr::from(*address), Ipv6Addr::from(*prefix));
    // Most lengths are none of a prefix; half of the inputs have one that is.
    let len = if len & 1 == 0 { len } else { [32, 40, 48, 56, 64, 96][usize::from(len >> 1) % 6] };
    let Ok(prefix) = embedded::Prefix::new(any, len) else { return };
    let embedded = prefix.embed(address);
    assert_eq!((prefix.len(), prefix.extract(embedded)), (len, Some(address)));
    assert!(embedded.octets()[8] == 0 && prefix.contains(prefix.address()));
    assert_eq!(prefix.extract(any).is_some(), prefix.contains(any));
    assert!(!prefix.forbids(address) || prefix == embedded::Prefix::WELL_KNOWN);
}

/// Ethernet: what is accepted is written back the same, and addresses are kept.
pub fn fuzz_wire_ethernet(data: &[u8]) {
    let Ok(view) = ethernet::View::parse(data) else { return };
    let mut written = [0; ethernet::HEADER_LEN];
    view.fields().emit(&mut written);
    assert_eq!([&written[..], view.payload()].concat(), data);

    let (source, destination) = (view.source(), view.destination());
    let mut frame = data.to_vec();
    let mut changed = ethernet::ViewMut::parse(&mut frame).expect("accepted before");
    changed.set_source(destination);
    changed.set_destination(source);
    let view = changed.as_view();
    assert_eq!((view.source(), view.destination()), (destination, source));
}

/// GTP-U: what is accepted is written back the same, and its parts make up the whole.
pub fn fuzz_wire_gtpu(data: &[u8]) {
    let Ok(view) = gtpu::View::parse(data) else { return };
    let message_len = gtpu::HEADER_LEN + usize::from(view.length());
    assert_eq!(view.header_len() + view.payload().len(), message_len);
    let chain_len: usize = view.extensions().map(|header| header.content.len() + 2).sum();
    let optional_len = view.optional_fields().map_or(0, |_| 4);
    assert_eq!(view.header_len(), gtpu::HEADER_LEN + optional_len + chain_len);
    assert!(view.extensions().count() <= gtpu::EXTENSION_HEADERS_MAX);
    assert!(view.elements().count() <= view.payload().len());
    let _ = black_box((view.recovery(), view.error_indication()));

    let mut written = [0; gtpu::HEADER_LEN_OPTIONAL];
    match view.optional_fields() {
        Some(optional) => view.fields().emit_with(&optional, &mut written),
        None => view.fields().emit(written.first_chunk_mut().expect("a constant length")),
    }
    // Fields without their flag are written as zero and need not have been, like the spare bit.
    let written = &written[..gtpu::HEADER_LEN + optional_len];
    assert_eq!(written[0], data[0] & !0x08);
    assert_eq!(written[1..gtpu::HEADER_LEN], data[1..gtpu::HEADER_LEN]);
    let payload_len = view.payload().len();

    let mut message = data.to_vec();
    let mut changed = gtpu::ViewMut::parse(&mut message).expect("accepted before");
    changed.set_teid(!view.teid());
    assert_eq!(changed.payload_mut().len(), payload_len);
    let changed = gtpu::View::parse(&message).expect("a tunnel endpoint changes no length");
    assert_eq!(changed.teid(), !view.teid());
    assert_eq!(changed.payload(), view.payload());
}

/// IPv4: what is accepted is written back the same, and setters keep the checksum right.
pub fn fuzz_wire_ipv4(data: &[u8]) {
    let Ok(view) = ipv4::View::parse_without_checksum(data) else { return };
    assert_eq!(view.header_len() + view.payload().len(), usize::from(view.total_len()));
    assert!(view.options().count() <= ipv4::HEADER_LEN_MAX);
    black_box((view.is_fragment(), view.has_options(), view.checksum()));
    let is_valid = view.checksum_is_valid();
    assert_eq!(ipv4::View::parse(data).is_ok(), is_valid);

    // A right checksum makes the rest of the code reachable.
    let mut packet = data.to_vec();
    packet[ipv4::offset::CHECKSUM..][..2].fill(0);
    let sum = checksum::checksum(&packet[..view.header_len()]);
    packet[ipv4::offset::CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
    let view = ipv4::View::parse(&packet).expect("only the checksum was wrong");
    let has_reserved_flag = packet[ipv4::offset::FLAGS_FRAGMENT] & 0x80 != 0;
    if !view.has_options() && !has_reserved_flag {
        let mut written = [0; ipv4::HEADER_LEN];
        view.fields().emit(&mut written);
        assert_eq!(written, packet[..ipv4::HEADER_LEN]);
    }

    let (source, destination, ttl) = (view.source(), view.destination(), view.ttl());
    let mut changed = ipv4::ViewMut::parse(&mut packet).expect("accepted before");
    changed.set_source(destination);
    changed.set_destination(Ipv4Addr::BROADCAST);
    changed.set_source(source);
    changed.set_dscp(46);
    assert_eq!(changed.decrement_ttl(), ttl > 1);
    assert!(changed.as_view().checksum_is_valid());
    changed.set_destination(destination);
    assert!(ipv4::View::parse(&packet).is_ok());
}

/// IPv6: what is accepted is written back the same, and the walk stays inside the packet.
pub fn fuzz_wire_ipv6(data: &[u8]) {
    let Ok(view) = ipv6::View::parse(data) else { return };
    let mut written = [0; ipv6::HEADER_LEN];
    view.fields().emit(&mut written);
    assert_eq!(written, data[..ipv6::HEADER_LEN]);
    assert_eq!(view.payload().len(), usize::from(view.payload_len()));
    if let Ok(upper) = view.upper_layer() {
        assert!(view.payload().ends_with(upper.payload));
    }

    let mut packet = data.to_vec();
    let mut changed = ipv6::ViewMut::parse(&mut packet).expect("accepted before");
    changed.set_traffic_class(!view.traffic_class());
    assert_eq!(changed.decrement_hop_limit(), view.hop_limit() > 1);
    let changed = changed.as_view();
    assert_eq!(changed.traffic_class(), !view.traffic_class());
    assert_eq!(changed.flow_label(), view.flow_label());
}

/// Ethernet addresses: what is accepted is printed as an address that is the same.
pub fn fuzz_wire_mac(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(mac) = text.parse::<MacAddr>() else { return };
    assert_eq!(mac.to_string(), text.to_lowercase().replace('-', ":"));
}

/// TCP: what is accepted is written back the same, a size that is set can be read, and a computed
/// checksum is right and stays so.
pub fn fuzz_wire_tcp(data: &[u8]) {
    let Ok(view) = tcp::View::parse(data) else { return };
    let mut written = [0; tcp::HEADER_LEN];
    view.fields().emit(&mut written);
    // The reserved bits are written as zero and need not have been.
    written[tcp::offset::DATA_OFFSET] |= data[tcp::offset::DATA_OFFSET] & 0x0f;
    assert_eq!(written, data[..tcp::HEADER_LEN]);
    assert_eq!(view.header_len() + view.payload().len(), data.len());
    assert!(view.options().count() <= tcp::HEADER_LEN_MAX - tcp::HEADER_LEN);

    let (ipv4, ipv6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    let mut segment = data.to_vec();
    segment[tcp::offset::CHECKSUM..][..2].fill(0);
    let sums = [tcp::checksum_ipv4(ipv4, ipv4, &segment), tcp::checksum_ipv6(ipv6, ipv6, &segment)];
    let mut changed = tcp::ViewMut::parse(&mut segment).expect("accepted before");
    changed.set_checksum(sums[0]);
    assert_eq!(changed.as_view().verify_ipv4(ipv4, ipv4), Ok(()));
    changed.set_checksum(sums[1]);
    let is_set = changed.set_maximum_segment_size(1220);
    let view = changed.as_view();
    assert_eq!(view.verify_ipv6(ipv6, ipv6), Ok(()));
    assert_eq!(view.maximum_segment_size(), is_set.then_some(1220));
}

/// UDP: what is accepted is written back the same, and a computed checksum is right.
pub fn fuzz_wire_udp(data: &[u8]) {
    let Ok(view) = udp::View::parse(data) else { return };
    let mut written = [0; udp::HEADER_LEN];
    view.fields().emit(&mut written);
    assert_eq!(written, data[..udp::HEADER_LEN]);
    assert_eq!(udp::HEADER_LEN + view.payload().len(), usize::from(view.length()));

    let (ipv4, ipv6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    let _ = black_box((view.verify_ipv4(ipv4, ipv4), view.verify_ipv6_tunnel(ipv6, ipv6)));
    let mut datagram = data.to_vec();
    let mut changed = udp::ViewMut::parse(&mut datagram).expect("accepted before");
    changed.set_checksum(udp::checksum_ipv4(ipv4, ipv4, &written, view.payload()));
    assert_eq!(changed.as_view().verify_ipv4(ipv4, ipv4), Ok(()));
    changed.set_checksum(udp::checksum_ipv6(ipv6, ipv6, &written, view.payload()));
    assert_eq!(changed.as_view().verify_ipv6(ipv6, ipv6), Ok(()));
}

/// VXLAN: what is accepted keeps its identifier and its payload.
pub fn fuzz_wire_vxlan(data: &[u8]) {
    let Ok(view) = vxlan::View::parse(data) else { return };
    let mut written = [0; vxlan::HEADER_LEN];
    view.fields().emit(&mut written);
    let packet = [&written[..], view.payload()].concat();
    let again = vxlan::View::parse(&packet).expect("what is emitted can be read");
    assert_eq!((again.fields(), again.payload()), (view.fields(), view.payload()));
}

/// PCP: what is accepted keeps its header, its data and its options; reserved bytes do not count.
pub fn fuzz_wire_pcp(data: &[u8]) {
    let Ok(view) = pcp::View::parse(data) else { return };
    let mut written = [0; pcp::HEADER_LEN];
    match view.is_response() {
        true => view.response().emit(&mut written),
        false => view.request().emit(&mut written),
    }
    let message = [&written[..], view.payload()].concat();
    let again = pcp::View::parse(&message).expect("what is emitted can be read");
    match view.is_response() {
        true => assert_eq!(again.response(), view.response()),
        false => assert_eq!(again.request(), view.request()),
    }
    let Ok((map, options)) = view.map() else { return };
    let mut data = [0; pcp::MAP_LEN];
    map.emit(&mut data);
    assert_eq!(pcp::Map::read(&data), map);
    let lengths = pcp::options(options).flatten();
    let lengths = lengths.map(|one| pcp::OPTION_HEADER_LEN + one.data.len().next_multiple_of(4));
    let is_cut = pcp::options(options).any(|option| option.is_err());
    let walked: usize = lengths.sum();
    assert!(walked <= options.len() && (is_cut || walked == options.len()));
}

/// Runs a body over inputs drawn from a seed: half of them noise, half an example with a few
/// bytes changed, cut off or added. The examples are valid packets of every format.
pub fn smoke(target: &Target, seed: u64, iterations: u32) {
    let examples = examples();
    let mut random = Random::new(seed);
    for _ in 0..iterations {
        let mut input = Vec::new();
        if random.below(2) == 1 {
            input.clone_from(&examples[random.below(examples.len())]);
            mutate(&mut input, &mut random);
        } else {
            input.resize_with(random.below(NOISE_LEN_MAX), || random.byte());
        }
        (target.run)(&input);
    }
}

/// Changes, cuts off or adds a few bytes; sometimes nothing.
fn mutate(input: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.below(4) {
        let at = random.below(input.len() + 1);
        match random.below(8) {
            0 => input.truncate(at),
            1 => input.insert(at, random.byte()),
            2 if at < input.len() => input[at] ^= 1 << random.below(8),
            // Headers stand in front; that is where most changes should go.
            _ if !input.is_empty() => {
                let front = random.below(input.len().min(16));
                input[front] = random.byte();
            }
            _ => {}
        }
    }
}

/// The longest noise in bytes: longer than every header.
const NOISE_LEN_MAX: usize = 128;
