//! The bpf system call: maps, programs, and their link to an interface.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::program::Instruction;

/// Creates a map from queues to AF_XDP sockets (`BPF_MAP_TYPE_XSKMAP`).
///
/// # Errors
/// The kernel's error.
pub(crate) fn socket_map(queues: u32) -> io::Result<OwnedFd> {
    create_map(XSKMAP, 4, queues, b"plumbline_xsks")
}

/// Creates an array of one counter.
///
/// # Errors
/// The kernel's error.
pub(crate) fn count_map() -> io::Result<OwnedFd> {
    create_map(ARRAY, 8, 1, b"plumbline_passd")
}

/// Puts a socket into the map at its queue.
///
/// # Errors
/// The kernel's error.
pub(crate) fn set_socket(map: &OwnedFd, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
    let value = socket.as_raw_fd();
    let element = Element {
        map: map.as_raw_fd() as u32,
        reserved: 0,
        key: std::ptr::from_ref(&queue) as u64,
        value: std::ptr::from_ref(&value) as u64,
        flags: 0,
    };
    // SAFETY: key and value are a word each, as the map was made, and live to the end of the call.
    unsafe { bpf(MAP_UPDATE_ELEM, &element) }.map(drop)
}

/// Reads the counter.
///
/// # Errors
/// The kernel's error.
pub(crate) fn count(map: &OwnedFd) -> io::Result<u64> {
    let (key, mut value) = (0u32, 0u64);
    let element = Element {
        map: map.as_raw_fd() as u32,
        reserved: 0,
        key: std::ptr::from_ref(&key) as u64,
        value: std::ptr::from_mut(&mut value) as u64,
        flags: 0,
    };
    // SAFETY: the key has four bytes and the value eight, as the map was made.
    unsafe { bpf(MAP_LOOKUP_ELEM, &element)? };
    Ok(value)
}

/// Loads an XDP program; the kernel verifies it.
///
/// # Errors
/// The kernel's error.
pub(crate) fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    let load = Load {
        kind: PROG_TYPE_XDP,
        instructions: program.len() as u32,
        program: program.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
        name: name(b"plumbline"),
    };
    // SAFETY: the program and the licence, which ends with a zero, live to the end of the call.
    let program = unsafe { bpf(PROG_LOAD, &load)? };
    // SAFETY: the kernel made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(program) })
}

/// Links a program to an interface; closing the returned descriptor, also by the end of the
/// process, removes the link.
///
/// # Errors
/// The kernel's error: `EINVAL` if it does not support such links (before 5.9).
pub(crate) fn link(program: &OwnedFd, interface: u32, flags: u32) -> io::Result<OwnedFd> {
    let link = Link { program: program.as_raw_fd() as u32, interface, attach: ATTACH_XDP, flags };
    // SAFETY: the call has no pointers.
    let link = unsafe { bpf(LINK_CREATE, &link)? };
    // SAFETY: the kernel made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(link) })
}

/// Flags to run in the driver (`XDP_FLAGS_DRV_MODE`) or in the generic hook (`XDP_FLAGS_SKB_MODE`).
pub(crate) const IN_DRIVER: u32 = 1 << 2;
pub(crate) const BEHIND_DRIVER: u32 = 1 << 1;

fn create_map(kind: u32, value_bytes: u32, entries: u32, called: &[u8]) -> io::Result<OwnedFd> {
    let create = Create {
        kind,
        key_bytes: 4,
        value_bytes,
        entries,
        flags: 0,
        inner: 0,
        numa_node: 0,
        name: name(called),
    };
    // SAFETY: the call has no pointers.
    let map = unsafe { bpf(MAP_CREATE, &create)? };
    // SAFETY: the kernel made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(map) })
}

/// `union bpf_attr` of `BPF_MAP_CREATE`.
#[repr(C)]
struct Create {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    numa_node: u32,
    name: [u8; NAME_BYTES],
}

/// `union bpf_attr` of `BPF_MAP_*_ELEM`.
#[repr(C)]
struct Element {
    map: u32,
    reserved: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// `union bpf_attr` of `BPF_PROG_LOAD`.
#[repr(C)]
struct Load {
    kind: u32,
    instructions: u32,
    program: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; NAME_BYTES],
}

/// `union bpf_attr` of `BPF_LINK_CREATE`.
#[repr(C)]
struct Link {
    program: u32,
    interface: u32,
    attach: u32,
    flags: u32,
}

/// Calls `bpf(2)`.
///
/// # Safety
/// `attributes` has the layout of the command, and its pointers are valid for it.
unsafe fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: the size told is the size there is; the rest is the caller's promise.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as libc::c_int) }
}

/// Returns a name of the length that the kernel keeps, with a terminating zero.
fn name(called: &[u8]) -> [u8; NAME_BYTES] {
    let mut name = [0; NAME_BYTES];
    let len = called.len().min(NAME_BYTES - 1);
    name[..len].copy_from_slice(&called[..len]);
    name
}

const LICENSE: &[u8] = b"Apache-2.0\0";
const NAME_BYTES: usize = 16;

// `linux/bpf.h`: commands, kinds of maps and programs, places to attach.
const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP_ELEM: libc::c_int = 1;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const ARRAY: u32 = 2;
const XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
