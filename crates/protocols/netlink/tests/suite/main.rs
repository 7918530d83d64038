//! The machine against a model of the kernel, in virtual time: lists, changes, what is lost, and
//! what the kernel does not tell.

mod kernel;
mod machine;
mod walk;
