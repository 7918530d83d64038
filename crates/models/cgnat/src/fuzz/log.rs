//! Logs of a carrier-grade NAT: any events in any order, and rounds between them.

use export::{Format, Logging};
use function_cgnat::log::Kind;

use crate::log::trial::{Trial, event, over_ipv4, over_ipv6};

/// What is noted comes out once and in order, or is counted.
#[inline]
pub fn log(data: &[u8]) {
    let Some((head, steps)) = data.split_first_chunk::<4>() else { return };
    let mut trial = Trial::new(&config(*head), 1600);
    for (number, step) in (0..).zip(steps.chunks(2)) {
        let value = u64::from(*step.get(1).unwrap_or(&0));
        let result = match step[0] {
            // Mostly events: rounds and waits of every length between them.
            0..0xc0 => {
                let kind = Kind::ALL[usize::from(step[0]) % Kind::ALL.len()];
                trial.note(&event(kind, number << 8 | value))
            }
            0xc0..0xd0 => {
                trial.wait(1 << (value % 40));
                Ok(())
            }
            0xd0..0xd4 => trial.flush(false),
            0xd4.. => trial.flush(true),
        };
        result.unwrap_or_else(|what| panic!("{what}"));
    }
    trial.drain().unwrap_or_else(|what| panic!("{what}"));
}

fn config(head: [u8; 4]) -> Logging {
    let bit = |number: u8| head[0] >> number & 1 != 0;
    let format = if bit(0) { Format::Ipfix } else { Format::Syslog };
    let (config, mtu_min) = match bit(1) {
        true => (over_ipv4(format), 576),
        false => (over_ipv6(format), 1280),
    };
    let destinations = bit(2);
    Logging {
        sessions: bit(3),
        mappings: bit(4) && (destinations || !bit(3)),
        destinations,
        mtu: mtu_min + u16::from(head[1]),
        queue: 8 + u32::from(head[2]),
        rate: if bit(5) { 100 * (1 + u32::from(head[3])) } else { 0 },
        template_messages: u32::from(head[3] % 8),
        template_interval_s: 1 + u32::from(head[3]),
        delay_ms: u32::from(head[1]),
        ..config
    }
}
