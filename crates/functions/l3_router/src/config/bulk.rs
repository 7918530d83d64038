//! What stands in files beside the configuration: routes and rules in bulk.

use std::sync::Arc;

use super::services::{AclRule, List};
use super::{Config, Network};

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

impl Config {
    /// Most routes of all files together.
    pub const FILE_ROUTES_MAX: usize = 6_000_000;

    /// The rules of a list, those of the configuration before those of files.
    pub fn rules_of(&self, list: List) -> impl Iterator<Item = &AclRule> {
        let (own, read) = match list {
            List::Ingress => (&self.ingress_acl, &self.from_files.ingress),
            List::Egress => (&self.egress_acl, &self.from_files.egress),
        };
        own.iter().chain(read.iter())
    }
}
