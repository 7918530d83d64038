//! The exporters, the page in a browser and the archive, on records made for it.

mod archive;
mod browser;
mod charts;
mod exports;
mod layout;
mod report;

mod fixture;
