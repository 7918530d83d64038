//! A lease as bytes, which outlive a restart.
//!
//! ```text
//!  | version | line (4) | MAC (6) | session (8) | class (2) | sources (2 x 18) | length, identifier |
//!  | number | of each holding: kind, IAID (4), prefix (17), valid (4) |
//! ```
//! No time is in it. A lease that comes back lives as long as it was given last, from then on:
//! longer than its client believes, whatever was renewed since the record was written. So no
//! address is given twice, and a client that went away meanwhile costs one lease time.

use wire::MacAddr;

use crate::access::Line;
use crate::control::{Client, Grant, Identifier, Source};
use crate::lease::{Held, Holding, Lease};
use crate::octets::array;
use crate::prefix::{Kind, Prefix};

/// A lease that was read.
pub(crate) struct Restored {
    pub client: Client,
    pub grant: Grant,
    pub holdings: Vec<(Kind, u32, Prefix, u32)>,
}

/// Why a lease was not restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRestored {
    /// The bytes are no record.
    #[error("no record of a lease, or one of another version or family")]
    Malformed,
    /// There is no room for it.
    #[error("no room for one more lease, or for one more on its line")]
    Full,
    /// The client has a lease already.
    #[error("the client has a lease already")]
    Known,
    /// What it holds is another one's, or is not given any more.
    #[error("what it holds is another one's, or is reserved")]
    Taken,
}

/// Writes a lease that holds something; `None` of any other.
pub(crate) fn write(lease: &Lease) -> Option<Vec<u8>> {
    let Grant { session, class, address, delegated } = lease.grant?;
    let Client { line, mac, id } = &lease.client;
    let mut bytes = vec![VERSION];
    bytes.extend(line.0.to_be_bytes());
    bytes.extend(mac.0);
    bytes.extend(session.to_be_bytes());
    bytes.extend(class.to_be_bytes());
    for source in [address, delegated] {
        bytes.extend(source_octets(source));
    }
    // An identifier has at most 136 bytes.
    bytes.push(id.bytes().len() as u8);
    bytes.extend(id.bytes());
    let firm = lease.holdings.iter().filter(|holding| holding.stage != Held::Offered);
    let firm: Vec<&Holding> = firm.take(usize::from(u8::MAX)).collect();
    bytes.push(firm.len() as u8);
    for Holding { kind, iaid, prefix, valid_s, .. } in &firm {
        bytes.push(u8::from(*kind == Kind::Delegated));
        bytes.extend(iaid.to_be_bytes());
        bytes.extend(prefix.to_octets());
        bytes.extend(valid_s.to_be_bytes());
    }
    (!firm.is_empty()).then_some(bytes)
}

/// Reads a record; `None` if it is none.
pub(crate) fn read(bytes: &[u8]) -> Option<Restored> {
    if bytes.len() <= FIXED_LEN || bytes[0] != VERSION {
        return None;
    }
    let line = Line(u32::from_be_bytes(array(bytes, 1)));
    let mac = MacAddr(array(bytes, 5));
    let grant = Grant {
        session: u64::from_be_bytes(array(bytes, 11)),
        class: u16::from_be_bytes(array(bytes, 19)),
        address: source(&array(bytes, 21))?,
        delegated: source(&array(bytes, 21 + SOURCE_LEN))?,
    };
    let rest = &bytes[FIXED_LEN..];
    let (len, rest) = rest.split_first()?;
    let id = rest.get(..usize::from(*len))?;
    let (count, rest) = rest[id.len()..].split_first()?;
    let id = Identifier::new(id.to_vec())?;
    if *count == 0 || rest.len() != usize::from(*count) * HOLDING_LEN {
        return None;
    }
    let holding = |bytes: &[u8]| {
        let kind = if bytes[0] == 1 { Kind::Delegated } else { Kind::Address };
        let iaid = u32::from_be_bytes(array(bytes, 1));
        let prefix = Prefix::from_octets(&array(bytes, 5))?;
        (bytes[0] <= 1).then(|| (kind, iaid, prefix, u32::from_be_bytes(array(bytes, 22))))
    };
    let holdings = rest.chunks_exact(HOLDING_LEN).map(holding).collect::<Option<_>>()?;
    Some(Restored { client: Client { line, mac, id }, grant, holdings })
}

fn source_octets(source: Option<Source>) -> [u8; SOURCE_LEN] {
    let mut octets = [0; SOURCE_LEN];
    match source {
        None => {}
        Some(Source::Fixed(prefix)) => {
            octets[0] = FIXED;
            octets[1..].copy_from_slice(&prefix.to_octets());
        }
        Some(Source::Pool(pool, share)) => {
            octets[0] = if share.is_some() { SHARE } else { POOL };
            octets[1..3].copy_from_slice(&pool.to_be_bytes());
            octets[3..5].copy_from_slice(&share.unwrap_or(0).to_be_bytes());
        }
    }
    octets
}

fn source(octets: &[u8; SOURCE_LEN]) -> Option<Option<Source>> {
    let [pool, share] = [1, 3].map(|at| u16::from_be_bytes(array(octets, at)));
    Some(match octets[0] {
        0 => None,
        FIXED => Some(Source::Fixed(Prefix::from_octets(&array(octets, 1))?)),
        POOL => Some(Source::Pool(pool, None)),
        SHARE => Some(Source::Pool(pool, Some(share))),
        _ => return None,
    })
}

const VERSION: u8 = 1;
const FIXED: u8 = 1;
const POOL: u8 = 2;
const SHARE: u8 = 3;
const SOURCE_LEN: usize = 18;
const FIXED_LEN: usize = 21 + 2 * SOURCE_LEN;
const HOLDING_LEN: usize = 26;
