//! Tests of the reflector by what its peers are told.

mod model;

mod reflection;

mod sessions;
