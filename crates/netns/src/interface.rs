//! Interfaces of a namespace: pairs of virtual Ethernet, and what the kernel lets one read and set.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::{Failed, Namespace, NamespaceError};

impl Namespace {
    /// Connects two namespaces by a pair of virtual Ethernet interfaces, both up, with names of at
    /// most 15 characters.
    ///
    /// # Errors
    /// When a name is in use or invalid, or the kernel does not support veth.
    pub fn veth(
        &self,
        name: &str,
        peer: &Namespace,
        peer_name: &str,
    ) -> Result<(), NamespaceError> {
        check_name(name)?;
        check_name(peer_name)?;
        // `ip` takes a process for the target, and the thread that lives there is one to the
        // kernel.
        let thread = peer.run_within(|| nix::unistd::gettid().as_raw())?;
        self.ip(&format!("link add name {name} type veth peer name {peer_name} netns {thread}"))?;
        self.ip(&format!("link set {name} up"))?;
        peer.ip(&format!("link set {peer_name} up"))?;
        Ok(())
    }

    /// Reads an attribute of an interface below `/sys/class/net`: `operstate`, `threaded` …
    ///
    /// # Errors
    /// When the interface or the attribute does not exist.
    pub fn attribute(&self, interface: &str, key: &str) -> Result<String, NamespaceError> {
        let path = attribute_path(interface, key)?;
        let read = self.with_sysfs(|| std::fs::read_to_string(&path))?;
        let text = read.map_err(|error| Failed::new(&format!("read {}", path.display()), error))?;
        Ok(text.trim_end().to_owned())
    }

    /// Sets an attribute that [`Namespace::attribute`] reads.
    ///
    /// # Errors
    /// When the interface or the attribute does not exist, or the kernel refuses the
    /// value.
    pub fn set_attribute(
        &self,
        interface: &str,
        key: &str,
        value: &str,
    ) -> Result<(), NamespaceError> {
        let path = attribute_path(interface, key)?;
        let written = self.with_sysfs(|| std::fs::write(&path, value))?;
        let what = || format!("write {value} to {}", path.display());
        written.map_err(|error| Failed::new(&what(), error).into())
    }

    /// Waits until an interface reports that it is up, which happens some milliseconds after its
    /// peer is up.
    ///
    /// # Errors
    /// When it is not up after `patience`; the error contains its state.
    pub fn wait_until_up(&self, interface: &str, patience: Duration) -> Result<(), NamespaceError> {
        let deadline = Instant::now() + patience;
        loop {
            let state = self.attribute(interface, "operstate")?;
            match state.as_str() {
                // Tunnels never tell more than `unknown`.
                "up" | "unknown" => return Ok(()),
                _ if Instant::now() < deadline => std::thread::park_timeout(POLL),
                _ => {
                    let what = format!("wait until {interface} is up");
                    return Err(Failed::new(&what, format!("it is {state}")).into());
                }
            }
        }
    }

    /// Runs `work` on a thread whose `/sys` shows this namespace: by default it shows the
    /// interfaces of the namespace in which it was mounted.
    fn with_sysfs<T: Send>(
        &self,
        work: impl FnOnce() -> std::io::Result<T> + Send,
    ) -> Result<std::io::Result<T>, NamespaceError> {
        self.run(|| {
            // For this thread alone, which ends with the work.
            unshare(CloneFlags::CLONE_NEWNS)?;
            let none = None::<&str>;
            mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
            mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none)?;
            work()
        })
    }
}

fn attribute_path(interface: &str, key: &str) -> Result<PathBuf, NamespaceError> {
    check_name(interface)?;
    Ok(PathBuf::from("/sys/class/net").join(interface).join(key))
}

/// Checks the kernel's rule for names, because the error of `ip` is less clear.
fn check_name(name: &str) -> Result<(), NamespaceError> {
    let is_wrong = |c: char| c.is_whitespace() || matches!(c, '/' | ':');
    let is_name = !name.is_empty() && name.len() <= NAME_LEN_MAX && !name.contains(is_wrong);
    // A leading dash would be an option to `ip`.
    if is_name && !matches!(name, "." | "..") && !name.starts_with('-') {
        return Ok(());
    }
    Err(NamespaceError::Name(name.to_owned()))
}

/// Longest name of an interface: the kernel's IFNAMSIZ without the final zero.
const NAME_LEN_MAX: usize = 15;

const POLL: Duration = Duration::from_millis(2);
