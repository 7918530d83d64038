//! A range of 16-bit numbers, exactly, as bit vectors by byte.
//!
//! With *h* and *l* for the high and the low byte, a number is outside first..=last iff
//!
//! - *h* is outside `first.h..=last.h`, or, where both ends have the same *h*, *l* is outside
//!   `first.l..=last.l`: a condition on one byte each, in the tables of the key's own bytes; or
//! - *h* is `first.h` **and** *l* is below `first.l`: two tables, the lower edge; or
//! - *h* is `last.h` **and** *l* is above `last.l`: two tables more, the upper edge.
//!
//! An edge is not needed where the range begins at a multiple of 256 or ends before one:
//! 1024..=65535 is one condition on the high byte.

/// Tables for the edges of a range field: high and low byte of the lower, then of the upper.
pub(super) const TABLES: usize = 4;

/// Whether the byte (0 high, 1 low) alone tells that a number is outside.
pub(super) fn outside(byte: usize, at: u8, first: u16, last: u16) -> bool {
    let ([first_high, first_low], [last_high, last_low]) =
        (first.to_be_bytes(), last.to_be_bytes());
    match byte {
        0 => !(first_high..=last_high).contains(&at),
        _ => first_high == last_high && !(first_low..=last_low).contains(&at),
    }
}

/// Whether the byte of an edge's table is such that, with that of the other, a number is outside.
pub(super) fn beyond(table: usize, at: u8, first: u16, last: u16) -> bool {
    let ([first_high, first_low], [last_high, last_low]) =
        (first.to_be_bytes(), last.to_be_bytes());
    let has_edges = first_high != last_high;
    match table {
        0 => has_edges && first_low > 0 && at == first_high,
        1 => has_edges && at < first_low,
        2 => has_edges && last_low < 0xff && at == last_high,
        _ => has_edges && at > last_low,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_say_what_the_range_says() {
        let ends = [0, 1, 0xff, 0x100, 0x101, 0x1ff, 0x200, 0x8000, 0xff00, 0xff01, 0xfffe, 0xffff];
        for first in ends {
            for last in ends.into_iter().filter(|&last| last >= first) {
                for number in 0..=u16::MAX {
                    let [high, low] = number.to_be_bytes();
                    let both = |table| {
                        beyond(table, high, first, last) && beyond(table + 1, low, first, last)
                    };
                    let is_outside = outside(0, high, first, last)
                        || outside(1, low, first, last)
                        || both(0)
                        || both(2);
                    assert_eq!(is_outside, !(first..=last).contains(&number), "{number}");
                }
            }
        }
    }
}
