//! PPP against its laws: by hand, between its own two sides, in a simulated network, and by what
//! must not pass.

mod ends;

mod hostile;

mod links;

mod networks;

mod pairs;

mod simulated;

mod support;
