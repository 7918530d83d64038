//! Fuzzes the carrier-grade NAT beside its oracle; the body is in testkit, so that it also runs on stable.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testkit::fuzz::fuzz_cgnat(data));
