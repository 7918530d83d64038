//! A stream of FTP commands through a network that loses, repeats, cuts and reorders.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// SplitMix64, so that a failing run is one number.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn is_one_of(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}

/// Sender, NAT and receiver. Places count bytes from the beginning of the stream.
struct Network {
    draw: Draw,
    isn: u32,
    text: Vec<u8>,
    shifts: Shifts,
    model: Model,
    /// What the sender has sent and has acknowledged.
    sent: usize,
    acked: usize,
    /// On the way to the receiver: its place there, and what it carries.
    on_the_way: Vec<(i64, Vec<u8>)>,
    /// What the receiver has.
    received: BTreeMap<i64, u8>,
    /// The first place that the receiver lacks.
    lacks: i64,
    /// What the receiver acknowledged, and what the sender was told: from and up to.
    acks: Vec<(i64, usize)>,
    blocks: Vec<([i64; 2], [usize; 2])>,
}

impl Network {
    fn new(seed: u64, isn: u32) -> Network {
        let mut draw = Draw(seed);
        let mut text = Vec::new();
        for _ in 0..4 + draw.below(12) {
            let (high, low) = (draw.below(256), draw.below(256));
            let line = match draw.below(5) {
                0 => "NOOP\r\n".to_owned(),
                1 => format!("STOR file-{high}-{low}.of.some.length\r\n"),
                _ => format!("PORT 10,0,0,1,{high},{low}\r\n"),
            };
            text.extend(line.bytes());
        }
        let model = Model { add: draw.below(40_000) as u16, ..Model::default() };
        Network {
            draw,
            isn,
            text,
            shifts: Shifts::default(),
            model,
            sent: 0,
            acked: 0,
            on_the_way: Vec::new(),
            received: BTreeMap::new(),
            lacks: 0,
            acks: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// The sender sends so many bytes from a place, and the NAT passes them.
    fn send(&mut self, from: usize, len: usize) {
        let end = (from + len).min(self.text.len());
        let payload = &self.text[from..end];
        let control = translation(Side::Inside, Protocol::Tcp, 40_000, 50_000, 21);
        let mut out = [0; 4096];
        let done = rewrite(Gateway::Ftp, payload, &control, &mut self.model, &mut out);
        let seq = self.isn.wrapping_add(from as u32);
        let passing = self.shifts.segment(Side::Inside, seq, payload.len(), &done.edited);
        let new = if passing.is_edited { &out[..] } else { payload };
        let bytes = new[..passing.len].to_vec();
        let whole = if passing.is_edited { done.len } else { payload.len() };
        assert_eq!(passing.is_whole, passing.len == whole || (whole == 0 && passing.len == 0));
        let place = i64::from(passing.seq.wrapping_sub(self.isn) as i32);
        self.on_the_way.push((place, bytes));
        self.sent = self.sent.max(end);
    }

    /// The receiver takes what has come, and answers what has bytes or is not what it waits for
    /// (RFC 9293 section 3.10.7.4).
    fn receive(&mut self, index: usize) {
        let (place, bytes) = self.on_the_way.swap_remove(index);
        let is_answered = !bytes.is_empty() || place != self.lacks;
        for (place, byte) in (place..).zip(bytes) {
            let known = self.received.insert(place, byte);
            assert!(known.is_none_or(|known| known == byte), "two bytes at {place}");
        }
        while self.received.contains_key(&self.lacks) {
            self.lacks += 1;
        }
        if is_answered {
            self.answer();
        }
    }

    fn answer(&mut self) {
        let seq = |place: i64| self.isn.wrapping_add(place as u32);
        let ack = self.shifts.ack(Side::Outside, seq(self.lacks));
        let told = ack.wrapping_sub(self.isn) as usize;
        self.acks.push((self.lacks, told));
        // One block of what came out of order.
        if let Some((&left, _)) = self.received.range(self.lacks..).next() {
            let mut right = left;
            while self.received.contains_key(&right) {
                right += 1;
            }
            let mut block = [seq(left).to_be_bytes(), seq(right).to_be_bytes()].concat();
            if self.shifts.sack(Side::Outside, &mut block) {
                let edge = |at: usize| {
                    let octets = block[at..at + 4].try_into().expect("four octets");
                    u32::from_be_bytes(octets).wrapping_sub(self.isn) as usize
                };
                self.blocks.push(([left, right], [edge(0), edge(4)]));
            }
        }
        if !self.draw.is_one_of(4) {
            assert!(told <= self.sent, "{told} of {} acknowledged", self.sent);
            self.acked = self.acked.max(told);
        }
    }

    /// A while of everything that can go wrong.
    fn step(&mut self) {
        match self.draw.below(6) {
            0 | 1 if self.sent < self.text.len() => {
                let len = self.cut(self.sent);
                self.send(self.sent, len);
            }
            2 if self.acked < self.sent => {
                let from = self.acked + self.draw.below(self.sent - self.acked);
                let from = if self.draw.is_one_of(2) { self.acked } else { from };
                let len = self.cut(from);
                self.send(from, len);
            }
            3 if !self.on_the_way.is_empty() => {
                let lost = self.draw.below(self.on_the_way.len());
                self.on_the_way.swap_remove(lost);
            }
            _ if !self.on_the_way.is_empty() => {
                let index = self.draw.below(self.on_the_way.len());
                self.receive(index);
            }
            _ => {}
        }
    }

    /// How long a segment is: often up to the end of a line, sometimes anything.
    fn cut(&mut self, from: usize) -> usize {
        if self.draw.is_one_of(3) {
            return 1 + self.draw.below(60);
        }
        let lines = 1 + self.draw.below(3);
        let ends = (from..self.text.len()).filter(|&at| self.text[at] == b'\n');
        ends.take(lines).last().map_or(self.text.len(), |at| at + 1) - from
    }

    /// The network is good again, and the sender sends what is not acknowledged.
    fn settle(&mut self) {
        self.on_the_way.clear();
        let rounds = 40 + 8 * self.text.len();
        for _ in 0..rounds {
            if self.acked == self.text.len() {
                return;
            }
            self.send(self.acked, 200);
            self.receive(self.on_the_way.len() - 1);
        }
        panic!("it stands still at {} of {}", self.acked, self.text.len());
    }

    /// Each line is as it was or replaced as a whole, and what was acknowledged had been received.
    fn verify(&self) -> usize {
        let received: Vec<u8> = self.received.values().copied().collect();
        assert_eq!(self.received.keys().next(), Some(&0));
        assert_eq!(self.lacks as usize, received.len(), "without a hole");
        let lines = |text: &[u8]| -> Vec<Vec<u8>> {
            text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
        };
        let (old, new) = (lines(&self.text), lines(&received));
        assert_eq!(old.len(), new.len());
        // Where each byte of the sender has its place at the receiver; none within replaced lines.
        let mut places: Vec<Option<i64>> = Vec::new();
        let (mut at, mut replaced) = (0, 0);
        for (old, new) in old.iter().zip(&new) {
            if old == new {
                places.extend((0..old.len()).map(|byte| Some(at + byte as i64)));
            } else {
                assert_eq!(new, &super::ftp::twin(old, INSIDE, &mut |port| self.model.of(port)));
                // What ends the line was not replaced.
                let end = at + new.len() as i64;
                places.push(Some(at));
                places.extend((1..old.len() - 2).map(|_| None));
                places.extend([Some(end - 2), Some(end - 1)]);
                replaced += 1;
            }
            at += new.len() as i64;
        }
        places.push(Some(at));
        for &(had, told) in &self.acks {
            let place = places[told].expect("no acknowledgement ends in a replaced line");
            assert!(place <= had, "acknowledged {told}, which is {place}, and had {had}");
            let further = places[told + 1..].iter().flatten().next();
            assert!(further.is_none_or(|&next| next > had), "more could be acknowledged");
        }
        for &([left, right], told) in &self.blocks {
            let [from, to] = told.map(|place| places[place].expect("no edge in a replaced line"));
            assert!(left <= from && from < to && to <= right, "{told:?} of {left}..{right}");
        }
        replaced
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn streams_stay_whole_whatever_the_network_does(
        seed in any::<u64>(),
        isn in prop_oneof![any::<u32>(), (u32::MAX - 300)..=u32::MAX],
        steps in 0_usize..400,
    ) {
        let mut network = Network::new(seed, isn);
        for _ in 0..steps {
            network.step();
        }
        network.settle();
        network.verify();
    }
}

#[test]
fn on_a_good_network_every_command_is_replaced() {
    let mut replaced = 0;
    for seed in 0..50 {
        let mut network = Network::new(seed, 7);
        network.settle();
        replaced += network.verify();
    }
    assert!(replaced > 100, "{replaced}");
}

#[test]
fn streams_longer_than_sequence_numbers_keep_their_shift() {
    let mut shifts = Shifts::default();
    let mut unit = List::new();
    unit.push(Edited { at: 0, old_len: 20, new_len: 23 }).expect("there is room");
    let first = shifts.segment(Side::Inside, 1000, 20, &unit);
    assert_eq!((first.seq, first.is_edited, first.len), (1000, true, 23));
    assert_eq!(shifts.ack(Side::Outside, 1023), 1020);
    let mut seq = 1020_u32;
    for _ in 0..200_000 {
        let passing = shifts.segment(Side::Inside, seq, 65_000, &List::new());
        assert_eq!(passing.seq, seq.wrapping_add(3));
        seq = seq.wrapping_add(65_000);
        assert_eq!(shifts.ack(Side::Outside, seq.wrapping_add(3)), seq);
    }
}

#[test]
fn directions_do_not_mix_and_nothing_changes_before_a_replacement() {
    let mut shifts = Shifts::default();
    assert_eq!(shifts.ack(Side::Inside, 77), 77);
    let passing = shifts.segment(Side::Outside, 5, 10, &List::new());
    assert_eq!(passing, Passing { seq: 5, is_edited: false, len: 10, taken: 10, is_whole: true });
    let mut unit = List::new();
    unit.push(Edited { at: 2, old_len: 4, new_len: 9 }).expect("there is room");
    let passing = shifts.segment(Side::Inside, 100, 8, &unit);
    assert_eq!(passing, Passing { seq: 100, is_edited: true, len: 13, taken: 8, is_whole: true });
    assert_eq!(shifts.segment(Side::Inside, 108, 0, &List::new()).seq, 113);
    assert_eq!(shifts.segment(Side::Outside, 15, 0, &List::new()).seq, 15);
    assert_eq!((shifts.ack(Side::Inside, 15), shifts.ack(Side::Outside, 113)), (15, 108));
    // Within the new text: nothing of it is acknowledged.
    assert_eq!(shifts.ack(Side::Outside, 110), 102);
    let mut within = [103_u32.to_be_bytes(), 110_u32.to_be_bytes()].concat();
    assert!(!shifts.sack(Side::Outside, &mut within), "nothing is left of the block");
    let mut around = [110_u32.to_be_bytes(), 113_u32.to_be_bytes()].concat();
    assert!(shifts.sack(Side::Outside, &mut around));
    assert_eq!(around, [106_u32.to_be_bytes(), 108_u32.to_be_bytes()].concat());
    assert!(!shifts.sack(Side::Outside, &mut [0; 5]), "no pairs");
}
