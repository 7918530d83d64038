//! The stations that TIPSY generates for a bridge, by number, and those that come and go.
//!
//! TIPSY's `byte_seq` counts the last octet from 1 to 254 and the one before from 0; where that
//! ends, the fourth octet goes on. Stations behind the uplink port ("upstream") are
//! aa:cc:dd:cc:x:y, those behind the downlink port ac:dc:ac:dc:x:y; those that come and go have
//! 0x10 more in the third octet.

use wire::MacAddr;

use function_l2_switch::config::Port;

/// Most generated stations behind a port.
pub const STATIONS_MAX: u32 = 1_000_000;

/// Generated station `number` behind a port.
#[inline(always)]
pub fn station(behind: Port, number: u32) -> MacAddr {
    at(first(behind), number)
}

/// Station `number` of those that come and go.
#[inline(always)]
pub fn passing_station(behind: Port, number: u32) -> MacAddr {
    let [a, b, c, d] = first(behind);
    at([a, b, c + PASSING, d], number)
}

/// Whether an address lies where the catalogue places stations.
pub fn is_generated(mac: MacAddr) -> bool {
    Port::ALL.into_iter().any(|port| {
        let [a, b, c, d] = first(port);
        let within = (d..=d + BLOCKS).contains(&mac.0[3]);
        mac.0[..2] == [a, b] && (mac.0[2] == c || mac.0[2] == c + PASSING) && within
    })
}

const fn first(behind: Port) -> [u8; 4] {
    match behind {
        Port::UPLINK => [0xaa, 0xcc, 0xdd, 0xcc],
        _ => [0xac, 0xdc, 0xac, 0xdc],
    }
}

#[inline(always)]
fn at([a, b, c, d]: [u8; 4], number: u32) -> MacAddr {
    let (block, within) = (number / PAIRS, number % PAIRS);
    MacAddr([a, b, c, d + block as u8, (within / 254) as u8, (within % 254 + 1) as u8])
}

/// What two octets of TIPSY's scheme can number, the last one from 1 to 254.
const PAIRS: u32 = 256 * 254;

/// Fourth octets behind the first one that generated stations take.
const BLOCKS: u8 = 15;

/// What the third octet of stations that come and go has more.
const PASSING: u8 = 0x10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stations_follow_tipsy_and_go_on() {
        let text = |number| station(Port::UPLINK, number).to_string();
        assert_eq!(text(0), "aa:cc:dd:cc:00:01");
        assert_eq!(text(254), "aa:cc:dd:cc:01:01");
        assert_eq!(text(PAIRS - 1), "aa:cc:dd:cc:ff:fe");
        assert_eq!(text(PAIRS), "aa:cc:dd:cd:00:01");
        assert_eq!(station(Port::DOWNLINK, 1).to_string(), "ac:dc:ac:dc:00:02");
        for port in Port::ALL {
            assert!(is_generated(station(port, STATIONS_MAX - 1)));
            assert!(is_generated(passing_station(port, 59_999)));
        }
        assert!(!is_generated(MacAddr([0xaa, 0xcc, 0xdd, 0xdc, 0, 1])));
    }
}
