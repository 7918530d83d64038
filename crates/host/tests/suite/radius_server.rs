//! FreeRADIUS in a namespace, with files of its own.

use std::fs;
use std::process::Command;
use std::time::Duration;

use netns::{Child, Namespace};

use crate::frr::until;

/// FreeRADIUS in a namespace, with files of its own.
pub struct FreeRadius {
    folder: tempfile::TempDir,
    child: Child,
}

impl FreeRadius {
    /// Starts it with its file of users, and waits until it answers.
    pub fn start(namespace: &Namespace, users: &str) -> FreeRadius {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().display().to_string();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
        let configuration = CONFIGURATION.replace("FOLDER", &path);
        write("radiusd.conf", &configuration).expect("writable");
        write("users", users).expect("writable");
        write("dictionary", "$INCLUDE /usr/share/freeradius/dictionary\n").expect("writable");
        let mut command = Command::new("freeradius");
        command.args(["-f", "-l", "stdout", "-d", &path, "-n", "radiusd"]);
        let mut child = namespace.spawn(command).expect("it starts");
        until("FreeRADIUS", || {
            if let Some(status) = child.ended() {
                let mut said = String::new();
                if let (Some(mut output), _) = child.output() {
                    std::io::Read::read_to_string(&mut output, &mut said).expect("readable");
                }
                panic!("FreeRADIUS has ended: {status}\n{said}");
            }
            let listening = namespace.command("ss", &["-lunH"], None).expect("it is there");
            [":1812", ":1813"].iter().all(|port| listening.contains(port)).then_some(())
        });
        FreeRadius { folder, child }
    }

    /// What was recorded.
    pub fn recorded(&self) -> String {
        fs::read_to_string(self.folder.path().join("detail")).unwrap_or_default()
    }
}

/// Whether FreeRADIUS can be run here.
pub fn is_there() -> bool {
    let is_there = netns::may_make_namespaces()
        && ["freeradius", "radclient"].into_iter().all(netns::is_installed);
    if !is_there {
        println!("skipped: needs root, freeradius and freeradius-utils");
    }
    is_there
}

impl Drop for FreeRadius {
    fn drop(&mut self) {
        self.child.stop(Duration::from_secs(5));
    }
}

/// What it shares with its clients.
pub const SECRET: &str = "testing123";

/// What FreeRADIUS is told: a file of users, and one to which it records. Before version 3.2.5 it
/// signs answers only if it is told to.
const CONFIGURATION: &str = r#"
prefix = /usr
logdir = FOLDER
run_dir = FOLDER
raddbdir = FOLDER
libdir = /usr/lib/freeradius
max_request_time = 5
cleanup_delay = 1
max_requests = 1024
hostname_lookups = no
security { allow_core_dumps = no
  max_attributes = 200
  reject_delay = 0
  status_server = yes }
proxy_requests = no
client v4 { ipaddr = 10.9.0.0/24
  secret = testing123
  require_message_authenticator = yes }
client v6 { ipv6addr = fd00:9::/64
  secret = testing123
  require_message_authenticator = yes }
thread pool { start_servers = 1
  max_servers = 2
  min_spare_servers = 1
  max_spare_servers = 1
  max_requests_per_server = 0 }
modules {
  pap { normalise = no }
  chap {
  }
  files { filename = FOLDER/users }
  detail { filename = FOLDER/detail
    permissions = 0600 }
}
server default {
  listen { type = auth
    ipaddr = *
    port = 1812 }
  listen { type = auth
    ipv6addr = ::
    port = 1812 }
  listen { type = acct
    ipaddr = *
    port = 1813 }
  authorize {
    chap
    files
    pap
  }
  authenticate {
    Auth-Type PAP {
      pap
    }
    Auth-Type CHAP {
      chap
    }
  }
  accounting {
    detail
  }
  post-auth {
    update reply {
      &Message-Authenticator := 0x00
    }
    Post-Auth-Type REJECT {
      update reply {
        &Message-Authenticator := 0x00
      }
    }
  }
}
"#;
