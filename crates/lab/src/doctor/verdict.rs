//! From findings to sentences: what the machine is good for, and what to do about the rest.

use super::findings::{Findings, Level, Verdict};
use super::stalls::{LONG_GAP_NS, THRESHOLD_NS, UNBRIDGED_GAP_NS};

/// The conclusions, in the order of the findings.
pub(super) fn of(findings: &Findings) -> Vec<Verdict> {
    let mut verdicts = vec![cores(findings), clock(findings), huge_pages(findings)];
    verdicts.extend(noise(findings));
    verdicts.extend(core_to_core(findings));
    verdicts.extend(memory(findings));
    verdicts
}

fn good(what: String) -> Verdict {
    Verdict { level: Level::Good, what, advice: String::new() }
}

fn cores(findings: &Findings) -> Verdict {
    match findings.host.cores {
        0 | 1 => Verdict {
            level: Level::Bad,
            what: "one core: tester and device must share it, so open-loop figures (throughput, \
                   latency) say little"
                .into(),
            advice: "use the closed-loop method `capacity`, or a machine with two cores".into(),
        },
        cores => good(format!(
            "{cores} cores: one for the tester, {} for workers of the device",
            cores - 1
        )),
    }
}

fn clock(findings: &Findings) -> Verdict {
    let tsc = findings.host.tsc;
    let rate = format!(
        "{:.0} MHz, {:.0} ns per reading",
        tsc.ticks_per_second / 1e6,
        findings.clock_costs.tsc_ns
    );
    if tsc.invariant {
        good(format!("time-stamp counter: invariant, {rate}"))
    } else {
        Verdict {
            level: Level::Bad,
            what: format!("time-stamp counter: not invariant ({rate}), so times may drift"),
            advice: "fix the CPU frequency, or expose the invariant counter to the guest".into(),
        }
    }
}

fn huge_pages(findings: &Findings) -> Verdict {
    let text = &findings.host.huge_pages;
    if text.contains("transparent: always") || text.contains("transparent: madvise") {
        good(format!("huge pages: {text}"))
    } else {
        Verdict {
            level: Level::Limiting,
            what: format!(
                "huge pages: {text}; look-ups in large tables pay for address translation"
            ),
            advice: "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled".into(),
        }
    }
}

/// The conclusion about loss by stalls. A core that is away for a fraction of the time misses at
/// most that fraction of the frames. Short gaps cause no loss, because a ring bridges them.
fn noise(findings: &Findings) -> Option<Verdict> {
    let worst = findings
        .stalls
        .iter()
        .max_by(|a, b| a.long_time_fraction.total_cmp(&b.long_time_fraction))?;
    let longest_ns = findings.stalls.iter().map(|one| one.probe.longest_ns).max()?;
    let seconds = worst.probe.duration_ns as f64 / 1e9;
    let what = format!(
        "noise floor: core {} was lost for {:.2} % of the time ({:.0} gaps per second over {}, the \
         longest {}); it stalled for more than {} {}, {} of the time, and for more than {}, which \
         rings do not bridge, {}; on this machine loss below {} is noise, and so are latency \
         maxima below {}",
        worst.core,
        worst.time_fraction * 100.0,
        worst.probe.count as f64 / seconds,
        time(THRESHOLD_NS as f64),
        time(worst.probe.longest_ns as f64),
        time(LONG_GAP_NS as f64),
        often(worst.long, seconds),
        parts(worst.long_time_fraction),
        time(UNBRIDGED_GAP_NS as f64),
        often(worst.unbridged, seconds),
        parts(worst.long_time_fraction),
        time(longest_ns as f64),
    );
    let level = match worst.long_time_fraction {
        ..0.000_1 => Level::Good,
        ..0.05 => Level::Limiting,
        _ => Level::Bad,
    };
    let advice = match level {
        Level::Good => String::new(),
        _ => "stop other programs; on a server isolate the cores (isolcpus, nohz_full); \
              for a virtual machine request dedicated cores"
            .into(),
    };
    Some(Verdict { level, what, advice })
}

fn core_to_core(findings: &Findings) -> Option<Verdict> {
    let probe = findings.host.core_to_core_probe?;
    let what = format!(
        "core {} to core {} and back: minimum {:.0} ns, median {:.0} ns",
        probe.cores[0], probe.cores[1], probe.round_trip_ns_min, probe.round_trip_ns_median
    );
    if probe.round_trip_ns_median <= 400.0 {
        return Some(good(what));
    }
    Some(Verdict {
        level: Level::Limiting,
        what: format!("{what}; the cores are far apart, which reduces open-loop figures"),
        advice: "use cores of one socket, and pin virtual cores on the host".into(),
    })
}

fn memory(findings: &Findings) -> Option<Verdict> {
    let probe = &findings.host.random_access_probe;
    let largest = probe.iter().map(|one| one.bytes).max()?;
    let ns = |in_flight| {
        let of_it = |one: &&_| -> bool {
            let one: &measure::record::RandomAccess = one;
            one.bytes == largest && one.in_flight == in_flight
        };
        probe.iter().find(of_it).map(|one| one.ns_per_access)
    };
    let (chain, batched) = (ns(1)?, ns(16)?);
    Some(good(format!(
        "memory: a random load from {} takes {chain:.0} ns alone and {batched:.1} ns with 16 in \
         flight: a table of that size allows at most {:.0} million look-ups per second and core",
        size(largest),
        1e3 / batched.max(0.001)
    )))
}

/// How often something happened: by the second, or as a number where it is rarer.
fn often(count: u64, seconds: f64) -> String {
    match count {
        0 => format!("never in {seconds:.1} s"),
        1 => format!("once in {seconds:.1} s"),
        count if (count as f64) < 2.0 * seconds => format!("{count} times in {seconds:.1} s"),
        count => format!("{:.0} times per second", count as f64 / seconds),
    }
}

/// Formats a fraction like loss: in ppm while it is small.
fn parts(fraction: f64) -> String {
    if fraction < 0.001 {
        format!("{:.0} ppm", (fraction * 1e6).max(1.0))
    } else {
        format!("{:.2} %", fraction * 100.0)
    }
}

/// Formats nanoseconds with a suitable unit.
pub(super) fn time(ns: f64) -> String {
    match ns {
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{:.0} us", ns / 1e3),
        ..1e9 => format!("{:.1} ms", ns / 1e6),
        _ => format!("{:.1} s", ns / 1e9),
    }
}

/// Formats bytes with a suitable unit.
fn size(bytes: u64) -> String {
    match bytes.max(1).ilog2() {
        ..20 => format!("{} KiB", bytes >> 10),
        20..30 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_told_by_how_often_and_how_long() {
        assert_eq!(often(0, 2.0), "never in 2.0 s");
        assert_eq!(often(1, 2.0), "once in 2.0 s");
        assert_eq!(often(3, 2.0), "3 times in 2.0 s");
        assert_eq!(often(240, 2.0), "120 times per second");
    }

    #[test]
    fn units_fit_their_values() {
        assert_eq!(time(950.0), "950 ns");
        assert_eq!(time(13_000.0), "13 us");
        assert_eq!(time(9.6e6), "9.6 ms");
        assert_eq!(parts(0.000_08), "80 ppm");
        assert_eq!(parts(0.012), "1.20 %");
        assert_eq!(size(16 << 10), "16 KiB");
        assert_eq!(size(1 << 30), "1 GiB");
    }
}
