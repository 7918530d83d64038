//! The Forwarding Plane Manager protocol with FRR's zebra: what it tells is what the kernel has,
//! whatever changes and whoever is killed.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use host::Host;
use netns::Namespace;
use nix::net::if_::if_nametoindex;
use protocol_fpm::{
    Config, Destination, Fpm, Hop, Key, Member, NextHop, Prefix, Report, Route, RouteChange,
};
use protocol_kit::Interface;

use crate::frr::{self, Frr, until};
use crate::probe::linked;

/// What a data plane makes of the reports.
#[derive(Default)]
struct Mirror {
    routes: BTreeMap<(u32, Prefix), Route>,
    objects: BTreeMap<u32, Object>,
    /// Routes that were withdrawn.
    withdrawn: Vec<Prefix>,
    /// Ends of resyncs: how much was swept.
    settled: Vec<u64>,
    connected: usize,
    lost: usize,
}

enum Object {
    NextHop(NextHop),
    Group(Vec<Member>),
}

impl Mirror {
    fn take(&mut self, report: Report) {
        match report {
            Report::Connected { .. } => self.connected += 1,
            Report::Lost { .. } => self.lost += 1,
            Report::Routing(RouteChange::Route(route)) => {
                self.routes.insert((route.table, route.prefix), route);
            }
            Report::Routing(RouteChange::Withdrawn(Key { table, prefix })) => {
                assert!(self.routes.remove(&(table, prefix)).is_some(), "{table} {prefix}");
                self.withdrawn.push(prefix);
            }
            Report::Routing(RouteChange::NextHop { id, next_hop, .. }) => {
                self.objects.insert(id, Object::NextHop(next_hop));
            }
            Report::Routing(RouteChange::Group { id, members }) => {
                self.objects.insert(id, Object::Group(members));
            }
            Report::Routing(RouteChange::NextHopGone { id }) => {
                assert!(self.objects.remove(&id).is_some(), "{id}");
            }
            Report::Settled { swept } => self.settled.push(swept),
            other => panic!("{other:?}"),
        }
    }

    /// How many routes are told that the kernel has of its own.
    fn of_the_kernel(&self) -> usize {
        let is_one = |(_, prefix): &&(u32, Prefix)| matches!(prefix.address(), IpAddr::V4(address) if address.octets()[0] == 20);
        self.routes.keys().filter(is_one).count()
    }

    /// Routes of a protocol by table and prefix, as [`kernel`] has them.
    fn shown(&self, protocol: u8) -> BTreeMap<(u32, Prefix), String> {
        let routes = self.routes.iter().filter(|(_, route)| route.protocol == protocol);
        routes.map(|(key, route)| (*key, self.destination(&route.destination))).collect()
    }

    fn destination(&self, destination: &Destination) -> String {
        let hops = match destination {
            Destination::Blackhole => return "blackhole".into(),
            Destination::Unreachable => return "unreachable".into(),
            Destination::Prohibited => return "prohibit".into(),
            Destination::Hops(hops) => hops.clone(),
            Destination::Object(id) => match self.objects.get(id) {
                Some(Object::NextHop(NextHop::Hop(hop))) => vec![*hop],
                Some(Object::Group(members)) => {
                    let hop = |member: &Member| match self.objects.get(&member.id) {
                        Some(Object::NextHop(NextHop::Hop(hop))) => {
                            Some(Hop { weight: member.weight, ..*hop })
                        }
                        _ => None,
                    };
                    members.iter().filter_map(hop).collect()
                }
                _ => return format!("nothing by the number {id}"),
            },
        };
        let several = hops.len() > 1;
        let text = |hop: &Hop| {
            let gateway = hop.gateway.map_or(String::new(), |gateway| gateway.to_string());
            let Interface(interface) = hop.interface.unwrap_or(Interface(0));
            let weight = if several { hop.weight } else { 1 };
            let onlink = if hop.is_onlink { " onlink" } else { "" };
            format!("via {gateway} at {interface} weight {weight}{onlink}")
        };
        let mut hops: Vec<String> = hops.iter().map(text).collect();
        hops.sort();
        hops.join(", ")
    }
}

/// Routes that the kernel has of a protocol, in all tables.
fn kernel(namespace: &Namespace, protocol: u8) -> BTreeMap<(u32, Prefix), String> {
    let mut all = BTreeMap::new();
    for family in ["-4", "-6"] {
        let command = format!("{family} -oneline route show table all proto {protocol}");
        for line in namespace.ip(&command).expect("routes").lines() {
            let (key, destination) = route_of(line);
            all.insert(key, destination);
        }
    }
    all
}

/// A route in a line of `ip -oneline`, whose next hops stand behind backslashes.
fn route_of(line: &str) -> ((u32, Prefix), String) {
    let mut parts = line.split('\\');
    let words: Vec<&str> = parts.next().unwrap_or_default().split_whitespace().collect();
    let behind = |words: &[&str], name: &str| -> Option<String> {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1).map(|word| (*word).to_owned())
    };
    let kinds = ["blackhole", "unreachable", "prohibit"];
    let kind = kinds.into_iter().find(|kind| words.first() == Some(kind));
    let to = words[usize::from(kind.is_some())];
    let to = if to == "default" { "0.0.0.0/0" } else { to };
    let (address, bits) = to.split_once('/').unwrap_or((to, "32"));
    let address = address.parse().expect("an address");
    let prefix = Prefix::new(address, bits.parse().expect("bits")).expect("a prefix");
    let table = behind(&words, "table").map_or(MAIN, |table| table.parse().expect("a number"));
    let hop = |words: &[&str]| {
        let gateway = behind(words, "via").unwrap_or_default();
        let interface = behind(words, "dev").expect("an interface");
        let interface = if_nametoindex(&interface[..]).expect("it is there");
        let weight = behind(words, "weight").unwrap_or("1".into());
        let onlink = if words.contains(&"onlink") { " onlink" } else { "" };
        format!("via {gateway} at {interface} weight {weight}{onlink}")
    };
    let mut hops: Vec<String> =
        parts.map(|part| hop(&part.split_whitespace().collect::<Vec<_>>())).collect();
    if hops.is_empty() && kind.is_none() {
        hops.push(hop(&words));
    }
    hops.sort();
    ((table, prefix), kind.map_or(hops.join(", "), str::to_owned))
}

/// Turns a host until the mirror is as wanted.
fn turn_until(
    host: &mut Host<Fpm>,
    mirror: &mut Mirror,
    what: &str,
    mut is_wanted: impl FnMut(&Mirror) -> bool,
) {
    until(what, || {
        let reports = host.turn(Duration::from_millis(20)).expect("it turns");
        reports.into_iter().for_each(|report| mirror.take(report));
        is_wanted(mirror).then_some(())
    });
}

/// Whether all static routes are told as the kernel has them, and how many there are.
fn is_kernels(mirror: &Mirror, namespace: &Namespace, count: usize) -> bool {
    let told = mirror.shown(STATICD);
    told.len() == count && told == kernel(namespace, STATICD)
}

/// Static routes of every kind, some of them in numbers.
fn statics() -> Vec<String> {
    let mut lines: Vec<String> = [
        "ip route 10.1.0.0/16 10.9.0.2",
        "ip route 10.2.0.0/16 10.9.0.2",
        "ip route 10.2.0.0/16 10.9.0.3",
        "ip route 10.3.0.0/16 blackhole",
        "ip route 10.4.0.0/16 reject",
        "ip route 10.5.0.0/16 eth0",
        "ip route 10.6.0.0/16 192.0.2.1 eth0 onlink",
        "ip route 0.0.0.0/0 10.9.0.4",
        "ipv6 route 2001:db8:1::/48 fd00:9::2",
        "ipv6 route 2001:db8:2::/48 fd00:9::2",
        "ipv6 route 2001:db8:2::/48 fd00:9::3",
        "ipv6 route 2001:db8:3::/48 blackhole",
    ]
    .map(str::to_owned)
    .to_vec();
    lines.extend((0..200).map(|at| format!("ip route 10.128.{at}.0/24 10.9.0.{}", 2 + at % 8)));
    lines
}

/// What zebra tells, changes, and tells again after it and staticd were killed.
fn zebra_tells_what_the_kernel_has(option: &str) {
    if !frr::is_there() {
        return;
    }
    let (own, _far) = linked();
    // Routes that the kernel has already: zebra tells them, too.
    let line = |at: u32| format!("route add 20.{}.{}.0/24 dev eth0\n", at / 256, at % 256);
    own.ip_batch(&(0..OF_THE_KERNEL).map(line).collect::<String>()).expect("routes");
    let zebra = format!("{option}\nfpm address 127.0.0.1 port 2620\n!\n");
    let mut statics = statics();
    let mut frr = Frr::without_daemons();
    own.run(|| {
        let config = Config { settle: SETTLE, ..Config::default() };
        let mut host = Host::new(Fpm::new(config, 1).expect("memory")).expect("a host");
        let mut mirror = Mirror::default();
        host.turn(Duration::ZERO).expect("it listens");
        frr.run(&own, "zebra", &["-M", "dplane_fpm_nl"], &zebra);
        frr.run(&own, "staticd", &[], &statics.join("\n"));
        let all = statics.len() - 2;
        turn_until(&mut host, &mut mirror, "all routes", |mirror| {
            mirror.of_the_kernel() == OF_THE_KERNEL as usize && is_kernels(mirror, &own, all)
        });
        assert_eq!((mirror.connected, host.take_failures().len()), (1, 0));

        // An update leaves no moment without the route.
        frr.configure(&["ip route 10.1.0.0/16 10.9.0.7", "no ip route 10.1.0.0/16 10.9.0.2"]);
        frr.configure(&[
            "ip route 10.7.0.0/16 10.9.0.5 table 1000",
            "no ip route 10.5.0.0/16 eth0",
        ]);
        let is_changed = |mirror: &Mirror| {
            let of = |to| mirror.routes.get(&(MAIN, prefix(to))).map(|route| &route.destination);
            of("10.5.0.0/16").is_none()
                && of("10.1.0.0/16").is_some_and(|to| mirror.destination(to).contains("10.9.0.7"))
                && is_kernels(mirror, &own, all)
        };
        turn_until(&mut host, &mut mirror, "the changes", is_changed);
        let other_table = mirror.shown(STATICD).into_keys().filter(|(table, _)| *table == 1000);
        assert_eq!(other_table.collect::<Vec<_>>(), [(1000, prefix("10.7.0.0/16"))]);
        assert_eq!(mirror.withdrawn, [prefix("10.5.0.0/16")]);

        // All is killed and comes back, but for a few routes.
        mirror.withdrawn.clear();
        frr.kill("zebra");
        frr.kill("staticd");
        turn_until(&mut host, &mut mirror, "the loss", |mirror| mirror.lost == 1);
        assert_eq!(mirror.shown(STATICD).len(), all);
        let kept = |line: &String| !line.contains("10.128.7.0") && !line.contains("10.4.0.0");
        statics.retain(kept);
        frr.run(&own, "zebra", &["-M", "dplane_fpm_nl"], &zebra);
        frr.run(&own, "staticd", &[], &statics.join("\n"));
        turn_until(&mut host, &mut mirror, "the resync", |mirror| {
            mirror.settled.len() == 1 && is_kernels(mirror, &own, statics.len() - 2)
        });
        mirror.withdrawn.sort();
        let gone = ["10.4.0.0/16", "10.7.0.0/16", "10.128.7.0/24"].map(prefix);
        assert_eq!(mirror.withdrawn, gone, "and nothing that came back");
        assert_eq!(mirror.of_the_kernel(), OF_THE_KERNEL as usize);

        let counters = host.machine().counters();
        let odd = [counters.malformed_header, counters.malformed_length, counters.malformed];
        assert_eq!((odd, counters.malformed_messages, counters.unsupported), ([0; 3], 0, 0));
        assert_eq!((counters.other, counters.refused_routes, counters.rejected), (0, 0, 0));
        println!("{option}: {counters:?}");
    })
    .expect("the namespace");
}

#[test]
fn zebra_tells_what_the_kernel_has_by_numbers_of_next_hops() {
    zebra_tells_what_the_kernel_has("fpm use-next-hop-groups");
}

#[test]
fn zebra_tells_what_the_kernel_has_by_next_hops() {
    zebra_tells_what_the_kernel_has("no fpm use-next-hop-groups");
}

fn prefix(text: &str) -> Prefix {
    let (address, bits) = text.split_once('/').expect("bits");
    let bits = bits.parse().expect("a number");
    Prefix::new(address.parse().expect("an address"), bits).expect("a prefix")
}

/// The main table.
const MAIN: u32 = 254;

/// Staticd as Linux numbers it.
const STATICD: u8 = 196;

/// Routes that the kernel has before zebra is there.
const OF_THE_KERNEL: u32 = 10_000;

/// Longer than FRR takes to come back with its routes.
const SETTLE: Duration = Duration::from_secs(10);
