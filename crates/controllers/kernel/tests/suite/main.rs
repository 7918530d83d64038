//! The controller together with a router, to which its changes are applied.

mod support;

mod follows;

mod restarts;
