//! `cargo xtask setup`: the programs that tests compare with, by apt, and only those that are absent.
//!
//! A package may bring a service. None is started by the installation (`policy-rc.d`, Debian policy
//! section 9.3.3), and one that was not there before is not started at the next boot either.

use std::io::IsTerminal;

use anyhow::{Result, bail};

use crate::invocation::{Invocation, is_installed};

/// A program that tests run.
struct Tool {
    /// Names under which it may be installed, or a file that tells that it is.
    names: &'static [&'static str],
    /// Debian's package.
    package: &'static str,
    /// What for.
    reason: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool { names: &["busybox"], package: "busybox-static", reason: "pings through ports" },
    Tool { names: &["tcpdump"], package: "tcpdump", reason: "reads what ports send" },
    Tool { names: &["tshark"], package: "tshark", reason: "dissects the traces that are written" },
    Tool {
        names: &["dpdk-testpmd"],
        package: "dpdk-dev",
        reason: "the other end of memif ports, and a device to compare with",
    },
    Tool { names: &["ethtool"], package: "ethtool", reason: "gives virtual Ethernet its queues" },
    Tool {
        names: &["ovs-vswitchd"],
        package: "openvswitch-switch",
        reason: "a device to compare with",
    },
    Tool {
        names: &["/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"],
        package: "openvswitch-switch-dpdk",
        reason: "the same with DPDK, and the other end of vhost-user ports",
    },
    Tool {
        names: &["qemu-system-x86_64"],
        package: "qemu-system-x86",
        reason: "runs the guest of vhost-user ports",
    },
    Tool {
        names: &["/var/lib/dpkg/info/linux-image-cloud-amd64.list"],
        package: "linux-image-cloud-amd64",
        reason: "the kernel of that guest; this machine goes on with its own",
    },
    Tool { names: &["ip"], package: "iproute2", reason: "sets up namespaces, links and routes" },
    Tool { names: &["setpriv"], package: "util-linux", reason: "ends programs with their owner" },
    Tool { names: &["nft"], package: "nftables", reason: "rules of the Linux device" },
    Tool { names: &["nfcapd"], package: "nfdump", reason: "collects the logs of the NAT" },
    Tool {
        names: &["vsftpd", "/usr/sbin/vsftpd"],
        package: "vsftpd",
        reason: "the FTP server behind the NAT",
    },
    Tool { names: &["curl"], package: "curl", reason: "its client" },
    Tool {
        names: &["pptpd", "/usr/sbin/pptpd"],
        package: "pptpd",
        reason: "the PPTP server behind the NAT",
    },
    Tool { names: &["pptp", "/usr/sbin/pptp"], package: "pptp-linux", reason: "its client" },
    Tool { names: &["promtool"], package: "prometheus", reason: "checks a daemon's metrics" },
    Tool {
        names: &["chromium", "chromium-browser", "google-chrome"],
        package: "chromium",
        reason: "renders the report",
    },
];

/// Installs what is absent.
///
/// # Errors
/// When something is absent and cannot be installed from here; the text tells the command.
pub fn run() -> Result<()> {
    let mut packages = Vec::new();
    for Tool { names, package, reason } in TOOLS {
        let found = is_installed(names);
        println!("{package:<24} {:<8} {reason}", if found { "present" } else { "absent" });
        if !found {
            packages.push(*package);
        }
    }
    if packages.is_empty() {
        return Ok(());
    }
    if !is_installed(&["apt-get"]) {
        bail!("this system has no apt; install by its own means: {}", packages.join(", "));
    }
    let packages = packages.join(" ");
    let Some(become_root) = way_to_root() else {
        let sudo = if is_installed(&["sudo"]) { "sudo " } else { "" };
        bail!(
            "only root may install; run this once{}:\n  {sudo}apt-get update && \
             {sudo}apt-get install --yes --no-install-recommends {packages}",
            if sudo.is_empty() { " as root" } else { "" }
        );
    };
    println!("installing by apt: {packages}");
    // A package list that cannot be refreshed may still know the packages.
    let _ = as_root(become_root, "apt-get update --quiet").run();
    as_root(become_root, &format!("sh -c '{}'", install(&packages))).run()
}

/// The script that installs packages and leaves no service behind that was not there before. It holds
/// no single quote.
fn install(packages: &str) -> String {
    let disable: String = SERVICES
        .iter()
        .filter(|service| packages.split(' ').any(|package| package == service.package))
        .map(|service| format!(" && systemctl --quiet disable {}", service.units))
        .collect();
    // The machine may have a policy of its own, which then holds.
    format!(
        "p=/usr/sbin/policy-rc.d; \
         if [ ! -e $p ]; then trap \"rm -f $p\" EXIT; \
         printf \"#!/bin/sh\\nexit 101\\n\" > $p && chmod 755 $p; fi; \
         apt-get install --yes --no-install-recommends {packages} \
         && {{ [ ! -d /run/systemd/system ] || true{disable}; }}"
    )
}

/// A service that a package of [`TOOLS`] brings.
struct Service {
    package: &'static str,
    units: &'static str,
}

const SERVICES: &[Service] = &[
    Service { package: "nfdump", units: "nfdump.service" },
    Service { package: "openvswitch-switch", units: "openvswitch-switch.service" },
    Service { package: "pptpd", units: "pptpd.service" },
    Service { package: "vsftpd", units: "vsftpd.service" },
];

/// What to put before a command so that root runs it; None where there is no way.
fn way_to_root() -> Option<&'static str> {
    if Invocation::new("sh", "-c").argument("test \"$(id -u)\" = 0").succeeds() {
        return Some("");
    }
    if !is_installed(&["sudo"]) {
        return None;
    }
    if std::io::stdin().is_terminal() {
        return Some("sudo ");
    }
    // Nobody is there to type a password.
    Invocation::new("sudo", "-n true").succeeds().then_some("sudo -n ")
}

fn as_root(become_root: &str, command: &str) -> Invocation {
    Invocation::new("sh", "-c")
        .argument(format!("{become_root}env DEBIAN_FRONTEND=noninteractive {command}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_one_that_a_shell_understands_and_disables_only_what_is_new() {
        let script = install("nftables openvswitch-switch");
        assert!(!script.contains('\''), "{script}");
        assert!(
            script.contains("systemctl --quiet disable openvswitch-switch.service"),
            "{script}"
        );
        assert!(!install("nftables").contains("systemctl"));
        for script in [script, install("nftables")] {
            assert!(Invocation::new("sh", "-n -c").argument(&script).succeeds(), "{script}");
        }
    }

    #[test]
    fn every_service_belongs_to_a_package_that_is_installed() {
        for service in SERVICES {
            assert!(
                TOOLS.iter().any(|tool| tool.package == service.package),
                "{}",
                service.package
            );
        }
    }
}
