//! What the negotiation of a protocol asks of it: its options.

use crate::control::Reason;
use crate::draws::Draws;
use crate::options::{Options, Verdict};

/// The options of a protocol that is negotiated.
pub(crate) trait Layer {
    /// The number of the protocol.
    const PROTOCOL: u16;

    /// Writes the options of the own Configure-Request, which are the same until one of them was
    /// refused.
    fn request(&self, options: &mut Vec<u8>);

    /// Judges the options of the peer, and remembers them if they are accepted. With `is_last` the
    /// peer has had enough Naks, and gets no other one.
    ///
    /// # Errors
    /// Why there is nothing to negotiate.
    fn judge(
        &mut self,
        options: Options<'_>,
        is_last: bool,
        draws: &mut Draws,
    ) -> Result<Verdict, Reason>;

    /// The peer wants options with other values.
    ///
    /// # Errors
    /// Why there is nothing to negotiate.
    fn nakked(&mut self, options: Options<'_>, draws: &mut Draws) -> Result<(), Reason>;

    /// The peer rejects options of the own request.
    ///
    /// # Errors
    /// Why there is nothing to negotiate.
    fn rejected(&mut self, options: Options<'_>) -> Result<(), Reason>;

    /// The peer has accepted the own request.
    ///
    /// # Errors
    /// Why that is of no use.
    fn accepted(&mut self) -> Result<(), Reason>;
}
