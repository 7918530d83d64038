//! Carrier-grade NAT: subscribers with addresses of their own share the addresses of an operator.

