//! The network functions, a folder each.
