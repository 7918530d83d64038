//! Tests of the reflector by what its peers are told, and others who watch.

mod bench;

mod dumps;

mod asked;

mod bounds;

mod faults;

mod hostile;

mod lab;

mod policies;

mod reflected;

mod monitors;

mod reflection;

mod restarts;

mod sessions;

mod simulated;

mod site;

mod targets;
