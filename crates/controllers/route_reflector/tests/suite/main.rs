//! Tests of the reflector by what its peers are told, and others who watch.

mod bench;

mod dumps;

mod asked;

mod bounds;

mod faults;

mod hostile;

mod lab;

mod reflected;

mod heard;

mod monitors;

mod orders;

mod reflection;

mod restarts;

mod sessions;

mod several;

mod simulated;

mod site;

mod targets;
