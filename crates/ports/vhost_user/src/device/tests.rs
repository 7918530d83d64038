//! Rings full of garbage, and rings that another walker of virtqueues reads, too.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use engine::{Intake, QueueCounters, Way};
use offload::{HEADER_LEN, Header as Lacks};
use packet::{BATCH_MAX, Batch, LONG_BYTES_MAX, Long, PortId, Room, Slot};
use proptest::prelude::*;
use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap};

use super::*;
use crate::drops::DROPS;
use crate::features::{CSUM, HOST_TSO4, HOST_USO, MRG_RXBUF, Offloads, VERSION_1, offered};
use crate::layout::{Addresses, parts};
use crate::memory::{Memory, Region};
use crate::queue::{Sink, Source};

/// Memory of a guest in a file that is longer than the shared part.
struct Guest {
    file: File,
    memory: Arc<Memory>,
}

impl Guest {
    fn new() -> Guest {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(FILE_BYTES).expect("room");
        let shared = file.try_clone().expect("the same file");
        let region = Region::map(shared, 0, GUEST_BYTES, START, START).expect("it is there");
        Guest { file, memory: Memory::new(vec![region]).expect("one region") }
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        self.file.write_all_at(bytes, at).expect("within the file");
    }

    fn write_word(&self, at: u64, word: u16) {
        self.write(at, &word.to_le_bytes());
    }

    fn describe(&self, table: u64, index: u16, descriptor: Descriptor) {
        let Descriptor { addr, len, flags, next } = descriptor;
        let mut bytes = addr.to_le_bytes().to_vec();
        bytes.extend_from_slice(&len.to_le_bytes());
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(&next.to_le_bytes());
        self.write(table + 16 * u64::from(index), &bytes);
    }

    fn make_available(&self, number: u16, head: u16) {
        self.write_word(AVAILABLE + 4 + 2 * u64::from(number % SIZE), head);
    }

    fn ring(&self, features: u64) -> DeviceRing {
        let [descriptors, available, used] = [0, AVAILABLE, USED].map(|at| START + at);
        let at = Addresses { descriptors, available, used };
        let layout = Layout::new(&self.memory, SIZE.into(), at).expect("it fits");
        let terms = Terms {
            header: Header::new(features),
            receives: Offloads::to_device(features),
            sends: Offloads::to_driver(features),
            event_index: false,
            indirect: true,
            call: None,
            error: None,
            frame_bytes_max: FRAME_BYTES_MAX,
        };
        DeviceRing::new(layout, terms)
    }
}

fn batch() -> Batch {
    let room = Room { headroom: 0, frame: FRAME_BYTES_MAX, long: LONG_BYTES_MAX };
    Batch::new(BATCH_MAX, room).expect("memory")
}

/// Generates addresses inside and outside of the memory, and at its ends.
fn address() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => START..START + GUEST_BYTES,
        1 => START + GUEST_BYTES - 20..START + GUEST_BYTES + 20,
        1 => START - 20..START + 20,
        1 => any::<u64>(),
    ]
}

fn descriptor() -> impl Strategy<Value = Descriptor> {
    let len = prop_oneof![4 => 0..2000u32, 1 => any::<u32>()];
    let next = prop_oneof![8 => 0..SIZE, 1 => any::<u16>()];
    let flags = prop_oneof![8 => 0..8u16, 1 => any::<u16>()];
    (address(), len, flags, next).prop_map(|(addr, len, flags, next)| Descriptor {
        addr,
        len,
        flags,
        next,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn garbage_breaks_at_most_the_ring(
        table in prop::collection::vec(descriptor(), usize::from(SIZE)),
        indirect in prop::collection::vec(descriptor(), usize::from(SIZE)),
        heads in prop::collection::vec(prop_oneof![9 => 0..SIZE, 1 => any::<u16>()], usize::from(SIZE)),
        steps in prop::collection::vec(prop_oneof![9 => 0..SIZE + 2, 1 => any::<u16>()], 1..6),
        features in prop_oneof![
            Just(0), Just(VERSION_1), Just(VERSION_1 | MRG_RXBUF), Just(offered(1, true)),
        ],
        lens in prop::collection::vec(0..=FRAME_BYTES_MAX, 1..80),
        to_guest in any::<bool>(),
    ) {
        let guest = Guest::new();
        guest.write(GUEST_BYTES, &[CANARY; (FILE_BYTES - GUEST_BYTES) as usize]);
        for (index, descriptor) in (0..SIZE).zip(table) {
            guest.describe(0, index, descriptor);
        }
        for (index, descriptor) in (0..SIZE).zip(indirect) {
            guest.describe(BUFFERS, index, descriptor);
        }
        for (number, head) in (0..SIZE).zip(heads) {
            guest.make_available(number, head);
        }
        let counters = QueueCounters::new(DROPS);
        let (mut ring, mut batch, mut intake) = (guest.ring(features), batch(), Intake::default());
        let (mut index, mut offered) = (0u16, 0);
        for step in steps {
            index = index.wrapping_add(step);
            guest.write_word(AVAILABLE + 2, index);
            batch.clear();
            if to_guest {
                for len in &lens {
                    batch.append(PortId(0), *len).expect("room").fill(7);
                }
                let segment = segment(4000);
                let long = Long::new(4000, 1400).expect("three pieces");
                let room = batch.append_long(PortId(0), segment.len(), long).expect("room");
                room.copy_from_slice(&segment);
                let slots: Vec<Slot> = batch.slots().collect();
                ring.transmit(&mut batch, &slots, &counters);
                offered += slots.len() as u64;
            } else {
                let count = ring.receive((&mut intake, &mut batch), PortId(3), BATCH_MAX, &counters);
                prop_assert_eq!(count, batch.len());
            }
        }
        let counts = counters.read();
        prop_assert_eq!(offered, counts.sent + counts.lost(Way::Transmit));
        let mut behind = [0; (FILE_BYTES - GUEST_BYTES) as usize];
        guest.file.read_exact_at(&mut behind, GUEST_BYTES).expect("it is there");
        prop_assert!(behind.iter().all(|&byte| byte == CANARY), "written behind the guest's memory");
    }

    /// Chains of random parts, direct and indirect, are read like rust-vmm's virtio-queue reads
    /// them.
    #[test]
    fn frames_are_those_that_another_walker_reads(
        frames in prop::collection::vec(
            (prop::collection::vec(1..700usize, 1..5), any::<bool>()), 1..16
        ),
        seed in any::<u8>(),
    ) {
        let guest = Guest::new();
        let (mut free, mut room) = (0u16, BUFFERS + 0x4000);
        for (number, (cuts, in_table)) in (0u16..).zip(&frames) {
            let table = BUFFERS + 256 * u64::from(number);
            let head = free;
            for (at, &len) in cuts.iter().enumerate() {
                let last = at + 1 == cuts.len();
                let bytes: Vec<u8> =
                    (0..len).map(|byte| seed ^ (byte * 3 + usize::from(number)) as u8).collect();
                guest.write(room, &bytes);
                if at == 0 {
                    guest.write(room, &[0; 2][..len.min(2)]);
                }
                let index = if *in_table { at as u16 } else { free };
                let flags = if last { 0 } else { NEXT };
                let descriptor =
                    Descriptor { addr: START + room, len: len as u32, flags, next: index + 1 };
                guest.describe(if *in_table { table } else { 0 }, index, descriptor);
                free += u16::from(!*in_table);
                room += len as u64;
            }
            if *in_table {
                let len = 16 * cuts.len() as u32;
                let addr = START + table;
                guest.describe(0, head, Descriptor { addr, len, flags: INDIRECT, next: 0 });
                free += 1;
            }
            guest.make_available(number, head);
        }
        guest.write_word(AVAILABLE + 2, frames.len() as u16);

        let expected = read_by_another(&guest);
        prop_assert_eq!(expected.len(), frames.len());
        let passes = |bytes: &&Vec<u8>| {
            let lens = 12 + 14..=12 + FRAME_BYTES_MAX;
            lens.contains(&bytes.len()) && bytes[1] == 0 && bytes[0] & 1 == 0
        };
        let expected: Vec<_> = expected.iter().filter(passes).map(|bytes| &bytes[12..]).collect();
        let counters = QueueCounters::new(DROPS);
        let (mut ring, mut batch, mut intake) = (guest.ring(VERSION_1), batch(), Intake::default());
        ring.receive((&mut intake, &mut batch), PortId(0), BATCH_MAX, &counters);
        let found: Vec<&[u8]> = batch.slots().map(|slot| batch.frame(slot)).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(ring.broken(), None);
    }
}

/// Returns the bytes of every chain, read by virtio-queue from the same file.
fn read_by_another(guest: &Guest) -> Vec<Vec<u8>> {
    let file = FileOffset::new(guest.file.try_clone().expect("the same file"), 0);
    let range = (GuestAddress(START), GUEST_BYTES as usize, Some(file));
    let memory = GuestMemoryMmap::<()>::from_ranges_with_files([range]).expect("one region");
    let mut queue = Queue::new(SIZE).expect("a power of two");
    queue.set_size(SIZE);
    queue.set_desc_table_address(Some(START as u32), Some((START >> 32) as u32));
    let high = Some((START >> 32) as u32);
    queue.set_avail_ring_address(Some((START + AVAILABLE) as u32), high);
    queue.set_used_ring_address(Some((START + USED) as u32), high);
    queue.set_ready(true);
    assert!(queue.is_valid(&memory));
    let chains: Vec<_> = queue.iter(&memory).expect("it is ready").collect();
    let read = |chain: virtio_queue::DescriptorChain<&GuestMemoryMmap>| {
        let mut reader = chain.reader(&memory).expect("the chain is whole");
        let mut bytes = vec![0; reader.available_bytes()];
        std::io::Read::read_exact(&mut reader, &mut bytes).expect("so many are there");
        bytes
    };
    chains.into_iter().map(read).collect()
}

/// A segment of TCP over IPv4 with so many bytes of payload and no checksum.
fn segment(len: usize) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0]);
    frame.extend((40 + len as u16).to_be_bytes());
    frame.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2]);
    frame.extend([0x80, 9, 0, 179, 0, 0, 0, 9, 0, 0, 0, 7, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    frame.extend((0..len).map(|at| ((at * at) >> 3) as u8));
    frame
}

/// What the driver's header says of it.
const CUT: Lacks = Lacks {
    flags: Lacks::NEEDS_CHECKSUM,
    gso: offload::Gso::TcpIpv4,
    header_len: 54,
    segment_len: 1400,
    checksum_start: 34,
    checksum_offset: 16,
};

#[test]
fn what_a_drivers_frame_lacks_is_done_if_that_was_agreed_on() {
    let all = VERSION_1 | CSUM | HOST_TSO4;
    let begun = Lacks { gso: offload::Gso::None, segment_len: 0, ..CUT };
    let one = (1, 0, 0);
    for (features, lacks, len, expected) in [
        (all, CUT, 4000, one),
        (all, begun, 400, one),
        // The kind was not agreed on, or nothing was.
        (VERSION_1 | CSUM | HOST_USO, CUT, 4000, (0, 1, 0)),
        (VERSION_1, begun, 400, (0, 1, 0)),
        // It is not what is said of it.
        (all | HOST_USO, Lacks { gso: offload::Gso::Udp, ..CUT }, 4000, (0, 0, 1)),
        (all, Lacks { checksum_start: 9000, ..begun }, 400, (0, 0, 1)),
    ] {
        // In one buffer, and in a chain of two.
        for cut in [0, 5, 300] {
            let (guest, frame) = (Guest::new(), segment(len));
            let bytes = [&lacks.bytes()[..], &[0; 2], &frame].concat();
            guest.write(BUFFERS, &bytes);
            let parts = [(0, bytes.len() - cut), (bytes.len() - cut, cut)];
            for (index, (at, len)) in (0u16..).zip(parts).take(if cut == 0 { 1 } else { 2 }) {
                let flags = if cut > 0 && index == 0 { NEXT } else { 0 };
                let addr = START + BUFFERS + at as u64;
                guest.describe(0, index, Descriptor { addr, len: len as u32, flags, next: 1 });
            }
            guest.make_available(0, 0);
            guest.write_word(AVAILABLE + 2, 1);
            let counters = QueueCounters::new(DROPS);
            let (mut ring, mut batch) = (guest.ring(features), batch());
            let mut intake = Intake::default();
            ring.receive((&mut intake, &mut batch), PortId(0), BATCH_MAX, &counters);
            let counts = counters.read();
            let lost = |why| {
                let of =
                    |(kind, count): &(engine::PortDrop, u64)| (kind.why == why).then_some(*count);
                counts.drops.iter().find_map(of).unwrap_or(0)
            };
            let found = (batch.len(), lost("offload"), lost("segments"));
            assert_eq!(found, expected, "{features:x} {lacks:?} {cut}");
            if found != one {
                continue;
            }
            match lacks.gso {
                offload::Gso::None => {
                    let mut whole = frame;
                    offload::segments(&mut whole, &lacks).expect("it can be completed");
                    assert!(batch.frame(0) == whole);
                }
                _ => {
                    assert!(batch.frame(0) == frame);
                    assert_eq!(batch.long(0), Long::new(4000, 1400));
                }
            }
        }
    }
}

#[test]
fn a_long_segment_for_the_driver_spans_its_buffers() {
    let guest = Guest::new();
    for index in 0..SIZE {
        let addr = START + BUFFERS + 1526 * u64::from(index);
        guest.describe(0, index, Descriptor { addr, len: 1526, flags: WRITE, next: 0 });
        guest.make_available(index, index);
    }
    guest.write_word(AVAILABLE + 2, SIZE);
    let counters = QueueCounters::new(DROPS);
    let (mut ring, mut batch) = (guest.ring(offered(1, true)), batch());
    let mut frame = segment(60_000);
    for _ in 0..2 {
        let long = Long::new(60_000, 1400).expect("many pieces");
        let room = batch.append_long(PortId(0), frame.len(), long).expect("room");
        room.copy_from_slice(&frame);
    }
    let header = offload::begun(&mut frame, 1400).expect("a segment");
    assert_eq!(ring.transmit(&mut batch, &[0, 1], &counters), 1, "one fits");
    assert_eq!((counters.read().sent, counters.read().lost(Way::Transmit)), (1, 1));
    let count = (12 + frame.len()).div_ceil(1526);
    let mut bytes = vec![0; 12 + frame.len()];
    guest.file.read_exact_at(&mut bytes, BUFFERS).expect("within");
    assert_eq!(bytes[..HEADER_LEN], header.bytes());
    assert_eq!(bytes[HEADER_LEN..12], (count as u16).to_le_bytes());
    assert!(bytes[12..] == frame);
    // A driver that has not agreed gets none.
    let mut ring = guest.ring(VERSION_1 | MRG_RXBUF);
    assert_eq!(ring.takes_long(), engine::Kinds::NONE);
    assert_eq!(ring.transmit(&mut batch, &[0], &counters), 0);
}

#[test]
fn the_parts_of_the_test_do_not_overlap() {
    let [descriptors, available, used] = parts(SIZE).map(|(bytes, _)| bytes as u64);
    assert!(descriptors <= AVAILABLE && AVAILABLE + available <= USED && USED + used <= BUFFERS);
}

const SIZE: u16 = 64;
const START: u64 = 0x1_0000_0000;
const AVAILABLE: u64 = 0x1000;
const USED: u64 = 0x2000;
const BUFFERS: u64 = 0x3000;
/// Size of the memory, not a whole number of pages: bytes after it are mapped, so that a write to
/// them would not be noticed.
const GUEST_BYTES: u64 = 0x20000 - 1000;
const FILE_BYTES: u64 = 0x20000;
const CANARY: u8 = 0xc5;
const FRAME_BYTES_MAX: usize = 1514;
