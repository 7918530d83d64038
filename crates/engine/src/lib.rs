//! The worker loop and the traits of ports and functions.
