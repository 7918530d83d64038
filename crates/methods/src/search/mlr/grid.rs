//! The loads of a search: a logarithmic grid, and where in a bracket the next load lies.
//!
//! Distances are numbers of steps, so that widening and halving are exact.

/// Index of a load on the grid.
pub(super) type At = usize;

/// The loads from the lowest to the highest, in equal factors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    min_pps: f64,
    max_pps: f64,
    /// The index of the highest load; the lowest has 0.
    pub(super) last: At,
}

impl Grid {
    /// A grid whose step is at most the smallest of `widths`, fractions of the upper load.
    pub(super) fn new(min_pps: f64, max_pps: f64, widths: impl Iterator<Item = f64>) -> Self {
        let finest = widths.map(distance).fold(f64::INFINITY, f64::min);
        let range = (max_pps / min_pps).ln();
        // A range narrower than the width is a grid of its two ends, or of its one load.
        let last = ((range / finest) * (1.0 - 1e-9)).ceil().min(GRID_MAX) as usize;
        Self { min_pps, max_pps, last }
    }

    /// The number of steps that are no wider than a width; 1 at least.
    pub(super) fn steps(&self, width: f64) -> usize {
        let range = (self.max_pps / self.min_pps).ln();
        ((distance(width) / range * self.last as f64 * (1.0 + 1e-9)) as usize).max(1)
    }

    /// The load at an index in packets per second; both ends are exact.
    pub(super) fn load(&self, at: At) -> f64 {
        match at {
            0 => self.min_pps,
            at if at >= self.last => self.max_pps,
            at => {
                let share = at as f64 / self.last as f64;
                self.min_pps * (self.max_pps / self.min_pps).powf(share)
            }
        }
    }

    /// The index of the highest load that is at most `pps`, or the nearest end of the grid.
    pub(super) fn at_or_below(&self, pps: f64) -> At {
        let share = (pps / self.min_pps).ln() / (self.max_pps / self.min_pps).ln();
        (share * self.last as f64 + 1e-9).clamp(0.0, self.last as f64) as At
    }

    /// The load to try for a wanted one between the bounds: at least `width` away from a known
    /// bound, and the end of the grid itself where it is nearer than that. None if the bounds leave
    /// no such load.
    pub(super) fn between(&self, at: At, width: usize, bounds: Bracket) -> Option<At> {
        let (low, high) = (bounds.lower.unwrap_or(0), bounds.upper.unwrap_or(self.last));
        let is_outside =
            bounds.lower.is_some_and(|low| at <= low) || bounds.upper.is_some_and(|up| at >= up);
        if is_outside || high < low {
            return None;
        }
        let at = at.clamp(low, high);
        if width >= high - low {
            return match (bounds.lower, bounds.upper) {
                (None, _) => Some(low),
                (_, None) => Some(high),
                _ => None,
            };
        }
        let (least, most) = match (low + width, high - width) {
            (least, most) if least <= most => (least, most),
            _ => (middle(low, high, width), middle(low, high, width)),
        };
        Some(match at {
            at if at < least => bounds.lower.map_or(low, |_| least),
            at if at > most => bounds.upper.map_or(high, |_| most),
            at => at,
        })
    }
}

/// The known bounds of a target or a wish for them, as indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bracket {
    pub(super) lower: Option<At>,
    pub(super) upper: Option<At>,
}

impl Bracket {
    /// The distance of the bounds, if there are two.
    pub(super) fn width(self) -> Option<usize> {
        self.lower.zip(self.upper).map(|(lower, upper)| upper - lower)
    }

    /// Whether both bounds exist and are no further apart than `width`.
    pub(super) fn is_within(self, width: usize) -> bool {
        self.width().is_some_and(|between| between <= width)
    }

    /// Whether a trial at this load can improve a bound that is not close enough yet.
    pub(super) fn gains_by(self, at: At, width: usize) -> bool {
        self.lower.is_none_or(|lower| lower < at)
            && self.upper.is_none_or(|upper| at < upper)
            && !self.is_within(width)
    }
}

/// The load that splits a bracket which is wider than `width` so that one part is `width` times a
/// power of two, as evenly as that allows and rather low than high: such a part is halved down to
/// the width without a rest.
pub(super) fn middle(lower: At, upper: At, width: usize) -> At {
    let whole = upper - lower;
    if whole < 2 * width {
        let half = width / 2;
        return if width.is_multiple_of(2) && half > 0 && whole > half {
            middle(lower, upper, half)
        } else {
            lower + whole / 2
        };
    }
    let mut part = width;
    while whole > 4 * part {
        part *= 2;
    }
    // Of a part and its double, the one that divides more evenly; the smaller side is the lower.
    let double = 2 * part;
    let by = |part: usize| part * whole.saturating_sub(part);
    let nearer = if whole > double && by(part) <= by(double) { double } else { part };
    lower + nearer.min(whole - nearer)
}

/// The logarithmic distance of two loads that are this fraction of the upper one apart.
fn distance(width: f64) -> f64 {
    -(1.0 - width).ln()
}

/// Largest number of steps of the grid: a width of 1 ppm over nine decades.
const GRID_MAX: f64 = 2.1e7;
