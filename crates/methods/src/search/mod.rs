//! Searches: which load to try next, knowing which ones passed and failed.
//!
//! They know no trials and no clock: a caller asks for the next load, tries it, and tells what came
//! of it. [`Bisection`] halves a range geometrically from a first guess (RFC 2544 leaves open how);
//! [`Grid`] is the binary search of ETSI GS NFV-TST 009 over equal steps, of any quantity: loads, or
//! lengths of bursts (RFC 9004 section 6.2 asks for it).

mod bisection;
mod grid;

pub(crate) use bisection::Bisection;
pub(crate) use grid::Grid;
