//! What a policer is set up with, and what it says of a frame.

/// What a policer says of a frame, from the best to the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Colour {
    /// Within the committed rate.
    #[default]
    Green = 0,
    /// Above it, and within what is allowed beyond.
    Yellow = 1,
    /// Above both.
    Red = 2,
}

/// Which algorithm, and its rates and bursts, in bytes per second and bytes; lengths are whatever
/// the caller counts for a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Profile {
    /// The single-rate three-colour marker, RFC 2697.
    SingleRate {
        /// CIR.
        committed_bytes_per_s: f64,
        /// CBS.
        committed_burst_bytes: f64,
        /// EBS.
        excess_burst_bytes: f64,
    },
    /// The two-rate three-colour marker, RFC 2698.
    TwoRate {
        /// CIR.
        committed_bytes_per_s: f64,
        /// CBS.
        committed_burst_bytes: f64,
        /// PIR, of which the committed rate is a part.
        peak_bytes_per_s: f64,
        /// PBS.
        peak_burst_bytes: f64,
    },
    /// The two-rate three-colour marker with efficient handling of in-profile traffic, RFC 4115.
    InProfile {
        /// CIR.
        committed_bytes_per_s: f64,
        /// CBS.
        committed_burst_bytes: f64,
        /// EIR, on top of the committed rate.
        excess_bytes_per_s: f64,
        /// EBS.
        excess_burst_bytes: f64,
    },
}

/// How a policer is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policing {
    /// Its algorithm and rates.
    pub profile: Profile,
    /// Whether the colour that a frame comes with counts.
    pub is_colour_aware: bool,
    /// The policer that is asked next.
    pub parent: Option<u32>,
}
