//! Fuzzes the PCP parser; the body is in testkit, so that it also runs on stable.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testkit::fuzz::fuzz_wire_pcp(data));
