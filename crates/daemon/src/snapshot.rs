//! What a daemon has counted at one moment, as JSON; rates are differences of two such.

use engine::{Counts, Link, Way};
use machine::clock::{Clock, Ticks};
use serde_json::{Map, Value, json};

use crate::links::OpenPort;
use crate::plane::Watch;
use crate::protocol::View;
use crate::unit::{Words, Work};

/// Contents of all views that need no requests to workers.
pub struct Snapshot {
    /// Time of the snapshot.
    pub at: Ticks,
    /// Views `counters`, `ports`, `drops`, `punts`, `stages` and
    /// `workers`, by name.
    pub views: Map<String, Value>,
}

/// Views that are in a snapshot.
const IN_SNAPSHOT: [(View, &str); 6] = [
    (View::Counters, "counters"),
    (View::Ports, "ports"),
    (View::Drops, "drops"),
    (View::Punts, "punts"),
    (View::Stages, "stages"),
    (View::Workers, "workers"),
];

impl Snapshot {
    /// Reads all counters.
    pub fn take(
        (at, clock): (Ticks, Clock),
        (words, work): (Words, &[Work]),
        ports: &[OpenPort],
        host: Option<&Watch>,
    ) -> Self {
        let mut total = Counts::zero(engine::Drops(words.drops), words.tallies.len());
        work.iter().for_each(|one| total.add(&one.counts));
        let ports: Map<String, Value> =
            ports.iter().map(|one| (one.name.to_string(), port(one))).collect();
        let views = Map::from_iter([
            ("counters".to_owned(), counters(&total, words)),
            ("drops".to_owned(), drops(&total, words, &ports)),
            ("ports".to_owned(), Value::Object(ports)),
            ("punts".to_owned(), host.map_or_else(|| json!({}), Watch::view)),
            ("stages".to_owned(), stages(words, work, clock)),
            (
                "workers".to_owned(),
                Value::Array(work.iter().map(|one| worker(one, clock)).collect()),
            ),
        ]);
        Snapshot { at, views }
    }

    /// Returns a view, with rates per second since an earlier snapshot.
    pub fn view(&self, view: View, earlier: &Snapshot, clock: Clock) -> Value {
        let seconds = clock.nanos(self.at.saturating_sub(earlier.at)) as f64 / 1e9;
        let mut shown = Map::new();
        for (_, name) in IN_SNAPSHOT.iter().filter(|(one, _)| view == View::All || *one == view) {
            let (Some(now), Some(before)) = (self.views.get(*name), earlier.views.get(*name))
            else {
                continue;
            };
            shown.insert((*name).to_owned(), now.clone());
            let rates = rates(now, before, seconds);
            shown.insert(format!("{name}_per_s"), rates);
        }
        shown.insert("rates_over_s".to_owned(), json!(round(seconds)));
        Value::Object(shown)
    }
}

/// Returns a tree with the increase of each number per second; other values are omitted.
fn rates(now: &Value, before: &Value, seconds: f64) -> Value {
    match (now, before) {
        (Value::Object(now), Value::Object(before)) => {
            let rate = |(key, value): (&String, &Value)| {
                let rate = rates(value, before.get(key)?, seconds);
                (!rate.is_null()).then(|| (key.clone(), rate))
            };
            Value::Object(now.iter().filter_map(rate).collect())
        }
        (Value::Array(now), Value::Array(before)) => {
            now.iter().zip(before).map(|(now, before)| rates(now, before, seconds)).collect()
        }
        (Value::Number(now), Value::Number(before)) => match (now.as_u64(), before.as_u64()) {
            (Some(now), Some(before)) if seconds > 0.0 => {
                json!(round(now.saturating_sub(before) as f64 / seconds))
            }
            (Some(_), Some(_)) => json!(0.0),
            _ => Value::Null,
        },
        _ => Value::Null,
    }
}

/// Rounds a rate to its significant digits.
fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn counters(total: &Counts, words: Words) -> Value {
    let mut counters = Map::from_iter([
        ("received".to_owned(), json!(total.received)),
        ("made".to_owned(), json!(total.made)),
        ("forwarded".to_owned(), json!(total.forwarded)),
        ("dropped".to_owned(), json!(total.dropped_total())),
        ("transmit_full".to_owned(), json!(total.transmit_full)),
        ("punted".to_owned(), json!(total.punted)),
    ]);
    let tallies = named(words.tallies, &total.tallies);
    counters.insert("tallies".to_owned(), Value::Object(tallies));
    Value::Object(counters)
}

fn drops(total: &Counts, words: Words, ports: &Map<String, Value>) -> Value {
    let of_port = |(name, port): (&String, &Value)| (name.clone(), port["drops"].clone());
    json!({
        "function": named(words.drops, &total.dropped),
        "ports": ports.iter().map(of_port).collect::<Map<_, _>>(),
    })
}

fn named(names: &[&str], counts: &[u64]) -> Map<String, Value> {
    names.iter().zip(counts).map(|(name, count)| ((*name).to_owned(), json!(count))).collect()
}

fn port(port: &OpenPort) -> Value {
    let counts = port.counts();
    let of = |way: Way| -> Map<String, Value> {
        let drops = counts.drops.iter().filter(|(kind, _)| kind.way == way);
        drops.map(|(kind, count)| (kind.why.to_owned(), json!(count))).collect()
    };
    let (is_up, why) = match port.link() {
        Link::Up => (true, String::new()),
        Link::Down(why) => (false, why),
    };
    json!({
        "type": port.kind,
        "link_up": is_up,
        "link_down_because": why,
        "received": counts.received,
        "received_bytes": counts.received_bytes,
        "sent": counts.sent,
        "sent_bytes": counts.sent_bytes,
        "drops": {"receive": of(Way::Receive), "transmit": of(Way::Transmit)},
        "facts": port.facts().into_iter()
            .map(|(name, fact)| (name.to_owned(), Value::String(fact)))
            .collect::<Map<_, _>>(),
    })
}

fn worker(work: &Work, clock: Clock) -> Value {
    let busy: u64 = work.stages.iter().map(|(ticks, _)| ticks).sum();
    json!({
        "core": work.core,
        "pinned": work.pinned,
        "received": work.counts.received,
        "made": work.counts.made,
        "forwarded": work.counts.forwarded,
        "dropped": work.counts.dropped_total(),
        "transmit_full": work.counts.transmit_full,
        "punted": work.counts.punted,
        "busy_ns": clock.nanos(busy),
        "gaps": work.gaps.count,
        "gaps_ns": clock.nanos(work.gaps.total_ticks),
        "gap_ns_max": clock.nanos(work.gaps.longest_ticks),
    })
}

/// Returns the time by stage over all workers: ticks of the time-stamp clock (cycles at its rate)
/// and packets.
fn stages(words: Words, work: &[Work], clock: Clock) -> Value {
    let own = words.stages.iter().copied();
    let names = ["receive"].into_iter().chain(own).chain(["transmit", "tick"]);
    let stage = |(index, name): (usize, &str)| {
        let of = |one: &Work| one.stages.get(index).copied().unwrap_or_default();
        let (ticks, packets) =
            work.iter().map(of).fold((0, 0), |sum: (u64, u64), one| (sum.0 + one.0, sum.1 + one.1));
        let cycles = if packets == 0 { 0.0 } else { ticks as f64 / packets as f64 };
        let shown = json!({
            "cycles": ticks,
            "ns": clock.nanos(ticks),
            "packets": packets,
            "cycles_per_packet": round(cycles),
        });
        (name.to_owned(), shown)
    };
    Value::Object(names.enumerate().map(stage).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_gains_a_second() {
        let before = json!({"a": 10, "b": {"c": [1, 2]}, "up": true, "d": 5});
        let now = json!({"a": 30, "b": {"c": [2, 2]}, "up": true, "d": 3, "new": 1});
        let expected = json!({"a": 10.0, "b": {"c": [0.5, 0.0]}, "d": 0.0});
        assert_eq!(rates(&now, &before, 2.0), expected);
        assert_eq!(rates(&now, &now, 0.0)["a"], json!(0.0));
    }
}
