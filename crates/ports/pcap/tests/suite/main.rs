//! The pcap port: what every port must do, and files of all forms.

mod conformance;
mod files;
