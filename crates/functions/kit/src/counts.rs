//! What a function counts, declared with numbers, names and texts in one place: why it drops, and
//! what it counts beside verdicts.

/// Declares reasons as constants in the order of their numbers, `NAMES` with their names, and the
/// two functions by which a pipeline drops and a reader reads.
#[macro_export]
macro_rules! reasons {
    ($($(#[$doc:meta])* $constant:ident = $name:literal,)*) => {
        $crate::reasons!(@number 0u8; $($(#[$doc])* $constant,)*);
        /// The names in the order of their numbers.
        pub const NAMES: &[&str] = &[$($name),*];

        /// Short for dropping.
        #[inline(always)]
        pub const fn drop(reason: packet::Reason) -> packet::Verdict {
            packet::Verdict::Drop(reason)
        }

        /// The name of a reason.
        pub fn name(reason: packet::Reason) -> &'static str {
            engine::Drops(NAMES).name(reason)
        }
    };
    (@number $n:expr; $(#[$doc:meta])* $constant:ident, $($rest:tt)*) => {
        $(#[$doc])*
        pub const $constant: packet::Reason = packet::Reason($n);
        $crate::reasons!(@number $n + 1; $($rest)*);
    };
    (@number $n:expr;) => {};
}

/// Declares the enumeration `Tally`, a count of each as `Tallies`, and `TALLIES` with their names.
#[macro_export]
macro_rules! tallies {
    ($($(#[$doc:meta])* $tally:ident = $name:expr,)*) => {
        /// What is counted beside verdicts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Tally {
            $($(#[$doc])* $tally,)*
        }

        /// The names of the tallies, in the order of [`Tally`].
        pub const TALLIES: &[&str] = &[$($name),*];

        /// A count of each.
        pub type Tallies = [u64; TALLIES.len()];
    };
}
