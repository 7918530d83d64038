//! Daemons in this process, between links of memory: what they count, take, refuse, keep and give
//! away.

mod alarms;
mod bulk;
mod captures;
mod changes;
mod control;
mod controllers;
mod files;
mod gateway;
mod journals;
mod kit;
mod metrics;
mod names;
mod nat;
mod ports;
mod tables;
