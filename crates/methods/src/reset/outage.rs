//! What came of a restart.

/// Results of one restart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reset {
    /// What was restarted.
    pub(super) what: String,
    /// Time until the device reported that it is ready, in nanoseconds; none if there was no
    /// restart.
    pub(super) ready_ns: Option<f64>,
    /// The longest time without any frame from the device, in nanoseconds.
    pub(super) silence_ns: Option<f64>,
    /// Outages by direction.
    pub(super) directions: Vec<Outage>,
}

/// The outage of one direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outage {
    pub(super) name: String,
    /// Lost frames divided by their rate, in nanoseconds.
    pub(super) lost_ns: f64,
    /// Time from the restart command to the sending of the last lost frame, in nanoseconds; none
    /// without loss, or if the tester does not know it.
    pub(super) until_last_lost_ns: Option<f64>,
    /// Whether frames were still lost at the end.
    pub(super) still_losing: bool,
}

impl Reset {
    /// Lost time of the direction with the longer outage, in nanoseconds.
    pub(super) fn lost_ns(&self) -> f64 {
        self.directions.iter().map(|d| d.lost_ns).fold(0.0, f64::max)
    }

    pub(super) fn until_last_lost_ns(&self) -> Option<f64> {
        self.directions.iter().filter_map(|d| d.until_last_lost_ns).max_by(f64::total_cmp)
    }

    pub(super) fn still_losing(&self) -> bool {
        self.directions.iter().any(|d| d.still_losing)
    }
}
