//! What the daemon watches beside its requests: neighbours and timers for who asks, and once a
//! second the conditions of ports, function and host that raise alarms.
//!
//! All of it comes from counters that are read anyway. Workers are asked for their neighbours when
//! a tally says that one has changed, and every ten seconds, if the function has a condition of
//! them; what drives protocols tells its neighbours without being asked.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use controller_kit::Severity;
use function_kit::{Condition, Neighbour, When};
use host::Observer;
use machine::clock;
use packet::PortId;
use serde_json::{Value, json};

use crate::conditions::{Holding, Pace};
use crate::controller::alarms::RAISED_MAX;
use crate::keeper::Daemon;
use crate::protocol::Capture;
use crate::snapshot::Snapshot;
use crate::unit::Refused;

impl Daemon {
    /// Returns the neighbours of the function and of all protocols.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub(crate) fn neighbours(&mut self) -> Result<Value, Refused> {
        let mut all = self.observer.neighbours();
        all.extend(self.running.neighbours(NEIGHBOURS_MAX)?);
        let is_whole = all.len() <= NEIGHBOURS_MAX;
        all.truncate(NEIGHBOURS_MAX);
        let row = |one: &Neighbour| {
            json!({
                "protocol": one.protocol,
                "interface": one.interface,
                "address": one.address,
                "state": one.state,
                "since_s": one.since.map(|since| since.as_secs()),
                "detail": one.detail,
            })
        };
        let rows: Vec<Value> = all.iter().map(row).collect();
        Ok(json!({"neighbours": rows, "is_whole": is_whole}))
    }

    /// Returns the timers of what drives protocols.
    pub(crate) fn timers(&self) -> Value {
        let row = |one: host::Timers| {
            json!({
                "host": one.name,
                "next_ms": one.next.map(|next| next.as_millis() as u64),
                "turns": one.turns,
                "late": one.counters.late,
                "lag_max_us": one.lag_max.as_micros() as u64,
                "sockets": one.sockets,
                "streams": one.streams,
                "received": one.counters.received,
                "sent": one.counters.sent,
                "unsent": one.counters.unsent,
                "errors": one.counters.errors,
            })
        };
        json!({"timers": self.observer.timers().into_iter().map(row).collect::<Vec<_>>()})
    }

    /// Returns who traces the protocol of a capture, if one is wanted.
    ///
    /// # Errors
    /// When nobody speaks it.
    pub(crate) fn tracer_for(
        &self,
        wanted: &Capture,
        is_spoken: bool,
    ) -> Result<Option<Arc<Observer>>, Refused> {
        let Some(protocol) = &wanted.protocol else { return Ok(None) };
        let known = self.observer.protocols();
        if !is_spoken && !known.contains(protocol.as_str()) {
            let what = format!("nobody here speaks the protocol `{protocol}`");
            let near = keys::nearest(protocol, known.iter());
            let list: Vec<&str> = known.iter().copied().collect();
            let remedy = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None if list.is_empty() => "no protocol has a socket".to_owned(),
                None => format!("protocols with a socket: {}", list.join(", ")),
            };
            return Err(Refused::new(what, remedy));
        }
        Ok(Some(Arc::clone(&self.observer)))
    }

    /// Ends the trace, if there is one, and counts its messages with those of the capture.
    pub(crate) fn end_trace(&self) {
        let trace = self.observer.trace();
        if trace.end() {
            let [kept, dropped] = trace.counts();
            self.capture.0.copied.fetch_add(kept, Ordering::Relaxed);
            self.capture.0.missed.fetch_add(dropped, Ordering::Relaxed);
        }
    }

    /// Judges the conditions; `earlier` and `now` are the counters of a second ago and of now.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub(crate) fn look_around(&mut self) -> Result<(), Refused> {
        let mut holding = self.ports_holding();
        let [earlier, now] = &self.samples;
        holding.extend(host_holding(earlier, now));
        let wants_neighbours = |one: &Condition| matches!(one.when, When::Neighbour { .. });
        let conditions = self.running.conditions();
        holding.extend(conditions.iter().filter_map(|one| counted(one, earlier, now)));
        let is_told = conditions.iter().any(|one| is_told(one, earlier, now));
        let is_time = self.watching.looks.is_multiple_of(ASKED_EVERY);
        if conditions.iter().any(wants_neighbours) && (is_told || is_time) {
            let mut holding = Vec::new();
            for one in conditions {
                let When::Neighbour { protocol, state, .. } = one.when else { continue };
                let troubled = self.running.neighbours_in((protocol, state), RAISED_MAX)?;
                holding.extend(troubled.iter().map(|other| trouble(one, other)));
            }
            self.watching.troubled = holding;
        }
        holding.extend(self.watching.troubled.iter().cloned());
        holding.extend(self.observed(conditions));
        let wants_tables = |one: &Condition| matches!(one.when, When::Filled { .. });
        if is_time && conditions.iter().any(wants_tables) {
            let tables = self.tables()?;
            let before = std::mem::take(&mut self.watching.filled);
            let holds = |one: &&Condition| is_filled(one, &tables, &before);
            self.watching.filled = conditions.iter().filter(holds).map(|one| one.cause).collect();
        }
        let filled = |one: &&Condition| self.watching.filled.contains(&one.cause);
        holding.extend(conditions.iter().filter(filled).map(|one| of_function(one, AT_ONCE)));
        holding.extend(self.observer.take_lags().into_iter().filter_map(lagging));
        self.watching.looks += 1;
        for alarm in self.watching.conditions.judge(holding) {
            self.alarms.take(alarm, self.wall.text(clock::now()));
        }
        Ok(())
    }

    /// Writes the lines of the function into the log, when a tally says that there are some.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub(crate) fn tell_lines(&mut self) -> Result<(), Refused> {
        let [earlier, now] = &self.samples;
        let grown = grown(&earlier.views["counters"], &now.views["counters"], "/tallies");
        let told_by = self.running.lines_told_by();
        if told_by.is_some_and(|told_by| grown.iter().any(|name| name == told_by)) {
            for (worker, line) in self.running.lines()? {
                tracing::info!(worker, "{line}");
            }
        }
        Ok(())
    }

    /// Tells the function and the log of links that carry longer or shorter packets than before.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub(crate) fn follow_mtus(&mut self) -> Result<(), Refused> {
        for (number, port) in (0..).zip(&mut self.ports) {
            let mtu = port.mtu();
            if let Some(mtu) = mtu.filter(|_| mtu != port.told_mtu) {
                let before = port.told_mtu.unwrap_or_default();
                tracing::info!(port = %port.name, mtu, before, "the MTU of a link has changed");
                port.told_mtu = Some(mtu);
                self.running.set_mtu(PortId(number), mtu.min(self.needs.packet_bytes_max()))?;
            }
        }
        Ok(())
    }

    /// What holds of the neighbours of what drives protocols.
    fn observed(&self, conditions: &[Condition]) -> Vec<Holding> {
        let state = |one: &Condition| match one.when {
            When::Neighbour { protocol, state, .. } => Some((protocol, state)),
            _ => None,
        };
        let wanted: Vec<_> = conditions.iter().filter_map(|one| Some((one, state(one)?))).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let neighbours = self.observer.neighbours();
        let of = |(one, (protocol, state)): &(&Condition, (&str, &str))| {
            let is_in = |it: &&Neighbour| it.protocol == *protocol && it.state == *state;
            let troubled = neighbours.iter().filter(is_in).take(RAISED_MAX);
            troubled.map(|it| trouble(one, it)).collect::<Vec<_>>()
        };
        wanted.iter().flat_map(of).collect()
    }

    fn ports_holding(&self) -> Vec<Holding> {
        let [earlier, now] = &self.samples;
        let mut holding = Vec::new();
        for (name, port) in now.views["ports"].as_object().into_iter().flatten() {
            let source = format!("port {name}");
            if port["link_up"] == false {
                let why = port["link_down_because"].as_str().unwrap_or_default();
                holding.push(Holding {
                    source: source.clone(),
                    cause: "link-down",
                    severity: Severity::Major,
                    text: format!("no frame passes: {why}"),
                    pace: AT_ONCE,
                });
            }
            let lost = grown(&earlier.views["ports"][name], port, "/drops/receive");
            if !lost.is_empty() {
                holding.push(Holding {
                    source,
                    cause: "receive-loss",
                    severity: Severity::Warning,
                    text: format!(
                        "frames are lost before they reach a worker: {}",
                        lost.join(", ")
                    ),
                    pace: PERSISTENT,
                });
            }
        }
        holding
    }
}

/// What holds of the way to the host.
fn host_holding(earlier: &Snapshot, now: &Snapshot) -> Vec<Holding> {
    let (before, after) = (&earlier.views["punts"], &now.views["punts"]);
    let mut holding = Vec::new();
    for (reason, outcomes) in after["reasons"].as_object().into_iter().flatten() {
        let mut lost = grown(&before["reasons"][reason], outcomes, "");
        lost.retain(|outcome| outcome != "delivered");
        if !lost.is_empty() {
            holding.push(Holding {
                source: format!("punts {reason}"),
                cause: "punts-dropped",
                severity: Severity::Warning,
                text: format!("packets for the host are dropped: {}", lost.join(", ")),
                pace: PERSISTENT,
            });
        }
    }
    if number(&after["late_turns"]) > number(&before["late_turns"]) {
        holding.push(lags("interfaces of the host", "turns took more than 10 ms".to_owned()));
    }
    holding
}

fn lagging((name, lag): (String, Duration)) -> Option<Holding> {
    let text = || format!("what was due was done {} ms late", lag.as_millis());
    (lag > LAG_MAX).then(|| lags(&name, text()))
}

fn lags(name: &str, text: String) -> Holding {
    let (source, severity) = (format!("host {name}"), Severity::Minor);
    Holding { source, cause: "host-lags", severity, text, pace: PERSISTENT }
}

/// A condition of counters of the function, if it holds.
fn counted(one: &Condition, earlier: &Snapshot, now: &Snapshot) -> Option<Holding> {
    let (view, pointer, names) = match one.when {
        When::Dropping(reasons) => ("drops", "/function", reasons),
        When::Counting(tallies) => ("counters", "/tallies", tallies),
        When::Neighbour { .. } | When::Filled { .. } => return None,
    };
    let grown = grown(&earlier.views[view], &now.views[view], pointer);
    let has_grown = grown.iter().any(|name| names.contains(&name.as_str()));
    has_grown.then(|| of_function(one, PERSISTENT))
}

fn of_function(one: &Condition, pace: Pace) -> Holding {
    Holding {
        source: "function".to_owned(),
        cause: one.cause,
        severity: one.severity,
        text: one.text.to_owned(),
        pace,
    }
}

/// Whether the table of a condition is so full, where these were before.
fn is_filled(one: &Condition, tables: &Value, before: &[&'static str]) -> bool {
    let When::Filled { table, raised, cleared } = one.when else { return false };
    let [used, capacity] = ["used", "capacity"].map(|name| number(&tables["tables"][table][name]));
    let bound = if before.contains(&one.cause) { cleared } else { raised };
    capacity > 0 && used.saturating_mul(100) >= capacity.saturating_mul(bound)
}

/// Whether a tally says that neighbours have changed.
fn is_told(one: &Condition, earlier: &Snapshot, now: &Snapshot) -> bool {
    let When::Neighbour { told_by, .. } = one.when else { return false };
    let grown = grown(&earlier.views["counters"], &now.views["counters"], "/tallies");
    grown.iter().any(|name| told_by.contains(&name.as_str()))
}

/// A condition of a neighbour for which it holds.
fn trouble(one: &Condition, neighbour: &Neighbour) -> Holding {
    let mut source =
        vec![neighbour.protocol, neighbour.interface.as_str(), neighbour.address.as_str()];
    source.retain(|part| !part.is_empty());
    Holding {
        source: source.join(" "),
        cause: one.cause,
        severity: one.severity,
        text: match neighbour.detail.as_str() {
            "" => one.text.to_owned(),
            detail => format!("{} ({detail})", one.text),
        },
        pace: AT_ONCE,
    }
}

/// The names of the numbers at a place that have grown.
fn grown(earlier: &Value, now: &Value, pointer: &str) -> Vec<String> {
    let before = earlier.pointer(pointer);
    let now = now.pointer(pointer).and_then(Value::as_object).into_iter().flatten();
    let has_grown = |(name, count): &(&String, &Value)| {
        number(count) > before.map_or(0, |before| number(&before[name.as_str()]))
    };
    now.filter(has_grown).map(|(name, _)| name.clone()).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// Most neighbours that are shown.
const NEIGHBOURS_MAX: usize = 1000;

/// Looks after which workers are asked for their neighbours anyway.
const ASKED_EVERY: u64 = 10;

/// A host that does things this much too late lags: a session of three packets in 150 ms would
/// notice.
const LAG_MAX: Duration = Duration::from_millis(50);

/// That of a state: it is told at once, and is over when it has not come back.
const AT_ONCE: Pace = Pace { raised_after: 1, gap_max: 0, cleared_after: 3 };

/// That of counters, which have to grow again and again. Packets that wait for a neighbour in vain
/// are dropped together, when the last question has got no answer: every third second.
const PERSISTENT: Pace = Pace { raised_after: 3, gap_max: 3, cleared_after: 10 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_full_from_one_bound_on_to_another() {
        let when = When::Filled { table: "blocks", raised: 90, cleared: 80 };
        let one = Condition { cause: "low", severity: Severity::Warning, when, text: "" };
        let mut before = Vec::new();
        let mut look = |used: u64| {
            let tables = json!({"tables": {"blocks": {"used": used, "capacity": 200}}});
            let is_it = is_filled(&one, &tables, &before);
            before = if is_it { vec!["low"] } else { Vec::new() };
            is_it
        };
        let seen = [179, 180, 161, 160, 159, 179].map(&mut look);
        assert_eq!(seen, [false, true, true, true, false, false]);
        assert!(!is_filled(&one, &json!({}), &["low"]), "a table without room is none");
    }
}
