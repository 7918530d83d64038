//! Packets of IPv4 that are longer than links take (RFC 4787 REQ-13): in pieces byte by byte, or
//! back as an error.

use std::time::Duration;

use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::check::Expected;
use packet::PortId;

use super::packets::{address, mend_ip, with_tag, without_tag, word};
use super::state::{Judgement, Left, Model};

impl Model {
    /// What becomes of a frame that was judged: it leaves as links take it, or its sender is told.
    pub(super) fn concluded(
        &mut self,
        came: (PortId, &[u8]),
        judged: Judgement,
        now: Duration,
        left: Left<'_>,
    ) -> Expected {
        let concluded = match judged.and_then(|leaves| self.passing(leaves)) {
            Ok(leaves) => self.fitted(came, leaves, left),
            Err(reason) => self.tell(came.0, came.1, reason, now),
        };
        self.met = None;
        concluded
    }

    /// A packet that is ready to leave, unless it is too long and may not be cut.
    pub(super) fn passing(&mut self, leaves: Expected) -> Judgement {
        match self.beyond(&leaves) {
            Some((mtu, frame)) if frame[20] & 0x40 != 0 => {
                self.met = Some(mtu);
                Err("too-big")
            }
            _ => Ok(leaves),
        }
    }

    /// It in as many pieces as the link needs; what came in is `frame`.
    fn fitted(
        &mut self,
        (from, frame): (PortId, &[u8]),
        leaves: Expected,
        left: Left<'_>,
    ) -> Expected {
        let Some((mtu, mut bare)) = self.beyond(&leaves) else { return leaves };
        let is_whole = word(&bare, 20) & 0x3fff == 0;
        let is_own = address(&bare, 26) == self.own_of_realm(from);
        let is_as_it_came = word(frame, 12) == 0x0800 && self.is_bypassed(from, &frame[14..]);
        if from == INSIDE && is_whole && !is_own && !is_as_it_came {
            // RFC 6864 section 5.3: the device chooses.
            let chosen = left.iter().find(|(_, frame)| frame.len() >= 34 && frame[12] == 8);
            let chosen = chosen.map_or(0, |(_, frame)| word(frame, 18));
            bare[18..20].copy_from_slice(&chosen.to_be_bytes());
        }
        self.pieces(leaves, &bare, mtu)
    }

    /// The same of a fragment that had waited; none of one that may not be cut.
    pub(super) fn fitted_later(&mut self, leaves: Expected) -> Option<Expected> {
        let Some((mtu, bare)) = self.beyond(&leaves) else { return Some(leaves) };
        let is_cut = bare[20] & 0x40 == 0;
        is_cut.then(|| self.pieces(leaves, &bare, mtu))
    }

    /// What the link takes by which an IPv4 packet leaves, where that is less, and the frame
    /// without tag.
    fn beyond(&self, leaves: &Expected) -> Option<(u16, Vec<u8>)> {
        let Expected::Forward { port, frame } = leaves else { return None };
        let mtu = match *port {
            INSIDE => self.config.inside_mtu,
            OUTSIDE => self.config.outside_mtu,
            // Between workers there is no link.
            _ => 0,
        };
        let is_tagged = *port == INSIDE && word(frame, 12) == 0x8100;
        let bare = if is_tagged { without_tag(frame).1 } else { frame.clone() };
        let is_long = word(&bare, 12) == 0x0800 && bare.len() > 14 + usize::from(mtu);
        (mtu > 0 && is_long).then_some((mtu, bare))
    }

    /// RFC 791 section 3.2.
    fn pieces(&mut self, leaves: Expected, bare: &[u8], mtu: u16) -> Expected {
        let Expected::Forward { port, frame } = leaves else { return leaves };
        let realm = if word(&frame, 12) == 0x8100 { without_tag(&frame).0 } else { 0 };
        let header = usize::from(bare[14] % 16) * 4;
        let (first, body) = bare[14..].split_at(header);
        let later = [&first[..20], &copied(&first[20..])].concat();
        let mut at = 0;
        let mut all = Vec::new();
        while at < body.len() {
            let mut piece = if at == 0 { first.to_vec() } else { later.clone() };
            piece[0] = 0x40 + piece.len() as u8 / 4;
            let len = ((usize::from(mtu) - piece.len()) / 8 * 8).min(body.len() - at);
            let is_last = at + len == body.len();
            let place = (word(first, 6) + at as u16 / 8) | if is_last { 0 } else { 0x2000 };
            piece[6..8].copy_from_slice(&place.to_be_bytes());
            let total = (piece.len() + len) as u16;
            piece[2..4].copy_from_slice(&total.to_be_bytes());
            mend_ip(&mut piece);
            let frame = with_tag(realm, [&bare[..14], &piece, &body[at..at + len]].concat());
            all.push(Expected::Forward { port, frame });
            at += len;
        }
        let first = all.remove(0);
        let later: Vec<_> = all.into_iter().map(|piece| self.in_place(piece)).collect();
        self.datagrams.made.extend(later);
        first
    }
}

/// Those of some options that all pieces have (RFC 791 section 3.1), filled up to whole words.
fn copied(mut options: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    loop {
        let len = match options {
            [] | [0, ..] => break,
            [1, ..] => 1,
            [_] => break,
            [_, len, ..] => usize::from(*len).max(2),
        };
        if len > options.len() {
            break;
        }
        if options[0] > 127 {
            kept.extend(&options[..len]);
        }
        options = &options[len..];
    }
    kept.resize(kept.len().next_multiple_of(4), 0);
    kept
}
