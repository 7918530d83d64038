//! What events led to, as figures, limits and words.

use measure::record::{Column, Figure, Limit, LimitKind, Series};
use measure::{Convergence, Nanos, RoutingEvent, RoutingSize};

use super::happened::Happened;
use crate::figures::over_repetitions;

/// Everything that a measurement has shown.
pub(super) struct Said<'a> {
    pub(super) size: RoutingSize,
    pub(super) all: &'a [Happened],
    pub(super) alone: Option<&'a Convergence>,
}

impl Said<'_> {
    /// Returns the tables without slow clients in which every client had everything.
    fn tables(&self) -> Vec<&Convergence> {
        self.of(|event| matches!(event, RoutingEvent::Table { slow: 0 })).collect()
    }

    fn of(&self, is_meant: impl Fn(RoutingEvent) -> bool) -> impl Iterator<Item = &Convergence> {
        let meant = self.all.iter().filter(move |one| is_meant(one.event));
        meant.map(|one| &one.convergence).filter(|one| one.last_ns().is_some())
    }
}

/// Returns the name of an event, as a step of the method.
pub(super) fn name(event: RoutingEvent) -> &'static str {
    match event {
        RoutingEvent::Table { slow: 0 } => "table",
        RoutingEvent::Table { .. } => "table-beside-slow-clients",
        RoutingEvent::WithdrawAll => "withdrawal",
        RoutingEvent::Flaps { .. } => "changes",
        RoutingEvent::LoseClients { .. } => "return",
        RoutingEvent::Restart => "restart",
    }
}

/// Returns the figures, the most important first.
pub(super) fn figures(said: &Said<'_>) -> Vec<Figure> {
    let tables = said.tables();
    let over = |name: &str, unit: &str, of: &dyn Fn(&Convergence) -> Option<f64>| {
        let values: Vec<f64> = tables.iter().filter_map(|table| of(table)).collect();
        over_repetitions(name, unit, &values)
    };
    let mut figures: Vec<Figure> = [
        over("convergence_time", "ns", &|one| one.last_ns().map(|ns| ns as f64)),
        over("convergence_time_p50", "ns", &|one| quantile(one, 0.5)),
        over("convergence_time_first", "ns", &|one| quantile(one, 0.0)),
        over("convergence_updates_rate", "1/s", &updates_rate),
        over("sessions_up_time", "ns", &|one| one.sessions_up.map(|time| time.as_nanos() as f64)),
        over("convergence_device_cpu", "ns", &|one| Some(one.device.as_ref()?.ns as f64)),
        over("convergence_tester_cpu", "ns", &|one| Some(one.tester_cpu_ns as f64)),
        over("convergence_resident", "bytes", &|one| Some(one.resident_bytes? as f64)),
        over("convergence_socket_memory", "bytes", &|one| Some(one.socket_bytes? as f64)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut single = |name: &str, value: Option<f64>, unit: &str| {
        figures.extend(value.map(|value| Figure::single(name, value, unit)));
    };
    let last = |one: &Convergence| one.last_ns().map(|ns| ns as f64);
    single("convergence_tester_alone", said.alone.and_then(last), "ns");
    for Happened { event, convergence: one } in said.all {
        let Some(time) = last(one) else { continue };
        match event {
            RoutingEvent::Table { slow: 0 } => {}
            RoutingEvent::Table { .. } => {
                single("slow_clients_time", Some(time), "ns");
                single("slow_clients_resident", one.resident_bytes.map(|it| it as f64), "bytes");
            }
            RoutingEvent::WithdrawAll => single("withdrawal_time", Some(time), "ns"),
            RoutingEvent::LoseClients { .. } => single("return_time", Some(time), "ns"),
            RoutingEvent::Restart => {
                single("restart_time", Some(time), "ns");
                let seen = f64::from(one.withdrawals_seen);
                single("restart_withdrawals_seen", Some(seen), "clients");
            }
            RoutingEvent::Flaps { .. } => {
                let of = |quantile| {
                    let changes = one.changes_ns.as_ref().filter(|it| !it.is_empty())?;
                    Some(changes.value_at_quantile(quantile) as f64)
                };
                single("change_time_p50", of(0.5), "ns");
                single("change_time_p99", of(0.99), "ns");
                single("change_time_max", of(1.0), "ns");
            }
        }
    }
    figures
}

/// Returns the time in which a part of the clients had everything, in nanoseconds.
fn quantile(one: &Convergence, part: f64) -> Option<f64> {
    let mut times = one.clients_ns.clone();
    times.sort_unstable();
    let last = times.len().checked_sub(1)?;
    let at = (part * last as f64).round() as usize;
    times.get(at).map(|ns| *ns as f64)
}

/// Returns the routes that all clients were told a second, until the last one had everything.
fn updates_rate(one: &Convergence) -> Option<f64> {
    let seconds = one.last_ns().filter(|ns| *ns > 0)? as f64 * 1e-9;
    Some(one.routes as f64 / seconds)
}

/// Returns a row for each event, and how the clients of the first table came to have everything.
pub(super) fn series(said: &Said<'_>) -> Vec<Series> {
    let column = |(name, unit): (&str, &str)| Column { name: name.into(), unit: unit.into() };
    let mut all = vec![Series {
        name: "convergence".into(),
        title: "Events in their order".into(),
        columns: [
            ("event", "index"),
            ("last_client", "ns"),
            ("median_client", "ns"),
            ("updates", "messages"),
            ("routes", "routes"),
            ("bytes", "bytes"),
            ("device_cpu", "ns"),
            ("tester_cpu", "ns"),
            ("resident", "bytes"),
            ("sessions_lost", "sessions"),
        ]
        .map(column)
        .to_vec(),
        rows: said.all.iter().enumerate().map(row).collect(),
    }];
    if let Some(first) = said.tables().first() {
        let rows = (0..=QUANTILES).filter_map(|step| {
            let part = f64::from(step) / f64::from(QUANTILES);
            Some(vec![Some(part), Some(quantile(first, part)? * 1e-9)])
        });
        all.push(Series {
            name: "convergence-clients".into(),
            title: "Clients that have every route, by time".into(),
            columns: [("clients", "fraction"), ("time_s", "s")].map(column).to_vec(),
            rows: rows.collect(),
        });
    }
    all
}

fn row((index, Happened { convergence: one, .. }): (usize, &Happened)) -> Vec<Option<f64>> {
    vec![
        Some(index as f64 + 1.0),
        one.last_ns().map(|ns| ns as f64),
        quantile(one, 0.5),
        Some(one.updates as f64),
        Some(one.routes as f64),
        Some(one.bytes as f64),
        one.device.as_ref().map(|cpu| cpu.ns as f64),
        Some(one.tester_cpu_ns as f64),
        one.resident_bytes.map(|bytes| bytes as f64),
        Some(f64::from(one.sessions_lost)),
    ]
}

/// Returns what disturbed the events, or leaves no figure of them.
pub(super) fn limits(all: &[Happened], alone: Option<&Convergence>) -> Vec<Limit> {
    let mut limits = Vec::new();
    for Happened { event, convergence } in all {
        let event = name(*event);
        if let Some(first) = convergence.wrong.first() {
            let clients = convergence.wrong.len();
            limits.push(Limit {
                kind: LimitKind::Forwarding,
                invalidates: true,
                what: format!("{event}: {clients} clients do not have what they must: {first}"),
                advice: "raise `patience` if the device was merely slow; else compare its tables \
                         with the first difference"
                    .into(),
            });
        }
        if convergence.sessions_lost > 0 {
            limits.push(Limit {
                kind: LimitKind::Forwarding,
                invalidates: true,
                what: format!(
                    "{event}: {} sessions ended by themselves",
                    convergence.sessions_lost
                ),
                advice: "see the log of the device; raise `hold-time-s` if the machine is too busy"
                    .into(),
            });
        }
        for stalls in convergence.stalls.iter().filter(|stalls| stalls.count > 0) {
            limits.push(Limit {
                kind: LimitKind::Stall,
                invalidates: false,
                what: format!(
                    "{event}: {} did not run for {} in all, {} at once",
                    stalls.thread,
                    Nanos(stalls.total_ns as f64),
                    Nanos(stalls.longest_ns as f64)
                ),
                advice: "repeat on a quieter machine".into(),
            });
        }
    }
    limits.extend(alone.and_then(|alone| close_to(all, alone)));
    limits
}

/// The limit that the tester alone takes nearly as long as the fastest table.
fn close_to(all: &[Happened], alone: &Convergence) -> Option<Limit> {
    let tables = all.iter().filter(|one| matches!(one.event, RoutingEvent::Table { slow: 0 }));
    let fastest = tables.filter_map(|one| one.convergence.last_ns()).min()? as f64;
    let alone = alone.last_ns()? as f64;
    (fastest < TESTER_CLOSE * alone).then(|| Limit {
        kind: LimitKind::Baseline,
        invalidates: false,
        what: format!(
            "the tester is the limit: alone it takes {}, to read the same bytes from a server that \
             only writes, and with the device {}",
            Nanos(alone),
            Nanos(fastest)
        ),
        advice: "the device may be faster; run the tester on a faster machine".into(),
    })
}

/// The limit that a wrong event kept the ones behind it from happening.
pub(super) fn unfinished(all: &[Happened], planned: usize) -> Option<Limit> {
    let left = planned.saturating_sub(all.len());
    (left > 0).then(|| {
        let what = format!("{left} further events were left out, as a client's table was wrong");
        Limit::of_search(true, what, "see the first difference")
    })
}

/// Returns the result in a sentence.
pub(super) fn answer(said: &Said<'_>) -> String {
    let RoutingSize { feeders, clients, routes, .. } = said.size;
    let tables = said.tables();
    let times: Vec<f64> =
        tables.iter().filter_map(|table| table.last_ns()).map(|ns| ns as f64).collect();
    let Some(time) = over_repetitions("convergence_time", "ns", &times) else {
        return "Not every client had every route that it must have.".to_owned();
    };
    let spread = match time.spread {
        Some(spread) if spread.n > 1 => {
            format!(" (median of {}; {} to {})", spread.n, Nanos(spread.min), Nanos(spread.max))
        }
        _ => String::new(),
    };
    let many = |count: u32, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    format!(
        "{routes} routes of {} reach all of {} in {}{spread}.",
        many(feeders, "feeder"),
        many(clients, "client"),
        Nanos(time.value)
    )
}

/// How many times as long as the tester alone a device takes at least for the tester not to be
/// named as the limit.
const TESTER_CLOSE: f64 = 1.2;

/// Steps of the distribution over clients.
const QUANTILES: u32 = 20;
