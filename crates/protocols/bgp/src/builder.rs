//! UPDATEs that are made: as many routes with the same attributes in each as it has room for.

use std::borrow::Cow;

use crate::attributes::{
    AGGREGATOR, AS_PATH, AS4_AGGREGATOR, AS4_PATH, Attribute, Attributes, Class, EXTENDED_LEN,
    MP_REACH, MP_UNREACH, NEXT_HOP, push, rewrite,
};
use crate::bytes::{put_len, u32_of};
use crate::families::{Family, FamilySet};
use crate::message::{HEADER_LEN, Kind, begin, end};
use crate::nlri::{emit, emit_withdrawn};
use crate::path;

/// What UPDATEs are written by: what was agreed on in the session that they are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    /// The families whose routes may be sent.
    pub families: FamilySet,
    /// Those of them whose routes have path identifiers (RFC 7911).
    pub path_ids: FamilySet,
    /// Those of them whose next hops may be of IPv6 (RFC 8950).
    pub extended_next_hops: FamilySet,
    /// Whether ASes have 4 bytes (RFC 6793).
    pub is_wide: bool,
    /// Most bytes of a message.
    pub len_max: usize,
}

/// Appends UPDATEs with routes of a family that have the same attributes, or are all withdrawn.
#[derive(Debug)]
#[must_use = "the last UPDATE is whole when it is finished"]
pub struct Builder<'a> {
    out: &'a mut Vec<u8>,
    family: Family,
    is_withdrawal: bool,
    has_path_ids: bool,
    len_max: usize,
    /// Where the last UPDATE begins.
    start: usize,
    /// What stands before the routes: bytes of each UPDATE.
    head_len: usize,
    /// What stands behind the routes of each UPDATE.
    tail: Cow<'a, [u8]>,
    /// Where in an UPDATE the length of the routes stands, with what is between.
    routes_len_at: Option<usize>,
    /// Whether the routes are within an attribute.
    is_within: bool,
    /// A route that had no room.
    moved: Vec<u8>,
}

/// A route that has no room even in an UPDATE of its own: its attributes are too long for this
/// session, and the peer has to be told that it is withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the attributes of a route are too long for a message: withdraw it from this peer")]
pub struct TooLong;

impl<'a> Builder<'a> {
    /// Begins to announce routes of a family with a next hop, as it stands on the wire, and the
    /// attributes of a block.
    pub fn announce(
        out: &'a mut Vec<u8>,
        writing: &Writing,
        (family, next_hop): (Family, &[u8]),
        block: &'a [u8],
    ) -> Builder<'a> {
        let block = if writing.is_wide { Cow::Borrowed(block) } else { narrow(block) };
        let mut builder = Builder::new(out, writing, family, false);
        let out = &mut *builder.out;
        let start = begin(Kind::Update, out);
        out.extend([0; 4]);
        if family == Family::Ipv4Unicast && next_hop.len() == 4 {
            let mut attributes = Attributes::new(&block);
            let mut rest = attributes;
            while attributes.next().is_some_and(|attribute| attribute.code < NEXT_HOP) {
                rest = attributes;
            }
            let rest = rest.rest();
            out.extend(&block[..block.len() - rest.len()]);
            push(Class::WellKnown.flags(), NEXT_HOP, next_hop, out);
            out.extend(rest);
            let len = out.len() - start - ATTRIBUTES_AT;
            // What does not fit is refused with the first route.
            put_len(out, start + ATTRIBUTES_AT - 2, len.min(usize::from(u16::MAX)));
        } else {
            begin_within(MP_REACH, family, out);
            out.push(next_hop.len() as u8);
            out.extend(next_hop);
            out.push(0);
            builder.tail = block;
            builder.routes_len_at = Some(WITHIN_AT - 2);
            builder.is_within = true;
        }
        builder.head_len = builder.out.len() - builder.start;
        builder
    }

    /// Begins to withdraw routes of a family.
    pub fn withdraw(out: &'a mut Vec<u8>, writing: &Writing, family: Family) -> Builder<'a> {
        let mut builder = Builder::new(out, writing, family, true);
        let out = &mut *builder.out;
        begin(Kind::Update, out);
        if family == Family::Ipv4Unicast {
            out.extend([0; 2]);
            builder.tail = Cow::Borrowed(&[0; 2]);
            builder.routes_len_at = Some(HEADER_LEN);
        } else {
            out.extend([0; 4]);
            begin_within(MP_UNREACH, family, out);
            builder.routes_len_at = Some(WITHIN_AT - 2);
            builder.is_within = true;
        }
        builder.head_len = builder.out.len() - builder.start;
        builder
    }

    fn new(
        out: &'a mut Vec<u8>,
        writing: &Writing,
        family: Family,
        is_withdrawal: bool,
    ) -> Builder<'a> {
        Builder {
            start: out.len(),
            out,
            family,
            is_withdrawal,
            has_path_ids: writing.path_ids.contains(family),
            len_max: writing.len_max,
            head_len: 0,
            tail: Cow::Borrowed(&[]),
            routes_len_at: None,
            is_within: false,
            moved: Vec::new(),
        }
    }

    /// Adds a route by its key and what it carries; the path identifier counts where the session
    /// has some.
    ///
    /// # Errors
    /// If it does not fit; others may.
    pub fn push(&mut self, path_id: u32, key: &[u8], rest: &[u8]) -> Result<(), TooLong> {
        let at = self.out.len();
        if self.has_path_ids {
            self.out.extend(path_id.to_be_bytes());
        }
        match self.is_withdrawal {
            true => emit_withdrawn(self.family, key, rest, self.out),
            false => emit(self.family, key, rest, self.out),
        }
        if self.fits() {
            return Ok(());
        }
        if at > self.start + self.head_len {
            self.moved.clear();
            self.moved.extend(&self.out[at..]);
            self.out.truncate(at);
            let head = self.start..self.start + self.head_len;
            self.close();
            self.start = self.out.len();
            self.out.extend_from_within(head);
            self.out.extend(&self.moved);
            if self.fits() {
                return Ok(());
            }
        }
        self.out.truncate(self.start + self.head_len);
        Err(TooLong)
    }

    /// Completes the last UPDATE; there is none without a route.
    pub fn finish(mut self) {
        if self.out.len() == self.start + self.head_len {
            self.out.truncate(self.start);
        } else {
            self.close();
        }
    }

    fn fits(&self) -> bool {
        self.out.len() - self.start + self.tail.len() <= self.len_max
    }

    fn close(&mut self) {
        let (start, routes_end) = (self.start, self.out.len());
        if let Some(at) = self.routes_len_at {
            put_len(self.out, start + at, routes_end - start - at - 2);
        }
        self.out.extend(&*self.tail);
        if self.is_within {
            let len = self.out.len() - start - ATTRIBUTES_AT;
            put_len(self.out, start + ATTRIBUTES_AT - 2, len);
        }
        end(start, self.out);
    }
}

/// Appends the UPDATE that says that all routes of a family were told (RFC 4724 section 2).
pub fn write_end_of_rib(family: Family, out: &mut Vec<u8>) {
    let start = begin(Kind::Update, out);
    out.extend([0; 4]);
    if family != Family::Ipv4Unicast {
        begin_within(MP_UNREACH, family, out);
        let len = out.len() - start;
        put_len(out, start + WITHIN_AT - 2, len - WITHIN_AT);
        put_len(out, start + ATTRIBUTES_AT - 2, len - ATTRIBUTES_AT);
    }
    end(start, out);
}

/// Appends the head of the attribute that has routes in it, with a length of two bytes.
fn begin_within(code: u8, family: Family, out: &mut Vec<u8>) {
    let (afi, safi) = family.numbers();
    out.extend([Class::NonTransitive.flags() | EXTENDED_LEN, code, 0, 0]);
    out.extend(afi.to_be_bytes());
    out.push(safi);
}

/// A block as a peer reads it that knows ASes of 2 bytes alone (RFC 6793 section 4.2.2).
fn narrow(block: &[u8]) -> Cow<'_, [u8]> {
    let (mut as_path, mut as4_path) = (None, None);
    let (mut aggregator, mut as4_aggregator) = (None, None);
    for Attribute { code, value, .. } in Attributes::new(block) {
        match code {
            AS_PATH => {
                let mut narrow = Vec::new();
                as4_path = path::narrow(value, &mut narrow);
                as_path = Some(narrow);
            }
            AGGREGATOR => {
                let asn = u32_of(value);
                let narrow = path::narrow_as(asn);
                aggregator = Some([&narrow.to_be_bytes(), value.get(4..).unwrap_or(&[])].concat());
                as4_aggregator = (u32::from(narrow) != asn).then_some(value);
            }
            _ => {}
        }
    }
    let mut out = Vec::with_capacity(block.len());
    let mut changes: Vec<(u8, Option<&[u8]>)> = Vec::new();
    changes.extend(as_path.as_deref().map(|value| (AS_PATH, Some(value))));
    changes.extend(aggregator.as_deref().map(|value| (AGGREGATOR, Some(value))));
    changes.extend(as4_path.as_deref().map(|value| (AS4_PATH, Some(value))));
    changes.extend(as4_aggregator.map(|value| (AS4_AGGREGATOR, Some(value))));
    rewrite(block, &changes, &mut out);
    Cow::Owned(out)
}

/// Where in an UPDATE that withdraws nothing in front its attributes begin.
const ATTRIBUTES_AT: usize = HEADER_LEN + 4;

/// Where in that the value of its first attribute begins, whose length has two bytes.
const WITHIN_AT: usize = ATTRIBUTES_AT + 4;
