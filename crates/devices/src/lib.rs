//! What is measured: the embedded device.
