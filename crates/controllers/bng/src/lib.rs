//! The control plane of a broadband network gateway: it brings subscribers up, and ends them.
//!
//! ```text
//!  punted frames --> DHCPv4, DHCPv6, router solicitations --+--> a session: let in by RADIUS or by
//!                --> PPPoE --> PPP: LCP, PAP, CHAP, IPCP ---+    nobody, with addresses of a pool
//!                                                                | add-session    ^ applied
//!  frames to lines <-- answers: only when packets pass ----------+----> workers --+
//!  servers of RADIUS <-- access, accounting; changes and ends -->
//! ```
//! The files in reading order: [`config`] has the keys, `places` what they mean at the gateway,
//! `frame` reads and writes frames of lines, `granted` is what a session is let have, `session` the
//! record of one, `sessions` all of them, `account` changes of the gateway, `kept` a file of
//! records, `aaa` the servers of RADIUS, `notes` what operators are told, `leasing` gives leases of
//! DHCP, `core` has all of these. `life` brings a session up, `ending` ends it, `serve` answers
//! those who wait, `adopted` takes over what is there, `ipoe` and `dialled` are the two kinds of
//! clients, `relayed` takes what external servers give, `requests` is what servers and operators
//! want, `show` what they see, `machine` the controller.

pub mod config;

mod frame;

mod places;

mod granted;

mod session;

mod sessions;

mod account;

mod kept;

mod aaa;

mod notes;

mod leasing;

mod core;

mod life;

mod ending;

mod serve;

mod adopted;

mod ipoe;

mod relayed;

mod dialled;

pub mod requests;

mod show;

mod machine;

pub use config::Config;
pub use machine::Bng;
