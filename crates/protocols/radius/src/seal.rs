//! What authenticates packets: it writes whole ones, and checks those that came.
//!
//! | packet | its authenticator | Message-Authenticator |
//! |---|---|---|
//! | Access-Request, Status-Server | random | first, over the packet |
//! | Accounting-, Disconnect-, CoA-Request | MD5 over the packet with zeroes for it, and the secret | CoA, if wanted |
//! | answers | MD5 over the packet with the request's for it, and the secret | first, with the request's |
//!
//! Message-Authenticator (RFC 3579 section 3.2) is HMAC-MD5 by the secret. It comes first, and
//! answers to Access-Requests without one are refused: else somebody on the way can make an
//! Access-Accept of an Access-Reject (CVE-2024-3596).

use hmac::{Hmac, KeyInit, Mac};
use md5::{Digest, Md5};
use protocol_kit::Secret;

use crate::attributes::{Attributes, kind};
use crate::packet::{AUTHENTICATOR_LEN, Code, HEADER_LEN, PACKET_LEN_MAX, Packet};

/// An authenticator, a digest, or a challenge's answer.
pub type Authenticator = [u8; AUTHENTICATOR_LEN];

/// By what somebody shows who he is.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// By nothing: he is known by attributes alone.
    None,
    /// A password, 1 to 128 bytes, hidden by the secret (RFC 2865 section 5.2).
    Password(Secret),
    /// What he has answered to a challenge (RFC 1994).
    Chap {
        /// Identifier of challenge and answer.
        identifier: u8,
        /// The answer.
        response: Authenticator,
        /// The challenge, 1 to 253 bytes.
        challenge: Vec<u8>,
    },
}

/// Why a packet is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forged {
    /// The authenticator is wrong: the secret is another one, or it answers something else.
    Authenticator,
    /// Message-Authenticator is absent though it has to be there.
    Unsigned,
    /// Message-Authenticator is wrong, or there are two.
    Signature,
}

/// Why a packet cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    /// All of it does not fit a packet.
    #[error("the packet would have more than {PACKET_LEN_MAX} bytes")]
    Full,
    /// A password or a challenge is empty or too long.
    #[error("a password has 1 to 128 bytes, a challenge 1 to 253")]
    Credentials,
}

impl std::fmt::Debug for Credentials {
    /// Whoever sees challenge and answer can try passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Credentials::None => "None",
            Credentials::Password(_) => "Password",
            Credentials::Chap { .. } => "Chap",
        })
    }
}

/// Writes an Access-Request or Status-Server with this authenticator, which nobody may foresee.
///
/// # Errors
/// When it does not fit a packet.
pub fn access_request(
    (code, identifier): (Code, u8),
    authenticator: &Authenticator,
    secret: &Secret,
    attributes: Attributes<'_>,
    credentials: &Credentials,
) -> Result<Vec<u8>, Unwritable> {
    let mut packet = begin(code, identifier, authenticator);
    packet.extend(UNSIGNED);
    match credentials {
        Credentials::None => {}
        Credentials::Password(password) => {
            let hidden = hide(&password.0, secret, authenticator)?;
            packet.extend([kind::USER_PASSWORD, 2 + hidden.len() as u8]);
            packet.extend(hidden);
        }
        Credentials::Chap { identifier, response, challenge } => {
            if !(1..=253).contains(&challenge.len()) {
                return Err(Unwritable::Credentials);
            }
            packet.extend([kind::CHAP_PASSWORD, 19, *identifier]);
            packet.extend(response);
            packet.extend([kind::CHAP_CHALLENGE, 2 + challenge.len() as u8]);
            packet.extend(challenge);
        }
    }
    packet.extend(attributes.bytes());
    end(&mut packet)?;
    sign(&mut packet, HEADER_LEN, secret);
    Ok(packet)
}

/// Writes an Accounting-Request. `delay_s` is how long ago what it tells was, as Acct-Delay-Time.
///
/// # Errors
/// When it does not fit a packet.
pub fn accounting_request(
    identifier: u8,
    secret: &Secret,
    attributes: Attributes<'_>,
    delay_s: u32,
) -> Result<Vec<u8>, Unwritable> {
    let mut packet = begin(Code::AccountingRequest, identifier, &[0; AUTHENTICATOR_LEN]);
    packet.extend(attributes.bytes());
    packet.extend([kind::ACCT_DELAY_TIME, 6]);
    packet.extend(delay_s.to_be_bytes());
    end(&mut packet)?;
    authenticate(&mut packet, secret);
    Ok(packet)
}

/// Writes a CoA- or Disconnect-Request (RFC 5176 section 2.3) with Message-Authenticator: what a
/// server sends.
///
/// # Errors
/// When it does not fit a packet.
pub fn dynamic_request(
    (code, identifier): (Code, u8),
    secret: &Secret,
    attributes: Attributes<'_>,
) -> Result<Vec<u8>, Unwritable> {
    let mut packet = begin(code, identifier, &[0; AUTHENTICATOR_LEN]);
    packet.extend(UNSIGNED);
    packet.extend(attributes.bytes());
    end(&mut packet)?;
    sign(&mut packet, HEADER_LEN, secret);
    authenticate(&mut packet, secret);
    Ok(packet)
}

/// Writes the answer to a request, signed by Message-Authenticator if the request was or wants it.
///
/// # Errors
/// When it does not fit a packet.
pub fn answer(
    code: Code,
    request: &Packet<'_>,
    secret: &Secret,
    attributes: Attributes<'_>,
) -> Result<Vec<u8>, Unwritable> {
    let is_access = matches!(request.code, Code::AccessRequest | Code::StatusServer);
    let is_signed = is_access || request.attributes.first(kind::MESSAGE_AUTHENTICATOR).is_some();
    let mut packet = begin(code, request.identifier, request.authenticator);
    if is_signed {
        packet.extend(UNSIGNED);
    }
    packet.extend(attributes.bytes());
    end(&mut packet)?;
    if is_signed {
        sign(&mut packet, HEADER_LEN, secret);
    }
    authenticate(&mut packet, secret);
    Ok(packet)
}

/// Checks the answer to a request with this authenticator.
///
/// # Errors
/// Why it is not from whoever has the secret, or no answer to it.
pub fn check_answer(
    packet: &Packet<'_>,
    request: &Authenticator,
    secret: &Secret,
    needs_signature: bool,
) -> Result<(), Forged> {
    check(packet, request, secret, needs_signature)
}

/// Checks an Accounting-, CoA- or Disconnect-Request.
///
/// # Errors
/// Why it is not from whoever has the secret.
pub fn check_request(
    packet: &Packet<'_>,
    secret: &Secret,
    needs_signature: bool,
) -> Result<(), Forged> {
    check(packet, &[0; AUTHENTICATOR_LEN], secret, needs_signature)
}

/// Hides a password (RFC 2865 section 5.2).
///
/// # Errors
/// When it is empty or longer than 128 bytes.
pub fn hide(
    password: &[u8],
    secret: &Secret,
    authenticator: &Authenticator,
) -> Result<Vec<u8>, Unwritable> {
    if !(1..=PASSWORD_LEN_MAX).contains(&password.len()) {
        return Err(Unwritable::Credentials);
    }
    let mut hidden = password.to_vec();
    hidden.resize(password.len().next_multiple_of(AUTHENTICATOR_LEN), 0);
    let mut before = *authenticator;
    for block in hidden.as_chunks_mut().0 {
        mask(block, secret, &before);
        before = *block;
    }
    Ok(hidden)
}

/// Returns a password that was hidden, without the zeroes behind it; `None` of a wrong length.
pub fn reveal(hidden: &[u8], secret: &Secret, authenticator: &Authenticator) -> Option<Vec<u8>> {
    let (blocks, rest) = hidden.as_chunks::<AUTHENTICATOR_LEN>();
    if !rest.is_empty() || !(1..=PASSWORD_LEN_MAX).contains(&hidden.len()) {
        return None;
    }
    let mut before = *authenticator;
    let mut password = Vec::with_capacity(hidden.len());
    for block in blocks {
        let mut clear = *block;
        mask(&mut clear, secret, &before);
        password.extend(clear);
        before = *block;
    }
    let len = password.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    password.truncate(len);
    Some(password)
}

/// What somebody with a password answers to a challenge of CHAP (RFC 1994 section 4.1).
pub fn chap_response(identifier: u8, password: &[u8], challenge: &[u8]) -> Authenticator {
    let digest = Md5::new().chain_update([identifier]).chain_update(password);
    digest.chain_update(challenge).finalize().into()
}

/// Request authenticators that nobody can foresee (RFC 2865 section 3): HMAC-MD5 of their number by
/// a key.
#[derive(Clone)]
pub struct Unforeseen {
    key: [u8; 32],
    count: u64,
}

impl Unforeseen {
    /// Those of a key: random bytes of the operating system, which no other machine has and no
    /// other start had.
    pub fn new(key: [u8; 32]) -> Unforeseen {
        Unforeseen { key, count: 0 }
    }

    /// Returns the next one.
    pub fn draw(&mut self) -> Authenticator {
        self.count += 1;
        hmac(&self.key, &[b"authenticator", &self.count.to_be_bytes()])
    }

    /// Returns a seed for numbers that somebody may foresee: jitter.
    pub fn seed(&self) -> u64 {
        let [begin @ .., _, _, _, _, _, _, _, _] = hmac(&self.key, &[b"seed"]);
        u64::from_be_bytes(begin)
    }
}

impl std::fmt::Debug for Unforeseen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Unforeseen")
    }
}

/// The first 8 bytes of MD5 over what lies on a disk, by which a torn end is found.
pub(crate) fn checksum(bytes: &[u8]) -> [u8; 8] {
    let [begin @ .., _, _, _, _, _, _, _, _]: Authenticator = Md5::digest(bytes).into();
    begin
}

fn begin(code: Code, identifier: u8, authenticator: &Authenticator) -> Vec<u8> {
    [&[code as u8, identifier, 0, 0][..], authenticator].concat()
}

/// Writes the length.
fn end(packet: &mut [u8]) -> Result<(), Unwritable> {
    if packet.len() > PACKET_LEN_MAX {
        return Err(Unwritable::Full);
    }
    let len = packet.len() as u16;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

/// Writes Message-Authenticator, whose attribute is at `at`.
fn sign(packet: &mut [u8], at: usize, secret: &Secret) {
    let value = hmac(&secret.0, &[packet]);
    packet[at + 2..][..AUTHENTICATOR_LEN].copy_from_slice(&value);
}

/// Writes the authenticator over what stands in its place.
fn authenticate(packet: &mut [u8], secret: &Secret) {
    let value = digest(&[packet, &secret.0]);
    packet[4..HEADER_LEN].copy_from_slice(&value);
}

/// Checks a packet in whose place of the authenticator another one stood.
fn check(
    packet: &Packet<'_>,
    before: &Authenticator,
    secret: &Secret,
    needs_signature: bool,
) -> Result<(), Forged> {
    let (head, rest) = (&packet.bytes[..4], &packet.bytes[HEADER_LEN..]);
    let expected = digest(&[head, before, rest, &secret.0]);
    if !is_equal(&expected, packet.authenticator) {
        return Err(Forged::Authenticator);
    }
    let mut found = packet.attributes.all(kind::MESSAGE_AUTHENTICATOR);
    let Some(signature) = found.next() else {
        return if needs_signature { Err(Forged::Unsigned) } else { Ok(()) };
    };
    // Where its value begins: it is a part of the packet's bytes.
    let mut at = HEADER_LEN;
    let is_before =
        |one: &crate::attributes::Attribute<'_>| one.kind != kind::MESSAGE_AUTHENTICATOR;
    for one in packet.attributes.iter().take_while(is_before) {
        at += 2 + one.value.len();
    }
    if signature.len() != AUTHENTICATOR_LEN || found.next().is_some() {
        return Err(Forged::Signature);
    }
    let (until, behind) = (&packet.bytes[HEADER_LEN..at + 2], &packet.bytes[at + 18..]);
    let expected = hmac(&secret.0, &[head, before, until, &[0; AUTHENTICATOR_LEN], behind]);
    if is_equal(&expected, signature) { Ok(()) } else { Err(Forged::Signature) }
}

/// Puts a block of 16 bytes under MD5 of the secret and the block before it, or takes it away.
fn mask(block: &mut Authenticator, secret: &Secret, before: &Authenticator) {
    let mask = digest(&[&secret.0, before]);
    block.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
}

fn digest(pieces: &[&[u8]]) -> Authenticator {
    let add = |digest: Md5, piece: &&[u8]| digest.chain_update(piece);
    pieces.iter().fold(Md5::new(), add).finalize().into()
}

fn hmac(key: &[u8], pieces: &[&[u8]]) -> Authenticator {
    let mut code: Hmac<Md5> = Hmac::new_from_slice(key).expect("HMAC has keys of any length");
    pieces.iter().for_each(|piece| code.update(piece));
    code.finalize().into_bytes().into()
}

/// Compares two digests in a time that does not depend on where they differ.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |sum, (one, other)| sum | (one ^ other));
    one.len() == other.len() && std::hint::black_box(differing) == 0
}

/// Message-Authenticator before its value is known.
const UNSIGNED: [u8; 2 + AUTHENTICATOR_LEN] =
    [kind::MESSAGE_AUTHENTICATOR, 18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Most bytes of a password (RFC 2865 section 5.2).
pub const PASSWORD_LEN_MAX: usize = 128;
