//! Packets for the gateway itself that come in fragments: they wait for one another and are put
//! together (RFC 791 section 3.2), mostly tunnel packets of base stations whose links are no longer
//! than the users' packets.
//!
//! Fragments that lie over one another are dropped with all of their packet, as RFC 5722 has it for
//! IPv6. Everything else of the fragments stays in `stages::reassembly`.

use std::hash::{BuildHasher, Hasher, RandomState};

use function_kit::SetupError;
use machine::clock::{Clock, Ticks};
use packet::Reason;
use stages::reassembly::fragments::{Fragments, Limits, Refused};
use stages::reassembly::{Key, Part};
use wire::bytes::{put_u16, u16_at};
use wire::{checksum, ethernet, ipv4};

use super::config::{self, Config};
use super::reasons;

/// The fragments that wait.
pub(super) struct Reassembly {
    fragments: Fragments<()>,
    /// The frame that was reassembled last.
    whole: Vec<u8>,
    /// Room of a frame, in bytes.
    longest: usize,
}

impl Reassembly {
    /// None waits yet; nothing at all where fragments are dropped.
    ///
    /// # Errors
    /// When the kernel has no memory for them.
    pub fn new(config: &Config, clock: &Clock) -> Result<Option<Reassembly>, SetupError> {
        let config::Fragments { datagrams, datagrams_per_sender, .. } = config.fragments;
        let config::Fragments { waiting, waiting_per_sender, timeout_s, .. } = config.fragments;
        if datagrams == 0 {
            return Ok(None);
        }
        let limits =
            Limits { datagrams, datagrams_per_sender, waiting, waiting_per_sender, timeout_s };
        let secret = [(); 2].map(|()| RandomState::new().build_hasher().finish());
        let fragments = Fragments::new(limits, clock, secret)
            .map_err(|source| SetupError::Memory { what: "fragments", source })?;
        Ok(Some(Reassembly { fragments, whole: Vec::new(), longest: 0 }))
    }

    /// Says how long a frame may be, in bytes.
    pub fn set_longest(&mut self, longest: usize) {
        self.longest = longest;
        self.whole = Vec::with_capacity(longest);
    }

    /// Takes a fragment in a frame. With the last one of its packet it gives that one, in a frame
    /// with the addresses of the last.
    ///
    /// # Errors
    /// Why the fragment goes no further.
    pub fn gather(&mut self, frame: &[u8], part: &Part, now: Ticks) -> Result<&[u8], Reason> {
        if part.is_malformed() {
            return Err(reasons::FRAGMENT_MALFORMED);
        }
        let body_end = HEAD + usize::from(part.offset) + usize::from(part.len);
        if body_end > self.longest {
            return Err(reasons::TOO_LONG);
        }
        let end = HEAD + usize::from(part.len);
        let bytes = frame.get(ethernet::HEADER_LEN..end).ok_or(reasons::FRAGMENT_MALFORMED)?;
        let whole = &mut self.whole;
        whole.clear();
        whole.extend(frame.iter().take(HEAD));
        let mut add = |bytes: &[u8]| {
            let Some((header, body)) = bytes.split_at_checked(ipv4::HEADER_LEN) else { return };
            let place = u16_at(header, ipv4::offset::FLAGS_FRAGMENT);
            let begin = HEAD + (usize::from(place & ipv4::FRAGMENT_OFFSET_MASK) << 3);
            let end = begin + body.len();
            whole.resize(whole.len().max(end), 0);
            if begin == HEAD {
                whole[ethernet::HEADER_LEN..HEAD].copy_from_slice(header);
            }
            whole[begin..end].copy_from_slice(body);
        };
        self.fragments.expire(now);
        let sender = (part.key.source, 0);
        self.fragments.gather((part, sender), bytes, now, &mut add).map_err(reason)?;
        add(bytes);
        let header = &mut whole[ethernet::HEADER_LEN..];
        put_u16(header, ipv4::offset::TOTAL_LEN, header.len() as u16);
        put_u16(header, ipv4::offset::FLAGS_FRAGMENT, 0);
        put_u16(header, ipv4::offset::CHECKSUM, 0);
        let sum = checksum::checksum(&header[..ipv4::HEADER_LEN]);
        put_u16(header, ipv4::offset::CHECKSUM, sum);
        Ok(whole)
    }

    /// Forgets those whose time is over; how many fragments have waited in vain.
    pub fn expire(&mut self, now: Ticks) -> u64 {
        self.fragments.expire(now);
        self.fragments.take_given_up()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.fragments.bytes()
    }
}

/// The fragment that a packet without options is.
pub(super) fn part_of(view: &ipv4::View<'_>) -> Part {
    let address = |address: std::net::Ipv4Addr| [0, address.to_bits().into()];
    Part {
        key: Key {
            source: address(view.source()),
            destination: address(view.destination()),
            realm: 0,
            protocol: view.protocol(),
            identification: view.identification().into(),
        },
        offset: view.fragment_offset() << 3,
        len: view.payload().len() as u16,
        more: view.more_fragments(),
    }
}

fn reason(why: Refused) -> Reason {
    match why {
        Refused::Waits => reasons::FRAGMENT_WAITS,
        Refused::Limit => reasons::FRAGMENT_LIMIT,
        Refused::Full => reasons::FRAGMENTS_FULL,
        Refused::Overlap => reasons::FRAGMENT_OVERLAP,
        Refused::Scattered => reasons::FRAGMENT_SCATTERED,
    }
}

/// Where the payload of a packet without options begins in a frame.
const HEAD: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;
