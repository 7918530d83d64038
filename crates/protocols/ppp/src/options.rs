//! Configuration options (RFC 1661 section 6): what is asked for, and what is answered.
//!
//! ```text
//!  0                   1
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Type      |    Length     | Data ...
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//! The Length counts all three. A list is read whole or not at all.

use crate::packet::{Malformed, REJECTED_MAX};

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigOption<'a> {
    /// What it is, of the protocol's numbers.
    pub kind: u8,
    /// Its value.
    pub data: &'a [u8],
}

/// A list of options of which each is known to be whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'a>(&'a [u8]);

impl<'a> Options<'a> {
    /// Checks a list.
    ///
    /// # Errors
    /// [`Malformed::Option`] if one of them is not whole.
    pub fn parse(bytes: &'a [u8]) -> Result<Options<'a>, Malformed> {
        let mut rest = bytes;
        while !rest.is_empty() {
            (_, rest) = split(rest).ok_or(Malformed::Option)?;
        }
        Ok(Options(bytes))
    }

    /// The options in their order.
    pub fn iter(self) -> impl Iterator<Item = ConfigOption<'a>> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (option, behind) = split(rest)?;
            rest = behind;
            Some(option)
        })
    }

    /// The bytes of the list.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Whether each option of the list is one of another list, with the same value.
    pub fn are_among(self, others: Options<'_>) -> bool {
        self.iter().all(|option| others.iter().any(|other| other == option))
    }
}

impl ConfigOption<'_> {
    /// The value, if it has this length.
    pub fn array<const N: usize>(&self) -> Option<[u8; N]> {
        self.data.try_into().ok()
    }

    /// Writes the option behind others.
    pub fn put(&self, list: &mut Vec<u8>) {
        put(list, self.kind, self.data);
    }
}

/// Writes an option behind others.
pub fn put(list: &mut Vec<u8>, kind: u8, data: &[u8]) {
    list.extend([kind, (OPTION_LEN + data.len()) as u8]);
    list.extend(data);
}

fn split(bytes: &[u8]) -> Option<(ConfigOption<'_>, &[u8])> {
    let ([kind, len], rest) = bytes.split_first_chunk::<OPTION_LEN>()?;
    let len = usize::from(*len).checked_sub(OPTION_LEN)?;
    let (data, behind) = rest.split_at_checked(len)?;
    Some((ConfigOption { kind: *kind, data }, behind))
}

/// What is said of the options of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All of them are accepted.
    Ack,
    /// These are wanted with other values.
    Nak(Vec<u8>),
    /// These are not wanted at all.
    Reject(Vec<u8>),
}

/// A verdict while options are looked at.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    naks: Vec<u8>,
    rejects: Vec<u8>,
    /// A bit for each kind that was looked at.
    seen: [u64; 4],
    /// Whether the peer was told often enough what is wanted (`Max-Failure`): then options are
    /// rejected, and none of our own is added (RFC 1661 section 4.6).
    is_last: bool,
}

impl Judgement {
    /// Begins with a request.
    pub fn new(is_last: bool) -> Judgement {
        Judgement { is_last, ..Judgement::default() }
    }

    /// Rejects an option whose kind came before in the request: none that is known here may come
    /// twice, and answers to many of them would be longer than the request. Returns whether it did.
    pub fn reject_repeated(&mut self, option: ConfigOption<'_>) -> bool {
        let (word, bit) = (usize::from(option.kind / 64), 1 << (option.kind % 64));
        let is_repeated = self.seen[word] & bit != 0;
        self.seen[word] |= bit;
        if is_repeated {
            self.reject(option);
        }
        is_repeated
    }

    /// Rejects an option. One that does not fit what the peer can receive is left out: the peer
    /// will ask for it again.
    pub fn reject(&mut self, option: ConfigOption<'_>) {
        if self.rejects.len() + OPTION_LEN + option.data.len() <= REJECTED_MAX {
            option.put(&mut self.rejects);
        }
    }

    /// An option is wanted with another value.
    pub fn nak(&mut self, option: ConfigOption<'_>, data: &[u8]) {
        match self.is_last {
            true => self.reject(option),
            false => put(&mut self.naks, option.kind, data),
        }
    }

    /// An option is wanted that the peer does not ask for.
    pub fn add(&mut self, kind: u8, data: &[u8]) {
        if !self.is_last {
            put(&mut self.naks, kind, data);
        }
    }

    /// The verdict: what is not wanted comes first (RFC 1661 section 5.4).
    pub fn verdict(self) -> Verdict {
        match (self.rejects.is_empty(), self.naks.is_empty()) {
            (false, _) => Verdict::Reject(self.rejects),
            (true, false) => Verdict::Nak(self.naks),
            (true, true) => Verdict::Ack,
        }
    }
}

const OPTION_LEN: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_whole_or_not_at_all() {
        let list = [1, 4, 5, 212, 5, 6, 1, 2, 3, 4, 9, 2];
        let options = Options::parse(&list).expect("three options");
        let found: Vec<_> = options.iter().map(|option| (option.kind, option.data)).collect();
        assert_eq!(found, [(1, &[5, 212][..]), (5, &[1, 2, 3, 4]), (9, &[])]);
        for wrong in [&[1][..], &[1, 0], &[1, 1], &[1, 3], &[9, 2, 1, 4, 5]] {
            assert_eq!(Options::parse(wrong), Err(Malformed::Option), "{wrong:?}");
        }
        let some = Options::parse(&list[4..10]).expect("one option");
        assert!(some.are_among(options) && !options.are_among(some));
        assert!(!Options::parse(&[1, 4, 5, 213]).is_ok_and(|other| other.are_among(options)));
    }

    #[test]
    fn what_is_rejected_comes_before_what_is_wanted_otherwise() {
        let option = |kind| ConfigOption { kind, data: &[7] };
        let mut judgement = Judgement::new(false);
        assert_eq!(judgement.clone().verdict(), Verdict::Ack);
        judgement.nak(option(1), &[8]);
        judgement.add(2, &[9]);
        assert_eq!(judgement.clone().verdict(), Verdict::Nak(vec![1, 3, 8, 2, 3, 9]));
        judgement.reject(option(3));
        assert_eq!(judgement.verdict(), Verdict::Reject(vec![3, 3, 7]));
        let mut last = Judgement::new(true);
        last.add(2, &[9]);
        assert_eq!(last.clone().verdict(), Verdict::Ack);
        last.nak(option(1), &[8]);
        assert_eq!(last.verdict(), Verdict::Reject(vec![1, 3, 7]), "as the peer wrote it");
    }

    #[test]
    fn what_comes_twice_is_rejected_and_an_answer_is_bounded() {
        let mut judgement = Judgement::new(false);
        for kind in 0..=255 {
            assert!(!judgement.reject_repeated(ConfigOption { kind, data: &[] }), "{kind}");
            assert!(judgement.reject_repeated(ConfigOption { kind, data: &[] }), "{kind}");
        }
        judgement.reject(ConfigOption { kind: 1, data: &[] });
        let Verdict::Reject(rejected) = judgement.verdict() else { panic!("not rejected") };
        assert_eq!((rejected.len(), rejected.last()), (REJECTED_MAX, Some(&2)));
        assert!(Options::parse(&rejected).is_ok_and(|all| all.iter().count() == 256));
    }
}
