//! BFD against its laws: in a simulated network, by time, and by what must not pass.

mod simulated;

mod timing;
