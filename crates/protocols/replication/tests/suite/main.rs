//! Replication against its laws: two machines joined in memory or in a simulated network, and peers
//! that are none.

mod hostile;

mod joined;

mod simulated;

mod toy;
