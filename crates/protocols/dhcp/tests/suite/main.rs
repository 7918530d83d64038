//! DHCP against its standards: by bytes written out from them, by clients of its own, in a
//! simulated network, beside another codec and before a dissector, and by what must not pass.

mod client4;

mod client6;

mod lines;

mod exchange4;

mod exchange6;

mod relay4;

mod relay6;

mod hostile;

mod kept;

mod simulated;

mod comparison;

mod dissected;

mod captures;
