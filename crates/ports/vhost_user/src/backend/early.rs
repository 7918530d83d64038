//! A message that comes before its time: enabling a ring before the features were acknowledged.
//!
//! QEMU's network front-end and DPDK's virtio-user, when it listens, send it as soon as they know
//! that the back-end has protocol features. The library that follows the other messages refuses it
//! then, as the letter of the protocol allows, so it is answered here, and only then.

use std::os::unix::net::UnixStream;

use rustix::net::{RecvFlags, SendFlags, recv, send};
use vhost::vhost_user::VhostUserBackendReqHandlerMut;

use super::state::Device;
use crate::features::PROTOCOL;

/// Answers the next message if it is one that may come early; returns true if it was.
pub fn answer(socket: &UnixStream, device: &mut Device) -> std::io::Result<bool> {
    if device.features & PROTOCOL != 0 {
        return Ok(false);
    }
    let mut message = [0; MESSAGE_BYTES];
    let looked = recv(socket, &mut message[..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
    let Ok((_, seen)) = looked else { return Ok(false) };
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| message[at + byte]));
    let [request, flags, size, index, enable] = [0, 4, 8, 12, 16].map(word);
    let is_one = seen == MESSAGE_BYTES && request == SET_VRING_ENABLE && size == 8;
    if !is_one || flags & VERSION_MASK != VERSION || enable > 1 {
        return Ok(false);
    }
    recv(socket, &mut message[..], RecvFlags::WAITALL)?;
    let done = device.set_vring_enable(index, enable == 1);
    if flags & NEEDS_REPLY != 0 && device.acknowledges {
        let words = [SET_VRING_ENABLE, VERSION | REPLY, 8, u32::from(done.is_err()), 0];
        let reply: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        send(socket, &reply, SendFlags::NOSIGNAL)?;
    }
    Ok(true)
}

/// Length of the message in bytes: a header of three words, and the number of a ring with its new
/// state.
const MESSAGE_BYTES: usize = 20;

const SET_VRING_ENABLE: u32 = 18;

/// Flag of the header: version of the protocol.
const VERSION: u32 = 1;
const VERSION_MASK: u32 = 3;
const REPLY: u32 = 1 << 2;
const NEEDS_REPLY: u32 = 1 << 3;
