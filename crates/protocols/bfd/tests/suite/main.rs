//! BFD against its laws: in a simulated network, by time, and by what must not pass.

mod captures;

mod simulated;

mod timing;
