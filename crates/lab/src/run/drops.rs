//! Tells when a figure is more about dropping than about forwarding.
//!
//! A device drops what its configuration tells it to: a policer with a low rate drops nearly
//! everything, and dropping is fast. The figure is right, and means something else than its reader
//! thinks; so the share and the most frequent reason stand beside it. Nothing becomes invalid here.

use measure::record::{Limit, LimitKind, Outcome};

/// Adds a remark to a result whose device dropped frames, and mentions it in the answer if it
/// dropped most of them, or any of a capacity. Trials that are not measurements, or are meant to
/// cause drops, do not count.
pub(super) fn tell(outcome: &mut Outcome) {
    let Some(drops) = Drops::of(outcome) else { return };
    if drops.fraction < FRACTION_REMARKED {
        return;
    }
    // Rounded down: not every frame was dropped unless all were.
    let percent = (drops.fraction * 1000.0).floor() / 10.0;
    let seen = format!("the device dropped {percent} % of the frames of all trials");
    let mostly = format!("most of them as `{}`", drops.reason);
    // A capacity has no load to be above: what it drops is part of what it measures.
    let answered = match outcome.method.as_str() {
        "capacity" => FRACTION_REMARKED,
        _ => FRACTION_ANSWERED,
    };
    if drops.fraction >= answered {
        outcome.answer.push_str(&format!(" Note that {seen}, {mostly}."));
    }
    outcome.add_limits(&[Limit {
        kind: LimitKind::Drops,
        invalidates: false,
        what: format!("{seen}, {mostly}"),
        advice: "where this is not meant, look the reason up in the function's README and change \
                 the scenario: for drops of a policer raise its rate, or spread the load over more \
                 users"
            .into(),
    }]);
}

/// Drops of the device in all trials except the warm-up.
struct Drops<'a> {
    /// Fraction of dropped frames among all that were dropped or came back.
    fraction: f64,
    /// The most frequent drop reason.
    reason: &'a str,
}

impl Drops<'_> {
    fn of(outcome: &Outcome) -> Option<Drops<'_>> {
        let trials =
            || outcome.trials.iter().filter(|trial| !MEANT.contains(&trial.purpose.as_str()));
        let mut reasons: Vec<(&str, u64)> = Vec::new();
        for drop in trials().flat_map(|trial| &trial.drops) {
            match reasons.iter_mut().find(|(reason, _)| *reason == drop.reason) {
                Some((_, packets)) => *packets += drop.packets,
                None => reasons.push((&drop.reason, drop.packets)),
            }
        }
        let received: u64 = trials().flat_map(|trial| &trial.directions).map(|d| d.received).sum();
        let dropped: u64 = reasons.iter().map(|(_, packets)| packets).sum();
        let (reason, _) = reasons.into_iter().max_by_key(|(_, packets)| *packets)?;
        (dropped > 0)
            .then(|| Drops { fraction: dropped as f64 / (dropped + received) as f64, reason })
    }
}

/// Purposes of trials whose drops are meaningless: warm-up, and overload of policers.
const MEANT: &[&str] = &["warm-up", "probe", "refill", "overload"];

const FRACTION_REMARKED: f64 = 0.01;
const FRACTION_ANSWERED: f64 = 0.5;
