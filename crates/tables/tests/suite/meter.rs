//! The meter against exact arithmetic and against its own promise: the rate within 1 %, and never
//! more than rate, burst and one frame in any interval.

use proptest::prelude::*;
use tables::meter::Meter;
use tables::oracle::ExactMeter;

use crate::random::Random;

/// A load on a meter: `frames` frames at `load` times the rate.
#[derive(Clone, Copy, Debug)]
struct Offer {
    bytes_per_s: u64,
    burst_bytes: u64,
    ticks_per_s: u64,
    load: f64,
    frames: usize,
    lengths: Lengths,
}

#[derive(Clone, Copy, Debug)]
enum Lengths {
    Constant(u32),
    Random,
}

/// What passed, in bytes.
#[derive(Debug, Default)]
struct Passed {
    offered: u64,
    fast: u64,
    exact: u64,
    seconds: f64,
    longest: u32,
}

impl Offer {
    /// Offers every frame to the meter and to the exact one, and holds each conforming frame
    /// against the limit on the interval since the first.
    fn run(self, seed: u64) -> Passed {
        let mut random = Random(seed);
        let start = random.next() >> 7;
        let rate = self.bytes_per_s as f64;
        let mut fast = Meter::new(rate, self.burst_bytes as f64, self.ticks_per_s as f64);
        let mut exact = ExactMeter::new(self.bytes_per_s, self.burst_bytes, self.ticks_per_s);
        let mut passed = Passed::default();
        for _ in 0..self.frames {
            let length = match self.lengths {
                Lengths::Constant(length) => length,
                Lengths::Random => 64 + random.below(1455) as u32,
            };
            let ticks = passed.offered as f64 / (rate * self.load) * self.ticks_per_s as f64;
            let now = start + ticks as u64;
            passed.seconds = ticks / self.ticks_per_s as f64;
            passed.offered += u64::from(length);
            passed.longest = passed.longest.max(length);
            passed.fast += u64::from(length) * u64::from(fast.conforms(now, length));
            passed.exact += u64::from(length) * u64::from(exact.conforms(now, length));
        }
        passed
    }

    /// The promise: as the exact meter, and as the configured rate, within 1 % and one frame.
    fn check(self, seed: u64) {
        let passed = self.run(seed);
        let (frame, offered) = (f64::from(passed.longest), passed.offered as f64);
        let (fast, exact) = (passed.fast as f64, passed.exact as f64);
        let allowed = self.bytes_per_s as f64 * passed.seconds + self.burst_bytes as f64;
        let most = allowed * 1.01 + frame;
        assert!(fast <= most, "{fast} > {most}, seed {seed:#x}: {self:?} {passed:?}");

        // A burst of a frame loses nothing. Without one, a token bucket loses what would have
        // come between the end of its debt and the next frame: up to a gap, and a tick as arrival
        // times are whole ones, for each frame passed.
        let covers_gaps = self.burst_bytes >= u64::from(passed.longest);
        let tick_bytes = self.bytes_per_s as f64 / self.ticks_per_s as f64;
        let lost = if covers_gaps { 0.0 } else { 1.0 / self.load + tick_bytes / frame };
        let least = 0.99 / (1.0 + lost) * allowed.min(offered) - frame;
        if covers_gaps || matches!(self.lengths, Lengths::Constant(_)) {
            assert!(fast >= least, "{fast} < {least}, seed {seed:#x}: {self:?} {passed:?}");
        }
        if covers_gaps {
            let close = (fast - exact).abs() <= 0.01 * exact + frame;
            assert!(close, "{fast}, exact {exact}, seed {seed:#x}: {self:?} {passed:?}");
        }
    }
}

const RATES: [u64; 12] = [
    1,
    37,
    1_000,
    10_000,
    1_000_000,
    12_500_000,
    125_000_000,
    1_250_000_001,
    5_000_000_000,
    12_500_000_000,
    25_000_000_000,
    40_000_000_000,
];
const CLOCKS: [u64; 4] = [1_000_000_000, 2_596_112_345, 3_333_333_333, 5_000_000_000];
const LOADS: [f64; 8] = [0.5, 0.9, 1.0, 1.1, 2.0, 10.0, 100.0, 1000.0];

/// Offers of every rate, clock, load, burst and kind of length. `frames` gives the number of
/// frames for a rate and a load.
fn offers(frames: impl Fn(u64, f64) -> usize) -> Vec<Offer> {
    let lengths = [Lengths::Constant(64), Lengths::Constant(1518), Lengths::Random];
    let mut offers = Vec::new();
    for bytes_per_s in RATES {
        for ticks_per_s in CLOCKS {
            for load in LOADS {
                for (lengths, burst_bytes) in lengths.into_iter().zip([0, 1518, 1518]) {
                    let frames = frames(bytes_per_s, load);
                    for burst_bytes in [burst_bytes, 10_000] {
                        let offer =
                            Offer { bytes_per_s, burst_bytes, ticks_per_s, load, frames, lengths };
                        offers.push(offer);
                    }
                }
            }
        }
    }
    offers
}

#[test]
fn the_rate_is_right_within_1_percent_at_any_load() {
    // About 200 frames conform; a low rate takes days of the meter's time for that.
    for offer in offers(|_, load| (200.0 * load.max(1.0)) as usize) {
        offer.check(0x5eed_0002);
    }
}

#[test]
fn the_rate_is_right_within_1_percent_over_1_s() {
    // A second of offered load. The rates whose second has too many frames to try are held by
    // the test above over a shorter time, which is harder.
    for mut offer in offers(|_, _| 0) {
        let Lengths::Constant(length) = offer.lengths else { continue };
        offer.frames = 1 + (offer.bytes_per_s as f64 * offer.load / f64::from(length)) as usize;
        if offer.frames <= 200_000 {
            offer.check(0x5eed_0003);
        }
    }
}

#[test]
fn no_interval_sees_more_than_rate_burst_and_a_frame() {
    let (rate, burst, clock) = (1e6, 5_000.0, 1e9);
    let seed = 0x5eed_0004;
    println!("seed {seed:#x}");
    let mut random = Random(seed);
    let mut meter = Meter::new(rate, burst, clock);
    let mut conforming: Vec<(u64, u32)> = Vec::new();
    let mut now = 0;
    for _ in 0..4_000 {
        // Bursts and pauses.
        let gap = if random.below(50) == 0 { 50_000_000 } else { 300_000 };
        now += random.below(gap) as u64;
        let length = 64 + random.below(1455) as u32;
        if meter.conforms(now, length) {
            conforming.push((now, length));
        }
    }
    for (first, &(from, _)) in conforming.iter().enumerate() {
        let mut bytes = 0.0;
        for &(to, length) in &conforming[first..] {
            // The frame itself is the one that may take the bucket into debt.
            let most = rate * (to - from) as f64 / clock + burst;
            assert!(bytes <= most * 1.0001 + 1518.0, "{bytes} > {most} from {from} to {to}");
            bytes += f64::from(length);
        }
    }
}

#[test]
fn the_first_frame_conforms_and_a_refused_one_changes_nothing() {
    let mut meter = Meter::new(1.0, 0.0, 2.6e9);
    assert!(meter.conforms(0, 9_018));
    let before = meter;
    assert!((0..1_000).all(|ms| !meter.conforms(ms * 2_600_000, 64)));
    assert_eq!(meter, before);
}

#[test]
fn a_burst_passes_after_a_pause_and_no_more() {
    let mut meter = Meter::new(1_000.0, 10_000.0, 1e9);
    let pass = |meter: &mut Meter, now| (0..100).filter(|_| meter.conforms(now, 1_000)).count();
    // Ten fill the burst, the eleventh finds no token missing and takes the bucket into debt.
    assert_eq!(pass(&mut meter, 1 << 40), 11);
    assert_eq!(pass(&mut meter, 1 << 40), 0);
    // A year later the bucket is full and not fuller.
    assert_eq!(pass(&mut meter, (1 << 40) + 31_536_000_000_000_000), 11);
}

#[test]
#[should_panic(expected = "a rate of 0 byte/s")]
fn a_rate_of_nothing_is_refused() {
    Meter::new(0.0, 0.0, 1e9);
}

proptest! {
    #[test]
    fn any_meter_is_as_exact_arithmetic(
        rate_log in 0.0..10.6f64,
        burst_bytes in prop_oneof![Just(0u64), 1..10_000u64, 10_000..100_000u64],
        ticks_per_s in 1_000_000_000..5_000_000_000u64,
        load_log in -0.3..2.0f64,
        lengths in prop_oneof![(64..9_018u32).prop_map(Lengths::Constant), Just(Lengths::Random)],
        seed: u64,
    ) {
        let bytes_per_s = 10f64.powf(rate_log) as u64;
        let load = 10f64.powf(load_log);
        let frames = 2_000;
        Offer { bytes_per_s, burst_bytes, ticks_per_s, load, frames, lengths }.check(seed);
    }
}
