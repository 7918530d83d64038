//! Frames and configurations that several tests use.

use functions::NetworkFunction;
use functions::check::Step;
use functions::l2_switch::config::{Config, Mac, Mode, Port, Station, Traffic, Unknown, WhenFull};
use functions::l2_switch::sample::sample;
use functions::l2_switch::{L2Switch, Stations};
use machine::clock::Clock;
use traffic::{Stamp, Workload};
use wire::MacAddr;

/// A small bridge of every kind.
pub fn kinds() -> Vec<Config> {
    let small = Config { upstream_table_size: 20, ..Config::default() };
    let station = |last, port| Station { mac: Mac(MacAddr([0x0a, 0, 0, 0, 1, last])), port };
    let stations = vec![station(1, Port::Uplink), station(2, Port::Downlink)];
    let swap = Some(Mac(MacAddr([0x0a, 0, 0, 0, 2, 1])));
    vec![
        small.clone(),
        Config { learning: false, unknown: Some(Unknown::Drop), ..small.clone() },
        Config { unknown: Some(Unknown::Drop), stations: stations.clone(), ..small.clone() },
        Config { preload: false, fluct_table: 10.0, station_limit: 60, ..small.clone() },
        Config { station_limit: 8, when_full: WhenFull::Drop, ageing_s: 10.0, ..small },
        Config { upstream_table_size: 0, downstream_table_size: 0, stations, ..Config::default() },
        Config { mode: Mode::Patch, mac_swap_upstream: swap, ..Config::default() },
    ]
}

/// The configuration as the lab would hand it on.
pub fn valid(config: &Config, traffic: &Traffic) -> (Config, Traffic) {
    let (mut config, mut traffic) = (config.clone(), traffic.clone());
    L2Switch::validate(&mut config, &mut traffic).expect("a valid configuration");
    (config, traffic)
}

/// The frames of the functional check.
pub fn sample_frames(config: &Config) -> Vec<Vec<u8>> {
    let frames = sample(config, &Traffic::default()).into_iter().filter_map(|step| match step {
        Step::Frame { frame, .. } => Some(frame),
        Step::Update(_) | Step::Wait(_) => None,
    });
    frames.collect()
}

/// The workload of a bridge.
pub fn workload(config: &Config, traffic: &Traffic) -> Stations {
    let (config, traffic) = valid(config, traffic);
    L2Switch::workload(&config, &traffic, Clock::with_rate(1e9))
}

/// Frame `sequence` of a direction of a workload.
pub fn workload_frame(stations: &Stations, direction: usize, sequence: u64) -> Vec<u8> {
    let draw = stations.draw(direction, sequence);
    let mut frame = vec![0xee; stations.frame_len(&draw)];
    let stamp = Stamp { stream: direction as u16, sequence, time: 1000 * sequence };
    stations.write(&draw, stamp, &mut frame);
    frame
}
