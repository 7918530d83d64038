//! Which bytes of a fragmented datagram were seen, and whether a further fragment fits to them.

/// The bytes of a datagram that were seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    /// From the first byte to behind the last one, in their order and apart from one another.
    spans: [(u32, u32); PARTS_MAX],
    count: usize,
    /// Where the datagram ends, once the last fragment was seen.
    end: Option<u32>,
    /// Whether a fragment contradicted the others.
    is_broken: bool,
}

/// What a fragment is beside those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// New, and the datagram is not whole yet.
    Fits,
    /// The last one that was missing.
    Completes,
    /// Seen before.
    Repeats,
    /// Over others, or beyond the end; and whatever comes after such a one.
    Contradicts,
    /// With more gaps than are kept account of.
    Scattered,
}

impl Parts {
    /// Takes note of the fragment of `len` bytes at `offset`, if it fits; `more` is whether others
    /// follow.
    pub fn place(&mut self, offset: u16, len: u16, more: bool) -> Place {
        let (start, end) = (u32::from(offset), u32::from(offset) + u32::from(len));
        let Parts { spans, count, end: last, is_broken } = self;
        if *is_broken {
            return Place::Contradicts;
        }
        let seen = &spans[..*count];
        if seen.iter().any(|&(from, to)| from <= start && end <= to) {
            return Place::Repeats;
        }
        let is_over = seen.iter().any(|&(from, to)| from < end && start < to);
        let reaches = seen.last().map_or(0, |&(_, to)| to);
        let contradicts_end = match (*last, more) {
            (Some(last), true) => end > last,
            (Some(_), false) => true,
            (None, true) => false,
            (None, false) => reaches > end,
        };
        if is_over || contradicts_end {
            *is_broken = true;
            return Place::Contradicts;
        }
        // It lies in the gap before `at`, and may touch its neighbours.
        let at = seen.iter().take_while(|&&(from, _)| from < start).count();
        let joins_before = at > 0 && spans[at - 1].1 == start;
        let joins_behind = at < *count && spans[at].0 == end;
        match (joins_before, joins_behind) {
            (true, true) => {
                spans[at - 1].1 = spans[at].1;
                spans.copy_within(at + 1..*count, at);
                *count -= 1;
            }
            (true, false) => spans[at - 1].1 = end,
            (false, true) => spans[at].0 = start,
            (false, false) if *count == PARTS_MAX => return Place::Scattered,
            (false, false) => {
                spans.copy_within(at..*count, at + 1);
                spans[at] = (start, end);
                *count += 1;
            }
        }
        if !more {
            *last = Some(end);
        }
        if self.is_whole() { Place::Completes } else { Place::Fits }
    }

    /// Whether a fragment contradicted the others (RFC 5722 section 4).
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Whether every byte up to the last one was seen.
    pub fn is_whole(&self) -> bool {
        self.count == 1 && self.spans[0].0 == 0 && self.end == Some(self.spans[0].1)
    }
}

/// Parts of a datagram with gaps between them that are kept account of.
const PARTS_MAX: usize = 8;
