//! PPPoE against its laws: by hand, by limits, by what must not pass, and with PPP in a simulated
//! network.

mod clients;

mod discovery;

mod dissection;

mod hostile;

mod limits;

mod simulated;

mod support;
