//! Fuzzes translation between IPv4 and IPv6; the body is in testkit, so that it also runs on stable.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testkit::fuzz::fuzz_translation(data));
