//! A BGP route reflector (RFC 4456).

pub mod own;

pub mod known;

pub mod table;

pub mod groups;

pub mod reflector;
