//! VRRP against its laws: in a simulated network, by time, and by what must not pass.

mod bench;

mod captures;

mod groups;

mod lan;

mod mistakes;

mod simulated;

mod states;

mod timing;
