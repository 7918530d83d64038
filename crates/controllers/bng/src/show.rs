//! What operators see: sessions, pools, servers, and metrics, none of them by subscriber.

use controller_kit::{Asked, Metric, Page, Table, Unanswered};
use protocol_dhcp::{Access, Prefix};
use protocol_kit::Time;
use serde_json::{Value, json};

use crate::config::PoolKind;
use crate::core::Core;
use crate::requests::has_address;
use crate::session::{Session, State, Version, Why};

/// The tables, in this order.
pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "subscribers",
        summary: "sessions of subscribers",
        filters: &["line", "mac", "address", "user", "state"],
    },
    Table { name: "pools", summary: "pools and how much of each is in use", filters: &[] },
    Table { name: "radius", summary: "servers of RADIUS", filters: &[] },
];

impl Core {
    /// How many entries each table has.
    pub fn table_sizes(&self) -> Vec<Option<u64>> {
        let servers = self.aaa.as_ref().map_or(0, |aaa| aaa.views().len());
        let sizes = [self.sessions.len(), self.config.pools.len(), servers];
        sizes.into_iter().map(|size| Some(size as u64)).collect()
    }

    /// A page of a table.
    pub fn page(&self, asked: &Asked<'_>, now: Time) -> Result<Page, Unanswered> {
        match asked.table {
            "subscribers" => Ok(self.subscribers(asked, now)),
            "pools" => Ok(self.pools_page()),
            "radius" => Ok(self.servers(now)),
            other => Err(Unanswered::unknown("table", other, &["subscribers", "pools", "radius"])),
        }
    }

    fn subscribers(&self, asked: &Asked<'_>, now: Time) -> Page {
        let from = u32::try_from(asked.from).unwrap_or(u32::MAX).max(1);
        let mut page = Page { columns: &COLUMNS, ..Page::default() };
        let end = from.saturating_add(LOOKED_AT_MAX);
        for (number, session) in self.sessions.from(from) {
            if number >= end || page.entries.len() >= asked.limit {
                page.next = Some(number.into());
                break;
            }
            if is_wanted(asked, number, session) {
                page.entries.push(self.entry(number, session, now));
            }
        }
        page
    }

    fn entry(&self, number: u32, session: &Session, now: Time) -> Value {
        let address = |kind: PoolKind| session.used(kind).map(shown);
        let granted = session.granted.as_ref();
        let volumes = &session.volumes;
        json!({
            "session": number,
            "state": session.state.name(),
            "for-s": now.since(session.since).as_secs(),
            "kind": if session.pppoe.is_some() { "pppoe" } else { "ipoe" },
            "line": line_of(session),
            "mac": session.mac.to_string(),
            "user": session.user,
            "ipv4": address(PoolKind::Ipv4),
            "na": address(PoolKind::Na),
            "slaac": address(PoolKind::Slaac),
            "delegated": address(PoolKind::Delegated),
            "profile": granted.map(|granted| granted.profile.to_string()),
            "list": granted.and_then(|granted| granted.list).map(|list| list.to_string()),
            "vrf": granted.and_then(|granted| granted.vrf).map(|vrf| vrf.to_string()),
            "circuit": String::from_utf8_lossy(&session.circuit),
            "remote": String::from_utf8_lossy(&session.remote),
            "pppoe-id": session.pppoe.map(|link| link.id),
            "accounting": self.aaa.as_ref().map(|aaa| aaa.id(number, session)),
            "up-s": session.up_since.map(|since| now.since(since).as_secs()),
            "ends": session.ending.map(Why::name),
            "up-bytes": [volumes.up[0].octets, volumes.up[1].octets],
            "down-bytes": [volumes.down[0].octets, volumes.down[1].octets],
        })
    }

    fn pools_page(&self) -> Page {
        let entries = (0..).zip(&self.config.pools).map(|(place, pool)| {
            let (used, count) = self.pools.usage(place).map_or((0, 0), |it| (it.used, it.count));
            json!({
                "pool": pool.name.to_string(),
                "kind": pool.kind,
                "prefix": pool.prefix,
                "used": used,
                "free": count - used,
            })
        });
        Page { entries: entries.collect(), next: None, columns: &[] }
    }

    fn servers(&self, now: Time) -> Page {
        let views = self.aaa.as_ref().map(|aaa| aaa.views()).unwrap_or_default();
        let entry = |(use_, view): &(&str, protocol_radius::servers::View)| {
            let counters = view.counters;
            json!({
                "server": view.address.to_string(),
                "for": use_,
                "state": view.state.name(),
                "for-s": now.since(view.since).as_secs(),
                "round-trip-ms": view.round_trip.map(|took| took.as_secs_f64() * 1e3),
                "requests": counters.requests,
                "repeated": counters.repeated,
                "answers": counters.answers,
                "unanswered": counters.unanswered,
                "deaths": counters.deaths,
            })
        };
        Page { entries: views.iter().map(entry).collect(), next: None, columns: &[] }
    }

    /// What a person sees at a glance.
    pub fn show(&self) -> Value {
        let ended = Why::ALL.iter().map(|why| (why.name(), self.counters.ended[*why as usize]));
        let dynamic = self.aaa.as_ref().map(|aaa| aaa.dynamic()).unwrap_or_default();
        let [confirmed, lost, waiting] =
            self.aaa.as_ref().map(|aaa| aaa.records()).unwrap_or_default();
        json!({
            "sessions": self.sessions.len(),
            "states": self.states().into_iter().collect::<serde_json::Map<String, Value>>(),
            "came-up": self.counters.up,
            "ended": ended.map(|(why, count)| (why.to_owned(), json!(count)))
                .collect::<serde_json::Map<String, Value>>(),
            "no-room": self.counters.full,
            "punted": self.counters.punted,
            "unused": self.counters.unused,
            "sent": self.notes.injected,
            "not-granted": self.counters.ignored,
            "uncounted": self.counters.uncounted,
            "refused-changes": self.account.refused,
            "open-changes": self.account.len(),
            "missed": self.counters.missed,
            "lines-not-written": self.notes.suppressed,
            "leases": {"ipv4": self.v4.leases(), "ipv6": self.v6.leases()},
            "relayed": {
                "ipv4": self.relayed(Version::V4),
                "ipv6": self.relayed(Version::V6),
            },
            "records": {"confirmed": confirmed, "lost": lost, "waiting": waiting},
            "requests-of-servers": {
                "asked": dynamic.asked,
                "acknowledged": dynamic.acknowledged,
                "refused": dynamic.refused,
                "repeated": dynamic.repeated,
            },
        })
    }

    fn states(&self) -> Vec<(String, Value)> {
        let all = [State::Asked, State::Granted, State::Up, State::Ending];
        let count = |state: State| self.sessions.states[state as usize];
        all.into_iter().map(|state| (state.name().to_owned(), json!(count(state)))).collect()
    }

    /// Metrics by pool, server, state and reason.
    pub fn metrics(&self) -> Vec<Metric> {
        let states = self
            .states()
            .into_iter()
            .map(|(state, count)| (vec![("state", state)], count.as_f64().unwrap_or(0.0)));
        let ended = Why::ALL.iter().map(|why| {
            let count = self.counters.ended[*why as usize];
            (vec![("reason", why.name().to_owned())], count as f64)
        });
        let of_pools = |used: fn((u32, u32)) -> u32| {
            let pools = (0..).zip(&self.config.pools).map(move |(place, pool)| {
                let usage = self.pools.usage(place).map_or((0, 0), |it| (it.used, it.count));
                (vec![("pool", pool.name.to_string())], f64::from(used(usage)))
            });
            pools.collect::<Vec<_>>()
        };
        let views = self.aaa.as_ref().map(|aaa| aaa.views()).unwrap_or_default();
        let servers = views.iter().flat_map(|(use_, view)| {
            let labels = |result: &str| {
                let server = view.address.to_string();
                vec![("server", server), ("for", (*use_).to_owned()), ("result", result.to_owned())]
            };
            let counters = view.counters;
            [
                (labels("answered"), counters.answers as f64),
                (labels("unanswered"), counters.unanswered as f64),
            ]
        });
        let records = self.aaa.as_ref().map(|aaa| aaa.records()).unwrap_or_default();
        let gauge = |name, help, samples| Metric { name, is_counter: false, help, samples };
        let counter = |name, help, samples| Metric { name, is_counter: true, help, samples };
        vec![
            gauge("sessions", "Sessions of subscribers by their state.", states.collect()),
            counter(
                "sessions_up_total",
                "Sessions that have come up.",
                vec![(Vec::new(), self.counters.up as f64)],
            ),
            counter(
                "sessions_ended_total",
                "Sessions that have ended, by reason.",
                ended.collect(),
            ),
            gauge("pool_used", "Addresses or prefixes in use.", of_pools(|(used, _)| used)),
            gauge("pool_size", "Addresses or prefixes that there are.", of_pools(|(_, all)| all)),
            counter("radius_requests_total", "Requests to servers of RADIUS.", servers.collect()),
            counter(
                "records_total",
                "Records of accounting by what became of them.",
                vec![
                    (vec![("result", "confirmed".to_owned())], records[0] as f64),
                    (vec![("result", "lost".to_owned())], records[1] as f64),
                ],
            ),
        ]
    }
}

/// Whether an operator wants to see a session.
fn is_wanted(asked: &Asked<'_>, number: u32, session: &Session) -> bool {
    let is_address = |text: &str| text.parse().is_ok_and(|address| has_address(session, address));
    let is_mac = |text: &str| text.parse().is_ok_and(|mac: wire::MacAddr| mac == session.mac);
    let is = |key: &str, is: &dyn Fn(&str) -> bool| asked.filter(key).is_none_or(is);
    is("line", &|text| line_of(session) == text)
        && is("mac", &is_mac)
        && is("address", &is_address)
        && is("user", &|text| session.user == text)
        && is("state", &|text| session.state.name() == text)
        && is(controller_kit::table::FOR, &|text| {
            let is_number = text.parse() == Ok(number);
            let is_line = line_of(session) == text || session.circuit == text.as_bytes();
            is_number || is_line || is_mac(text) || is_address(text) || session.user == text
        })
}

/// The line of a session as people write it: its VLANs, the outer one first.
fn line_of(session: &Session) -> String {
    format!("{}.{}", session.line.outer, session.line.inner)
}

/// A prefix as people write it; an address without its length.
fn shown(prefix: Prefix) -> String {
    let address = prefix.address();
    let all = if address.is_ipv4() { 32 } else { 128 };
    match prefix.bits() {
        bits if bits == all => address.to_string(),
        bits => format!("{address}/{bits}"),
    }
}

/// What has room in lines of text.
const COLUMNS: [&str; 8] = ["session", "state", "kind", "line", "mac", "user", "ipv4", "profile"];

/// Sessions that are looked at for a page.
const LOOKED_AT_MAX: u32 = 4096;
