//! The host between real sockets: with itself, with the standard library, with the kernel, and with
//! FRR's daemons, keepalived and FreeRADIUS as the far end; and beside the simulated network.

mod bfd;

mod bfddp;

mod chat;

mod dhcp;

mod equivalence;

mod files;

mod fpm;

mod freeradius;

mod frr;

mod keepalived;

mod links;

mod machines;

mod misuse;

mod netlink;

mod observer;

mod pppoe;

mod probe;

mod radius_server;

mod raw;

mod streams;

mod tls;

mod vrrp;
