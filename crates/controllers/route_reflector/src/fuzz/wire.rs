//! Prefixes and attributes of the plain reflector as they stand in UPDATEs.

use std::collections::BTreeMap;

use protocol_bgp::attributes as codes;
use protocol_bgp::builder::{Builder, Writing};
use protocol_bgp::families::Family;
use protocol_bgp::path;
use protocol_bgp::rules::Reading;
use protocol_bgp::update::Scan;

use super::model::{Attributes, Prefix};

/// What a peer knows, by family.
pub type Table = BTreeMap<(Family, Prefix), Attributes>;

/// What a peer knows that is told several paths (RFC 7911), also by their identifiers; 0 for those
/// without.
pub type Paths = BTreeMap<(Family, Prefix, u32), Attributes>;

/// Appends UPDATEs that announce prefixes of a family with the same attributes.
///
/// # Panics
/// If the attributes leave no room for a prefix.
pub fn announce(
    out: &mut Vec<u8>,
    (writing, is_external): (&Writing, bool),
    family: Family,
    attributes: &Attributes,
    prefixes: impl IntoIterator<Item = Prefix>,
) {
    let paths = prefixes.into_iter().map(|prefix| (prefix, 0));
    announce_paths(out, (writing, is_external), family, attributes, paths);
}

/// The same of paths with their identifiers.
///
/// # Panics
/// If the attributes leave no room for a prefix.
pub fn announce_paths(
    out: &mut Vec<u8>,
    (writing, is_external): (&Writing, bool),
    family: Family,
    attributes: &Attributes,
    paths: impl IntoIterator<Item = (Prefix, u32)>,
) {
    let next_hop = next_hop(family, attributes.next_hop);
    let block = block(attributes, is_external);
    let mut builder = Builder::announce(out, writing, (family, &next_hop), &block);
    for (prefix, path) in paths {
        builder.push(path, &key(family, prefix), rest(family)).expect("it fits");
    }
    builder.finish();
}

/// Appends UPDATEs that withdraw prefixes of a family.
///
/// # Panics
/// Never: a prefix has room.
pub fn withdraw(
    out: &mut Vec<u8>,
    writing: &Writing,
    family: Family,
    prefixes: impl IntoIterator<Item = Prefix>,
) {
    withdraw_paths(out, writing, family, prefixes.into_iter().map(|prefix| (prefix, 0)));
}

/// The same of paths with their identifiers.
///
/// # Panics
/// Never: a prefix has room.
pub fn withdraw_paths(
    out: &mut Vec<u8>,
    writing: &Writing,
    family: Family,
    paths: impl IntoIterator<Item = (Prefix, u32)>,
) {
    let mut builder = Builder::withdraw(out, writing, family);
    for (prefix, path) in paths {
        builder.push(path, &key(family, prefix), &[]).expect("it fits");
    }
    builder.finish();
}

/// Takes the body of an UPDATE into what a peer knows. Returns the keys that it names, and the
/// family of which it says that all was told.
///
/// # Errors
/// What is wrong with it.
#[expect(clippy::type_complexity, reason = "two lists that are read at once")]
pub fn learn(
    scan: &mut Scan,
    body: &[u8],
    reading: &Reading,
    known: &mut Table,
) -> Result<(Vec<(Family, Prefix)>, Option<Family>), String> {
    let mut paths = Paths::new();
    let (named, end) = learn_paths(scan, body, reading, &mut paths)?;
    let named: Vec<(Family, Prefix)> = named.into_iter().map(|(of, it, _)| (of, it)).collect();
    named.iter().for_each(|key| drop(known.remove(key)));
    known.extend(paths.into_iter().map(|((family, prefix, _), it)| ((family, prefix), it)));
    Ok((named, end))
}

/// The same of paths with their identifiers.
///
/// # Errors
/// What is wrong with it.
#[expect(clippy::type_complexity, reason = "two lists that are read at once")]
pub fn learn_paths(
    scan: &mut Scan,
    body: &[u8],
    reading: &Reading,
    known: &mut Paths,
) -> Result<(Vec<(Family, Prefix, u32)>, Option<Family>), String> {
    let update = scan.read(body, reading).map_err(|fault| fault.to_string())?;
    if let Some(finding) = scan.findings().first() {
        return Err(finding.to_string());
    }
    let mut named = Vec::new();
    for field in update.withdrawn() {
        for nlri in field.nlris() {
            let nlri = nlri.map_err(|why| why.to_string())?;
            let key = (field.family, prefix(field.family, nlri.key.as_slice())?, nlri.path_id);
            known.remove(&key);
            named.push(key);
        }
    }
    for field in update.announced() {
        let told = read_back(field.next_hop, scan)?;
        for nlri in field.nlris() {
            let nlri = nlri.map_err(|why| why.to_string())?;
            let key = (field.family, prefix(field.family, nlri.key.as_slice())?, nlri.path_id);
            known.insert(key, told.clone());
            named.push(key);
        }
    }
    Ok((named, update.end_of_rib))
}

/// What the reflector knows of attributes that a peer has said.
pub fn as_heard(attributes: &Attributes, is_external: bool) -> Attributes {
    let mut heard = attributes.clone();
    if is_external {
        (heard.preference, heard.originator) = (None, None);
        heard.clusters.clear();
    }
    heard
}

/// The key of a prefix: of IPv6 the same bits below 2001:db8::/32, of a VPN those behind a Route
/// Distinguisher, of route targets one of [`ASKED`].
pub fn key(family: Family, (len, octets): Prefix) -> Vec<u8> {
    if family == Family::RouteTarget {
        return asked(len);
    }
    let front = front(family);
    let bytes = usize::from(len).div_ceil(8);
    [&[len + 8 * front.len() as u8][..], front, &octets[..bytes]].concat()
}

fn prefix(family: Family, key: &[u8]) -> Result<Prefix, String> {
    if family == Family::RouteTarget {
        let number = (0..ASKED.len() as u8).find(|number| asked(*number) == key);
        return number.map(|number| (number, [0; 4])).ok_or_else(|| format!("{key:02x?}"));
    }
    let front = front(family);
    let read = || {
        let (len, octets) = key.split_first()?;
        let octets = octets.strip_prefix(front)?;
        let mut whole = [0; 4];
        whole.get_mut(..octets.len())?.copy_from_slice(octets);
        Some((len.checked_sub(8 * front.len() as u8)?, whole))
    };
    read().ok_or_else(|| format!("nobody has told {key:02x?} of {family}"))
}

/// What stands in front of a prefix.
fn front(family: Family) -> &'static [u8] {
    match family {
        Family::Ipv6Unicast => &DOCUMENTATION,
        Family::VpnV4 => &[0; 8],
        _ => &[],
    }
}

/// What stands beside a prefix: a label.
fn rest(family: Family) -> &'static [u8] {
    if family == Family::VpnV4 { &[0, 1, 1] } else { &[] }
}

/// The NLRI of a route target that is asked for, by its number.
pub fn asked(number: u8) -> Vec<u8> {
    let (bits, asn, target) = ASKED[usize::from(number)];
    let all = [&u32::to_be_bytes(asn)[..], &u64::to_be_bytes(target)].concat();
    [&[bits], &all[..usize::from(bits).div_ceil(8)]].concat()
}

/// The next hop on the wire: of IPv6 the same four bytes at the end of 2001:db8::.
fn next_hop(family: Family, octets: [u8; 4]) -> Vec<u8> {
    match family {
        Family::Ipv6Unicast => [&DOCUMENTATION[..], &[0; 8], &octets].concat(),
        Family::VpnV4 => [&[0; 8][..], &octets].concat(),
        _ => octets.to_vec(),
    }
}

fn block(attributes: &Attributes, is_external: bool) -> Vec<u8> {
    let mut ases = Vec::new();
    if !attributes.path.is_empty() {
        path::push(path::SEQUENCE, attributes.path.iter().copied(), &mut ases);
    }
    let numbers = |all: &[u32]| all.iter().flat_map(|one| one.to_be_bytes()).collect::<Vec<u8>>();
    let targets: Vec<u8> = attributes.targets.iter().flat_map(|one| one.to_be_bytes()).collect();
    let one = |it: Option<u32>| it.map(|it| numbers(&[it]));
    let many = |all: &[u32]| (!all.is_empty()).then(|| numbers(all));
    let inner = |it: Option<Vec<u8>>| it.filter(|_| !is_external);
    let mut out = Vec::new();
    for (flags, code, value) in [
        (0x40, codes::ORIGIN, Some(vec![0])),
        (0x40, codes::AS_PATH, Some(ases)),
        (0x80, codes::MED, one(attributes.med)),
        (0x40, codes::LOCAL_PREF, inner(one(attributes.preference))),
        (0xc0, codes::COMMUNITIES, many(&attributes.communities)),
        (0x80, codes::ORIGINATOR_ID, inner(one(attributes.originator))),
        (0x80, codes::CLUSTER_LIST, inner(many(&attributes.clusters))),
        (0xc0, codes::EXTENDED_COMMUNITIES, (!targets.is_empty()).then_some(targets)),
        (0xc0, codes::OTC, one(attributes.otc)),
    ] {
        if let Some(value) = value {
            codes::push(flags, code, &value, &mut out);
        }
    }
    out
}

/// As a reader gets it.
fn read_back(next_hop: &[u8], scan: &Scan) -> Result<Attributes, String> {
    let (block, it) = (scan.block(), scan.summary());
    let segments = path::Segments::new(it.path.of(block));
    let octets = next_hop.last_chunk().ok_or_else(|| format!("a next hop {next_hop:02x?}"))?;
    Ok(Attributes {
        next_hop: *octets,
        path: segments.flat_map(|segment| segment.ases()).collect(),
        med: it.med,
        preference: it.local_pref,
        originator: it.originator_id,
        clusters: it.clusters.numbers(block).collect(),
        communities: it.communities.numbers(block).collect(),
        targets: it.extended_communities.extended(block).map(u64::from_be_bytes).collect(),
        otc: it.otc,
    })
}

/// Where addresses of IPv6 for documentation begin (RFC 3849).
const DOCUMENTATION: [u8; 4] = [0x20, 0x01, 0x0d, 0xb8];

/// Route targets that routes have: of an AS, of an address, of an Ethernet segment.
pub const TARGETS: [u64; 5] = [
    0x0002_fbf4_0000_0000,
    0x0002_fbf4_0000_0001,
    0x0102_0a00_0001_0001,
    0x0102_0a00_0001_0002,
    0x0602_0011_2233_4455,
];

/// What is asked for: bits, an AS, a route target. All, each target, some by whole targets, of
/// several ASes, and some by what several have in common; one that nothing has.
pub const ASKED: [(u8, u32, u64); 12] = [
    (0, 0, 0),
    (32, 64_500, 0),
    (96, 64_500, TARGETS[0]),
    (96, 64_500, TARGETS[1]),
    (96, 1, TARGETS[0]),
    (64, 64_500, 0x0002_fbf4 << 32),
    (96, 64_500, TARGETS[2]),
    (80, 64_500, TARGETS[2] & !0xffff),
    (96, 7, TARGETS[3]),
    (33, 64_500, 1 << 63),
    (96, 64_500, TARGETS[4]),
    (95, 64_500, TARGETS[0]),
];
