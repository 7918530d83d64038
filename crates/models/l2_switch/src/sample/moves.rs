//! A station that moves more often than it may, and is let go by control.
use function_l2_switch::config::features::{Flapping, MoveLimit};
use function_l2_switch::config::{Config, Mac, Port};
use function_l2_switch::control::Update;

use super::{FILLED_MAX, Sample, visitor};

impl Sample {
    /// From one port and the other until it flaps, and on; then the same after it was removed.
    pub(super) fn moves(&mut self) {
        let Some(limit) = self.config.move_limit.filter(|limit| is_reached(&self.config, limit))
        else {
            return;
        };
        let (station, other, domain) = (visitor(20), visitor(21), self.domain);
        for _ in 0..2 {
            for number in 0..limit.moves + 4 {
                let port = Port::ALL[number as usize % 2];
                self.send(port, "from a station that moves to and fro", station, other);
            }
            self.send_from_both("to a station that moved to and fro", station);
            self.update(Update::Learn { mac: Mac(station), port: Port::DOWNLINK, domain });
            self.update(Update::Learn { mac: Mac(station), port: Port::UPLINK, domain });
            self.update(Update::RemoveStation { mac: Mac(station), domain });
        }
        for number in [10, 11] {
            self.forget(number);
        }
    }
}

/// Why no frame is dropped because its source moves too often.
pub(super) fn unreachable(config: &Config) -> Option<(&'static str, &'static str)> {
    let cause = match config.move_limit {
        None => "stations may move as often as they like",
        Some(limit) if limit.action != Flapping::Drop => "frames of stations that flap go on",
        Some(limit) if is_reached(config, &limit) => return None,
        Some(_) => "stations may move more often, or for less long, than in a sample",
    };
    Some(("flapping-station", cause))
}

/// Whether a sample has as many moves, and its frames come within the interval on any device.
fn is_reached(config: &Config, limit: &MoveLimit) -> bool {
    let domain = config.domain(super::first_pair(config));
    let stations = domain.station_limit.unwrap_or(config.station_limit);
    let lasts = limit.interval_s >= SPAN_S_MIN && limit.hold_s >= SPAN_S_MIN;
    limit.moves <= MOVES_MAX && lasts && stations > FILLED_MAX
}

/// Most moves that a sample has.
const MOVES_MAX: u32 = 64;
/// Longer than any device takes for the sample.
const SPAN_S_MIN: f64 = 60.0;
