//! Fuzzes IPv4 addresses inside IPv6 addresses; the body is in testkit, so that it also runs on stable.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testkit::fuzz::fuzz_wire_embedded(data));
