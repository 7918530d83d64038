//! `cargo xtask setup`: the programs that tests compare with, by apt, and only those that are
//! absent.
//!
//! A package may bring a service. None is started by the installation (`policy-rc.d`, Debian policy
//! section 9.3.3), and one that was not there before is not started at the next boot either.

use std::fs;
use std::io::IsTerminal;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::invocation::{Invocation, is_installed, workspace};

/// A package that tests need.
#[derive(Debug)]
struct Tool {
    /// Debian's name.
    package: String,
    /// Programs one of which is there, or a file, where it is installed.
    names: Vec<String>,
    /// What for.
    reason: String,
    /// The service that it brings.
    service: Option<String>,
}

/// What each folder needs, by its own list.
fn tools() -> Result<Vec<Tool>> {
    let mut tools = Vec::new();
    for folder in ["crates", "xtask"] {
        collect(&workspace().join(folder), &mut tools)?;
    }
    tools.sort_by(|one: &Tool, other| one.package.cmp(&other.package));
    Ok(tools)
}

fn collect(folder: &Path, tools: &mut Vec<Tool>) -> Result<()> {
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, tools)?;
        } else if path.ends_with("debian.txt") {
            let text = fs::read_to_string(&path)?;
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            for line in lines {
                let tool = tool(line);
                tools.push(
                    tool.with_context(|| format!("{}: not understood: {line}", path.display()))?,
                );
            }
        }
    }
    Ok(())
}

/// `package | programs or files | what for | its service`, the last one where there is any.
fn tool(line: &str) -> Option<Tool> {
    let mut parts = line.split('|').map(|part| part.trim().to_owned());
    let (package, names, reason) = (parts.next()?, parts.next()?, parts.next()?);
    let names: Vec<String> = names.split(' ').map(str::to_owned).collect();
    Some(Tool { package, names, reason, service: parts.next() })
}

/// Installs what is absent.
///
/// # Errors
/// When something is absent and cannot be installed from here; the text tells the command.
pub fn run() -> Result<()> {
    let mut absent = tools()?;
    absent.retain(|Tool { names, package, reason, .. }| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = is_installed(&names);
        println!("{package:<24} {:<8} {reason}", if found { "present" } else { "absent" });
        !found
    });
    if absent.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = absent.iter().map(|tool| tool.package.as_str()).collect();
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
    as_root(become_root, &format!("sh -c '{}'", install(&absent))).run()
}

/// The script that installs packages and leaves no service behind that was not there before. It
/// holds no single quote.
fn install(tools: &[Tool]) -> String {
    let packages = tools.iter().map(|tool| format!(" {}", tool.package)).collect::<String>();
    let services = tools.iter().filter_map(|tool| tool.service.as_ref());
    let disable: String =
        services.map(|service| format!(" && systemctl --quiet disable {service}")).collect();
    // The machine may have a policy of its own, which then holds.
    format!(
        "p=/usr/sbin/policy-rc.d; \
         if [ ! -e $p ]; then trap \"rm -f $p\" EXIT; \
         printf \"#!/bin/sh\\nexit 101\\n\" > $p && chmod 755 $p; fi; \
         apt-get install --yes --no-install-recommends{packages} \
         && {{ [ ! -d /run/systemd/system ] || true{disable}; }}"
    )
}

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
        let with_service =
            "openvswitch-switch | ovs-vswitchd | a device | openvswitch-switch.service";
        let [nft, ovs] =
            ["nftables | nft | rules", with_service].map(|line| tool(line).expect("a tool"));
        let plain = install(std::slice::from_ref(&nft));
        assert!(plain.contains("--no-install-recommends nftables "), "{plain}");
        assert!(!plain.contains("systemctl"), "{plain}");
        let script = install(&[nft, ovs]);
        assert!(!script.contains('\''), "{script}");
        assert!(
            script.contains("systemctl --quiet disable openvswitch-switch.service"),
            "{script}"
        );
        for script in [script, plain] {
            assert!(Invocation::new("sh", "-n -c").argument(&script).succeeds(), "{script}");
        }
    }

    #[test]
    fn every_folder_says_what_it_needs_and_none_twice() {
        let tools = tools().expect("the lists are understood");
        assert!(tools.iter().any(|tool| tool.package == "openvswitch-switch"));
        assert!(tools.windows(2).all(|two| two[0].package != two[1].package), "{tools:?}");
        assert!(tools.iter().all(|tool| !tool.reason.is_empty() && !tool.names[0].is_empty()));
        assert!(tool("nftables | nft").is_none());
    }
}
