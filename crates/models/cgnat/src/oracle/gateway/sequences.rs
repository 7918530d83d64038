//! Sequence numbers of a connection in which texts stand for others of another length: the ones of
//! the sender in those of the receiver (RFC 9293 section 3.4), by walking over every text that was
//! ever replaced.
//!
//! A device keeps four replacements of a direction until they are acknowledged, and what lies more
//! than 2^30 behind is over. What it cannot pass it makes a segment that the receiver answers.

/// A text in the place of another: where it begins, how long it was, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Where it begins: in a segment, or in the stream.
    pub at: u32,
    /// How long it was.
    pub was: u16,
    /// How long it is.
    pub is: u16,
}

/// Both directions of a connection: what the subscriber sends, what the other end does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequences([Direction; 2]);

/// How a segment passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// Its number at the receiver.
    pub seq: u32,
    /// Whether it has the new text.
    pub is_edited: bool,
    /// How many bytes of that text.
    pub len: usize,
    /// Bytes of the old text for which those stand.
    pub taken: usize,
    /// Whether that is all.
    pub is_whole: bool,
}

/// One direction, in the numbers of its sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Direction {
    /// Behind what passed, behind what is acknowledged, and before what nothing is known; none
    /// before the first segment.
    edges: Option<Edges>,
    /// All that were ever replaced, in their order, and how many of them are forgotten.
    all: Vec<Replaced>,
    forgotten: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edges {
    next: u32,
    acked: u32,
    oldest: u32,
}

impl Sequences {
    /// A segment with a payload of some bytes, of which a gateway would replace texts: their places
    /// count from its first byte.
    pub fn segment(&mut self, is_out: bool, seq: u32, len: usize, texts: &[Replaced]) -> Passing {
        let placed = |text: &Replaced| Replaced { at: seq.wrapping_add(text.at), ..*text };
        let texts: Vec<Replaced> = texts.iter().map(placed).collect();
        self.0[usize::from(!is_out)].pass(seq, len as u32, &texts)
    }

    /// What a segment acknowledges, in the numbers of whom it is for.
    pub fn ack(&mut self, is_out: bool, ack: u32) -> u32 {
        let acked = &mut self.0[usize::from(is_out)];
        let (old, _) = acked.at_sender(ack);
        if let Some(edges) = &mut acked.edges
            && is_before(edges.acked, old)
            && !is_before(edges.next, old)
        {
            edges.acked = old;
        }
        old
    }

    /// A block of a selective acknowledgement (RFC 2018 section 3); none where nothing is left.
    pub fn block(&self, is_out: bool, [left, right]: [u32; 2]) -> Option<[u32; 2]> {
        let acked = &self.0[usize::from(is_out)];
        if acked.edges.is_none() {
            return Some([left, right]);
        }
        // Of a text that stands for another a part is nothing.
        let (place, end) = acked.at_sender(left);
        let (left, (right, _)) = (end.unwrap_or(place), acked.at_sender(right));
        is_before(left, right).then_some([left, right])
    }
}

impl Direction {
    fn pass(&mut self, seq: u32, len: u32, texts: &[Replaced]) -> Passing {
        let first = Edges { next: seq, acked: seq, oldest: seq.wrapping_sub(WINDOW) };
        let mut edges = self.edges.unwrap_or(first);
        let far = edges.next.wrapping_sub(WINDOW);
        while let Some(text) = self.known().first().filter(|text| is_before(text.end(), far)) {
            edges.oldest = text.end();
            self.forgotten += 1;
        }
        if is_before(edges.oldest, far) {
            edges.oldest = far;
        }
        self.edges = Some(edges);
        if is_before(seq, edges.oldest) {
            return self.question(edges.oldest);
        }
        let (most, passed_before) = self.bound(edges, (seq, len), texts);
        if len > 0 && most == 0 {
            return match passed_before {
                true => self.pass_old((seq, len), texts),
                false => self.question(seq),
            };
        }
        let passing: Vec<Replaced> =
            texts.iter().copied().filter(|text| text.at.wrapping_sub(seq) < most).collect();
        for text in &passing {
            if !self.known().contains(text) {
                if self.known().len() == KNOWN_MAX {
                    self.forget_first();
                }
                self.all.push(*text);
            }
        }
        self.reach(seq.wrapping_add(most));
        let growth = passing.iter().fold(0, |sum: u32, text| sum.wrapping_add(text.growth()));
        Passing {
            seq: self.at_receiver(seq),
            is_edited: !passing.is_empty(),
            len: most.wrapping_add(growth) as usize,
            taken: most as usize,
            is_whole: most == len,
        }
    }

    /// How many bytes of a segment may pass with their texts replaced: those before the first text
    /// that is new where it must not be, and before the first known one that is not among them.
    /// Whether what stops it is a text that passed as it was.
    fn bound(&self, edges: Edges, (seq, len): (u32, u32), texts: &[Replaced]) -> (u32, bool) {
        let is_over =
            |text: &Replaced| ![edges.acked, seq].iter().any(|&it| is_before(it, text.end()));
        let over = self.known().iter().take_while(|text| is_over(text)).count();
        let mut room = KNOWN_MAX - self.known().len() + over;
        let mut bound = (len, false);
        for text in texts.iter().filter(|text| !self.known().contains(text)) {
            let passed_before = is_before(text.at, edges.next);
            if passed_before || room == 0 {
                bound = (text.at.wrapping_sub(seq), passed_before);
                break;
            }
            room -= 1;
        }
        let torn = self.met((seq, len), |text| !texts.contains(text));
        if torn < bound.0 { (torn, false) } else { bound }
    }

    /// A segment whose first text passed as it was, and must so again, up to the next one.
    fn pass_old(&mut self, (seq, len): (u32, u32), texts: &[Replaced]) -> Passing {
        let second = texts.get(1).map_or(len, |text| text.at.wrapping_sub(seq));
        let most = second.min(self.met((seq, len), |_| true));
        if most == 0 {
            return self.question(seq);
        }
        self.reach(seq.wrapping_add(most));
        let seq = self.at_receiver(seq);
        Passing { seq, is_edited: false, len: most as usize, taken: 0, is_whole: most == len }
    }

    /// A segment that the receiver has and therefore answers: without a byte.
    fn question(&self, place: u32) -> Passing {
        let seq = self.at_receiver(place).wrapping_sub(1);
        Passing { seq, is_edited: false, len: 0, taken: 0, is_whole: false }
    }

    /// Bytes of a segment before the first known text that it has a part of and that is such.
    fn met(&self, (seq, len): (u32, u32), is_such: impl Fn(&Replaced) -> bool) -> u32 {
        let end = seq.wrapping_add(len);
        let has = |text: &&Replaced| is_before(text.at, end) && is_before(seq, text.end());
        let mut met = self.known().iter().filter(has).filter(|text| is_such(text));
        met.next().map_or(len, |text| match is_before(seq, text.at) {
            true => text.at.wrapping_sub(seq),
            false => 0,
        })
    }

    /// A place at the receiver; within a text where that begins.
    fn at_receiver(&self, place: u32) -> u32 {
        let over = |text: &&Replaced| !is_before(place, text.end());
        let behind = self.known().iter().take_while(over).count();
        let within = self.known().get(behind).filter(|text| is_before(text.at, place));
        within.map_or(place, |text| text.at).wrapping_add(self.growth(behind))
    }

    /// A place of the receiver at the sender; within a text where that begins, and where it ends.
    fn at_sender(&self, new: u32) -> (u32, Option<u32>) {
        let Some(edges) = self.edges else { return (new, None) };
        for (number, text) in self.known().iter().enumerate() {
            let at = text.at.wrapping_add(self.growth(number));
            if !is_before(at, new) {
                return self.since(edges, new.wrapping_sub(self.growth(number)));
            }
            if is_before(new, at.wrapping_add(text.is.into())) {
                return (text.at, Some(text.end()));
            }
        }
        self.since(edges, new.wrapping_sub(self.growth(self.known().len())))
    }

    fn since(&self, edges: Edges, old: u32) -> (u32, Option<u32>) {
        (if is_before(old, edges.oldest) { edges.oldest } else { old }, None)
    }

    /// By how much all texts have grown before so many that are known.
    fn growth(&self, known: usize) -> u32 {
        let before = &self.all[..self.forgotten + known];
        before.iter().fold(0, |sum, text| sum.wrapping_add(text.growth()))
    }

    fn known(&self) -> &[Replaced] {
        &self.all[self.forgotten..]
    }

    fn forget_first(&mut self) {
        let end = self.known().first().map(Replaced::end);
        if let (Some(end), Some(edges)) = (end, &mut self.edges) {
            edges.oldest = end;
            self.forgotten += 1;
        }
    }

    fn reach(&mut self, end: u32) {
        if let Some(edges) = self.edges.as_mut().filter(|edges| is_before(edges.next, end)) {
            edges.next = end;
        }
    }
}

impl Replaced {
    fn end(&self) -> u32 {
        self.at.wrapping_add(self.was.into())
    }

    fn growth(&self) -> u32 {
        u32::from(self.is).wrapping_sub(self.was.into())
    }
}

/// RFC 9293 section 3.4.
fn is_before(one: u32, other: u32) -> bool {
    one.wrapping_sub(other) > i32::MAX as u32
}

/// Replacements that a device knows of a direction at a time.
const KNOWN_MAX: usize = 4;

/// Bytes that may be on the way (RFC 7323 section 2.3).
const WINDOW: u32 = 1 << 30;
