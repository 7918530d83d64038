//! The XDP program of the port, written as BPF instructions.
//!
//! ```c
//! int program(struct xdp_md *ctx) {
//!     int verdict = bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
//!     if (verdict == XDP_REDIRECT) return verdict;
//!     u64 *passed = bpf_map_lookup_elem(&counts, &zero);
//!     if (passed) __sync_fetch_and_add(passed, 1);
//!     return XDP_PASS;
//! }
//! ```
//! A frame on a queue without a socket goes on to the kernel and is counted, so that a worker that
//! misses frames can tell where they went. The encoding is RFC 9669's.

use std::os::fd::{AsRawFd, BorrowedFd};

/// One instruction (RFC 9669, section 3): `struct bpf_insn` of `linux/bpf.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    code: u8,
    /// Destination register in the lower half, source register in the upper half.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// Returns the program for these two maps: sockets by queue, and the counter of frames passed to
/// the kernel.
pub(crate) fn redirect(sockets: BorrowedFd<'_>, counts: BorrowedFd<'_>) -> Vec<Instruction> {
    let mut program = Vec::new();
    program.extend([load_word(2, 1, RX_QUEUE_INDEX)]);
    program.extend(load_map(1, sockets));
    program.extend([set(3, XDP_PASS), call(REDIRECT_MAP)]);
    // From here on ten instructions, a map's address being two.
    program.extend([if_equal(0, XDP_REDIRECT, 10)]);
    program.extend([store_word(10, -4, 0), copy(2, 10), add(2, -4)]);
    program.extend(load_map(1, counts));
    program.extend([call(MAP_LOOKUP), if_equal(0, 0, 2), set(1, 1), atomic_add(0, 1)]);
    program.extend([set(0, XDP_PASS), exit()]);
    program
}

const fn instruction(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers: from << 4 | to, offset, immediate }
}

/// Returns `to = *(u32 *)(from + offset)`.
const fn load_word(to: u8, from: u8, offset: i16) -> Instruction {
    instruction(0x61, to, from, offset, 0)
}

/// Returns `*(u32 *)(to + offset) = value`.
const fn store_word(to: u8, offset: i16, value: i32) -> Instruction {
    instruction(0x62, to, 0, offset, value)
}

/// Returns `to = value`.
const fn set(to: u8, value: i32) -> Instruction {
    instruction(0xb7, to, 0, 0, value)
}

/// Returns `to = from`.
const fn copy(to: u8, from: u8) -> Instruction {
    instruction(0xbf, to, from, 0, 0)
}

/// Returns `to += value`.
const fn add(to: u8, value: i32) -> Instruction {
    instruction(0x07, to, 0, 0, value)
}

/// Returns `lock *(u64 *)to += from`.
const fn atomic_add(to: u8, from: u8) -> Instruction {
    instruction(0xdb, to, from, 0, 0)
}

/// Returns a jump over `skip` instructions if a register has this value.
const fn if_equal(register: u8, value: i32, skip: i16) -> Instruction {
    instruction(0x15, register, 0, skip, value)
}

/// Returns a call of a kernel function; its result is in register 0.
const fn call(function: i32) -> Instruction {
    instruction(0x85, 0, 0, 0, function)
}

const fn exit() -> Instruction {
    instruction(0x95, 0, 0, 0, 0)
}

/// Returns `to =` a map, by its descriptor: one instruction of 16 bytes (RFC 9669, section 5.4).
fn load_map(to: u8, map: BorrowedFd<'_>) -> [Instruction; 2] {
    [instruction(0x18, to, MAP_BY_FD, 0, map.as_raw_fd()), instruction(0, 0, 0, 0, 0)]
}

/// Source register of [`load_map`]: `BPF_PSEUDO_MAP_FD`.
const MAP_BY_FD: u8 = 1;
/// Offset of `rx_queue_index` in `struct xdp_md`.
const RX_QUEUE_INDEX: i16 = 16;
/// Value `XDP_PASS` of `enum xdp_action`.
const XDP_PASS: i32 = 2;
const XDP_REDIRECT: i32 = 4;
/// Numbers of functions in `enum bpf_func_id`.
const MAP_LOOKUP: i32 = 1;
const REDIRECT_MAP: i32 = 51;

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn jumps_lead_to_the_ends() {
        let file = std::fs::File::open("/dev/null").expect("it is everywhere");
        let program = redirect(file.as_fd(), file.as_fd());
        let target = |index: usize| index + 1 + usize::try_from(program[index].offset).expect("up");
        let last = program.len() - 1;
        assert_eq!(program[last], exit());
        assert_eq!((program[5].code, target(5)), (0x15, last), "redirected: return the verdict");
        assert_eq!((program[12].code, target(12)), (0x15, last - 1), "no count: return XDP_PASS");
    }

    #[test]
    fn an_instruction_has_eight_bytes() {
        assert_eq!(size_of::<Instruction>(), 8);
        assert_eq!(copy(2, 10).registers, 0xa2);
    }
}
