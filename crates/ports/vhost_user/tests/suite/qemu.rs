//! A virtual machine: QEMU without hardware help, Debian's cloud kernel, and an init that gives the
//! network device an address. The test asks it by ARP and ICMP through the port and checks every
//! byte of the answers; the guest is reset, and QEMU killed and started again, under the same port.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Program, Station};
use port_vhost_user::Config;

#[test]
fn a_virtual_machine_answers_also_after_a_reset_and_a_restart() {
    let Some(kernel) = Kernel::find() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let machine = Machine::new(&folder, &kernel);
    let mut station = Station::open(&Config::backend(&machine.socket));

    let qemu = machine.start();
    ping(&mut station, &qemu, 1);
    let before = fact(&station, "queues-receiving");
    assert_eq!(before.as_deref(), Some("1"));

    let mut monitor = UnixStream::connect(&machine.monitor).expect("QEMU's monitor listens");
    monitor.write_all(b"system_reset\n").expect("it takes commands");
    station.until_link(false, &qemu);
    ping(&mut station, &qemu, 100);

    qemu.kill();
    station.until_link(false, &Program::start(Command::new("true")));
    let qemu = machine.start();
    ping(&mut station, &qemu, 200);
    assert_eq!(fact(&station, "last-broken-ring"), None);
}

/// Waits until the guest answers, then sends pings of all lengths, several at once.
fn ping(station: &mut Station, qemu: &Program, from: u16) {
    let mut guest = None;
    let mut asked = Instant::now();
    station.until("the guest answers ARP", qemu, |station| {
        // Not at once again: a guest that boots has few buffers, and throws away what it cannot
        // take.
        if asked.elapsed() > PAUSE {
            asked = Instant::now();
            station.send(&[arp_request()]);
        }
        guest = guest.or(station.receive().iter().find_map(|frame| arp_answer(frame)));
        guest.is_some()
    });
    let guest = guest.expect("it answered");
    for burst in 0..8 {
        let numbers = from + burst * 8..from + burst * 8 + 8;
        let asked: Vec<_> = numbers.map(|number| echo_request(guest, number)).collect();
        let mut wanted: Vec<_> = asked.iter().map(|frame| echo_answer(frame)).collect();
        assert_eq!(station.send(&asked), asked.len(), "the guest has buffers");
        let mut sent = Instant::now();
        station.until("the guest answers every request", qemu, |station| {
            for frame in station.receive() {
                wanted.retain(|answer| !same_but_identification(answer, &frame));
            }
            // A guest without a processor for seconds may throw requests away, as any host may.
            if sent.elapsed() > AGAIN {
                sent = Instant::now();
                station.send(&asked);
            }
            wanted.is_empty()
        });
    }
}

fn fact(station: &Station, name: &str) -> Option<String> {
    let facts = station.monitor.facts();
    facts.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// A kernel with the modules that the guest needs.
struct Kernel {
    image: PathBuf,
    modules: Vec<Vec<u8>>,
}

impl Kernel {
    /// Finds the installed kernel; prints the reason and returns `None` if something is missing.
    fn find() -> Option<Kernel> {
        if !netns::may_make_namespaces() {
            println!("skipped: needs the right to make network namespaces");
            return None;
        }
        for program in ["qemu-system-x86_64", "busybox"] {
            if !netns::is_installed(program) {
                println!("skipped: {program} is not installed; `cargo xtask setup` installs it");
                return None;
            }
        }
        let found = fs::read_dir("/boot").into_iter().flatten().flatten().find_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix("vmlinuz-").filter(|name| name.contains("cloud"))?;
            let folder = Path::new("/lib/modules").join(version).join("kernel");
            let read = |name: &&str| fs::read(folder.join(name)).ok();
            let modules: Option<Vec<_>> = MODULES.iter().map(read).collect();
            Some(Kernel { image: entry.path(), modules: modules? })
        });
        if found.is_none() {
            println!("skipped: no cloud kernel in /boot; `cargo xtask setup` installs it");
        }
        found
    }

    /// Returns an initramfs with busybox, the modules and an init program.
    fn initramfs(&self) -> Vec<u8> {
        let busybox = ["/bin/busybox", "/usr/bin/busybox"].iter().find_map(|at| fs::read(at).ok());
        let busybox = busybox.expect("busybox is where Debian puts it");
        let mut archive = Archive::default();
        for folder in ["bin", "proc", "sys", "dev", "lib"] {
            archive.put(folder, 0o040_755, &[]);
        }
        archive.put("bin/busybox", 0o100_755, &busybox);
        for (number, module) in self.modules.iter().enumerate() {
            archive.put(&format!("lib/{number}.ko"), 0o100_644, module);
        }
        archive.put("init", 0o100_755, INIT.as_bytes());
        archive.put("TRAILER!!!", 0, &[]);
        archive.bytes
    }
}

/// A cpio archive in the `newc` format.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    count: usize,
}

impl Archive {
    fn put(&mut self, name: &str, mode: u32, data: &[u8]) {
        self.count += 1;
        let size = data.len();
        let (number, name_len) = (self.count, name.len() + 1);
        self.bytes.extend_from_slice(b"070701");
        for field in [number, mode as usize, 0, 0, 1, 0, size, 0, 0, 0, 0, name_len, 0] {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// Command line of QEMU.
struct Machine {
    socket: PathBuf,
    monitor: PathBuf,
    kernel: PathBuf,
    initramfs: PathBuf,
}

impl Machine {
    fn new(folder: &tempfile::TempDir, kernel: &Kernel) -> Machine {
        let at = |name| folder.path().join(name);
        fs::write(at("initramfs"), kernel.initramfs()).expect("a file");
        Machine {
            socket: at("vm.sock"),
            monitor: at("monitor"),
            kernel: kernel.image.clone(),
            initramfs: at("initramfs"),
        }
    }

    fn start(&self) -> Program {
        let mut command = Command::new("qemu-system-x86_64");
        command.args(["-accel", "tcg", "-machine", "q35", "-m", "128", "-nodefaults"]);
        command.args(["-no-user-config", "-display", "none", "-serial", "stdio"]);
        command.args(["-object", "memory-backend-memfd,id=m0,size=128M,share=on"]);
        command.args(["-numa", "node,memdev=m0"]);
        command.arg("-chardev").arg(format!("socket,id=c0,path={}", self.socket.display()));
        command.args(["-netdev", "vhost-user,id=n0,chardev=c0"]);
        // Without vectors: QEMU 7.2 ends by an assertion with them.
        command.args(["-device", "virtio-net-pci,netdev=n0,vectors=0"]);
        let monitor = format!("unix:{},server=on,wait=off", self.monitor.display());
        command.arg("-monitor").arg(monitor);
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(&self.initramfs);
        command.args(["-append", "console=ttyS0 quiet panic=-1"]);
        Program::start(command)
    }
}

fn arp_request() -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend_from_slice(&OUR_MAC);
    frame.extend_from_slice(&[0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend_from_slice(&OUR_MAC);
    frame.extend_from_slice(&OUR_ADDRESS);
    frame.extend_from_slice(&[0; 6]);
    frame.extend_from_slice(&GUEST_ADDRESS);
    frame.resize(60, 0);
    frame
}

/// Returns the address of the host that answers the ARP request.
fn arp_answer(frame: &[u8]) -> Option<[u8; 6]> {
    let is_answer = frame.len() >= 42
        && frame[12..14] == [0x08, 0x06]
        && frame[20..22] == [0, 2]
        && frame[28..32] == GUEST_ADDRESS
        && frame[32..38] == OUR_MAC;
    is_answer.then(|| frame[22..28].try_into().expect("six bytes"))
}

/// Returns an echo request whose length depends on its number: 42 to 1,514 bytes.
fn echo_request(guest: [u8; 6], number: u16) -> Vec<u8> {
    let data = usize::from(number) * 97 % 1473;
    let mut frame = guest.to_vec();
    frame.extend_from_slice(&OUR_MAC);
    frame.extend_from_slice(&[0x08, 0x00, 0x45, 0]);
    frame.extend_from_slice(&(28 + data as u16).to_be_bytes());
    frame.extend_from_slice(&[0, 0, 0, 0, 64, 1, 0, 0]);
    frame.extend_from_slice(&OUR_ADDRESS);
    frame.extend_from_slice(&GUEST_ADDRESS);
    frame.extend_from_slice(&[8, 0, 0, 0, 0x70, 0x6c]);
    frame.extend_from_slice(&number.to_be_bytes());
    frame.extend((0..data).map(|at| (at as u16 ^ number) as u8));
    seal(&mut frame);
    frame
}

/// Returns the expected echo reply.
fn echo_answer(request: &[u8]) -> Vec<u8> {
    let mut frame = request.to_vec();
    frame.copy_within(6..12, 0);
    frame[6..12].copy_from_slice(&request[..6]);
    frame.copy_within(26..30, 30);
    frame[26..30].copy_from_slice(&GUEST_ADDRESS);
    frame[34] = 0;
    seal(&mut frame);
    frame
}

/// Returns true if two packets are equal apart from the identification, which the guest's kernel
/// chooses, and if both have valid checksums.
fn same_but_identification(expected: &[u8], found: &[u8]) -> bool {
    if found.len() != expected.len() || found[12..14] != [0x08, 0x00] {
        return false;
    }
    let mut plain = found.to_vec();
    plain[18..20].copy_from_slice(&[0, 0]);
    seal(&mut plain);
    checksum(&found[14..34]) == 0 && checksum(&found[34..]) == 0 && plain == expected
}

/// Fills in both checksums (RFC 1071).
fn seal(frame: &mut [u8]) {
    frame[24..26].copy_from_slice(&[0, 0]);
    let sum = checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame[36..38].copy_from_slice(&[0, 0]);
    let sum = checksum(&frame[34..]);
    frame[36..38].copy_from_slice(&sum.to_be_bytes());
}

fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Time limit for answers before all requests are repeated.
const AGAIN: Duration = Duration::from_secs(10);
/// Interval between two requests.
const PAUSE: Duration = Duration::from_millis(50);

/// Modules in the order of their dependencies.
const MODULES: &[&str] = &[
    "drivers/virtio/virtio_ring.ko",
    "drivers/virtio/virtio.ko",
    "drivers/virtio/virtio_pci_modern_dev.ko",
    "drivers/virtio/virtio_pci_legacy_dev.ko",
    "drivers/virtio/virtio_pci.ko",
    "net/core/failover.ko",
    "drivers/net/net_failover.ko",
    "drivers/net/virtio_net.ko",
];

const INIT: &str = "#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
for n in 0 1 2 3 4 5 6 7; do /bin/busybox insmod /lib/$n.ko; done
/bin/busybox sysctl -w net.ipv6.conf.all.disable_ipv6=1
/bin/busybox ip addr add 192.0.2.2/24 dev eth0
/bin/busybox ip link set eth0 up
echo ready
while :; do /bin/busybox sleep 1000; done
";

const OUR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const OUR_ADDRESS: [u8; 4] = [192, 0, 2, 1];
const GUEST_ADDRESS: [u8; 4] = [192, 0, 2, 2];
