//! Errors of set-up in words: which interface, and what to do.

use std::io;

use engine::PortError;

/// Step that the kernel refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Querying the interface.
    Ask,
    /// Opening a socket.
    Socket,
    /// Registering memory with the socket.
    Memory,
    /// Setting the size of the rings and mapping them.
    Rings,
    /// Binding the socket to the interface's queue of this number.
    Bind(u32),
    /// Creating the maps.
    Maps,
    /// Loading the program.
    Load,
    /// Attaching the program.
    Attach,
    /// Putting the socket of this queue into the map.
    Insert(u32),
    /// Starting the thread that watches the interface.
    Watch,
}

/// An error of the kernel with the step in which it occurred.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The step.
    pub step: Step,
    /// The kernel's error.
    pub error: io::Error,
}

impl Step {
    /// Adds the step to an error.
    pub fn refused(self, error: impl Into<io::Error>) -> Refused {
        Refused { step: self, error: error.into() }
    }
}

impl Refused {
    /// Returns the kernel's error number.
    pub fn code(&self) -> i32 {
        self.error.raw_os_error().unwrap_or(0)
    }

    /// Returns true if another program, or one that is ending, uses the queue at this moment.
    pub fn is_busy_queue(&self) -> bool {
        matches!(self.step, Step::Bind(_)) && self.code() == libc::EBUSY
    }

    /// Returns the error with an explanation and a remedy.
    pub fn explain(&self, interface: &str) -> PortError {
        let Refused { step, error } = self;
        let (what, remedy): (String, String) = match (step, self.code()) {
            (Step::Socket, libc::EAFNOSUPPORT) => (
                "the kernel does not support AF_XDP sockets".into(),
                "use a kernel with CONFIG_XDP_SOCKETS, or the port af-packet".into(),
            ),
            (_, libc::EPERM | libc::EACCES) => {
                (format!("{interface}: no permission to {}", step.verb()), step.right().into())
            }
            (Step::Memory, libc::ENOBUFS | libc::ENOMEM) => (
                format!("{interface}: the memory of a queue exceeds the limit of locked memory"),
                "run `ulimit -l unlimited` first, or lower `ring-frames`".into(),
            ),
            (Step::Bind(queue), libc::EBUSY) => (
                format!("{interface}: queue {queue} is in use by another AF_XDP socket"),
                "stop the other program, or choose other queues by `first-queue`".into(),
            ),
            (Step::Bind(queue), libc::EINVAL) => (
                format!("{interface} has no queue {queue}"),
                format!(
                    "add queues by `ethtool -L {interface} combined N` (for a veth pair, when it \
                     is created: `numrxqueues N numtxqueues N`), or use fewer workers"
                ),
            ),
            (Step::Bind(queue), libc::EOPNOTSUPP) => (
                format!("{interface}: its driver does not support zero copy on queue {queue}"),
                "set `zero-copy: auto`, which copies if necessary".into(),
            ),
            (Step::Attach, libc::EBUSY | libc::EEXIST) => (
                format!("{interface}: an XDP program is attached already"),
                format!("stop the program that uses it, or run `ip link set {interface} xdp off`"),
            ),
            (Step::Attach, libc::EOPNOTSUPP | libc::EINVAL) => (
                format!("{interface}: its driver does not support XDP programs"),
                "set `mode: auto` or `mode: generic`".into(),
            ),
            (Step::Attach, libc::ERANGE) => (
                format!("{interface}: its MTU, or its peer's, is too large for XDP in the driver"),
                format!(
                    "run `ip link set {interface} mtu 1500` on both ends, or set `mode: generic`"
                ),
            ),
            (Step::Ask, libc::ENODEV) => (
                format!("there is no interface {interface}"),
                "use an interface that `ip link` shows".into(),
            ),
            _ => (
                format!("{interface}: the kernel refuses to {}: {error}", step.verb()),
                "see `plumbline doctor` for the requirements of ports".into(),
            ),
        };
        PortError::new(what, remedy)
    }
}

impl Step {
    fn verb(self) -> String {
        match self {
            Step::Ask => "query the interface".into(),
            Step::Socket => "open an AF_XDP socket".into(),
            Step::Memory => "register the memory of a socket".into(),
            Step::Rings => "create the rings of a socket".into(),
            Step::Bind(queue) => format!("bind a socket to queue {queue}"),
            Step::Maps => "create BPF maps".into(),
            Step::Load => "load the XDP program".into(),
            Step::Attach => "attach the XDP program".into(),
            Step::Insert(queue) => format!("direct the frames of queue {queue} to a socket"),
            Step::Watch => "watch the interface".into(),
        }
    }

    fn right(self) -> &'static str {
        match self {
            Step::Ask | Step::Socket | Step::Rings | Step::Bind(_) | Step::Watch => {
                "it needs CAP_NET_RAW: run with sudo or `setcap cap_net_raw,cap_net_admin,cap_bpf+ep` \
                 on the program"
            }
            Step::Memory => "run with sudo, or raise RLIMIT_MEMLOCK by `ulimit -l unlimited`",
            Step::Maps | Step::Load | Step::Attach | Step::Insert(_) => {
                "it needs CAP_BPF and CAP_NET_ADMIN: run with sudo or `setcap \
                 cap_net_raw,cap_net_admin,cap_bpf+ep` on the program; before Linux 5.11 also \
                 `ulimit -l unlimited`"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_names_the_interface_or_the_kernel_and_a_remedy() {
        let steps = [
            (Step::Bind(3), libc::EBUSY, "eth7: queue 3 is in use", "first-queue"),
            (Step::Bind(3), libc::EINVAL, "eth7 has no queue 3", "ethtool -L eth7"),
            (
                Step::Bind(3),
                libc::EOPNOTSUPP,
                "eth7: its driver does not support zero copy",
                "auto",
            ),
            (Step::Attach, libc::EBUSY, "eth7: an XDP program is attached", "xdp off"),
            (Step::Attach, libc::EOPNOTSUPP, "eth7: its driver does not support XDP", "generic"),
            (Step::Attach, libc::ERANGE, "eth7: its MTU", "mtu 1500"),
            (
                Step::Socket,
                libc::EPERM,
                "eth7: no permission to open an AF_XDP socket",
                "CAP_NET_RAW",
            ),
            (Step::Load, libc::EPERM, "eth7: no permission to load", "CAP_BPF"),
            (Step::Memory, libc::ENOBUFS, "eth7: the memory", "ulimit -l"),
            (Step::Socket, libc::EAFNOSUPPORT, "not support AF_XDP sockets", "af-packet"),
            (Step::Ask, libc::ENODEV, "no interface eth7", "ip link"),
            (Step::Rings, libc::EIO, "eth7: the kernel refuses to create the rings", "doctor"),
        ];
        for (step, code, what, remedy) in steps {
            let error = step.refused(io::Error::from_raw_os_error(code)).explain("eth7");
            assert!(error.what.contains(what), "{error:?}");
            assert!(error.remedy.contains(remedy), "{error:?}");
        }
    }
}
