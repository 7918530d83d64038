//! The codec against golden bytes, an independent parser and hostile input; the sessions by hand
//! and in a simulated network.

mod support;

mod routes;

mod opening;

mod rules;

mod attributes;

mod building;

mod driven;

mod agreeing;

mod states;

mod collisions;

mod hostile;

mod round;

mod speaker;

mod simulated;
