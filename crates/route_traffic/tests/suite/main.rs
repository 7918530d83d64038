//! The tester against plain devices, and its parts against slow ones.

mod device;

mod heard;

mod reflector;

mod sources;

mod tester;
