//! The af-packet port: what every port must do, and beside the kernel's own stack.

mod conformance;
mod kernel;
