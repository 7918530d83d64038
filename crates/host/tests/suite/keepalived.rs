//! keepalived in a namespace, with files of its own.

use std::fs;
use std::process::Command;

use netns::{Child, Namespace};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::frr::until;

/// keepalived in a namespace.
pub struct Keepalived {
    folder: tempfile::TempDir,
    /// The parent of the process that speaks VRRP.
    parent: Child,
    child: Pid,
}

impl Keepalived {
    /// Starts it with a configuration, and waits until it has read it.
    pub fn start(namespace: &Namespace, configuration: &str) -> Keepalived {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("keepalived.conf");
        let whole = format!("global_defs {{\n  router_id far\n}}\n{configuration}");
        fs::write(&file, whole).expect("writable");
        let mut command = Command::new("keepalived");
        command.args(["-n", "-P", "-R", "-D", "-G"]).arg("-f").arg(&file);
        command.arg(format!("--pid={}", folder.path().join("parent").display()));
        command.arg(format!("--vrrp_pid={}", folder.path().join("child").display()));
        let parent = namespace.spawn(command).expect("it starts");
        let number = || fs::read_to_string(folder.path().join("child")).ok()?.trim().parse().ok();
        let child = until("keepalived", number);
        Keepalived { folder, parent, child: Pid::from_raw(child) }
    }

    /// Kills it, so that it says nothing to anybody any more.
    pub fn kill(mut self) {
        kill(self.child, Signal::SIGKILL).expect("it lives");
        until("keepalived's end", || self.parent.ended());
        drop(self.folder);
    }
}

/// Whether keepalived can be run here.
pub fn is_there() -> bool {
    let is_there = netns::may_make_namespaces() && netns::is_installed("keepalived");
    if !is_there {
        println!("skipped: needs root and keepalived");
    }
    is_there
}

/// A virtual router of version 3 that advertises every tenth of a second.
pub fn instance(name: &str, priority: u8, more: &str, addresses: &[&str]) -> String {
    let addresses = addresses.join("\n    ");
    format!(
        "vrrp_instance {name} {{\n  version 3\n  state BACKUP\n  interface eth0\n  \
         virtual_router_id 7\n  priority {priority}\n  advert_int 0.1\n  {more}\n  \
         virtual_ipaddress {{\n    {addresses}\n  }}\n}}\n"
    )
}

/// Whether an address is on the interface, as an active keepalived has it.
pub fn has(namespace: &Namespace, address: &str) -> bool {
    let shown = namespace.ip("addr show dev eth0").expect("it is there");
    shown.contains(&format!(" {address}/"))
}

/// Takes addresses off the interface that a killed keepalived has left there.
pub fn clear(namespace: &Namespace, addresses: &[&str]) {
    for address in addresses.iter().filter(|address| has(namespace, address)) {
        let len = if address.contains(':') { 128 } else { 32 };
        namespace.ip(&format!("addr del {address}/{len} dev eth0")).expect("it is there");
    }
}
