//! Replication against its laws: two machines joined in memory, and peers that are none.

mod hostile;

mod joined;

mod toy;
