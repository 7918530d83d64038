//! The two programs of Open vSwitch: a database server, and the switch itself.
//!
//! They are started by hand in the device's namespace with a database, sockets and a log of their
//! own; the kernel kills them with this process. The host's Open vSwitch, if it runs, is not
//! touched.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use netns::{Child, Namespace};

use super::options::Datapath;
use crate::driver::DriverError;
use crate::folder::Folder;

/// A running switch. Fields drop in their order: the switch before its database.
pub(super) struct Daemons {
    switch: Child,
    database: Child,
    folder: Folder,
}

/// Cores and memory of the switch.
pub(super) struct Place<'a> {
    pub datapath: Datapath,
    /// Cores for the threads that poll.
    pub cores: &'a [usize],
}

impl Daemons {
    /// Starts the database and the switch in a namespace, and waits until the switch has read its
    /// configuration.
    ///
    /// # Errors
    /// When one of them does not start; the text has the last lines of its output.
    pub fn start(
        device: &Namespace,
        place: &Place<'_>,
        stop: &AtomicBool,
    ) -> Result<Daemons, DriverError> {
        let folder = Folder::new().map_err(|error| {
            let what = format!(
                "cannot create a private folder in {}: {error}",
                std::env::temp_dir().display()
            );
            DriverError::new(what, "make room there, or set TMPDIR")
        })?;
        let (file, log) = (folder.file("conf.db"), folder.file("database.log"));
        device.command("ovsdb-tool", &["create", &file, SCHEMA], None)?;
        let mut database = Command::new("ovsdb-server");
        database.arg(&file).arg(format!("--remote=punix:{}", folder.file("db.sock")));
        database.arg(format!("--unixctl={}", folder.file("db.ctl")));
        database.args(["-vconsole:off", "-vsyslog:off", "--no-chdir"]);
        database.arg(format!("--log-file={log}"));
        in_folder(&mut database, &folder);
        let mut database = device.spawn(database)?;
        wait_for_socket(&folder, &mut database, stop)?;
        vsctl(device, &folder, &["--no-wait", "init"])?;
        let settings = settings(place);
        let mut words = vec!["--no-wait", "set", "Open_vSwitch", "."];
        words.extend(settings.iter().map(String::as_str));
        vsctl(device, &folder, &words)?;

        let mut switch = Command::new(program(place.datapath));
        switch.arg(format!("unix:{}", folder.file("db.sock")));
        switch.arg(format!("--unixctl={}", folder.file("switch.ctl")));
        switch.args(["-vconsole:off", "-vsyslog:off", "--no-chdir"]);
        switch.arg(format!("--log-file={}", folder.file("switch.log")));
        in_folder(&mut switch, &folder);
        let switch = device.spawn(switch)?;
        let mut daemons = Daemons { switch, database, folder };
        daemons.wait_for_switch(device, stop)?;
        Ok(daemons)
    }

    /// Waits until the switch has applied the database, for which `ovs-vsctl` waits.
    fn wait_for_switch(
        &mut self,
        device: &Namespace,
        stop: &AtomicBool,
    ) -> Result<(), DriverError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(stopped());
            }
            self.health()?;
            let words = ["--timeout=1", "set", "Open_vSwitch", ".", "external_ids:owner=plumbline"];
            match vsctl(device, &self.folder, &words) {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > deadline => return Err(self.with_log(error)),
                Err(_) => {}
            }
        }
    }

    /// Runs `ovs-vsctl`, which returns when the switch has applied the database.
    ///
    /// # Errors
    /// The program's message, and the last lines of the switch's log.
    pub fn vsctl(&mut self, device: &Namespace, words: &[&str]) -> Result<String, DriverError> {
        let done = vsctl(device, &self.folder, words);
        done.map_err(|error| self.with_log(error))
    }

    /// Sends a command to the switch by `ovs-appctl`.
    ///
    /// # Errors
    /// The program's message.
    pub fn appctl(&self, device: &Namespace, words: &[&str]) -> Result<String, DriverError> {
        let control = self.folder.file("switch.ctl");
        let all = [&["-t", &control, "-T", "120"], words].concat();
        Ok(device.command("ovs-appctl", &all, None)?)
    }

    /// Runs `ovs-ofctl` on a bridge.
    pub fn ofctl(
        &self,
        device: &Namespace,
        words: &[&str],
        bridge: &str,
        more: &[&str],
        input: Option<&str>,
    ) -> Result<String, DriverError> {
        let bridge = self.socket(bridge);
        let all = [&["-O", "OpenFlow15"], words, &[&bridge], more].concat();
        Ok(device.command("ovs-ofctl", &all, input)?)
    }

    /// Returns the path of a bridge's OpenFlow socket.
    pub fn socket(&self, bridge: &str) -> String {
        self.folder.file(&format!("{bridge}.mgmt"))
    }

    /// Returns the path of a file in the private folder.
    pub fn file(&self, name: &str) -> String {
        self.folder.file(name)
    }

    /// Returns the identifier of the switch's process.
    pub fn process(&self) -> u32 {
        self.switch.id()
    }

    /// Checks that the database and the switch run.
    ///
    /// # Errors
    /// How one of them ended, with the last lines of its output.
    pub fn health(&mut self) -> Result<(), DriverError> {
        let ended =
            [("ovs-vswitchd", self.switch.ended()), ("ovsdb-server", self.database.ended())];
        for (name, how) in ended {
            if let Some(how) = how {
                let error = DriverError::new(
                    format!("{name} ended: {how}"),
                    "see the last lines of its output",
                );
                return Err(self.with_log(error));
            }
        }
        Ok(())
    }

    fn with_log(&self, error: DriverError) -> DriverError {
        let log = std::fs::read_to_string(self.folder.file("switch.log")).unwrap_or_default();
        let is_bad =
            |line: &&str| ["|WARN|", "|ERR|", "|EMER|"].iter().any(|one| line.contains(one));
        let bad: Vec<&str> = log.lines().filter(is_bad).collect();
        let last = bad[bad.len().saturating_sub(LOG_LINES)..].join("; ");
        if last.is_empty() {
            return error;
        }
        DriverError::new(
            format!("{}; last lines of the switch's log: {last}", error.what),
            error.remedy,
        )
    }
}

/// Returns the path of the switch program in Debian; in other distributions it is in the search
/// path.
pub(super) fn program(datapath: Datapath) -> String {
    let (folder, name) = match datapath {
        Datapath::Dpdk => ("/usr/lib/openvswitch-switch-dpdk", "ovs-vswitchd-dpdk"),
        Datapath::Netdev | Datapath::System => ("/usr/lib/openvswitch-switch", "ovs-vswitchd"),
    };
    let path = format!("{folder}/{name}");
    if Path::new(&path).is_file() { path } else { name.to_owned() }
}

/// Returns the error for a user who asked to stop.
pub(super) fn stopped() -> DriverError {
    DriverError::new("stopped while the device was being set up", "start it again")
}

fn vsctl(device: &Namespace, folder: &Folder, words: &[&str]) -> Result<String, DriverError> {
    let database = format!("--db=unix:{}", folder.file("db.sock"));
    let all = [&[database.as_str(), "--timeout=120"], words].concat();
    Ok(device.command("ovs-vsctl", &all, None)?)
}

/// Returns the settings that the switch gets before it starts.
fn settings(place: &Place<'_>) -> Vec<String> {
    let mask =
        place.cores.iter().filter(|core| **core < 64).fold(0u64, |mask, core| mask | 1 << core);
    let mask = format!("{mask:#x}");
    let mut settings = vec![
        format!("other_config:pmd-cpu-mask={mask}"),
        "other_config:n-handler-threads=1".to_owned(),
        "other_config:n-revalidator-threads=1".to_owned(),
        // Flows that were used stay for longer than the pauses between trials.
        format!("other_config:max-idle={FLOWS_STAY_MS}"),
    ];
    if place.datapath == Datapath::Dpdk {
        let lowest = mask_of_lowest(place.cores);
        settings.extend([
            "other_config:dpdk-init=true".to_owned(),
            // Packets for the queues of each port, instead of a quarter of a million for all.
            "other_config:per-port-memory=true".to_owned(),
            format!("other_config:dpdk-lcore-mask={lowest:#x}"),
            format!("other_config:dpdk-extra=\"--no-pci --no-huge --legacy-mem -m {MEMORY_MIB}\""),
        ]);
    }
    settings
}

fn mask_of_lowest(cores: &[usize]) -> u64 {
    cores.iter().min().filter(|core| **core < 64).map_or(1, |core| 1 << core)
}

fn in_folder(command: &mut Command, folder: &Folder) {
    for name in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR", "RUNTIME_DIRECTORY"] {
        command.env(name, folder.path());
    }
    command.current_dir(folder.path());
}

fn wait_for_socket(
    folder: &Folder,
    database: &mut Child,
    stop: &AtomicBool,
) -> Result<(), DriverError> {
    let (socket, deadline) = (folder.file("db.sock"), Instant::now() + PATIENCE);
    // Its file is there before anybody listens.
    while UnixStream::connect(&socket).is_err() {
        if stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        let ended = database.ended();
        if ended.is_some() || Instant::now() > deadline {
            let log = std::fs::read_to_string(folder.file("database.log")).unwrap_or_default();
            let last = log.lines().last().unwrap_or("nothing");
            let what = format!("ovsdb-server did not start; last lines of its log: {last}");
            return Err(DriverError::new(what, "check that `ovsdb-server --version` works"));
        }
        std::thread::park_timeout(POLL);
    }
    Ok(())
}

/// Path of the database's schema in Debian.
pub(super) const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// Number of lines of a log in an error.
const LOG_LINES: usize = 3;

/// Memory for the packets of a switch with DPDK, in MiB.
const MEMORY_MIB: u32 = 512;
const FLOWS_STAY_MS: u32 = 120_000;
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);
