//! Meters in bulk, by OpenFlow 1.3 at a bridge's own socket: `ovs-ofctl` adds one a process.
//!
//! Only what that takes (OpenFlow 1.3.5, sections 7.1, 7.3.4.5 and 7.3.8): hello, meter
//! modifications, a barrier behind them, and the answers to these, with every length checked.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A rate limit that drops what exceeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meter {
    /// Number of the meter, from 1.
    pub id: u32,
    /// Rate in kbit/s.
    pub rate_kbps: u32,
    /// Burst in kbit.
    pub burst_kbit: u32,
}

/// Adds meters to a bridge, and returns when the bridge has them.
///
/// # Errors
/// When the bridge does not answer, or refuses a meter.
pub(super) fn add_meters(socket: &str, meters: &[Meter]) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&message(HELLO, 0, &[]))?;
    for (part, number) in meters.chunks(PART).zip(1u32..) {
        let mut bytes: Vec<u8> = part.iter().flat_map(add).collect();
        bytes.extend(message(BARRIER_REQUEST, number, &[]));
        stream.write_all(&bytes)?;
        wait_for_barrier(&mut stream, number)?;
    }
    Ok(())
}

/// Reads until the reply to a barrier.
fn wait_for_barrier(stream: &mut UnixStream, number: u32) -> io::Result<()> {
    loop {
        let mut header = [0; HEADER_LEN];
        stream.read_exact(&mut header)?;
        let [_, kind, high, low, id @ ..] = header;
        let len = usize::from(u16::from_be_bytes([high, low]));
        let rest = len.checked_sub(HEADER_LEN).ok_or(io::ErrorKind::InvalidData)?;
        let mut body = vec![0; rest];
        stream.read_exact(&mut body)?;
        match kind {
            BARRIER_REPLY if u32::from_be_bytes(id) == number => return Ok(()),
            ECHO_REQUEST => {
                stream.write_all(&message(ECHO_REPLY, u32::from_be_bytes(id), &body))?
            }
            ERROR => return Err(io::Error::other(refusal(&body))),
            _ => {}
        }
    }
}

/// Returns the text for an error of the switch (section 7.4.4).
fn refusal(body: &[u8]) -> String {
    let [a, b, c, d, ..] = *body else { return "the switch refused a meter".to_owned() };
    let (kind, code) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let why = match (kind, code) {
        (METER_MOD_FAILED, 11) => "it has no room for more meters".to_owned(),
        (METER_MOD_FAILED, 5) => "a rate is out of its range".to_owned(),
        (METER_MOD_FAILED, 6) => "a burst is out of its range".to_owned(),
        _ => format!("error {code} of kind {kind}"),
    };
    format!("the switch refused a meter: {why}")
}

/// Returns an `OFPT_METER_MOD` that adds a meter with a band that drops.
fn add(meter: &Meter) -> Vec<u8> {
    let mut body = Vec::with_capacity(24);
    body.extend(METER_ADD.to_be_bytes());
    body.extend((KBPS | BURST | STATS).to_be_bytes());
    body.extend(meter.id.to_be_bytes());
    body.extend(BAND_DROP.to_be_bytes());
    body.extend(BAND_LEN.to_be_bytes());
    body.extend(meter.rate_kbps.to_be_bytes());
    body.extend(meter.burst_kbit.to_be_bytes());
    body.extend([0; 4]);
    message(METER_MOD, 0, &body)
}

fn message(kind: u8, id: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![VERSION, kind];
    bytes.extend(((HEADER_LEN + body.len()) as u16).to_be_bytes());
    bytes.extend(id.to_be_bytes());
    bytes.extend(body);
    bytes
}

const VERSION: u8 = 4;
const HEADER_LEN: usize = 8;
const HELLO: u8 = 0;
const ERROR: u8 = 1;
const ECHO_REQUEST: u8 = 2;
const ECHO_REPLY: u8 = 3;
const BARRIER_REQUEST: u8 = 20;
const BARRIER_REPLY: u8 = 21;
const METER_MOD: u8 = 29;
const METER_MOD_FAILED: u16 = 12;
const METER_ADD: u16 = 0;
const KBPS: u16 = 1;
const BURST: u16 = 4;
const STATS: u16 = 8;
const BAND_DROP: u16 = 1;
const BAND_LEN: u16 = 16;

/// Number of meters between two barriers.
const PART: usize = 1000;
const PATIENCE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_is_a_message_of_32_bytes() {
        let bytes = add(&Meter { id: 7, rate_kbps: 80, burst_kbit: 16 });
        let head = [4, 29, 0, 32, 0, 0, 0, 0, 0, 0, 0, 13, 0, 0, 0, 7];
        let band = [0, 1, 0, 16, 0, 0, 0, 80, 0, 0, 0, 16, 0, 0, 0, 0];
        assert_eq!(bytes, [head, band].concat());
    }

    #[test]
    fn answers_are_read_with_their_lengths() {
        let answer = |bytes: &[u8]| {
            let (mut near, mut far) = UnixStream::pair().expect("a pair");
            far.write_all(bytes).expect("room");
            drop(far);
            wait_for_barrier(&mut near, 3)
        };
        let hello = message(HELLO, 0, &[0; 8]);
        answer(&[&hello[..], &message(BARRIER_REPLY, 3, &[])].concat()).expect("the answer");
        assert!(answer(&message(BARRIER_REPLY, 2, &[])).is_err(), "another's");
        let refused = answer(&message(ERROR, 0, &[0, 12, 0, 11])).expect_err("refused");
        assert!(refused.to_string().contains("no room"), "{refused}");
        assert!(answer(&[4, 21, 0, 7, 0, 0, 0, 3]).is_err(), "a length below the header");
        assert!(answer(&message(ERROR, 0, &[0])).is_err());
    }
}
