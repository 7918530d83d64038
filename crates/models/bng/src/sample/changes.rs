//! Changes that are possible and that are not, and what is so after them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_bng::Update;
use function_bng::config::{
    Action, Line, List, Name, NextHop, Node, Pppoe, Profile, Route, Rule, Session,
};
use function_kit::sections::{Mac, Ports, Prefixed};
use units::BytesPerSec;
use wire::MacAddr;

use super::steps::{Sample, VISITOR, plain, visitor};

/// Sessions begin, change and end.
pub(super) fn sessions(sample: &mut Sample) {
    let [ipoe, pppoe] = sample.visitors();
    let other = visitor(&sample.section, ipoe.line, 2);
    let prefix = |bits: u128, len| Some(Prefixed { address: Ipv6Addr::from_bits(bits), len });
    let impossible = [
        Session { number: 0, ..other },
        Session { number: u32::MAX, ..other },
        Session { number: ipoe.number, ..other },
        Session { mac: ipoe.mac, ..other },
        Session { mac: Mac(MacAddr::ZERO), ..other },
        Session { mac: Mac(MacAddr::BROADCAST), ..other },
        Session { pppoe: pppoe.pppoe, ..other },
        Session { pppoe: Some(Pppoe { id: 0, mru: 1492 }), ..other },
        Session { pppoe: Some(Pppoe { id: 9, mru: 500 }), ..other },
        Session { line: Line { outer: 7, inner: 0 }, ..other },
        Session { line: Line { outer: 0, inner: 4095 }, ..other },
        Session { ipv4: ipoe.ipv4, ..other },
        Session { ipv4: Some(Ipv4Addr::LOCALHOST), ..other },
        Session { na: pppoe.na, ..other },
        Session { na: Some(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1)), ..other },
        Session { slaac: ipoe.slaac, ..other },
        Session { slaac: prefix(0x3fff_0e01 << 96, 60), ..other },
        Session { delegated: ipoe.delegated, ..other },
        Session { delegated: prefix(0x3fff_0e02 << 96 | 1, 64), ..other },
        Session { profile: Name::new("nobody"), ..other },
        Session { list: Some(Name::new("nothing")), ..other },
        Session { node: Some(Name::new("nowhere")), ..other },
        Session { vrf: Some(Name::new("nowhere")), ..other },
    ];
    for session in impossible {
        sample.update(Update::AddSession(session));
        sample.update(Update::ChangeSession(Session { number: ipoe.number, ..session }));
    }
    sample.update(Update::ChangeSession(ipoe));
    sample.update(Update::ChangeSession(other));
    sample.update(Update::RemoveSession { number: other.number });
    sample.update(Update::AddSession(other));
    sample.update(Update::AddSession(other));
    sample.up("a session that has begun", &other, |_| {});
    sample.down("a session that has begun", &other, |_| {});
    let changed = Session { ipv4: Some(Ipv4Addr::new(172, 16, 9, 9)), na: None, ..other };
    sample.update(Update::ChangeSession(changed));
    for session in [other, changed] {
        sample.up("a session that has changed", &session, |_| {});
        sample.down("a session that has changed", &session, |_| {});
    }
    let number = other.number;
    sample.update(Update::SetProfile { number, profile: Name::new("nobody") });
    sample.update(Update::SetProfile { number, profile: VISITOR });
    sample.update(Update::RemoveSession { number });
    sample.update(Update::RemoveSession { number });
    sample.update(Update::SetProfile { number, profile: VISITOR });
    sample.up("a session that has ended", &changed, |_| {});
    sample.down("a session that has ended", &changed, |_| {});
    // What it had is free.
    let heir = Session { mac: Mac(MacAddr([2, 0xee, 0, 0, 0, 0x55])), ..changed };
    sample.update(Update::AddSession(heir));
    sample.up("a session with another's addresses", &changed, |_| {});
    sample.up("a session with its addresses", &heir, |_| {});
    sample.update(Update::RemoveSession { number });
}

/// What sessions have in common appears and disappears.
pub(super) fn common(sample: &mut Sample) {
    let class = sample.config.classes.first().map_or(VISITOR, |class| class.name);
    let policer = function_bng::config::Policer {
        class,
        rate: BytesPerSec(0.5),
        burst: 1,
        peak_rate: None,
        peak_burst: 1,
        mark: None,
        mark_excess: None,
    };
    let marked =
        function_bng::config::Policer { rate: BytesPerSec(5.0), mark: Some(64), ..policer };
    let profiles = [
        plain(VISITOR),
        Profile { up_rate: Some(BytesPerSec(0.0)), ..plain(NEW) },
        Profile { weight: 0, ..plain(NEW) },
        Profile { overhead_bytes: 257, ..plain(NEW) },
        Profile { list: Some(Name::new("nothing")), ..plain(NEW) },
        Profile { policers: vec![policer], ..plain(NEW) },
        Profile { policers: vec![marked], ..plain(NEW) },
        Profile { policers: vec![policer; 9], ..plain(NEW) },
    ];
    for profile in profiles {
        sample.update(Update::AddProfile(profile));
    }
    for name in [VISITOR, NEW] {
        sample.update(Update::RemoveProfile { name });
    }
    let node = Node { name: NEW, up_rate: None, down_rate: None, burst: 1, weight: 1 };
    for node in [Node { weight: 0, ..node }, node, node] {
        sample.update(Update::AddNode(node));
    }
    for _ in 0..2 {
        sample.update(Update::RemoveNode { name: NEW });
    }
    let turned =
        Rule { source_ports: Some(Ports { first: 2, last: 1 }), ..Rule::for_all(Action::Deny) };
    let list = List { name: NEW, rules: vec![turned], otherwise: Action::Deny };
    let sound = List { rules: vec![Rule::for_all(Action::Permit)], ..list.clone() };
    for list in [list, sound.clone(), sound] {
        sample.update(Update::AddList(list));
    }
    for _ in 0..2 {
        sample.update(Update::RemoveList { name: NEW });
    }
    routes(sample);
}

fn routes(sample: &mut Sample) {
    let hop = crate::catalogue::next_hop(0);
    let (address, vrf) = (hop.address, Some(Name::new("nowhere")));
    sample.update(Update::AddNextHop(hop));
    sample.update(Update::AddNextHop(NextHop { vrf, ..hop }));
    sample.update(Update::RemoveNextHop { address, vrf });
    sample.update(Update::RemoveNextHop { address, vrf: None });
    let network = IpAddr::from([198, 51, 100, 0]);
    let prefix = |address, len| Prefixed { address, len };
    let whole = prefix(network, 24);
    let route = |prefix, vrf, next_hop| Route { prefix, vrf, next_hop };
    let nobody = IpAddr::from([9, 9, 9, 9]);
    for one in [
        route(prefix(IpAddr::from([198, 51, 100, 1]), 24), None, address),
        route(whole, vrf, address),
        route(whole, None, nobody),
        route(whole, None, address),
        route(whole, None, address),
    ] {
        sample.update(Update::AddRoute(one));
    }
    let session = sample.ipoe;
    let own = super::build::addresses(&session)[0];
    let to = IpAddr::from([198, 51, 100, 7]);
    for _ in 0..2 {
        let packet = super::build::udp(own, to, 60);
        let frame = super::build::up(&sample.config, &session, &packet);
        sample.access("by a route that comes and goes", frame);
        sample.update(Update::RemoveRoute { prefix: whole, vrf: None });
    }
    sample.update(Update::RemoveRoute { prefix: whole, vrf: None });
}

const NEW: Name = Name::new("new");
