//! What stands in files beside the configuration: routes and rules in bulk.

use std::sync::Arc;

use super::networks::Network;
use super::services::AclRule;

/// What the files hold that a configuration names. It is read when the configuration is checked,
/// and written nowhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FromFiles {
    /// Whether they were read.
    pub is_read: bool,
    /// Routes to next hops and groups by number, in the order of their networks.
    pub routes: Arc<Vec<(Network, u32)>>,
    /// Rules of the ingress list, behind those that the configuration lists.
    pub ingress: Arc<Vec<AclRule>>,
    /// Rules of the egress list.
    pub egress: Arc<Vec<AclRule>>,
    /// What was left out, as sentences for a log.
    pub remarks: Arc<Vec<String>>,
}
