//! Routes as `ip route` of Linux prints them, for one version of IP or for both.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::trouble::Unfit;

/// A route of a file of routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The network's address.
    pub address: IpAddr,
    /// Length of its prefix in bits.
    pub len: u8,
    /// What becomes of its packets.
    pub kind: Kind,
    /// Where they go.
    pub ways: Vec<Way>,
}

/// What becomes of the packets of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They are spread over all ways by weight.
    Forward,
    /// They go the first way that the table can use; the others are what other routers said.
    First,
    /// They are dropped.
    Drop,
}

/// A way of a route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// The next hop; none for a network on a link.
    pub via: Option<IpAddr>,
    /// The name of the interface, where one is said.
    pub dev: Option<String>,
    /// Weight among the ways, from 1.
    pub weight: u16,
}

/// A reader of lines, which keeps a route until it is known that no further way follows.
#[derive(Default)]
pub(crate) struct IpRoutes {
    waiting: Option<(u64, Result<Began, Unfit>)>,
}

/// A route whose ways may follow on further lines.
struct Began {
    /// The destination as it is written, with the length of its prefix if there is one.
    prefix: String,
    is_of_ipv4: bool,
    kind: Kind,
    ways: Vec<Way>,
}

/// A route with the number of its line, or what it is left out or refused for.
pub(crate) type Read = (u64, Result<Route, Unfit>);

/// Whether a line is one of `ip route`: a type of route first, or a word of its own behind the
/// destination.
pub(crate) fn is_one(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    DROPS.contains(&first)
        || LEFT.contains(&first)
        || first == "unicast"
        || (first == "default" && second.is_empty())
        || matches!(second, "nexthop" | "onlink" | "linkdown" | "dead")
        || WITH_VALUE.contains(&second)
}

impl IpRoutes {
    /// Takes a line; returns the route before it, if that is complete now.
    ///
    /// # Errors
    /// When the line is neither a route nor a way of one.
    pub fn line(&mut self, number: u64, line: &str) -> Result<Option<Read>, String> {
        // `ip -oneline` has a backslash in place of a line's end.
        let mut parts = line.split('\\');
        let first = parts.next().unwrap_or_default();
        let text = first.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            return Ok(None);
        }
        let is_way = text.starts_with("nexthop ");
        let done = if is_way { None } else { self.end() };
        match is_way {
            true => self.way(text)?,
            false => self.waiting = Some((number, Began::of(text))),
        }
        for part in parts {
            self.way(part.trim())?;
        }
        Ok(done)
    }

    /// Takes a further way of the route that waits.
    fn way(&mut self, text: &str) -> Result<(), String> {
        let Some((_, waiting)) = &mut self.waiting else {
            return Err("begins with `nexthop` behind no route".to_owned());
        };
        if let Ok(began) = waiting
            && let Some(left) = began.take(text)?
        {
            *waiting = Err(Unfit::Left(left));
        }
        Ok(())
    }

    /// The last route.
    pub fn end(&mut self) -> Option<Read> {
        let (number, began) = self.waiting.take()?;
        Some((number, began.and_then(Began::route)))
    }
}

impl Began {
    fn of(text: &str) -> Result<Began, Unfit> {
        let mut words = text.split_ascii_whitespace();
        let mut first = words.next().unwrap_or_default();
        let mut kind = Kind::Forward;
        if LEFT.contains(&first) {
            return Err(Unfit::Left(format!("routes of the type `{first}`")));
        }
        if DROPS.contains(&first) || first == "unicast" {
            kind = if first == "unicast" { Kind::Forward } else { Kind::Drop };
            first = words.next().unwrap_or_default();
        }
        let rest = text.get(text.find(first).unwrap_or_default() + first.len()..);
        let (ways, is_of_ipv4) = (Vec::new(), !first.contains(':'));
        let mut began = Began { prefix: first.to_owned(), is_of_ipv4, kind, ways };
        if first != "default" {
            prefix_of(first).map_err(Unfit::Wrong)?;
        }
        match began.take(rest.unwrap_or_default()) {
            Ok(None) => Ok(began),
            Ok(Some(left)) => Err(Unfit::Left(left)),
            Err(what) => Err(Unfit::Wrong(what)),
        }
    }

    /// Takes the words behind a destination, or of a way; returns why the route is left out.
    fn take(&mut self, text: &str) -> Result<Option<String>, String> {
        let mut words = text.split_ascii_whitespace();
        let (mut way, mut any, mut is_second) = (Way { weight: 1, ..Way::default() }, false, false);
        while let Some(word) = words.next() {
            let mut value = || {
                words.next().ok_or_else(|| format!("ends behind `{word}`; is the line complete?"))
            };
            match word {
                "nexthop" if any => {
                    self.ways.push(std::mem::take(&mut way));
                    (way.weight, any) = (1, false);
                }
                "nexthop" | "onlink" | "linkdown" | "dead" | "pervasive" | "offload" | "trap" => {}
                "rt_offload" | "rt_trap" | "offload_failed" | "rt_offload_failed" => {}
                "via" => {
                    let mut address = value()?;
                    if matches!(address, "inet" | "inet6") {
                        is_second = true;
                        address = value()?;
                    }
                    let parsed = address.parse::<IpAddr>();
                    let parsed = parsed.map_err(|_| {
                        format!("`{address}` is no address; write via 192.0.2.1, for example")
                    })?;
                    if self.prefix == "default" {
                        self.is_of_ipv4 = parsed.is_ipv4() != is_second;
                    }
                    (way.via, any) = (Some(parsed), true);
                }
                "dev" => (way.dev, any) = (Some(value()?.to_owned()), true),
                "weight" => {
                    let text = value()?;
                    let weight = text.parse().ok().filter(|weight| *weight > 0);
                    way.weight =
                        weight.ok_or_else(|| format!("`{text}` is no weight from 1 to 256"))?;
                }
                "table" => {
                    let table = value()?;
                    if !matches!(table, "main" | "default" | "254" | "253") {
                        return Ok(Some(format!(
                            "routes of the table `{table}`; read each from a file with its `vrf`"
                        )));
                    }
                }
                "encap" => return Ok(Some("routes that put packets into tunnels".to_owned())),
                "metrics" | "cache" => {}
                _ if WITH_VALUE.contains(&word) => {
                    if value()? == "lock" {
                        value()?;
                    }
                }
                other => {
                    return Err(format!(
                        "`{other}` is no word of a route here; write `PREFIX via ADDRESS dev \
                         INTERFACE`"
                    ));
                }
            }
        }
        if any {
            self.ways.push(way);
        }
        Ok(None)
    }

    fn route(self) -> Result<Route, Unfit> {
        let Began { prefix, is_of_ipv4, kind, ways } = self;
        let (address, len) = match (&*prefix, is_of_ipv4) {
            ("default", true) => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
            ("default", false) => (IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0),
            _ => prefix_of(&prefix).map_err(Unfit::Wrong)?,
        };
        if kind == Kind::Forward && ways.iter().all(|way| way.via.is_none()) {
            let what = "routes to a link without a next hop; interfaces of the router bring theirs";
            return Err(Unfit::Left(what.to_owned()));
        }
        Ok(Route { address, len, kind, ways })
    }
}

/// A prefix, or an address alone.
fn prefix_of(text: &str) -> Result<(IpAddr, u8), String> {
    let (address, len) = text.split_once('/').map_or((text, None), |(one, len)| (one, Some(len)));
    let parsed = address.parse::<IpAddr>().ok().and_then(|address| {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let len = len.map_or(Some(bits), |len| len.parse().ok())?;
        (len <= bits).then_some((address, len))
    });
    parsed.ok_or_else(|| {
        format!("`{text}` is no destination; write default, 192.0.2.0/24 or 2001:db8::/32")
    })
}

/// Types of routes whose packets are dropped.
const DROPS: [&str; 3] = ["blackhole", "unreachable", "prohibit"];

/// Types of routes that a table has otherwise, or not at all.
const LEFT: [&str; 6] = ["local", "broadcast", "multicast", "anycast", "throw", "nat"];

/// Words with one behind them that say nothing of where packets go.
const WITH_VALUE: [&str; 29] = [
    "via", "dev", "proto", "scope", "src", "metric", "nhid", "mtu", "advmss", "pref", "expires",
    "tos", "dsfield", "realm", "realms", "window", "rtt", "rttvar", "rto_min", "ssthresh", "cwnd",
    "initcwnd", "initrwnd", "hoplimit", "error", "flags", "table", "encap", "congctl",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let mut all = IpRoutes::default();
        let mut told = Vec::new();
        let mut tell = |(number, read): Read| {
            told.push(match read {
                Ok(Route { address, len, kind, ways }) => {
                    let way = |way: &Way| {
                        let via = way.via.map_or("link".to_owned(), |via| via.to_string());
                        format!(" {via}%{}*{}", way.dev.as_deref().unwrap_or("-"), way.weight)
                    };
                    let ways: String = ways.iter().map(way).collect();
                    format!("{number} {address}/{len} {kind:?}{ways}")
                }
                Err(Unfit::Left(what) | Unfit::Wrong(what)) => format!("{number} {what}"),
            });
        };
        for (number, line) in (1..).zip(text.lines()) {
            match all.line(number, line) {
                Ok(read) => read.into_iter().for_each(&mut tell),
                Err(what) => tell((number, Err(Unfit::Wrong(what)))),
            }
        }
        all.end().into_iter().for_each(&mut tell);
        told
    }

    #[test]
    fn what_ip_route_prints_is_read() {
        let text = "default via 192.0.2.1 dev eth0 proto dhcp src 192.0.2.7 metric 100 \n\
                    10.0.0.0/8 via 192.0.2.1 dev eth0 onlink \n\
                    10.1.0.0/16 proto static metric 20 \n\
                    \tnexthop via 192.0.2.1 dev eth0 weight 1 \n\
                    \tnexthop via 192.0.2.2 dev eth1 weight 3 \n\
                    10.2.0.0/16 nhid 7 nexthop via 192.0.2.1 dev a weight 1 nexthop via 192.0.2.2\n\
                    blackhole 10.9.0.0/16 \n\
                    10.3.0.1 via inet6 fe80::1 dev eth0\n\
                    default via fe80::1 dev eth0 proto ra metric 1024 expires 1797sec pref medium\n\
                    2001:db8::/32 via 2001:db8:1::1 dev eth0 metric 1024 pref medium\n\
                    10.4.0.0/16 proto bird \\\tnexthop via 192.0.2.1 dev a \\\tnexthop via \
                    192.0.2.2 dev b\n";
        assert_eq!(
            read(text),
            [
                "1 0.0.0.0/0 Forward 192.0.2.1%eth0*1",
                "2 10.0.0.0/8 Forward 192.0.2.1%eth0*1",
                "3 10.1.0.0/16 Forward 192.0.2.1%eth0*1 192.0.2.2%eth1*3",
                "6 10.2.0.0/16 Forward 192.0.2.1%a*1 192.0.2.2%-*1",
                "7 10.9.0.0/16 Drop",
                "8 10.3.0.1/32 Forward fe80::1%eth0*1",
                "9 ::/0 Forward fe80::1%eth0*1",
                "10 2001:db8::/32 Forward 2001:db8:1::1%eth0*1",
                "11 10.4.0.0/16 Forward 192.0.2.1%a*1 192.0.2.2%b*1",
            ]
        );
    }

    #[test]
    fn what_is_of_no_use_is_told() {
        for (line, what) in [
            ("local 10.0.0.1 dev eth0 table local", "1 routes of the type `local`"),
            ("10.0.0.0/24 dev eth0 proto kernel scope link src 10.0.0.1", "1 routes to a link"),
            ("10.0.0.0/24 via 10.0.0.1 dev eth0 table 7", "1 routes of the table `7`"),
            ("10.0.0.0/24 encap mpls 100 via 10.0.0.1", "1 routes that put packets into"),
            ("10.0.0.0/33 via 10.0.0.1", "1 `10.0.0.0/33` is no destination"),
            ("10.0.0.0/8 via nobody", "1 `nobody` is no address"),
            ("10.0.0.0/8 via", "1 ends behind `via`"),
            ("10.0.0.0/8 isp-a", "1 `isp-a` is no word of a route"),
            ("nexthop via 10.0.0.1", "1 begins with `nexthop` behind no route"),
        ] {
            let told = read(line);
            assert!(told.len() == 1 && told[0].starts_with(what), "{line}: {told:?}");
        }
        for line in ["default", "default via 1.1.1.1", "10.0.0.0/8 dev a", "blackhole 10.0.0.0/8"] {
            assert!(is_one(line), "{line}");
        }
        for line in ["10.0.0.0/8", "10.0.0.0/8 isp-a", "10.0.0.0/8 next-hop=via", ""] {
            assert!(!is_one(line), "{line}");
        }
    }
}
