//! Tables of the data path: exact match, longest-prefix match, meters.
