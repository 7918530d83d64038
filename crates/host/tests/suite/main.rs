//! The host between real sockets: with itself, and with FRR and keepalived as the far end.

mod bfd;

mod frr;

mod keepalived;

mod probe;

mod raw;

mod vrrp;
