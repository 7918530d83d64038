//! The controller with a router of its own, a bfdd that is played by the tests, and a far router
//! that has a session with it, in virtual time.

mod support;

mod life;

mod troubles;
