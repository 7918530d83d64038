//! A change as bytes, whatever a function tells by it.

/// What an active function tells its standby: how a thing is now, never how it came to be so. Each
/// change stands for itself and may be applied twice.
pub trait Change: Copy + Send + 'static {
    /// What tells a function of this kind from any other peer.
    const MAGIC: [u8; 8];

    /// The version of what changes say.
    const VERSION: u16;

    /// The most bytes that one takes.
    const LEN_MAX: usize;

    /// Appends it to `out`.
    fn write(&self, out: &mut Vec<u8>);

    /// Reads one off the front of `bytes`.
    ///
    /// # Errors
    /// When they do not begin with one.
    fn read(bytes: &mut &[u8]) -> Result<Self, Malformed>;
}

/// Bytes that are no change or no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

/// Takes bytes off the front.
///
/// # Errors
/// When there are too few.
pub fn take<const LEN: usize>(bytes: &mut &[u8]) -> Result<[u8; LEN], Malformed> {
    let (head, tail) = bytes.split_first_chunk().ok_or(Malformed("it ends too early"))?;
    *bytes = tail;
    Ok(*head)
}

/// Takes a number of 32 bits off the front.
///
/// # Errors
/// When there are too few bytes.
pub fn number(bytes: &mut &[u8]) -> Result<u32, Malformed> {
    take(bytes).map(u32::from_be_bytes)
}
