//! What options say of whether a packet may go on; faults with the place that the sender is told,
//! if it is told.

/// RFC 791 section 3.1: what is behind the fixed part of a header.
pub(super) fn of_ipv4(options: &[u8]) -> Result<(), Option<u32>> {
    let mut left = options;
    while let [kind, rest @ ..] = left {
        let at = 20 + (options.len() - left.len()) as u32;
        left = match (kind, rest) {
            (0, _) => return Ok(()),
            (1, _) => rest,
            (_, [len, ..]) if *len >= 2 => left.get(usize::from(*len)..).ok_or(Some(at))?,
            _ => return Err(Some(at)),
        };
    }
    Ok(())
}

/// RFC 8200 sections 4.2 and 4.3; RFC 2711 for the one that is known beside padding.
pub(super) fn hop_by_hop(payload: &[u8]) -> Result<(), Option<u32>> {
    let units = usize::from(*payload.get(1).ok_or(None)?);
    let options = payload.get(2..8 * units + 8).ok_or(None)?;
    let mut left = options;
    while let [kind, rest @ ..] = left {
        let at = 42 + (options.len() - left.len()) as u32;
        if *kind == 0 {
            left = rest;
            continue;
        }
        let [len, rest @ ..] = rest else { return Err(None) };
        let behind = rest.get(usize::from(*len)..).ok_or(None)?;
        match (kind, kind / 64) {
            (1 | 5, _) | (_, 0) => left = behind,
            (_, 1) => return Err(None),
            _ => return Err(Some(at)),
        }
    }
    Ok(())
}
