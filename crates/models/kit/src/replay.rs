//! A user's own traffic: captures that are sent in place of the frames that a model makes.
//!
//! The keys stand in the `traffic` section of any function. A capture is read once, into memory of
//! a known bound; a file that holds anything else than whole Ethernet frames is refused with the
//! number of the first frame that is not. Which directions there are, and which addresses the
//! device has, is read off the frames that the model makes, so that no function is named here.

mod capture;
mod keys;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use function_kit::sections::traffic_key;
use function_kit::{Invalid, PortName};
use serde_json::{Map, Value, json};
use traffic::{Direction, Frames, Replay, Stamp, Times};

use self::capture::Captured;
pub use self::keys::{Captures, Macs, ReplayKeys, Timing};

/// Captures that are read, and the keys that named them.
#[derive(Debug)]
pub struct Loaded {
    keys: ReplayKeys,
    /// Keys of the model's own traffic that hold beside a capture.
    others: Map<String, Value>,
    replay: Replay,
    /// Hash of all frames with their times.
    hash: String,
}

/// What is known of the function that captures are sent to.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// True if several workers hold parts of its state.
    pub is_parted: bool,
    /// True if the addresses of frames say where they go.
    pub is_bridge: bool,
    /// Its ports.
    pub ports: Vec<PortName>,
    /// The `traffic` section of the frames that are made.
    pub traffic: Value,
}

impl ReplayKeys {
    /// Takes the keys of a replay out of a `traffic` section whose other keys are those of a
    /// model; `None` if it names no capture.
    ///
    /// # Errors
    /// The first key that cannot be used, among them keys that say which frames a model makes.
    pub(crate) fn take(
        traffic: &mut Map<String, Value>,
        schema: &Value,
    ) -> Result<Option<ReplayKeys>, Invalid> {
        let is_of_replay = |(key, _): &(String, Value)| key.starts_with(keys::PREFIX);
        let (own, others): (Map<_, _>, Map<_, _>) =
            std::mem::take(traffic).into_iter().partition(is_of_replay);
        *traffic = others;
        let first = own.keys().find(|key| *key != keys::PREFIX).cloned();
        let replay: ReplayKeys = ::keys::typed("traffic", own)?;
        ::keys::check("traffic", &replay)?;
        if replay.pcap.is_none() {
            // Keys may be written with the values that they have anyway.
            let says_nothing = replay == ReplayKeys::default();
            return match first.filter(|_| !says_nothing) {
                None => Ok(None),
                Some(key) => {
                    let what = "says how a capture is sent, and there is none".to_owned();
                    Err(traffic_key(&key, what, "Name a file by 'pcap', or remove the key"))
                }
            };
        }
        if let Some(key) = traffic.keys().find(|key| !BESIDE.contains(&key.as_str())) {
            let what = "describes frames that are made, and 'pcap' has them from a file".to_owned();
            return Err(traffic_key(key, what, "Remove the key, or 'pcap'"));
        }
        let has = |key: &str| schema["properties"].get(key).is_some();
        if has("dir") {
            // The model then tells all directions that there are.
            traffic.insert("dir".to_owned(), "bidir".into());
        }
        Ok(Some(replay))
    }

    /// Reads the captures, for a function to which frames are made that go in all directions.
    ///
    /// # Errors
    /// When a capture cannot be used, or its port is none of the function's.
    pub(crate) fn load(self, made: &impl Frames, receiver: &Receiver) -> Result<Loaded, Invalid> {
        if receiver.is_parted {
            let what = "cannot be sent to several workers: which of them has whose packets is \
                        known of made frames only"
                .to_owned();
            return Err(traffic_key(keys::PREFIX, what, "Set 'core: 1' in the function section"));
        }
        let keeps_macs = match self.pcap_macs {
            Macs::Auto => receiver.is_bridge,
            Macs::Keep => true,
            Macs::Device => false,
        };
        let mut directions = Vec::new();
        let mut captured = Vec::new();
        let limit = self.pcap_frames;
        let mut room = traffic::recording::BYTES_MAX;
        for (port, path) in self.pcap.iter().flat_map(Captures::files) {
            let place = self.place(port, &receiver.ports, made.directions())?;
            let direction = made.directions()[place];
            let device = || {
                let draw = made.draw(place, 0);
                let mut frame = vec![0; made.frame_len(&draw)];
                made.write(&draw, Stamp::default(), &mut frame);
                frame.first_chunk().copied()
            };
            let to = if keeps_macs { None } else { device() };
            let one = Captured::read(path, (limit, room), to)
                .map_err(|error| traffic_key(keys::PREFIX, error.what, error.remedy))?;
            room -= one.recording.memory_bytes();
            directions.push(direction);
            captured.push(one);
        }
        let times = match self.pcap_timing {
            Timing::Even => None,
            Timing::Captured => Some(capture::times(&captured).ok_or_else(|| {
                let what = "needs frames with different times".to_owned();
                traffic_key("pcap-timing", what, "Set 'pcap-timing: even'")
            })?),
        };
        let hash = capture::hash(&captured);
        let recordings: Vec<_> = captured.into_iter().map(|one| Arc::new(one.recording)).collect();
        let replay = Replay {
            directions: directions.into(),
            recordings: recordings.into(),
            times: times.map(|times: Vec<Times>| times.into()),
        };
        let kept = |&key: &&str| Some((key.to_owned(), receiver.traffic.get(key)?.clone()));
        let others = BESIDE.iter().filter_map(kept);
        Ok(Loaded { keys: self, others: others.collect(), replay, hash })
    }

    /// The direction of the frames that enter at a port, or of the first one.
    fn place(
        &self,
        port: Option<&str>,
        ports: &[PortName],
        directions: &[Direction],
    ) -> Result<usize, Invalid> {
        let name = |direction: &Direction| {
            ports.get(usize::from(direction.from.0)).map_or(String::new(), |name| name.to_string())
        };
        let found = match port {
            None => (!directions.is_empty()).then_some(0),
            Some(port) => directions.iter().position(|direction| name(direction) == port),
        };
        found.ok_or_else(|| {
            let known: Vec<String> = directions.iter().map(name).collect();
            let what =
                format!("has no port `{}` at which traffic enters", port.unwrap_or_default());
            let remedy = format!("Write one of: {}", known.join(", "));
            traffic_key(keys::PREFIX, what, &remedy)
        })
    }
}

impl Loaded {
    /// What is sent.
    pub(crate) fn replay(&self) -> &Replay {
        &self.replay
    }

    /// The `traffic` section.
    pub(crate) fn traffic(&self) -> Map<String, Value> {
        let mut all = match serde_json::to_value(&self.keys) {
            Ok(Value::Object(keys)) => keys,
            _ => Map::new(),
        };
        all.extend(self.others.clone());
        all
    }

    /// Number of frames, and how many of them take a stamp.
    pub fn frames(&self) -> (u64, u64) {
        let recordings = self.replay.recordings.iter();
        recordings
            .fold((0, 0), |(all, stamped), one| (all + one.len() as u64, stamped + one.stamped()))
    }

    /// Whether frames keep the times of their capture.
    pub fn is_timed(&self) -> bool {
        self.replay.times.is_some()
    }

    /// Frames per second of the direction that has the most, at the speed of the keys; `None` if
    /// they are sent in even intervals.
    pub fn rate_per_s(&self) -> Option<f64> {
        let times = self.replay.times.as_ref()?;
        times.first().map(|times| times.most_per_s * self.keys.pcap_speed)
    }

    /// What is known of the captures, for the record: frames, those that take a stamp, the mean
    /// length with check sequence in bytes, and a hash of all frames with their times.
    pub fn facts(&self) -> Value {
        let (frames, stamped) = self.frames();
        let bytes: f64 = self.replay.recordings.iter().map(|one| sum_of_lengths(one)).sum();
        let mean = bytes / frames.max(1) as f64 + CHECK_SEQUENCE_LEN;
        json!({
            "frames": frames,
            "with-stamp": stamped,
            "mean-size": (mean * 10.0).round() / 10.0,
            "hash": self.hash,
        })
    }

    /// What must be known of figures that are measured with these captures; `None` if there is
    /// nothing.
    pub fn remark(&self) -> Option<String> {
        let (frames, stamped) = self.frames();
        (stamped < frames).then(|| {
            format!(
                "{} of {frames} captured frames have no room for a stamp: they are counted in \
                 total, and their latency is not measured",
                frames - stamped
            )
        })
    }
}

fn sum_of_lengths(recording: &traffic::Recording) -> f64 {
    recording.lengths().mean * recording.len() as f64
}

/// Keys of models that hold with captured frames, too: they say how the function changes.
const BESIDE: [&str; 2] = ["random-seed", "event-pacing"];

/// Length of the Ethernet frame check sequence in bytes.
const CHECK_SEQUENCE_LEN: f64 = 4.0;
