//! Options that a router has to look at: whether those of IPv4 are sound, and what the hop-by-hop
//! options of IPv6 ask of who does not know them (RFC 791 section 3.1, RFC 8200 sections 4.2 and
//! 4.3).

use wire::ipv4;

/// What is wrong with the options of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where, in bytes from the start of the packet.
    pub pointer: u16,
    /// Whether the sender is to be told.
    pub is_told: bool,
}

/// Whether each option of an IPv4 header, the fixed part included, is whole.
///
/// # Errors
/// The first that is not.
pub fn check_ipv4(header: &[u8]) -> Result<(), Fault> {
    let mut at = ipv4::HEADER_LEN;
    while let Some(&kind) = header.get(at) {
        at += match kind {
            END => return Ok(()),
            NO_OPERATION => 1,
            _ => {
                let len = header.get(at + 1).map_or(0, |&len| usize::from(len));
                if len < 2 || at + len > header.len() {
                    return Err(Fault { pointer: at as u16, is_told: true });
                }
                len
            }
        };
    }
    Ok(())
}

/// Whether a hop-by-hop header, which begins at a place in a packet of IPv6, is sound and lets
/// those pass it who do not know one of its options.
///
/// # Errors
/// The first option that is cut or that does not.
pub fn check_hop_by_hop(packet: &[u8], start: usize) -> Result<(), Fault> {
    let cut = |at: usize| Fault { pointer: at as u16, is_told: false };
    let units = packet.get(start + 1).ok_or(cut(start))?;
    let end = start + 8 * (usize::from(*units) + 1);
    let header = packet.get(..end).ok_or(cut(start + 1))?;
    let mut at = start + 2;
    while let Some(&kind) = header.get(at) {
        if kind == PAD_1 {
            at += 1;
            continue;
        }
        let len = header.get(at + 1).ok_or(cut(at))?;
        if at + 2 + usize::from(*len) > end {
            return Err(cut(at + 1));
        }
        let is_known = matches!(kind, PAD_N | ROUTER_ALERT);
        // What is for a group is not routed, so that both forms of telling are one.
        let action = kind >> 6;
        if !is_known && action != PASS {
            return Err(Fault { pointer: at as u16, is_told: action != DISCARD });
        }
        at += 2 + usize::from(*len);
    }
    Ok(())
}

/// IPv4: the last option.
const END: u8 = 0;
/// IPv4: one of a single byte.
const NO_OPERATION: u8 = 1;
/// IPv6: padding of one byte.
const PAD_1: u8 = 0;
/// IPv6: longer padding.
const PAD_N: u8 = 1;
/// RFC 2711.
const ROUTER_ALERT: u8 = 5;
/// Action of who does not know the option: skip it.
const PASS: u8 = 0b00;
/// Discard the packet and say nothing.
const DISCARD: u8 = 0b01;
