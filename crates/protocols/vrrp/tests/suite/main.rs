//! VRRP against its laws: in a simulated network, by time, and by what must not pass.

mod lan;

mod simulated;

mod timing;
