//! Trials, units, statistics, validity and the run record.
