//! AS paths (RFC 4271 section 4.3, RFC 5065, RFC 6793).
//!
//! ```text
//!  | kind u8 | number of ASes u8 | ASes of 4 bytes each, or of 2 | next segment ...
//! ```
//! An attribute block has paths of 4 bytes an AS in any case. A peer that knows ASes of 2 bytes
//! alone sends and gets AS_TRANS for the others, and the others beside it in AS4_PATH.

use crate::bytes::Reader;

/// A segment of an AS path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// [`SET`], [`SEQUENCE`], [`CONFEDERATION_SEQUENCE`] or [`CONFEDERATION_SET`].
    pub kind: u8,
    bytes: &'a [u8],
    width: usize,
}

/// The segments of an AS path that was checked, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    from: Reader<'a>,
    width: usize,
}

impl<'a> Segments<'a> {
    /// The segments of a path of 4 bytes an AS, as it stands in an attribute block.
    pub fn new(path: &'a [u8]) -> Segments<'a> {
        Segments { from: Reader(path), width: 4 }
    }

    /// The same of 2 bytes an AS.
    pub(crate) fn narrow(path: &'a [u8]) -> Segments<'a> {
        Segments { from: Reader(path), width: 2 }
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        let [kind, count] = self.from.array()?;
        let bytes = self.from.take(usize::from(count) * self.width)?;
        Some(Segment { kind, bytes, width: self.width })
    }
}

impl<'a> Segment<'a> {
    /// Returns its ASes.
    pub fn ases(self) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + use<'a> {
        let number = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all << 8 | u32::from(*byte));
        self.bytes.chunks_exact(self.width).map(number)
    }

    /// Returns for how many ASes it counts in a comparison: a set for one, and what is within a
    /// confederation for none.
    pub fn weight(self) -> usize {
        match self.kind {
            SEQUENCE => self.bytes.len() / self.width,
            SET => 1,
            _ => 0,
        }
    }

    fn is_of_confederation(self) -> bool {
        self.kind == CONFEDERATION_SEQUENCE || self.kind == CONFEDERATION_SET
    }
}

/// Looks whether a path of a number of bytes an AS is one.
pub(crate) fn check(path: &[u8], width: usize) -> Result<(), &'static str> {
    let mut from = Reader(path);
    while !from.is_empty() {
        let Some([kind, count]) = from.array() else {
            return Err("the path ends within the head of a segment");
        };
        if !(SET..=CONFEDERATION_SET).contains(&kind) {
            return Err("a segment is of a kind that there is not");
        }
        if count == 0 {
            return Err("a segment has no AS");
        }
        let Some(ases) = from.take(usize::from(count) * width) else {
            return Err("a segment goes on beyond the path");
        };
        if ases.chunks_exact(width).any(|bytes| bytes.iter().all(|byte| *byte == 0)) {
            return Err("the path names AS 0");
        }
    }
    Ok(())
}

/// Returns whether a path has segments of a confederation.
pub(crate) fn has_confederation(mut segments: Segments<'_>) -> bool {
    segments.any(Segment::is_of_confederation)
}

/// Returns the length of a path as routes are compared by it (RFC 4271 section 9.1.2.2).
pub fn weight(segments: Segments<'_>) -> usize {
    segments.map(Segment::weight).sum()
}

/// Returns whether an AS is in a path of an attribute block.
pub fn contains(path: &[u8], asn: u32) -> bool {
    Segments::new(path).any(|segment| segment.ases().any(|other| other == asn))
}

/// Returns the AS that a route came from: the first one outside of the confederation, unless that
/// is in a set.
pub fn neighbour(path: &[u8]) -> Option<u32> {
    let first = Segments::new(path).find(|segment| !segment.is_of_confederation())?;
    if first.kind == SEQUENCE { first.ases().next() } else { None }
}

/// Returns the AS that a route begins in; none if that is in a set.
pub fn origin(path: &[u8]) -> Option<u32> {
    let last = Segments::new(path).last()?;
    if last.kind == SEQUENCE { last.ases().next_back() } else { None }
}

/// Appends a path of 2 bytes an AS as one of 4.
pub(crate) fn widen(path: &[u8], out: &mut Vec<u8>) {
    for segment in Segments::narrow(path) {
        push(segment.kind, segment.ases(), out);
    }
}

/// Appends the path that a path of 2 bytes an AS and an AS4_PATH mean together (RFC 6793 section
/// 4.2.3): of the first one as much as it has more, and then the second one. Both were checked.
pub(crate) fn merge(path: &[u8], as4_path: &[u8], out: &mut Vec<u8>) {
    let (all, known) = (weight(Segments::narrow(path)), weight(Segments::new(as4_path)));
    let Some(mut left) = all.checked_sub(known) else { return widen(path, out) };
    for segment in Segments::narrow(path) {
        match segment.kind {
            SEQUENCE if left > 0 => {
                let count = left.min(segment.weight());
                push(segment.kind, segment.ases().take(count), out);
                left -= count;
                if count < segment.weight() {
                    break;
                }
            }
            SET if left > 0 => {
                push(segment.kind, segment.ases(), out);
                left -= 1;
            }
            SEQUENCE | SET => break,
            // What is within the confederation stands in no AS4_PATH.
            _ => push(segment.kind, segment.ases(), out),
        }
    }
    for segment in Segments::new(as4_path).filter(|segment| !segment.is_of_confederation()) {
        push(segment.kind, segment.ases(), out);
    }
}

/// Appends a path of 4 bytes an AS as one of 2, and returns the AS4_PATH that has to stand beside
/// it if there is an AS that has no 2 bytes.
pub(crate) fn narrow(path: &[u8], out: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut is_narrow = true;
    for segment in Segments::new(path) {
        out.extend([segment.kind, segment.ases().len() as u8]);
        for asn in segment.ases() {
            let narrow = narrow_as(asn);
            is_narrow &= u32::from(narrow) == asn;
            out.extend(narrow.to_be_bytes());
        }
    }
    if is_narrow {
        return None;
    }
    let mut as4_path = Vec::new();
    for segment in Segments::new(path).filter(|segment| !segment.is_of_confederation()) {
        push(segment.kind, segment.ases(), &mut as4_path);
    }
    (!as4_path.is_empty()).then_some(as4_path)
}

/// Returns an AS in 2 bytes, or what stands for it.
pub(crate) fn narrow_as(asn: u32) -> u16 {
    u16::try_from(asn).unwrap_or(AS_TRANS)
}

/// Appends a segment of a path of an attribute block, of at most 255 ASes.
pub fn push(kind: u8, ases: impl ExactSizeIterator<Item = u32>, out: &mut Vec<u8>) {
    out.extend([kind, ases.len() as u8]);
    ases.for_each(|asn| out.extend(asn.to_be_bytes()));
}

/// The kind of a segment whose ASes have no order.
pub const SET: u8 = 1;

/// The kind of a segment whose ASes have an order.
pub const SEQUENCE: u8 = 2;

/// The kind of a segment within a confederation whose ASes have an order (RFC 5065).
pub const CONFEDERATION_SEQUENCE: u8 = 3;

/// The kind of a segment within a confederation whose ASes have no order (RFC 5065).
pub const CONFEDERATION_SET: u8 = 4;

/// What stands for an AS that has no 2 bytes (RFC 6793).
pub const AS_TRANS: u16 = 23_456;

#[cfg(test)]
mod tests {
    use super::*;

    fn narrow_path(segments: &[(u8, &[u16])]) -> Vec<u8> {
        let mut path = Vec::new();
        for (kind, ases) in segments {
            path.extend([*kind, ases.len() as u8]);
            path.extend(ases.iter().flat_map(|asn| asn.to_be_bytes()));
        }
        path
    }

    fn path(segments: &[(u8, &[u32])]) -> Vec<u8> {
        let mut path = Vec::new();
        segments.iter().for_each(|(kind, ases)| push(*kind, ases.iter().copied(), &mut path));
        path
    }

    #[test]
    fn a_path_tells_its_length_and_its_ends() {
        let path = path(&[(3, &[65_001]), (2, &[70_000, 2, 3]), (1, &[4, 5]), (4, &[65_002])]);
        assert_eq!(check(&path, 4), Ok(()));
        assert_eq!(weight(Segments::new(&path)), 4);
        assert_eq!((neighbour(&path), origin(&path)), (Some(70_000), None));
        assert!([65_001, 70_000, 5].iter().all(|asn| contains(&path, *asn)));
        assert!(!contains(&path, 6) && has_confederation(Segments::new(&path)));
        let empty: [u8; 0] = [];
        assert_eq!((neighbour(&empty), origin(&empty), check(&empty, 4)), (None, None, Ok(())));
        let set = self::path(&[(1, &[7]), (2, &[8, 9])]);
        assert_eq!((neighbour(&set), origin(&set)), (None, Some(9)));
    }

    #[test]
    fn what_is_no_path_is_told() {
        for (path, why) in [
            (&[2][..], "the path ends within the head of a segment"),
            (&[0, 1, 0, 0, 0, 1], "a segment is of a kind that there is not"),
            (&[5, 1, 0, 0, 0, 1], "a segment is of a kind that there is not"),
            (&[2, 0], "a segment has no AS"),
            (&[2, 2, 0, 0, 0, 1, 0, 0, 0], "a segment goes on beyond the path"),
            (&[2, 1, 0, 0, 0, 0], "the path names AS 0"),
        ] {
            assert_eq!(check(path, 4), Err(why), "{path:?}");
        }
    }

    #[test]
    fn a_path_of_two_bytes_gets_its_ases_back() {
        const T: u16 = AS_TRANS;
        for (narrow, as4, merged) in [
            // All of them.
            (
                narrow_path(&[(2, &[T, T])]),
                path(&[(2, &[70_000, 80_000])]),
                &[(2, &[70_000, 80_000][..])][..],
            ),
            // One that does not know them has put itself in front.
            (
                narrow_path(&[(2, &[9, T, 7])]),
                path(&[(2, &[70_000, 7])]),
                &[(2, &[9]), (2, &[70_000, 7])],
            ),
            // A set counts for one.
            (
                narrow_path(&[(1, &[1, 2]), (2, &[T])]),
                path(&[(2, &[70_000])]),
                &[(1, &[1, 2]), (2, &[70_000])],
            ),
            // A confederation stands in front of both.
            (
                narrow_path(&[(3, &[65_001]), (2, &[T])]),
                path(&[(2, &[70_000])]),
                &[(3, &[65_001]), (2, &[70_000])],
            ),
            // Another confederation further on has no place.
            (narrow_path(&[(2, &[T]), (3, &[65_001])]), path(&[(2, &[70_000])]), &[(2, &[70_000])]),
            // More than there are: it is of no use.
            (narrow_path(&[(2, &[T])]), path(&[(2, &[70_000, 5])]), &[(2, &[23_456])]),
            // A confederation has no place in it.
            (
                narrow_path(&[(2, &[8, T])]),
                path(&[(3, &[65_001]), (2, &[70_000])]),
                &[(2, &[8]), (2, &[70_000])],
            ),
        ] {
            let mut out = Vec::new();
            merge(&narrow, &as4, &mut out);
            assert_eq!(out, path(merged));
        }
    }

    #[test]
    fn a_path_of_four_bytes_goes_through_two() {
        let wide = path(&[(3, &[65_001]), (2, &[70_000, 3]), (1, &[80_000, 4])]);
        let mut out = Vec::new();
        let as4 = narrow(&wide, &mut out).expect("there are some");
        assert_eq!(out, narrow_path(&[(3, &[65_001]), (2, &[AS_TRANS, 3]), (1, &[AS_TRANS, 4])]));
        assert_eq!(as4, path(&[(2, &[70_000, 3]), (1, &[80_000, 4])]));
        let mut back = Vec::new();
        merge(&out, &as4, &mut back);
        assert_eq!(back, wide);
        let mut out = Vec::new();
        assert_eq!(narrow(&path(&[(2, &[1, 65_535])]), &mut out), None);
    }
}
