//! A device that writes garbage, and one that behaves.

use std::os::unix::fs::FileExt;

use engine::{Intake, QueueCounters, Way};
use packet::{BATCH_MAX, Batch, Long, PortId, Room, Slot};
use proptest::prelude::*;
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

use super::*;
use crate::drops::{Broken, DROPS};
use crate::features::{MRG_RXBUF, Offloads, VERSION_1, offered};
use crate::header::Header;
use crate::queue::{Sink, Source, Stops};

const PLAN: Plan = Plan { pairs: 1, size: 16, receive_bytes: 256, transmit_bytes: 1526 };

fn terms(features: u64) -> Terms {
    let kick = EventFd::new(EFD_NONBLOCK).expect("an event counter");
    Terms {
        header: Header::new(features),
        receives: Offloads::to_driver(features),
        sends: Offloads::to_device(features),
        event_index: false,
        kick,
        frame_bytes_max: 1514,
    }
}

/// Writes into the arena like the device, by the offset in the file.
fn write_used(arena: &Arena, ring: usize, words: &[(u32, u32)], index: u16) {
    let used = arena.addresses(ring).used - USER_START;
    for (slot, (id, len)) in words.iter().enumerate() {
        let mut bytes = id.to_le_bytes().to_vec();
        bytes.extend_from_slice(&len.to_le_bytes());
        arena.file.write_all_at(&bytes, used + 4 + 8 * slot as u64).expect("within");
    }
    arena.file.write_all_at(&index.to_le_bytes(), used + 2).expect("within");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_device_that_writes_garbage_breaks_at_most_the_ring(
        words in prop::collection::vec(
            (prop_oneof![9 => 0..18u32, 1 => any::<u32>()], prop_oneof![9 => 0..300u32, 1 => any::<u32>()]),
            16,
        ),
        buffers in prop::collection::vec(prop_oneof![3 => 0..3u16, 1 => any::<u16>()], 16),
        steps in prop::collection::vec(prop_oneof![9 => 0..6u16, 1 => any::<u16>()], 1..8),
        features in prop_oneof![
            Just(0), Just(VERSION_1), Just(VERSION_1 | MRG_RXBUF), Just(offered(1, true)),
        ],
        heads in prop::collection::vec(any::<[u8; 10]>(), 16),
        lens in prop::collection::vec(0..=1600usize, 1..20),
    ) {
        let arena = Arena::new(PLAN).expect("memory");
        let mut receiving = arena.receiving(0, terms(features)).expect("a ring");
        let mut transmitting = arena.transmitting(0, terms(features)).expect("a ring");
        let start = PLAN.buffers(0) as u64;
        for (place, count) in buffers.iter().enumerate() {
            let at = start + (place * PLAN.stride(0)) as u64 + 10;
            arena.file.write_all_at(&count.to_le_bytes(), at).expect("within");
            // Some lack nothing.
            let head = if place % 3 == 0 { [0; 10] } else { heads[place] };
            arena.file.write_all_at(&head, at - 10).expect("within");
        }
        let counters = QueueCounters::new(DROPS);
        let room = Room { headroom: 0, frame: 1600, long: 10_000 };
        let mut batch = Batch::new(BATCH_MAX, room).expect("memory");
        let mut intake = Intake::default();
        let (mut index, mut offered) = (0u16, 0);
        for step in steps {
            index = index.wrapping_add(step);
            write_used(&arena, 0, &words, index);
            write_used(&arena, 1, &words, index);
            batch.clear();
            let count = receiving.receive((&mut intake, &mut batch), PortId(1), BATCH_MAX, &counters);
            prop_assert_eq!(count, batch.len());
            batch.clear();
            for len in &lens {
                batch.append(PortId(0), *len).expect("room").fill(1);
            }
            let long = Long::new(4000, 1400).expect("three pieces");
            batch.append_long(PortId(0), 4054, long).expect("room").fill(1);
            let slots: Vec<Slot> = batch.slots().collect();
            transmitting.transmit(&mut batch, &slots, &counters);
            offered += slots.len() as u64;
        }
        let counts = counters.read();
        prop_assert_eq!(offered, counts.sent + counts.lost(Way::Transmit));
    }
}

#[test]
fn a_buffer_comes_back_once() {
    let arena = Arena::new(PLAN).expect("memory");
    let mut ring = arena.receiving(0, terms(VERSION_1)).expect("a ring");
    let counters = QueueCounters::new(DROPS);
    let mut batch =
        Batch::new(BATCH_MAX, Room { headroom: 0, frame: 1600, long: 0 }).expect("memory");
    let mut intake = Intake::default();
    write_used(&arena, 0, &[(5, 100), (7, 72)], 2);
    assert_eq!(
        ring.receive((&mut intake, &mut batch), PortId(0), 1, &counters),
        1,
        "the limit holds"
    );
    assert_eq!(ring.receive((&mut intake, &mut batch), PortId(0), 9, &counters), 1);
    assert_eq!([batch.frame_len(0), batch.frame_len(1)], [88, 60]);
    // Both were given again, so both may come again; but not one of them twice.
    write_used(&arena, 0, &[(5, 100), (7, 72), (5, 90), (5, 90)], 4);
    assert_eq!(
        ring.receive((&mut intake, &mut batch), PortId(0), 9, &counters),
        2,
        "given back at once"
    );
    write_used(&arena, 0, &[(5, 100), (7, 72), (5, 90), (5, 90), (16, 90)], 5);
    assert_eq!(ring.receive((&mut intake, &mut batch), PortId(0), 9, &counters), 0);
    assert_eq!(ring.broken(), Some(Broken::Head));
}

#[test]
fn nobody_can_shrink_the_memory() {
    let arena = Arena::new(PLAN).expect("memory");
    assert!(arena.file.set_len(4096).is_err());
}
