//! Which tables of the kernel are VRFs of the router.

use std::collections::{BTreeMap, BTreeSet};

use controller_kit::keys::invalid;
use function_kit::Invalid;
use protocol_netlink::table_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A table of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Table {
    /// Its number in the kernel.
    #[schemars(range(min = 1))]
    pub table: u32,
    /// The VRF of the router.
    #[schemars(range(min = 1, max = 255))]
    pub vrf: u16,
}

/// Checks that each listed table is one VRF.
///
/// # Errors
/// The first that is not.
pub fn validate(listed: &[Table]) -> Result<(), Invalid> {
    let (mut tables, mut vrfs) = (BTreeSet::from([MAIN]), BTreeSet::from([0]));
    for Table { table, vrf } in listed {
        if !tables.insert(*table) {
            let what = format!("has table {table} twice; {MAIN} is VRF 0 in any case");
            return Err(invalid("tables", what, "Keep one VRF for each table"));
        }
        if !vrfs.insert(*vrf) {
            let what = format!("has VRF {vrf} twice; VRF 0 is table {MAIN} in any case");
            return Err(invalid("tables", what, "Keep one table for each VRF"));
        }
    }
    Ok(())
}

/// The VRFs, up to the last one, by their tables in the kernel: those that are listed, and the
/// usual one of each VRF that is not.
pub(crate) fn vrfs(listed: &[Table], last: u16) -> BTreeMap<u32, u16> {
    let is_listed = |vrf: &u16| listed.iter().any(|one| one.vrf == *vrf);
    let usual = (0..=last).filter(|vrf| !is_listed(vrf)).map(|vrf| (table_of(vrf), vrf));
    usual.chain(listed.iter().map(|one| (one.table, one.vrf))).collect()
}

/// The kernel's main table.
const MAIN: u32 = 254;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_vrf_has_its_usual_table_or_the_one_that_is_listed() {
        let listed = [Table { table: 10, vrf: 2 }, Table { table: 1003, vrf: 1 }];
        let expected = [(10, 2), (254, 0), (1003, 1)];
        assert_eq!(vrfs(&listed, 3).into_iter().collect::<Vec<_>>(), expected);
        assert_eq!(vrfs(&[], 1).into_iter().collect::<Vec<_>>(), [(254, 0), (1001, 1)]);
    }
}
