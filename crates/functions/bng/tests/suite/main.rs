//! A gateway between two ports of a test: what becomes of frames, and how state changes.

mod changes;
mod control;
mod forwarding;
mod gateway;
mod mirror;
mod queues;
mod services;
