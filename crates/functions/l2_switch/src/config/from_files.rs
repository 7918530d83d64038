//! What stands in files beside the configuration.

use std::sync::Arc;

use super::acl::Rule;
use super::station::Station;

/// What the files hold that a configuration names. It is read when the configuration is checked,
/// and written nowhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FromFiles {
    /// Whether they were read.
    pub(super) is_read: bool,
    /// Stations behind those of the list.
    pub(super) stations: Arc<Vec<Station>>,
    /// Rules of what comes in.
    pub(super) acl: Arc<Vec<Rule>>,
    /// Rules of what leaves.
    pub(super) egress_acl: Arc<Vec<Rule>>,
    /// What was left out, as sentences for a log.
    pub(super) remarks: Arc<Vec<String>>,
}
