//! The figures of churn, its series, its limits and its words.

use measure::record::{Column, EventsRecord, Figure, Limit, LimitKind, Series};
use measure::{Nanos, Pps, Ratio};

use super::Config;
use super::row::{ACCEPTED, BLACKOUT, Row, Time, VISIBLE};

/// The headline figures: both ends of the throughput curve, then the effects of changes at its far
/// end.
pub(super) fn figures(rows: &[Row]) -> Vec<Figure> {
    let mut figures = Vec::new();
    let unchanged = rows.first().and_then(|row| row.throughput_pps);
    figures.extend(unchanged.map(|pps| Figure::single("throughput_unchanged", pps, "pps")));
    let far = far_end(rows);
    let changed = far.and_then(|row| row.throughput_pps);
    if let (Some(unchanged), Some(changed)) = (unchanged, changed) {
        figures.push(Figure::single("throughput_changed", changed, "pps"));
        let kept = changed / unchanged * 100.0;
        figures.push(Figure::single("throughput_kept_percent", kept, "percent"));
    }
    if let Some(far) = far {
        figures.push(Figure::single("updates", far.rate, "1/s"));
        figures.extend(of_changes(far));
    }
    for row in rows {
        let name = format!("{} updates/s", row.rate);
        let throughput = row.throughput_pps.map(|pps| Figure::single("throughput", pps, "pps"));
        figures.extend(throughput.map(|figure| figure.of(&name)));
    }
    figures
}

/// The reported quantiles of times.
const TIMES: [(&str, Time, f64); 7] = [
    ("accepted_p50", ACCEPTED, 0.5),
    ("accepted_p99", ACCEPTED, 0.99),
    ("visible_p50", VISIBLE, 0.5),
    ("visible_p99", VISIBLE, 0.99),
    ("blackout_p50", BLACKOUT, 0.5),
    ("blackout_p99", BLACKOUT, 0.99),
    ("blackout_max", BLACKOUT, 1.0),
];

/// A function that reads a count of changes.
type Count = fn(&EventsRecord) -> u64;

/// The reported counts of changes.
const COUNTS: [(&str, Count); 2] =
    [("late_frames", |kind| kind.late_frames), ("refused_updates", |kind| kind.refused)];

fn of_changes(row: &Row) -> Vec<Figure> {
    let mut figures = Vec::new();
    if let Some(changes) = &row.changes {
        let achieved = changes.achieved_per_s();
        figures.push(Figure::single("achieved_updates", achieved, "1/s"));
        figures.extend(TIMES.iter().filter_map(|(name, time, quantile)| {
            changes.quantile_ns(*time, *quantile).map(|ns| Figure::single(name, ns, "ns"))
        }));
        for (name, count) in COUNTS {
            let unit = if name == "late_frames" { "frames" } else { "updates" };
            figures.push(Figure::single(name, changes.sum(count) as f64, unit));
        }
    }
    if let Some(held) = row.held {
        figures.push(Figure::single("blocked_time", held.blocked_ns, "ns"));
        let each = held.blocked_ns_per_update();
        figures.extend(each.map(|ns| Figure::single("blocked_time_per_update", ns, "ns")));
    }
    for kind in row.changes.iter().flat_map(|changes| &changes.kinds) {
        let of = |time: Time| time(kind).as_ref();
        for (name, time) in [("accepted", of(ACCEPTED)), ("visible", of(VISIBLE))] {
            let Some(time) = time else { continue };
            for (quantile, ns) in [("p50", time.p50_ns), ("p99", time.p99_ns)] {
                let name = format!("{name}_{quantile}");
                figures.push(Figure::single(&name, ns as f64, "ns").of(&kind.kind));
            }
        }
        let blackout = of(BLACKOUT).map(|time| time.p99_ns as f64);
        figures.extend(blackout.map(|ns| Figure::single("blackout_p99", ns, "ns").of(&kind.kind)));
    }
    figures
}

/// The row with the highest update rate at which a load passed, if there were updates.
fn far_end(rows: &[Row]) -> Option<&Row> {
    rows.iter().rev().find(|row| row.rate > 0.0 && row.throughput_pps.is_some())
}

/// The series of all figures by update rate.
pub(super) fn surface(rows: &[Row]) -> Series {
    let mut columns = vec![
        column("updates_per_s", "1/s"),
        column("throughput_pps", "pps"),
        column("achieved_updates_per_s", "1/s"),
    ];
    columns.extend(TIMES.iter().map(|(name, ..)| column(&format!("{name}_ns"), "ns")));
    columns.push(column("late_frames", "frames"));
    columns.push(column("refused_updates", "updates"));
    columns.push(column("blocked_time_ns", "ns"));
    columns.push(column("blocked_time_per_update_ns", "ns"));
    let values = |row: &Row| {
        let changes = row.changes.as_ref();
        let mut values = vec![
            Some(row.rate),
            row.throughput_pps,
            changes.map(|changes| changes.achieved_per_s()),
        ];
        values
            .extend(TIMES.iter().map(|(_, time, quantile)| changes?.quantile_ns(*time, *quantile)));
        values.extend(COUNTS.iter().map(|(_, count)| Some(changes?.sum(*count) as f64)));
        values.push(row.held.map(|held| held.blocked_ns));
        values.push(row.held.and_then(|held| held.blocked_ns_per_update()));
        values
    };
    Series {
        name: "churn-surface".into(),
        title: "Throughput and what changes cost, by updates per second".into(),
        columns,
        rows: rows.iter().map(values).collect(),
    }
}

/// The series of the loss of every trial.
pub(super) fn losses(rows: &[Row]) -> Series {
    let columns = vec![
        column("updates_per_s", "1/s"),
        column("load_pps", "pps"),
        column("loss_percent", "percent"),
    ];
    let of = |row: &Row| {
        let mut losses = row.losses.clone();
        losses.sort_by(|a, b| a.0.total_cmp(&b.0));
        let rate = row.rate;
        losses.into_iter().map(move |(load, loss)| vec![Some(rate), Some(load), Some(loss)])
    };
    Series {
        name: "churn-loss".into(),
        title: "Loss by updates per second and load per port and direction, all trials".into(),
        columns,
        rows: rows.iter().flat_map(of).collect(),
    }
}

fn column(name: &str, unit: &str) -> Column {
    Column { name: name.into(), unit: unit.into() }
}

/// The limits of the searches, each kind once, and those of the whole.
pub(super) fn limits(rows: &[Row]) -> Vec<Limit> {
    let mut limits: Vec<Limit> = Vec::new();
    for row in rows {
        for limit in &row.limits {
            // That nothing passes while it changes is a finding, as long as something does
            // otherwise.
            let finding = limit.kind == LimitKind::Search && row.rate > 0.0;
            let limit = Limit {
                invalidates: limit.invalidates && !finding,
                what: format!("at {} updates per second: {}", row.rate, limit.what),
                ..limit.clone()
            };
            match limits.iter_mut().find(|known| known.kind == limit.kind) {
                Some(known) if limit.invalidates && !known.invalidates => *known = limit,
                Some(_) => {}
                None => limits.push(limit),
            }
        }
    }
    let slow = rows.iter().find_map(|row| {
        let requested = row.changes.as_ref()?.requested_per_s();
        (requested < row.rate * REQUESTED_MIN).then_some((row.rate, requested))
    });
    limits.extend(slow.map(|(rate, requested)| {
        Limit {
            kind: LimitKind::Tester,
            invalidates: false,
            what: format!("of {rate} updates per second only {requested:.0} were requested"),
            advice: "measure longer if the rate is low; otherwise lower the update rate to the \
                 tester's maximum"
                .into(),
        }
    }));
    let unchanged = rows.iter().find(|row| row.rate == 0.0).and_then(|row| row.held);
    limits.extend(unchanged.filter(|held| held.lost > 0).map(|held| {
        Limit {
            kind: LimitKind::Spread,
            invalidates: false,
            what: format!(
                "{} frames of the held load were lost without changes, a blocked time of {}",
                held.lost,
                Nanos(held.blocked_ns)
            ),
            advice:
                "compare the blocked times with this one, lower `held-load`, or reduce other load \
                 on the machine"
                    .into(),
        }
    }));
    limits
}

pub(super) fn answer(config: &Config, rows: &[Row]) -> String {
    let Some(unchanged) = rows.first().and_then(|row| row.throughput_pps) else {
        return "No load passed, even without changes.".into();
    };
    let start = format!("Without changes it forwards {} per port and direction", Pps(unchanged));
    let Some((far, changed)) = far_end(rows).and_then(|row| Some((row, row.throughput_pps?)))
    else {
        return format!(
            "{start}; with changes no load from {} passes.",
            config.throughput.min_rate
        );
    };
    let mut text = format!(
        "{start}, with {} updates per second {} ({:.0} %)",
        far.rate,
        Pps(changed),
        changed / unchanged * 100.0
    );
    let median = |time| far.changes.as_ref().and_then(|changes| changes.quantile_ns(time, 0.5));
    if let Some(accepted) = median(ACCEPTED) {
        text += &format!("; half of the changes are applied within {}", Nanos(accepted));
        if let Some(visible) = median(VISIBLE) {
            text += &format!(" and visible within {}", Nanos(visible));
        }
    }
    if let Some(blocked) = far.held.and_then(|held| held.blocked_ns_per_update()) {
        let load = config.held_load;
        text += &match blocked {
            0.0 => format!("; no change loses a frame at {} of the throughput", Ratio(load.0)),
            ns => format!(
                "; each change blocks {} of a load of {}",
                Nanos(ns),
                Pps(unchanged * load.0)
            ),
        };
    }
    text + "."
}

/// Fraction of the update rate below which the tester was the limit.
const REQUESTED_MIN: f64 = 0.95;
