//! Application-level gateways (ALG) for FTP, SIP and PPTP, which tell addresses in their payload.
//!
//! A gateway reads one payload, replaces what tells of the inside by what the outside can reach,
//! and names the sessions that will follow. It keeps nothing, allocates nothing, and asks the NAT
//! for mappings through [`Mappings`]. A message that is malformed, or divided among segments,
//! passes as it is, with a [`Reason`] to count; those beside it in the payload do not suffer. As
//! TCP payloads change their length, [`Shifts`] keeps sequence numbers right. All are off by
//! default, as RFC 4787 REQ-10 and RFC 6888 ask for.
//!
//! # How a pipeline calls it
//!
//! Behind the look-up of the session, for packets of a session with a gateway (port 21, 5060 or
//! 1723):
//!
//! ```text
//! let Some(gateway) = config.alg.gateway(protocol, remote.port()) else { /* as any other packet */ };
//! let translation = Translation { from: Side::Inside, protocol, inside, outside, remote };
//! let done = alg::rewrite(gateway, payload, &translation, &mut mappings, &mut scratch);
//! if let Some(reason) = done.reason { counters.alg_passed[reason as usize] += 1; }
//! match protocol {
//!     Protocol::Tcp => {
//!         // One `Shifts` for each session with a gateway, kept beside the session table. Segments
//!         // without payload, SYN and FIN among them, go through it as well: with no edits.
//!         let passing = shifts.segment(Side::Inside, seq, payload.len(), &done.edited);
//!         tcp.set_seq(passing.seq);
//!         tcp.set_ack(shifts.ack(Side::Inside, ack)); // and `shifts.sack` for the blocks of option 5
//!         let new = if passing.is_edited { &scratch } else { payload };
//!         tcp.replace_payload(&new[..passing.len]);
//!         if !passing.is_whole { tcp.clear_fin(); } // the sender sends the rest again
//!         // and `mappings.undo(passing.taken)` if not all that is new passes
//!     }
//!     _ if !done.edited.is_empty() => udp.replace_payload(&scratch[..done.len]),
//!     _ => {}
//! }
//! for expected in done.expectations.iter() { calls.expect(expected); } // the others map as they are asked
//! ```
//!
//! Then addresses, ports, lengths and checksums as for any packet. A payload that grows beyond the
//! link's MTU is the caller's to fragment or to answer.
//!
//! Not here: what is told in more than one segment, FTP and SIP over TLS, ICE candidates (RFC
//! 8445), and translation to IPv6 (RFC 6384).

pub mod algs;
mod call_stage;
pub(crate) mod calls;
mod config;
mod edit;
pub mod expected;
pub mod ftp;
mod list;
mod open_calls;
pub mod pptp;
mod sdp;
mod shift;
pub mod sip;
mod stage;
mod text;
mod types;
mod work;

#[cfg(test)]
mod tests;

pub use self::config::Alg;
pub use self::edit::{EDITS_MAX, Edited};
pub use self::list::List;
pub use self::shift::{Numbers, Passing, Replaced, SLOTS, Shifts};
pub use self::types::{
    EXPECTATIONS_MAX, Expectation, Gateway, Mappings, Ports, Protocol, Reason, Side, Translation,
    UNITS_MAX,
};
pub use self::work::Rewritten;
use self::work::Work;

/// Rewrites a payload by one of the gateways; see the module.
///
/// `out` holds the new payload if [`Rewritten::edited`] has anything.
pub fn rewrite(
    gateway: Gateway,
    payload: &[u8],
    translation: &Translation,
    mappings: &mut impl Mappings,
    out: &mut [u8],
) -> Rewritten {
    let mut work = Work::new(translation, mappings);
    match gateway {
        Gateway::Ftp => ftp::scan(payload, &mut work),
        Gateway::Sip => sip::scan(payload, &mut work),
        Gateway::Pptp => pptp::scan(payload, &mut work),
    }
    let Work { mut edits, expectations, reason, .. } = work;
    match edits.write(payload, out) {
        Ok((len, edited)) => Rewritten { len, edited, expectations, reason },
        Err(reason) => {
            mappings.undo(0);
            let (edited, expectations) = (List::new(), List::new());
            Rewritten { len: payload.len(), edited, expectations, reason: Some(reason) }
        }
    }
}
