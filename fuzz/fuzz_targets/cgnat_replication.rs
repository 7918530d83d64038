//! Fuzzes what a standby of a carrier-grade NAT is told; the body is in testkit, so that it also runs on stable.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testkit::fuzz::fuzz_cgnat_replication(data));
