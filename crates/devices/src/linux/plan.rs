//! What is told to the kernel for each service.

use model_kit::service::Service;

use super::commands::{
    MAIN, Plan, line, nobody_on_links, nothing_else, own_addresses, route, source_addresses,
};
use super::options::Options;
use super::{access, bridge, gateway, nat, reverse_path};
use crate::driver::{DriverError, no_broadband, no_chain};

/// Returns the plan for a service on these interfaces.
pub(super) fn plan(
    service: &Service,
    names: &[&str],
    options: &Options,
) -> Result<Plan, DriverError> {
    let mut plan = Plan::default();
    match service {
        Service::Router(router) => {
            own_addresses(&mut plan, &router.interfaces, names);
            route(&mut plan, router, names, MAIN)?;
            nothing_else(&mut plan, MAIN);
            // Where sources are looked for, links have routes that drop what is sent there.
            if !reverse_path::is_asked_for(router) {
                nobody_on_links(&mut plan, router);
            }
            source_addresses(&mut plan, router, names);
            access::plan(&mut plan, router, names);
            reverse_path::plan(&mut plan, router, names);
            if !options.icmp {
                line(&mut plan.nft, format_args!("{SILENT}"));
            }
        }
        Service::Bridge(bridge) => bridge::plan(&mut plan, bridge, names),
        Service::MobileGateway(gateway) => gateway::plan(&mut plan, gateway, names, options)?,
        Service::Nat(translator) => nat::plan(&mut plan, translator, names)?,
        Service::BroadbandGateway(_) => return Err(no_broadband().into()),
        Service::Chain(_) => return Err(no_chain().into()),
    }
    Ok(plan)
}

/// Rules against ARP and ND answers that no sysctl suppresses; forwarded packets do not pass them.
const SILENT: &str = "table ip silent { chain out { type filter hook output priority 0; \
                      policy accept; icmp type timestamp-reply drop\n}\n}";
