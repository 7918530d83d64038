//! `plumbline run` as a process of its own, between interfaces of a network namespace.

mod bgp_wire;
mod bng_radius;
mod bng_relay;
mod bulk;
mod commands;
mod exabgp;
mod first_bng;
mod first_nat;
mod first_router;
#[expect(dead_code, reason = "the tests of the host use more of it")]
#[path = "../../../host/tests/suite/frr.rs"]
mod frr;
mod frr_routing;
mod full_table;
mod host_interfaces;
mod host_kernel;
mod kea;
#[path = "../../../host/tests/suite/keepalived.rs"]
mod keepalived;
mod kit;
mod nat_ftp;
mod nat_network;
mod nat_pptp;
mod nat_rules;
mod nat_standby;
mod nat_vrrp;
mod nat_workers;
mod neighbours;
mod openbgpd;
mod pages;
mod path_failure;
mod provider_edges;
#[path = "../../../host/tests/suite/radius_server.rs"]
mod radius_server;
mod real_hosts;
mod reflector_orders;
mod reflector_tables;
mod route_reflector;
mod several_paths;
mod soak;
mod told_others;
mod vrrp;
