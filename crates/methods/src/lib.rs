//! Measurement methods, a folder each; they see only measure(load, duration).
