//! One interface of the kernel: made with the function's Ethernet address, MTU and addresses, in
//! the daemon's network namespace or a named one.
//!
//! The kernel is a host there: it forwards nothing from the interface, answers ARP for the
//! interface's own addresses alone, and takes no addresses from router advertisements.

use std::fs::{self, File};
use std::io::{self, IoSlice, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use engine::PortError;
use function_kit::HostInterface;
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns};
use offload::Header;
use port_tap::TapConfig;

use super::counts::{InterfaceCounts, add};
use super::vrf;
use crate::error::RunError;

/// An open interface.
pub(super) struct Interface {
    /// Its name, with the namespace before it.
    pub name: String,
    /// The function's number of the interface.
    pub number: u16,
    pub counts: Arc<InterfaceCounts>,
    file: File,
    /// As what it is made, and made again.
    plan: Option<Plan>,
    /// When it was found deleted, or was last tried to be made again.
    gone_at: Option<Instant>,
}

/// An interface as it is to be made.
struct Plan {
    wanted: HostInterface,
    config: TapConfig,
}

impl Interface {
    /// Makes the interface, for frames of at most this many bytes.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn open(wanted: &HostInterface, frame_bytes_max: usize) -> Result<Interface, RunError> {
        let place = wanted.place;
        let namespace = place.namespace();
        let name = match namespace {
            Some(namespace) => format!("{namespace}/{}", place.name()),
            None => place.name().to_string(),
        };
        let config = TapConfig {
            addresses: addresses(wanted),
            mtu_bytes: mtu_bytes(wanted, frame_bytes_max),
            ..TapConfig::new(&place.name())
        };
        let plan = Plan { wanted: *wanted, config };
        let file = plan.make().map_err(|PortError { what, remedy }| {
            RunError::setup(format!("host interface `{name}`: {what}"), remedy)
        })?;
        let (number, counts) = (wanted.number, Arc::default());
        Ok(Interface { name, number, counts, file, plan: Some(plan), gone_at: None })
    }

    /// The file of an interface that is there already.
    #[cfg(test)]
    pub fn of_file(number: u16, file: File) -> Interface {
        let (name, counts) = (format!("interface{number}"), Arc::default());
        Interface { name, number, counts, file, plan: None, gone_at: None }
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Hands the kernel a frame, or many that are joined.
    pub fn write(&mut self, header: &Header, frame: &[u8]) {
        let header_bytes = header.bytes();
        let parts = [IoSlice::new(&header_bytes), IoSlice::new(frame)];
        let counter = match self.file.write_vectored(&parts) {
            Ok(_) => &self.counts.up,
            Err(_) => &self.counts.up_refused,
        };
        add(counter, header.frames(frame.len()));
    }

    /// Reads a frame that the kernel sends, behind its header; none if none waits.
    pub fn read(&mut self, room: &mut [u8]) -> Option<usize> {
        match self.file.read(room) {
            Ok(len) => Some(len).filter(|&len| len > 0),
            Err(error) => {
                // Somebody has deleted it.
                if error.raw_os_error() == Some(Errno::EBADFD as i32) && self.gone_at.is_none() {
                    self.gone_at = Some(Instant::now());
                }
                None
            }
        }
    }

    /// Makes it again a while after it was deleted, then at intervals; returns whether it has
    /// another file now.
    pub fn mend(&mut self) -> bool {
        if self.gone_at.is_none_or(|at| at.elapsed() < MEND_EVERY) {
            return false;
        }
        let made = self.plan.as_ref().and_then(|plan| plan.make().ok());
        self.gone_at = if made.is_some() { None } else { Some(Instant::now()) };
        let is_mended = made.is_some();
        made.into_iter().for_each(|file| self.file = file);
        is_mended
    }
}

impl Plan {
    /// Makes the interface in its namespace.
    fn make(&self) -> Result<File, PortError> {
        let make = || make(&self.config, &self.wanted);
        match self.wanted.place.namespace() {
            None => make(),
            Some(namespace) => within(&namespace, make),
        }
    }
}

fn make(config: &TapConfig, wanted: &HostInterface) -> Result<File, PortError> {
    let file = port_tap::create(config)?;
    for (family, key, value) in SETTINGS {
        let path = format!("/proc/sys/net/{family}/conf/{}/{key}", config.interface);
        let is_needed = *family == "ipv4" || wanted.ipv6.is_some() || Path::new(&path).exists();
        if is_needed {
            set(&path, value).map_err(|error| {
                let what = format!("cannot write {value} to {path}: {error}");
                PortError::new(what, "let the daemon write below /proc/sys/net")
            })?;
        }
    }
    if wanted.vrf > 0 {
        vrf::join(&config.interface, wanted.vrf).map_err(|error| {
            let what = format!("cannot put it into {}: {error}", vrf::name(wanted.vrf));
            PortError::new(what, "load the kernel's module vrf, and run the daemon as root")
        })?;
    }
    port_tap::configure(config, wanted.mac.0)?;
    Ok(file)
}

/// Writes a setting unless it has the value.
fn set(path: &str, value: &str) -> io::Result<()> {
    match fs::read_to_string(path)?.trim() == value {
        true => Ok(()),
        false => fs::write(path, value),
    }
}

/// Runs work in a network namespace that `ip netns` has named.
fn within<T: Send>(
    namespace: &str,
    work: impl FnOnce() -> Result<T, PortError> + Send,
) -> Result<T, PortError> {
    let failed = |error: io::Error| {
        let what = format!("cannot enter the network namespace {namespace}: {error}");
        PortError::new(what, format!("run `ip netns add {namespace}`, and the daemon as root"))
    };
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            enter(namespace).map_err(failed)?;
            work()
        });
        inside.join().unwrap_or_else(|_| Err(failed(io::Error::other("the thread has ended"))))
    })
}

/// Moves this thread into a network namespace that `ip netns` has named.
///
/// # Errors
/// When there is no such one, or the right is missing.
pub fn enter(namespace: &str) -> io::Result<()> {
    let file = File::open(Path::new(NAMESPACES).join(namespace))?;
    Ok(setns(&file, CloneFlags::CLONE_NEWNET)?)
}

fn addresses(wanted: &HostInterface) -> Vec<String> {
    let v4 = wanted.ip.map(|ip| format!("{}/{}", ip.address, ip.len));
    let v6 = wanted.ipv6.map(|ip| format!("{}/{}", ip.address, ip.len));
    v4.into_iter().chain(v6).collect()
}

fn mtu_bytes(wanted: &HostInterface, frame_bytes_max: usize) -> u32 {
    match wanted.mtu {
        0 => {
            let header = HEADER_LEN + if wanted.vlan > 0 { TAG_LEN } else { 0 };
            (frame_bytes_max.saturating_sub(header)).min(MTU_USUAL) as u32
        }
        mtu => mtu.into(),
    }
}

/// What makes the kernel a host at an interface, by family and key.
const SETTINGS: &[(&str, &str, &str)] = &[
    ("ipv4", "forwarding", "0"),
    ("ipv4", "arp_ignore", "1"),
    ("ipv6", "disable_ipv6", "0"),
    ("ipv6", "forwarding", "0"),
    ("ipv6", "accept_ra", "0"),
];

/// Time from a deletion to the first attempt to make it again, and between attempts.
const MEND_EVERY: Duration = Duration::from_secs(1);

/// Where `ip netns` keeps its names.
const NAMESPACES: &str = "/run/netns";

/// The longest packet of Ethernet, in bytes, and what is before it.
const MTU_USUAL: usize = 1500;
const HEADER_LEN: usize = 14;
const TAG_LEN: usize = 4;
