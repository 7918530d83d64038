//! Messages of BGP, written and read by a codec that the reflector does not have.

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use netgauze_bgp_pkt::BgpMessage;
use netgauze_bgp_pkt::capabilities::{
    BgpCapability, FourOctetAsCapability, MultiProtocolExtensionsCapability,
};
use netgauze_bgp_pkt::community::Community;
use netgauze_bgp_pkt::nlri::{
    Ipv4Unicast, Ipv4UnicastAddress, Ipv6Unicast, Ipv6UnicastAddress, NlriAddressType,
};
use netgauze_bgp_pkt::open::{BgpOpenMessage, BgpOpenMessageParameter};
use netgauze_bgp_pkt::path_attribute::{
    As4PathSegment, AsPath, AsPathSegmentType, ClusterId, ClusterList, Communities,
    LocalPreference, MpReach, MpUnreach, MultiExitDiscriminator, NextHop, Origin, Originator,
    PathAttribute, PathAttributeValue, UnknownAttribute,
};
use netgauze_bgp_pkt::update::BgpUpdateMessage;
use netgauze_bgp_pkt::wire::deserializer::BgpParsingContext;
use netgauze_parse_utils::WritablePdu;
use netgauze_parse_utils::reader::SliceReader;
use netgauze_parse_utils::traits::ParseFromWithOneInput;

use crate::path::{Attributes, Prefix};

/// What a message says.
#[derive(Debug)]
pub(crate) enum Said {
    Open,
    KeepAlive,
    /// Routes that are withdrawn, and routes that are announced.
    Update(Vec<Prefix>, Vec<(Prefix, Attributes)>),
    /// The end of the session, in words.
    End(String),
}

/// Writes an OPEN for unicast of both families.
pub(crate) fn open(asn: u32, hold_time_s: u16, identifier: Ipv4Addr) -> Vec<u8> {
    let types = [Ipv4UnicastAddress::address_type(), Ipv6UnicastAddress::address_type()];
    let families = types.map(MultiProtocolExtensionsCapability::new);
    let [v4, v6] = families.map(BgpCapability::MultiProtocolExtensions);
    let wide = BgpCapability::FourOctetAs(FourOctetAsCapability::new(asn));
    let offered: Box<[BgpCapability]> = Box::new([v4, v6, wide]);
    let short = u16::try_from(asn).unwrap_or(AS_TRANS);
    let parameters = [BgpOpenMessageParameter::Capabilities(offered)];
    written(&BgpMessage::Open(BgpOpenMessage::new(short, hold_time_s, identifier, parameters)))
}

pub(crate) fn keep_alive() -> Vec<u8> {
    written(&BgpMessage::KeepAlive)
}

/// Writes an UPDATE that announces a route.
pub(crate) fn announcement(prefix: Prefix, attributes: &Attributes) -> Vec<u8> {
    let mut all = of_attributes(attributes);
    let mut nlri = Vec::new();
    match (nlri_of(prefix), attributes.next_hop) {
        (Nlri::V4(one), IpAddr::V4(next_hop)) => {
            all.push(PathAttributeValue::NextHop(NextHop::new(next_hop)));
            nlri.push(one);
        }
        (Nlri::V6(one), IpAddr::V6(next_hop_global)) => {
            let nlri = Box::new([one]);
            let reach = MpReach::Ipv6Unicast { next_hop_global, next_hop_local: None, nlri };
            all.push(PathAttributeValue::MpReach(reach));
        }
        (Nlri::V4(_), IpAddr::V6(_)) | (Nlri::V6(_), IpAddr::V4(_)) => {}
    }
    let all = all.into_iter().map(|value| attribute(value, &attributes.unknown));
    let all: Vec<PathAttribute> = all.flatten().collect();
    written(&BgpMessage::Update(BgpUpdateMessage::new([], all, nlri)))
}

/// Writes an UPDATE that withdraws a route.
pub(crate) fn withdrawal(prefix: Prefix) -> Vec<u8> {
    let update = match nlri_of(prefix) {
        Nlri::V4(one) => BgpUpdateMessage::new([one], [], []),
        Nlri::V6(one) => {
            let unreach =
                PathAttributeValue::MpUnreach(MpUnreach::Ipv6Unicast { nlri: Box::new([one]) });
            let all: Vec<PathAttribute> =
                attribute(unreach, &BTreeMap::new()).into_iter().collect();
            BgpUpdateMessage::new([], all, [])
        }
    };
    written(&BgpMessage::Update(update))
}

/// Reads a whole message.
///
/// # Errors
/// Why it is none, in words.
pub(crate) fn read(message: &[u8]) -> Result<Said, String> {
    let (labels, ids) = (HashMap::new(), HashMap::new());
    let mut context = BgpParsingContext::new(true, labels, ids, true, true, true, true);
    let read = BgpMessage::parse(&mut SliceReader::new(message), &mut context);
    match read.map_err(|why| format!("a message that cannot be read: {why:?}"))? {
        BgpMessage::Open(_) => Ok(Said::Open),
        BgpMessage::KeepAlive => Ok(Said::KeepAlive),
        BgpMessage::Notification(why) => Ok(Said::End(format!("NOTIFICATION {why:?}"))),
        BgpMessage::RouteRefresh(_) => Err("ROUTE-REFRESH, which was not offered".to_owned()),
        BgpMessage::Update(update) => of_update(&update),
    }
}

/// Reads a set of attributes in the one form that the tester has for it.
///
/// # Errors
/// In words, when it is none.
pub(crate) fn attributes_of(set: &[u8]) -> Result<Attributes, String> {
    let mut block = Vec::new();
    for attribute in route_traffic::attributes::Attributes::new(set) {
        let is_next_hop_of_ipv6 = attribute.code == NEXT_HOP && attribute.value.len() != 4;
        if !is_next_hop_of_ipv6 {
            let len = u16::try_from(attribute.value.len()).unwrap_or(u16::MAX);
            block.extend([attribute.flags | EXTENDED_LEN, attribute.code]);
            block.extend(len.to_be_bytes());
            block.extend(attribute.value);
        }
    }
    // An UPDATE with these and a route.
    let lens = [HEADER_LEN + 4 + block.len() + 1, 0, block.len()];
    let [whole, none, attributes] = lens.map(|len| u16::try_from(len).unwrap_or(0).to_be_bytes());
    let header = [&[0xff; 16][..], &whole, &[UPDATE], &none, &attributes].concat();
    match read(&[&header[..], &block, &[0]].concat())? {
        Said::Update(_, there) => {
            let first = there.into_iter().next().map(|(_, attributes)| attributes);
            first.ok_or_else(|| "a set of attributes of no route".to_owned())
        }
        _ => Err("a set of attributes that is no UPDATE".to_owned()),
    }
}

/// Returns a set of attributes as the tester has it, in which some have become others.
pub(crate) fn rewritten(set: &[u8], before: &Attributes, after: &Attributes) -> Vec<u8> {
    let numbers = |all: &[u32]| all.iter().flat_map(|one| one.to_be_bytes()).collect::<Vec<u8>>();
    let of = |it: &Attributes| {
        let it = it.clone().sorted();
        let segments = it.path.chunks(255).flat_map(|some| {
            let head = [AsPathSegmentType::AsSequence as u8, some.len() as u8];
            head.into_iter().chain(numbers(some)).collect::<Vec<u8>>()
        });
        let next_hop = match it.next_hop {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        let extended = it.extended.iter().flat_map(|one| one.to_be_bytes()).collect();
        [
            (AS_PATH, 0x40, segments.collect()),
            (NEXT_HOP, 0x40, next_hop),
            (MED, 0x80, it.med.map(|med| numbers(&[med])).unwrap_or_default()),
            (LOCAL_PREF, 0x40, it.preference.map(|one| numbers(&[one])).unwrap_or_default()),
            (COMMUNITIES, 0xc0, numbers(&it.communities)),
            (EXTENDED_COMMUNITIES, 0xc0, extended),
            (LARGE_COMMUNITIES, 0xc0, numbers(it.large.as_flattened())),
        ]
    };
    let [before, after] = [of(before), of(after)];
    let changed: Vec<&(u8, u8, Vec<u8>)> =
        after.iter().zip(&before).filter(|(one, other)| one != other).map(|(one, _)| one).collect();
    let is_changed = |code: u8| changed.iter().any(|one| one.0 == code);
    let kept = route_traffic::attributes::Attributes::new(set).filter(|it| !is_changed(it.code));
    let mut all: Vec<(u8, u8, &[u8])> = kept.map(|it| (it.code, it.flags, it.value)).collect();
    let there = changed.iter().filter(|(code, _, value)| *code == AS_PATH || !value.is_empty());
    all.extend(there.map(|(code, flags, value)| (*code, *flags, &value[..])));
    all.sort_by_key(|one| one.0);
    let mut out = Vec::new();
    all.into_iter().for_each(|(code, flags, value)| {
        route_traffic::attributes::push(code, flags, value, &mut out)
    });
    out
}

fn of_update(update: &BgpUpdateMessage) -> Result<Said, String> {
    let v4 = |one: &Ipv4UnicastAddress| {
        let net = one.network().address();
        Prefix { address: net.addr().into(), len: net.prefix_len() }
    };
    let v6 = |one: &Ipv6UnicastAddress| {
        let net = one.network().address();
        Prefix { address: net.addr().into(), len: net.prefix_len() }
    };
    let mut gone: Vec<Prefix> = update.withdraw_routes().iter().map(v4).collect();
    let mut there: Vec<(Prefix, Option<IpAddr>)> =
        update.nlri().iter().map(|one| (v4(one), None)).collect();
    let mut attributes = Attributes::new(Ipv4Addr::UNSPECIFIED.into());
    (attributes.preference, attributes.origin) = (None, ABSENT);
    for one in update.path_attributes() {
        match one.value() {
            PathAttributeValue::MpReach(MpReach::Ipv4Unicast { next_hop, nlri, .. }) => {
                there.extend(nlri.iter().map(|one| (v4(one), Some(*next_hop))));
            }
            PathAttributeValue::MpReach(MpReach::Ipv6Unicast {
                next_hop_global,
                next_hop_local,
                nlri,
            }) => {
                let next_hop = Some(IpAddr::V6(*next_hop_global));
                there.extend(nlri.iter().map(|one| (v6(one), next_hop)));
                let local = next_hop_local.map(|local| format!("next hop of the link {local}"));
                attributes.others.extend(local);
            }
            PathAttributeValue::MpUnreach(MpUnreach::Ipv4Unicast { nlri }) => {
                gone.extend(nlri.iter().map(v4));
            }
            PathAttributeValue::MpUnreach(MpUnreach::Ipv6Unicast { nlri }) => {
                gone.extend(nlri.iter().map(v6));
            }
            PathAttributeValue::MpReach(other) => return Err(format!("not agreed on: {other:?}")),
            PathAttributeValue::MpUnreach(other) => {
                return Err(format!("not agreed on: {other:?}"));
            }
            _ => take(&mut attributes, one),
        }
    }
    let there = there.into_iter().map(|(prefix, next_hop)| {
        let next_hop = next_hop.unwrap_or(attributes.next_hop);
        (prefix, Attributes { next_hop, ..attributes.clone() }.sorted())
    });
    Ok(Said::Update(gone, there.collect()))
}

fn take(attributes: &mut Attributes, one: &PathAttribute) {
    match one.value() {
        PathAttributeValue::Origin(origin) => attributes.origin = *origin as u8,
        PathAttributeValue::AsPath(AsPath::As4PathSegments(segments)) => {
            for segment in segments {
                match segment.segment_type() {
                    AsPathSegmentType::AsSequence => {
                        attributes.path.extend_from_slice(segment.as_numbers());
                    }
                    _ => attributes.others.push(format!("{segment:?}")),
                }
            }
        }
        PathAttributeValue::NextHop(it) => attributes.next_hop = it.next_hop().into(),
        PathAttributeValue::MultiExitDiscriminator(it) => attributes.med = Some(it.metric()),
        PathAttributeValue::LocalPreference(it) => attributes.preference = Some(it.metric()),
        PathAttributeValue::Communities(it) => {
            attributes.communities.extend(it.communities().iter().map(Community::value));
        }
        PathAttributeValue::Originator(it) => attributes.originator = Some(it.id()),
        PathAttributeValue::ClusterList(it) => {
            attributes.clusters.extend(it.cluster_list().iter().map(ClusterId::id));
        }
        PathAttributeValue::UnknownAttribute(it) => {
            attributes.unknown.insert(it.code(), (one.partial(), it.value().to_vec()));
        }
        PathAttributeValue::ExtendedCommunities(_) => {
            let all = value_of(one);
            let (all, _) = all.as_chunks();
            attributes.extended.extend(all.iter().copied().map(u64::from_be_bytes));
        }
        PathAttributeValue::LargeCommunities(_) => {
            let all = value_of(one);
            let (all, _) = all.as_chunks::<12>();
            attributes.large.extend(all.iter().map(|one| {
                let (parts, _) = one.as_chunks();
                [0, 1, 2].map(|at| u32::from_be_bytes(parts[at]))
            }));
        }
        other => attributes.others.push(format!("{other:?}")),
    }
}

/// The value of an attribute as it stands in a message.
fn value_of(attribute: &PathAttribute) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What was read can be written.
    let _ = attribute.write(&mut Cursor::new(&mut bytes));
    let head = if bytes.first().is_some_and(|flags| flags & EXTENDED_LEN != 0) { 4 } else { 3 };
    bytes.split_off(head.min(bytes.len()))
}

fn of_attributes(attributes: &Attributes) -> Vec<PathAttributeValue> {
    let segment = (!attributes.path.is_empty())
        .then(|| As4PathSegment::new(AsPathSegmentType::AsSequence, attributes.path.clone()));
    let segments: Vec<As4PathSegment> = segment.into_iter().collect();
    let mut all = vec![
        PathAttributeValue::Origin(Origin::from_repr(attributes.origin).unwrap_or(Origin::IGP)),
        PathAttributeValue::AsPath(AsPath::as4_path_segments(segments)),
    ];
    let med = attributes.med.map(MultiExitDiscriminator::new);
    all.extend(med.map(PathAttributeValue::MultiExitDiscriminator));
    let preference = attributes.preference.map(LocalPreference::new);
    all.extend(preference.map(PathAttributeValue::LocalPreference));
    if !attributes.communities.is_empty() {
        let communities = attributes.communities.iter().copied().map(Community::new);
        let communities: Vec<Community> = communities.collect();
        all.push(PathAttributeValue::Communities(Communities::new(communities)));
    }
    // In the codec's own form each kind of them has a type.
    let extended: Vec<u8> = attributes.extended.iter().flat_map(|it| it.to_be_bytes()).collect();
    let large = attributes.large.as_flattened().iter().flat_map(|part| part.to_be_bytes());
    for (code, value) in [(EXTENDED_COMMUNITIES, extended), (LARGE_COMMUNITIES, large.collect())] {
        if !value.is_empty() {
            all.push(PathAttributeValue::UnknownAttribute(UnknownAttribute::new(code, value)));
        }
    }
    let originator = attributes.originator.map(Originator::new);
    all.extend(originator.map(PathAttributeValue::Originator));
    if !attributes.clusters.is_empty() {
        let clusters: Vec<ClusterId> =
            attributes.clusters.iter().copied().map(ClusterId::new).collect();
        all.push(PathAttributeValue::ClusterList(ClusterList::new(clusters)));
    }
    for (code, (_, value)) in &attributes.unknown {
        let unknown = UnknownAttribute::new(*code, value.clone());
        all.push(PathAttributeValue::UnknownAttribute(unknown));
    }
    all
}

/// An attribute with the flags that belong to it; none if there are no such.
fn attribute(
    value: PathAttributeValue,
    unknown: &BTreeMap<u8, (bool, Vec<u8>)>,
) -> Option<PathAttribute> {
    let is_unknown = |code: u8| unknown.get(&code).is_some_and(|(is_partial, _)| *is_partial);
    let (is_optional, is_partial) = match &value {
        PathAttributeValue::UnknownAttribute(it) => (true, is_unknown(it.code())),
        value => (value.can_be_optional().unwrap_or(true), false),
    };
    let is_transitive = value.can_be_transitive().unwrap_or(true);
    PathAttribute::from(is_optional, is_transitive, is_partial, false, value).ok()
}

enum Nlri {
    V4(Ipv4UnicastAddress),
    V6(Ipv6UnicastAddress),
}

/// Whether the codec has a prefix: it has no addresses of groups.
pub(crate) fn can_say(prefix: Prefix) -> bool {
    match prefix.address {
        IpAddr::V4(address) => {
            Ipv4Net::new(address, prefix.len).is_ok_and(|net| Ipv4Unicast::from_net(net).is_ok())
        }
        IpAddr::V6(address) => {
            Ipv6Net::new(address, prefix.len).is_ok_and(|net| Ipv6Unicast::from_net(net).is_ok())
        }
    }
}

/// A prefix as the codec has it; one that it refuses is the default route.
fn nlri_of(prefix: Prefix) -> Nlri {
    match prefix.address {
        IpAddr::V4(address) => {
            let net = Ipv4Net::new(address, prefix.len).unwrap_or_default();
            let net = Ipv4Unicast::from_net(net);
            let net = net.or_else(|_| Ipv4Unicast::from_net(Ipv4Net::default()));
            Nlri::V4(Ipv4UnicastAddress::new_no_path_id(net.expect("the default route is unicast")))
        }
        IpAddr::V6(address) => {
            let net = Ipv6Net::new(address, prefix.len).unwrap_or_default();
            let net = Ipv6Unicast::from_net(net);
            let none = Ipv6Net::new(Ipv6Addr::UNSPECIFIED, 0).unwrap_or_default();
            let net = net.or_else(|_| Ipv6Unicast::from_net(none));
            Nlri::V6(Ipv6UnicastAddress::new(None, net.expect("the default route is unicast")))
        }
    }
}

fn written(message: &BgpMessage) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A message of these few attributes is never too long.
    let _ = message.write(&mut Cursor::new(&mut bytes));
    bytes
}

/// The AS of two bytes that stands for one of four (RFC 6793).
const AS_TRANS: u16 = 23_456;

const HEADER_LEN: usize = 19;

/// The type of an UPDATE (RFC 4271 section 4.1).
const UPDATE: u8 = 2;

/// The codes of attributes (RFC 4271, RFC 1997).
const AS_PATH: u8 = 2;
const NEXT_HOP: u8 = 3;
const MED: u8 = 4;
const LOCAL_PREF: u8 = 5;
const COMMUNITIES: u8 = 8;

/// The code of extended communities (RFC 4360).
const EXTENDED_COMMUNITIES: u8 = 16;

/// The code of large communities (RFC 8092).
const LARGE_COMMUNITIES: u8 = 32;

/// The flag of an attribute whose length has two bytes.
const EXTENDED_LEN: u8 = 0x10;

/// ORIGIN of an UPDATE that has none.
const ABSENT: u8 = 255;
