//! The routes in a field of NLRI: which one each is (its key), and what it carries beside that.
//!
//! ```text
//!  wire                                    key                           rest
//!  ipv4     | bits | address |             | bits | address |
//!  labelled | bits | label 3 | address |   | bits | address |            | label |
//!  vpn      | bits | label 3 | RD 8 |...|  | bits | RD | address |       | label |
//!  evpn     | type | len | ... |           | type | what RFC 7432 says |   | segment, gateway, label |
//!  flow     | len | rules |                | rules |
//!  bgp-ls   | type 2 | len 2 | ... |       the whole
//!  vpls     | len 2 | RD 8, block 4 |...|  | RD | block |               | size, label |
//! ```
//! Bits of a key count without the label. Where routes have path identifiers (RFC 7911), four bytes
//! stand before each. [`emit`] makes the wire form of a key and a rest again.

use crate::bytes::Reader;
use crate::evpn;
use crate::families::{Family, Form};
use crate::octets::{Malformed, Octets, bytes_of, cleared};

/// A route of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nlri<'a> {
    /// Its path identifier; 0 where routes have none.
    pub path_id: u32,
    /// Which route it is.
    pub key: Octets<'a>,
    /// What it carries beside that and may change: a label, a segment, a gateway.
    pub rest: Octets<'a>,
}

/// The routes of a field, one after the other; nothing follows an error.
#[derive(Clone, Debug)]
pub struct Nlris<'a> {
    from: Reader<'a>,
    form: Form,
    has_path_ids: bool,
    is_withdrawal: bool,
}

impl<'a> Nlris<'a> {
    /// The routes of a field that announces them.
    pub fn announced(field: &'a [u8], family: Family, has_path_ids: bool) -> Nlris<'a> {
        Nlris::new(field, family, has_path_ids, false)
    }

    /// The routes of a field that withdraws them: their labels mean nothing.
    pub fn withdrawn(field: &'a [u8], family: Family, has_path_ids: bool) -> Nlris<'a> {
        Nlris::new(field, family, has_path_ids, true)
    }

    fn new(field: &'a [u8], family: Family, has_path_ids: bool, is_withdrawal: bool) -> Nlris<'a> {
        Nlris { from: Reader(field), form: family.row().form, has_path_ids, is_withdrawal }
    }

    /// Reads all of them, and counts them.
    ///
    /// # Errors
    /// Why the field cannot be read; then none of its routes can be relied upon.
    pub fn check(self) -> Result<usize, Malformed> {
        let mut count = 0;
        for nlri in self {
            nlri?;
            count += 1;
        }
        Ok(count)
    }

    fn read(&mut self) -> Result<Option<Nlri<'a>>, Malformed> {
        loop {
            if self.from.is_empty() {
                return Ok(None);
            }
            let path_id = match self.has_path_ids {
                true => self.from.u32().ok_or(Malformed::Cut)?,
                false => 0,
            };
            let (key, rest) = match self.form {
                Form::Prefix { is_labelled: false, before, address } => {
                    (self.prefix(0, before + address)?, &[][..])
                }
                Form::RouteTarget => (self.prefix(32, 96)?, &[][..]),
                Form::Prefix { is_labelled: true, before, address } => {
                    self.labelled(before, before + address)?
                }
                Form::Evpn => match evpn::read(self.typed()?)? {
                    Some((key, rest)) => return Ok(Some(Nlri { path_id, key, rest })),
                    // Of a type that is not known (RFC 7606 section 5.4).
                    None => continue,
                },
                Form::Flow => (Octets::Wire(self.flow()?), &[][..]),
                Form::LinkState => (Octets::Wire(self.link_state()?), &[][..]),
                Form::Vpls => {
                    let value = self.from.counted_u16().ok_or(Malformed::Cut)?;
                    let (key, rest) =
                        value.split_at_checked(VPLS_KEY_LEN).ok_or(Malformed::Length)?;
                    (Octets::Wire(key), rest)
                }
            };
            return Ok(Some(Nlri { path_id, key, rest: Octets::Wire(rest) }));
        }
    }

    /// A length in bits and as many bits: none, or at least and at most these.
    fn prefix(&mut self, bits_min: u8, bits_max: u8) -> Result<Octets<'a>, Malformed> {
        let bits = *self.from.0.first().ok_or(Malformed::Cut)?;
        if bits > bits_max || (bits != 0 && bits < bits_min) {
            return Err(Malformed::Bits);
        }
        let wire = self.from.take(1 + bytes_of(bits)).ok_or(Malformed::Cut)?;
        Ok(cleared(wire, bits))
    }

    /// The same behind a label, with the label.
    fn labelled(
        &mut self,
        bits_min: u8,
        bits_max: u8,
    ) -> Result<(Octets<'a>, &'a [u8]), Malformed> {
        let all = self.from.u8().ok_or(Malformed::Cut)?;
        let bits = all.checked_sub(LABEL_BITS).ok_or(Malformed::Bits)?;
        if !(bits_min..=bits_max).contains(&bits) {
            return Err(Malformed::Bits);
        }
        let label = self.from.take(LABEL_LEN).ok_or(Malformed::Cut)?;
        let address = self.from.take(bytes_of(bits)).ok_or(Malformed::Cut)?;
        let mut key = Octets::of(&[&[bits], address]);
        key.clear_behind(bits);
        Ok((key, if self.is_withdrawal { &[] } else { label }))
    }

    /// A type, a length in bytes, and what has that length.
    fn typed(&mut self) -> Result<&'a [u8], Malformed> {
        let [_, len] = *self.from.0.first_chunk().ok_or(Malformed::Cut)?;
        self.from.take(2 + usize::from(len)).ok_or(Malformed::Cut)
    }

    /// The rules of a flow, behind a length of one byte or two (RFC 8955 section 4.1).
    fn flow(&mut self) -> Result<&'a [u8], Malformed> {
        let first = self.from.u8().ok_or(Malformed::Cut)?;
        let len = match first {
            0xf0.. => {
                let second = self.from.u8().ok_or(Malformed::Cut)?;
                usize::from(first & 0x0f) << 8 | usize::from(second)
            }
            _ => usize::from(first),
        };
        self.from.take(len).ok_or(Malformed::Cut)
    }

    fn link_state(&mut self) -> Result<&'a [u8], Malformed> {
        let [_, _, high, low] = *self.from.0.first_chunk().ok_or(Malformed::Cut)?;
        let len = usize::from(u16::from_be_bytes([high, low]));
        self.from.take(4 + len).ok_or(Malformed::Cut)
    }
}

impl<'a> Iterator for Nlris<'a> {
    type Item = Result<Nlri<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            self.from = Reader(&[]);
        }
        read.transpose()
    }
}

/// Appends the wire form of a route that is announced, without a path identifier.
pub fn emit(family: Family, key: &[u8], rest: &[u8], out: &mut Vec<u8>) {
    match family.row().form {
        Form::Prefix { is_labelled: true, .. } => {
            let Some((bits, address)) = key.split_first() else { return };
            let no_label = &WITHDRAWN_LABEL[..];
            out.push(bits.saturating_add(LABEL_BITS));
            out.extend(if rest.len() == LABEL_LEN { rest } else { no_label });
            out.extend(address);
        }
        Form::Prefix { .. } | Form::RouteTarget | Form::LinkState => out.extend(key),
        Form::Evpn => evpn::emit(key, rest, out),
        Form::Flow => {
            match key.len() {
                len @ 0xf0.. => out.extend((0xf000 | len as u16 & 0xfff).to_be_bytes()),
                len => out.push(len as u8),
            }
            out.extend(key);
        }
        Form::Vpls => {
            out.extend(((key.len() + rest.len()) as u16).to_be_bytes());
            out.extend(key);
            out.extend(rest);
        }
    }
}

/// Appends the wire form of a route that is withdrawn, without a path identifier. What a withdrawn
/// route carries means nothing: a rest is needed for VPLS alone, whose NLRI are not understood.
pub fn emit_withdrawn(family: Family, key: &[u8], rest: &[u8], out: &mut Vec<u8>) {
    match family.row().form {
        Form::Vpls => emit(family, key, rest, out),
        _ => emit(family, key, &[], out),
    }
}

/// Bytes of a label.
pub const LABEL_LEN: usize = 3;

const LABEL_BITS: u8 = 24;

/// What stands for a label in a withdrawal (RFC 8277 section 2.4).
const WITHDRAWN_LABEL: [u8; LABEL_LEN] = [0x80, 0, 0];

/// The Route Distinguisher with the edge's number and the beginning of the block, or its address.
const VPLS_KEY_LEN: usize = 12;
