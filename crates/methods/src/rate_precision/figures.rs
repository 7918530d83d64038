//! The figures of a rate precision, its limits and its words.

use measure::Ratio;
use measure::record::{Figure, Limit, LimitKind, Spread};

use super::Config;
use super::measured::Measured;
use super::table::{Table, median, worst};

/// A function that reduces the errors of many policers to one value.
type OfErrors<'a> = &'a dyn Fn(&[f64]) -> Option<f64>;

/// The headline figures, followed by those of each class if there are several.
pub(super) fn figures(config: &Config, measured: &Measured) -> Vec<Figure> {
    let overload = config.overload;
    let of_all =
        |figure: OfErrors<'_>, class| figure(&measured.overloaded.errors_percent(overload, class));
    let spread = |figure: OfErrors<'_>| {
        let one = |table: &Table| figure(&table.errors_percent(overload, None));
        let values: Vec<f64> = measured.repetitions.iter().filter_map(one).collect();
        Spread::of(&values).filter(|spread| spread.n > 1)
    };
    let within = |errors: &[f64]| within_percent(config, errors);
    let over: [(&str, OfErrors<'_>); 3] = [
        ("error_median_percent", &median),
        ("error_worst_percent", &worst),
        ("within_tolerance_percent", &within),
    ];
    let mut figures = Vec::new();
    for (name, figure) in over {
        figures.extend(of_all(figure, None).map(|value| Figure {
            spread: spread(figure),
            ..Figure::single(name, value, "percent")
        }));
    }
    figures.push(Figure::single("uncertainty_percent", uncertainty(measured) * 100.0, "percent"));
    let bursts = burst_share(measured) * 100.0;
    figures.push(Figure::single("burst_share_percent", bursts, "percent"));
    if let Some(under) = &measured.underloaded {
        let dropped = dropped_fraction(under) * 100.0;
        figures.push(Figure::single("conforming_dropped_percent", dropped, "percent"));
        let victims = under.rows.iter().filter(|row| row.wrongly_dropped() > 0.0).count();
        let name = "conforming_dropped_policers";
        figures.push(Figure::single(name, victims as f64, "policers"));
    }
    let judged = measured.overloaded.judged(overload).count();
    figures.push(Figure::single("policers", judged as f64, "policers"));
    figures.push(Figure::single("load", measured.load.0, "pps"));
    let classes = &measured.overloaded.classes;
    for (class, named) in classes.iter().enumerate().filter(|_| classes.len() > 1) {
        for (name, figure) in over {
            let value = of_all(figure, Some(class));
            figures.extend(value.map(|value| Figure::single(name, value, "percent").of(named)));
        }
    }
    figures
}

/// Limits that follow from the tables but from no single trial.
pub(super) fn limits(config: &Config, measured: &Measured) -> Vec<Limit> {
    let table = &measured.overloaded;
    let limited = table.rows.iter().filter(|row| row.configured > 0.0).count();
    let judged = table.judged(config.overload).count();
    let tolerance = config.tolerance.0;
    let (uncertainty, bursts) = (uncertainty(measured), burst_share(measured));
    let mut limits = Vec::new();
    if measured.disturbed {
        limits.push(Limit {
            kind: LimitKind::Stall,
            invalidates: true,
            what: format!(
                "a thread lost its core for more than {} of a trial in every attempt",
                config.tolerance
            ),
            advice: "stop other work on this machine, or measure longer".into(),
        });
    }
    if judged < limited {
        limits.push(Limit {
            kind: LimitKind::TooFewFrames,
            invalidates: judged == 0,
            what: format!(
                "{} of {limited} policers were offered too little to be judged",
                limited - judged
            ),
            advice: "draw subscribers uniformly, measure longer, or set a higher `overload` or \
                     `load`"
                .into(),
        });
    }
    if uncertainty > tolerance {
        let longer = config.duration.0 * uncertainty / tolerance;
        limits.push(Limit {
            kind: LimitKind::TooFewFrames,
            invalidates: true,
            what: format!(
                "one frame is up to {} of the traffic that a policer passes in a trial, more than \
                 the tolerance of {}",
                Ratio(uncertainty),
                config.tolerance
            ),
            advice: format!("measure for at least {longer:.0} s, or with shorter frames"),
        });
    }
    if bursts > tolerance {
        limits.push(Limit {
            kind: LimitKind::TooFewFrames,
            invalidates: false,
            what: format!(
                "bursts are up to {} of the permitted traffic: the errors assume full buckets at \
                 the start of each trial",
                Ratio(bursts)
            ),
            advice: format!(
                "measure for at least {:.0} s if this is uncertain for the device",
                (config.duration.0 * bursts / tolerance).ceil()
            ),
        });
    }
    limits.extend(scatter(config, measured));
    limits
}

/// A remark on random traffic, which occasionally exceeds a short burst and then does not conform.
fn scatter(config: &Config, measured: &Measured) -> Option<Limit> {
    let under = measured.underloaded.as_ref()?;
    let dropped = dropped_fraction(under);
    let least_burst = under
        .rows
        .iter()
        .filter(|row| row.configured > 0.0)
        .map(|row| row.bursts / f64::from(row.trials))
        .fold(f64::INFINITY, f64::min);
    let frames = least_burst / measured.frame_bytes.max(1.0);
    // The tail of a queue with random arrivals and constant service, in heavy traffic.
    let expected = (-2.0 * frames * (1.0 - config.underload) / config.underload).exp();
    (dropped > 0.0 && expected > 1e-6).then(|| Limit {
        kind: LimitKind::Drops,
        invalidates: false,
        what: format!(
            "{} of the traffic below the rate was dropped; random traffic exceeds a burst of \
             {frames:.1} frames with about {} of its frames, which is not an error",
            Ratio(dropped),
            Ratio(expected)
        ),
        advice: "configure a longer burst, or lower `underload`, to detect wrong drops".into(),
    })
}

pub(super) fn answer(config: &Config, measured: &Measured) -> String {
    let errors = measured.overloaded.errors_percent(config.overload, None);
    let (Some(median), Some(worst), Some(within)) =
        (median(&errors), worst(&errors), within_percent(config, &errors))
    else {
        return "No policer was offered more than its rate.".into();
    };
    let below = match measured.underloaded.as_ref().map(dropped_fraction) {
        None => String::new(),
        Some(0.0) => format!("; at {} times their rate nothing is dropped", config.underload),
        Some(dropped) => format!(
            "; at {} times their rate they drop {} nevertheless",
            config.underload,
            Ratio(dropped)
        ),
    };
    // Rounded down: not all are within the tolerance unless every one is.
    let within = (within * 10.0).floor() / 10.0;
    format!(
        "At {} times their rate, {within} % of {} policers keep it within {}: the median error is \
         {median:+.3} %, the worst {worst:+.3} %{below}.",
        config.overload,
        errors.len(),
        config.tolerance,
    )
}

fn within_percent(config: &Config, errors: &[f64]) -> Option<f64> {
    let tolerance = config.tolerance.0 * 100.0;
    let within = errors.iter().filter(|error| error.abs() <= tolerance).count();
    (!errors.is_empty()).then(|| within as f64 * 100.0 / errors.len() as f64)
}

/// The size of a frame as a fraction of the traffic that a policer passes, in the worst case.
fn uncertainty(measured: &Measured) -> f64 {
    let limited = measured.overloaded.rows.iter().filter(|row| row.configured > 0.0);
    limited.map(|row| row.uncertainty(measured.frame_bytes)).fold(0.0, f64::max)
}

/// The burst as a fraction of the traffic that a policer passes, in the worst case.
fn burst_share(measured: &Measured) -> f64 {
    let limited = measured.overloaded.rows.iter().filter(|row| row.configured > 0.0);
    limited.map(|row| row.bursts / row.allowed).fold(0.0, f64::max)
}

/// Fraction of the conforming bytes that were dropped.
fn dropped_fraction(under: &Table) -> f64 {
    let sum = |of: fn(&super::table::Row) -> f64| under.rows.iter().map(of).sum::<f64>();
    let conforming = sum(super::table::Row::conforming);
    let dropped = sum(super::table::Row::wrongly_dropped);
    if conforming > 0.0 { dropped / conforming } else { 0.0 }
}
