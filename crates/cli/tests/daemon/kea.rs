//! Kea's server of DHCPv4 in a namespace, with files of its own.

use std::fs;
use std::process::Command;
use std::time::Duration;

use netns::{Child, Namespace};

use crate::kit::until;

/// Kea in a namespace.
pub struct Kea {
    folder: tempfile::TempDir,
    child: Child,
}

impl Kea {
    /// Starts it with a subnet, at an address of the host's interface `eth`; waits until it hears.
    pub fn start(namespace: &Namespace, address: &str, subnet: &str) -> Kea {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().display().to_string();
        let text = CONFIGURATION.replace("FOLDER", &path).replace("ADDRESS", address);
        let file = folder.path().join("kea.json");
        fs::write(&file, text.replace("SUBNET", subnet)).expect("writable");
        let mut command = Command::new(PROGRAM);
        command.arg("-c").arg(&file);
        command.env("KEA_PIDFILE_DIR", &path).env("KEA_LOCKFILE_DIR", &path);
        let mut child = namespace.spawn(command).expect("it starts");
        until("Kea", || {
            if let Some(status) = child.ended() {
                let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
                panic!("Kea has ended: {status}\n{log}");
            }
            let listening = namespace.command("ss", &["-lunH"], None).expect("it is there");
            listening.contains(":67 ").then_some(())
        });
        Kea { folder, child }
    }

    /// What it has written of an address, each time one line.
    pub fn leases(&self, address: &str) -> Vec<String> {
        let all = fs::read_to_string(self.folder.path().join("leases")).unwrap_or_default();
        let its = all.lines().filter(|line| line.split(',').next() == Some(address));
        its.map(str::to_owned).collect()
    }
}

/// Whether Kea can be run here.
pub fn is_there() -> bool {
    let is_there = netns::may_make_namespaces() && netns::is_installed(PROGRAM);
    if !is_there {
        println!("skipped: needs root, and kea-dhcp4-server");
    }
    is_there
}

impl Drop for Kea {
    fn drop(&mut self) {
        self.child.stop(Duration::from_secs(5));
    }
}

const PROGRAM: &str = "/usr/sbin/kea-dhcp4";

/// Leases of 16 s, the shortest that `udhcpc` takes as they are; what relays say is kept with them.
const CONFIGURATION: &str = r#"{"Dhcp4": {
  "interfaces-config": {"interfaces": ["eth/ADDRESS"], "dhcp-socket-type": "udp"},
  "lease-database": {"type": "memfile", "name": "FOLDER/leases", "lfc-interval": 0},
  "valid-lifetime": 16,
  "store-extended-info": true,
  "subnet4": [SUBNET],
  "loggers": [{"name": "kea-dhcp4", "severity": "INFO",
    "output_options": [{"output": "FOLDER/log"}]}]
}}
"#;
