//! The Debian package on a Debian: systemd boots in namespaces of its own, over a view of this
//! system that is thrown away, and runs the unit as operators do (`tests/installed/check.sh`).
//! Without root, what a service manager hears of the program is heard by the test itself.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::packages::{PACKAGES, is_there};
use crate::{data, plumbline, temporary_folder, write};

#[test]
fn a_service_manager_hears_of_the_start_of_reloads_and_of_the_end() {
    let folder = temporary_folder();
    let socket = folder.path().join("notify");
    let manager = UnixDatagram::bind(&socket).expect("it is free");
    manager.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
    let hear = || {
        let mut message = [0; 4096];
        let length = manager.recv(&mut message).expect("the daemon says something");
        String::from_utf8_lossy(&message[..length]).into_owned()
    };
    let file = |stations: &str, idle: &str| {
        let text = format!(
            "function: {{name: l2-switch{stations}}}
ports:
  downlink: {{type: memif, role: master, socket: down.sock}}
  uplink: {{type: memif, role: master, socket: up.sock}}
workers: {{idle: {idle}}}
control: {{socket: control.sock}}
"
        );
        write(folder.path(), "bridge.yaml", &text);
    };
    file("", "sleep");
    let mut command = plumbline(folder.path());
    command.args(["run", "bridge.yaml"]).env("NOTIFY_SOCKET", &socket);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut daemon = Ending(command.spawn().expect("the program starts"));
    let process = Pid::from_child(&daemon.0);
    let signal = |signal| kill_process(process, signal).expect("it runs");
    assert_eq!(hear(), "READY=1\nSTATUS=forwards");
    assert!(folder.path().join("control.sock").exists(), "it is ready");
    file(", stations: [{mac: 0a:00:00:00:00:01, port: uplink}]", "sleep");
    signal(Signal::HUP);
    assert!(hear().starts_with("RELOADING=1\n"));
    assert_eq!(hear(), "READY=1\nSTATUS=forwards; its file was read again");
    file("", "yield");
    signal(Signal::HUP);
    assert!(hear().starts_with("RELOADING=1\n"));
    let refused = hear();
    assert!(refused.starts_with("READY=1\nSTATUS=forwards; reload refused"), "{refused}");
    assert!(refused.contains("workers cannot be changed while the daemon runs"), "{refused}");
    assert_eq!(refused.lines().count(), 2, "{refused}");
    signal(Signal::TERM);
    assert!(hear().starts_with("STOPPING=1\n"));
    assert!(daemon.0.wait().expect("it is our child").success());
}

/// A daemon that does not outlive its test.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn systemd_starts_reloads_restarts_and_stops_the_unit_and_a_purge_leaves_nothing() {
    if !rustix::process::geteuid().is_root() || !Path::new(SYSTEMD).exists() {
        return println!("skipped: this needs root and {SYSTEMD}");
    }
    let folder = temporary_folder();
    let ended = Command::new("sh")
        .arg(data("installed/boot.sh"))
        .arg(folder.path())
        .arg(PACKAGES.ending(".deb"))
        .output()
        .expect("sh is there");
    let read = |name: &str| {
        let text = fs::read(folder.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    };
    let told = read("told");
    let all = format!(
        "{}{}\n--- {ended:?}\n{}\n--- log\n{}\n--- told\n{told}",
        read("installed"),
        read("verified"),
        read("console"),
        read("log"),
    );
    assert!(told.lines().last() == Some("done"), "{all}");
    // It reads the units of other packages, too, and has something to say of some.
    let verified = read("verified");
    let of_ours: Vec<&str> = verified.lines().filter(|line| line.contains("plumbline")).collect();
    assert_eq!(of_ours, [""; 0], "systemd-analyze has nothing to say of the unit");
    let left: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("left: ")).collect();
    let theirs = |path: &&&str| path.starts_with("/etc/plumbline");
    assert_eq!(left.iter().filter(theirs).count(), left.len(), "{left:?}");
    assert!(!left.contains(&"/etc/plumbline/bridge.yaml"), "{left:?}");
}

/// systemd's sum of the unit's weak points, at most 7.0: 0 for none, 9.6 without any protection.
#[test]
fn systemd_knows_every_setting_of_the_unit_and_of_what_it_protects() {
    if !is_there("systemd-analyze") {
        return println!("skipped: this needs systemd-analyze");
    }
    let folder = temporary_folder();
    let unit = folder.path().join("plumbline@bridge.service");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/files");
    fs::copy(source.join("plumbline@.service"), &unit).expect("the unit is there");
    let ended = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--threshold=70", "--no-pager"])
        .arg(&unit)
        .output()
        .expect("it is there");
    let told = String::from_utf8_lossy(&ended.stdout).into_owned();
    println!("{told}");
    let told = format!("{told}{}", String::from_utf8_lossy(&ended.stderr));
    assert!(told.contains("Overall exposure level"), "{told}");
    for unknown in ["Unknown", "Failed to parse", "ignoring"] {
        assert!(!told.contains(unknown), "{told}");
    }
    assert!(ended.status.success(), "{told}");
}

const SYSTEMD: &str = "/usr/lib/systemd/systemd";
