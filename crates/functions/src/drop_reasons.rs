//! Drop reasons, declared with their numbers, names and texts in one place.

/// Declares reasons as constants in the order of their numbers, and `NAMES` with their names.
macro_rules! reasons {
    ($($(#[$doc:meta])* $constant:ident = $name:literal,)*) => {
        $crate::drop_reasons::reasons!(@number 0u8; $($(#[$doc])* $constant,)*);
        /// The names in the order of their numbers.
        pub const NAMES: &[&str] = &[$($name),*];
    };
    (@number $n:expr; $(#[$doc:meta])* $constant:ident, $($rest:tt)*) => {
        $(#[$doc])*
        pub const $constant: Reason = Reason($n);
        $crate::drop_reasons::reasons!(@number $n + 1; $($rest)*);
    };
    (@number $n:expr;) => {};
}

pub(crate) use reasons;
