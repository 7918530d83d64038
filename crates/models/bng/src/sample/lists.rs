//! Lists of rules: each word of a rule, of a session's own list and of its profile's.

use std::net::{IpAddr, Ipv4Addr};

use function_bng::Update;
use function_bng::config::{
    Action, Direction, List, Matched, Name, Net, Part, Profile, Rule, Session,
};
use function_kit::sections::Ports;
use model_kit::build::{datagram, packet, set, set_word};
use wire::{ipv4, protocol};

use super::build;
use super::steps::{Sample, VISITOR, plain};

/// Lists of one rule each, which packets of many kinds meet or not.
pub(super) fn lists(sample: &mut Sample) {
    let net = |address: IpAddr, len| Some(Matched::Network(Net { address, len }));
    let deny = Rule::for_all(Action::Deny);
    let own = Some(Matched::Subscriber);
    let port = |first, last| Some(Ports { first, last });
    let rules = [
        deny,
        Rule { direction: Some(Direction::Up), ..deny },
        Rule { direction: Some(Direction::Down), ..deny },
        Rule { source: own, ..deny },
        Rule { destination: own, ..deny },
        Rule { source: net(build::server(true), 24), ..deny },
        Rule { destination: net(build::server(false), 48), ..deny },
        Rule { source: own, destination: net(build::server(true), 32), ..deny },
        Rule { protocol: Some(protocol::UDP), ..deny },
        Rule { protocol: Some(protocol::TCP), ..deny },
        Rule { source_ports: port(40_000, 40_000), ..deny },
        Rule { destination_ports: port(1, 9), ..deny },
        Rule { dscp: Some(46), ..deny },
        Rule { fragment: Some(Part::None), ..deny },
        Rule { fragment: Some(Part::Any), ..deny },
        Rule { fragment: Some(Part::Later), ..deny },
        Rule { source: net(IpAddr::from(Ipv4Addr::UNSPECIFIED), 0), protocol: Some(6), ..deny },
    ];
    for rule in rules {
        let list = List { name: LIST, rules: vec![rule], otherwise: Action::Permit };
        sample.update(Update::AddList(list));
        change(sample, |session| Session { list: Some(LIST), ..session });
        packets(sample);
        change(sample, |session| Session { list: None, ..session });
        sample.update(Update::RemoveList { name: LIST });
    }
    of_profile(sample);
}

/// The list of a profile, of several rules, and the one of the session before it.
fn of_profile(sample: &mut Sample) {
    let permit = Rule { dscp: Some(46), ..Rule::for_all(Action::Permit) };
    let rules = vec![permit, Rule::for_all(Action::Deny)];
    let [common, none] = [LIST, OTHER].map(|name| List {
        name,
        rules: if name == LIST { rules.clone() } else { Vec::new() },
        otherwise: Action::Deny,
    });
    sample.update(Update::AddList(common));
    sample.update(Update::AddList(none));
    sample.update(Update::AddProfile(Profile { list: Some(LIST), ..plain(LISTED) }));
    change(sample, |session| Session { profile: LISTED, ..session });
    packets(sample);
    sample.update(Update::RemoveList { name: LIST });
    change(sample, |session| Session { profile: LISTED, list: Some(OTHER), ..session });
    packets(sample);
    change(sample, |session| Session { profile: VISITOR, ..session });
    sample.update(Update::RemoveProfile { name: LISTED });
    for name in [LIST, OTHER] {
        sample.update(Update::RemoveList { name });
    }
}

/// Both visitors become others; the sample's own idea of them stays.
fn change(sample: &mut Sample, change: impl Fn(Session) -> Session) {
    for session in sample.visitors() {
        sample.update(Update::ChangeSession(change(session)));
    }
}

/// Packets that differ in what rules look at, both ways.
fn packets(sample: &mut Sample) {
    for session in sample.visitors() {
        for own in build::addresses(&session) {
            let server = build::server(own.is_ipv4());
            for is_up in [true, false] {
                let (from, to) = if is_up { (own, server) } else { (server, own) };
                let packet = build::udp(from, to, 80);
                send(sample, &session, is_up, &packet);
            }
        }
        let ([IpAddr::V4(own), ..], IpAddr::V4(server)) =
            (&build::addresses(&session)[..], build::server(true))
        else {
            continue;
        };
        for is_up in [true, false] {
            let (from, to) = if is_up { (*own, server) } else { (server, *own) };
            for packet in kinds(from, to) {
                send(sample, &session, is_up, &packet);
            }
        }
    }
    let session = sample.ipoe;
    let Some(IpAddr::V6(own)) = build::addresses(&session).into_iter().find(IpAddr::is_ipv6) else {
        return;
    };
    for is_up in [true, false] {
        let (from, to) = match is_up {
            true => (IpAddr::from(own), build::server(false)),
            false => (build::server(false), IpAddr::from(own)),
        };
        let mut behind = build::udp(from, to, 80);
        behind[6] = 60;
        behind[40..48].copy_from_slice(&[17, 0, 1, 4, 0, 0, 0, 0]);
        send(sample, &session, is_up, &behind);
        behind[41] = 200;
        send(sample, &session, is_up, &behind);
    }
}

/// Packets of IPv4 that differ in what rules look at.
fn kinds(from: Ipv4Addr, to: Ipv4Addr) -> Vec<Vec<u8>> {
    let of = |protocol, payload: &[u8]| packet(from, to, protocol, payload);
    let whole = of(protocol::UDP, &datagram((5, 6), &[7; 40]));
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = whole.clone();
        change(&mut packet);
        packet
    };
    vec![
        of(protocol::TCP, &[9; 40]),
        of(protocol::TCP, &[9; 12]),
        of(protocol::UDP, &[9; 7]),
        of(protocol::ICMP, &[3; 8]),
        changed(&|packet| set(ipv4::offset::DSCP_ECN, 46 << 2)(packet)),
        changed(&|packet| set_word(ipv4::offset::FLAGS_FRAGMENT, 0x2000)(packet)),
        changed(&|packet| set_word(ipv4::offset::FLAGS_FRAGMENT, 0x0010)(packet)),
    ]
}

fn send(sample: &mut Sample, session: &Session, is_up: bool, packet: &[u8]) {
    if is_up {
        let frame = build::up(&sample.config, session, packet);
        sample.access("a packet that a list judges", frame);
    } else {
        let frame = build::down(&sample.config, packet);
        sample.core("a packet that a list judges", frame);
    }
}

const LIST: Name = Name::new("visitors");
const OTHER: Name = Name::new("visitors-own");
const LISTED: Name = Name::new("visitor-listed");
