//! The interface through which methods measure devices.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Load, MeasureError, PathFailing, Population, Pps, Routing, SessionsThere, Trial, Watch,
};

/// What is measured of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Frames that it forwards.
    #[default]
    Frames,
    /// Routes that it exchanges with its peers.
    Routes,
}

impl Subject {
    /// Returns what many of them are called.
    pub fn plural(self) -> &'static str {
        match self {
            Subject::Frames => "frames",
            Subject::Routes => "routes",
        }
    }

    /// Returns whether it is [`Subject::Frames`].
    pub fn is_frames(&self) -> bool {
        *self == Subject::Frames
    }

    /// Returns what the subject is, as the end of "it measures".
    pub fn words(self) -> &'static str {
        match self {
            Subject::Frames => "frames that are forwarded",
            Subject::Routes => "routes that are told to peers",
        }
    }
}

/// The interface through which a method measures a device; a method has no other contact with the
/// world.
///
/// Only [`Measurer::measure`] is mandatory. A device refuses or omits everything else that it
/// cannot do, and the method reports that.
pub trait Measurer {
    /// Offers `load` for `duration` and returns the results.
    ///
    /// # Errors
    /// When the trial could not be carried out at all; loss is not an error.
    fn measure(
        &mut self,
        load: Load,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError>;

    /// Sets the conditions of the following trials, until they are set again.
    ///
    /// # Errors
    /// When the device or the workload does not support them.
    fn set_conditions(&mut self, conditions: &Conditions) -> Result<(), MeasureError> {
        if *conditions == Conditions::default() {
            Ok(())
        } else {
            Err(MeasureError::Unsupported("it runs under its own conditions only"))
        }
    }

    /// Offers the traffic with a wire in place of the device, to measure the maximum of the tester
    /// alone (RFC 2544 and the MLRsearch draft require to know it). None if there is no such wire.
    ///
    /// # Errors
    /// When the trial could not be carried out at all.
    fn tester_alone(
        &mut self,
        _rate: Pps,
        _duration: Duration,
        _watch: &mut dyn Watch,
    ) -> Result<Option<Trial>, MeasureError> {
        Ok(None)
    }

    /// Whether a closed loop can hand over frames that are out of all caches.
    fn has_cold_frames(&self) -> bool {
        true
    }

    /// Names of the floods that can be sent in addition to the load; empty if the workload has
    /// none.
    fn floods(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The sessions that the traffic can create, for [`Load::Sessions`]; none if it has none.
    fn sessions(&self) -> Option<SessionsThere> {
        None
    }

    /// The clients that generate the traffic in real time, if the traffic consists of such.
    fn population(&self) -> Option<Population> {
        None
    }

    /// The load per port and direction at which captured frames have the times of their capture;
    /// none for traffic that is made.
    fn captured_rate(&self) -> Option<Pps> {
        None
    }

    /// What a control plane of routes is asked, in place of frames; none if it has no peers.
    fn routing(&mut self) -> Option<&mut dyn Routing> {
        None
    }

    /// Waits until the device's standby has acknowledged all changes, at most for the given time;
    /// returns whether it has.
    ///
    /// # Errors
    /// When there is no standby, or the device failed in the meantime.
    fn synchronise(&mut self, _patience: Duration) -> Result<bool, MeasureError> {
        Err(MeasureError::Unsupported("it has no standby"))
    }

    /// Removes all sessions from the device, in its own way and time.
    ///
    /// # Errors
    /// When the device cannot do that, or failed in the meantime.
    fn clear_sessions(&mut self) -> Result<(), MeasureError> {
        Err(MeasureError::Unsupported("its sessions cannot be cleared"))
    }
}

/// Conditions of a trial, in addition to its load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Rate of changes per second, all kinds together, in the proportions of the configuration;
    /// none for the configured rate.
    pub updates_per_s: Option<f64>,
    /// Number of subscribers whose passed bytes are counted individually; 0 for none.
    pub subscribers_counted: u32,
    /// Time from the first frame to a restart of the device; none for no restart.
    pub restart_after: Option<Duration>,
    /// Time from the start of a trial of sessions to the end of the active device, after which its
    /// standby takes over; none for no fail-over.
    pub fail_over_after: Option<Duration>,
    /// The failure of the path to a neighbour that the device watches; none for no failure.
    pub path_failing: Option<PathFailing>,
    /// Floods that are sent to the device in addition to the load, and counted separately.
    pub floods: [Option<Flood>; 2],
    /// Whether a closed loop hands over frames that are out of all caches, as after a network card
    /// that writes to memory; else they are as its source has written them just before.
    pub cold_frames: bool,
}

/// A flood: frames that are not part of the load, such as those of an attacker, or pings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flood {
    /// Index of the flood in [`Measurer::floods`].
    pub kind: usize,
    /// Rate of the flood.
    pub rate: Pps,
}
