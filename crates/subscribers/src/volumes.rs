//! What has passed of each session, by direction and version of IP, for accounting.

use zerocopy::FromZeros;

/// Which way packets went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the subscriber.
    Up = 0,
    /// To the subscriber.
    Down = 1,
}

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(C)]
pub struct Volume {
    /// Packets.
    pub packets: u64,
    /// Bytes of these.
    pub bytes: u64,
}

/// What has passed of a session, in one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(C, align(64))]
pub struct Volumes([[Volume; 2]; 2]);

impl Volumes {
    /// What has passed of a version of IP.
    pub fn of(&self, way: Way, is_ipv6: bool) -> Volume {
        self.0[way as usize][usize::from(is_ipv6)]
    }

    /// One more packet, of so many bytes.
    #[inline(always)]
    pub(crate) fn note(&mut self, way: Way, is_ipv6: bool, bytes: u32) {
        let volume = &mut self.0[way as usize][usize::from(is_ipv6)];
        volume.packets += 1;
        volume.bytes += u64::from(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_a_cache_line_and_apart() {
        assert_eq!((size_of::<Volumes>(), align_of::<Volumes>()), (64, 64));
        let mut volumes = Volumes::default();
        volumes.note(Way::Up, true, 100);
        volumes.note(Way::Up, true, 20);
        volumes.note(Way::Down, false, 7);
        assert_eq!(volumes.of(Way::Up, true), Volume { packets: 2, bytes: 120 });
        assert_eq!(volumes.of(Way::Down, false), Volume { packets: 1, bytes: 7 });
        assert_eq!(volumes.of(Way::Up, false), Volume::default());
    }
}
