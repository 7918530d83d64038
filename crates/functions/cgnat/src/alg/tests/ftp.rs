//! FTP beside a twin made of strings.

use proptest::prelude::*;

use super::*;

/// What becomes of a payload from inside, line by line with the standard library's words; mappings
/// as told. What is cut, malformed or foreign stays.
pub(super) fn twin(payload: &[u8], own: Ipv4Addr, of: &mut impl FnMut(u16) -> u16) -> Vec<u8> {
    // A character for each octet.
    let text: String = payload.iter().map(|&byte| char::from(byte)).collect();
    let mut new = String::new();
    let mut units = 0;
    for line in text.split_inclusive('\n') {
        let replaced = line.ends_with('\n').then(|| twin_line(line, own, of)).flatten();
        match replaced.filter(|_| units < UNITS_MAX) {
            Some(replaced) => {
                units += 1;
                new.push_str(&replaced);
            }
            None => new.push_str(line),
        }
    }
    new.chars().map(|char| u8::try_from(u32::from(char)).expect("an octet")).collect()
}

fn twin_line(line: &str, own: Ipv4Addr, of: &mut impl FnMut(u16) -> u16) -> Option<String> {
    let body = line.strip_suffix("\r\n").or(line.strip_suffix('\n'))?;
    let (word, rest) = body.split_once(' ')?;
    match word.to_ascii_uppercase().as_str() {
        "PORT" => {
            let numbers = rest.trim_matches(' ');
            let new = twin_numbers(numbers, own, of)?;
            Some(line.replacen(numbers, &new, 1))
        }
        "227" => {
            let start = rest.find(|char: char| char.is_ascii_digit())?;
            let tail = &rest[start..];
            // Six numbers: up to what is neither a digit nor one of five commas.
            let mut commas = 0;
            let end = tail.find(|char: char| {
                commas += usize::from(char == ',');
                !(char.is_ascii_digit() || char == ',') || commas > 5
            });
            let numbers = &tail[..end.unwrap_or(tail.len())];
            let new = twin_numbers(numbers, own, of)?;
            Some(line.replacen(numbers, &new, 1))
        }
        "EPRT" => {
            let told = rest.trim_start_matches(' ');
            let delimiter = told.chars().next().filter(is_delimiter)?;
            let parts: Vec<&str> = told.split(delimiter).collect();
            let ["", "1" | "01" | "001" | "0001" | "00001", ip, port, ..] = parts[..] else {
                return None;
            };
            let is_closed = parts.len() > 4;
            let ip: Ipv4Addr = twin_address(ip)?;
            let new = of(twin_port(port).filter(|_| is_closed && ip == own)?);
            let old = [parts[2], parts[3]].join(&delimiter.to_string());
            let front = told.find(&old)?;
            let at = line.find(told)? + front;
            let tail = &line[at + old.len()..];
            Some(format!("{}{OUTSIDE}{delimiter}{new}{tail}", &line[..at]))
        }
        "229" => {
            let (front, told) = rest.split_once('(')?;
            let delimiter = told.chars().next().filter(is_delimiter)?;
            let frame = delimiter.to_string().repeat(3);
            let behind = told.strip_prefix(&frame)?;
            let port = behind.split(|char: char| !char.is_ascii_digit()).next()?;
            let tail = behind.strip_prefix(port)?;
            tail.strip_prefix(delimiter)?.strip_prefix(')')?;
            let ending = &line[body.len()..];
            let new = of(twin_port(port)?);
            Some(format!("{word} {front}({frame}{new}{tail}{ending}"))
        }
        _ => None,
    }
}

fn is_delimiter(char: &char) -> bool {
    char.is_ascii_graphic() && !char.is_ascii_digit() && *char != '.'
}

fn twin_numbers(text: &str, own: Ipv4Addr, of: &mut impl FnMut(u16) -> u16) -> Option<String> {
    let numbers: Option<Vec<u8>> = text.split(',').map(twin_octet).collect();
    let [a, b, c, d, high, low] = numbers?[..] else { return None };
    let port = u16::from(high) * 256 + u16::from(low);
    if Ipv4Addr::new(a, b, c, d) != own || port < 1024 {
        return None;
    }
    let (address, new) = (OUTSIDE.to_string().replace('.', ","), of(port));
    Some(format!("{address},{},{}", new / 256, new % 256))
}

fn twin_octet(text: &str) -> Option<u8> {
    let fits = (1..=3).contains(&text.len()) && text.chars().all(|char| char.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

fn twin_port(text: &str) -> Option<u16> {
    let fits = (1..=5).contains(&text.len()) && text.chars().all(|char| char.is_ascii_digit());
    text.parse().ok().filter(|port| fits && *port >= 1024)
}

fn twin_address(text: &str) -> Option<Ipv4Addr> {
    let octets: Option<Vec<u8>> = text.split('.').map(twin_octet).collect();
    let [a, b, c, d] = octets?[..] else { return None };
    Some(Ipv4Addr::new(a, b, c, d))
}

fn from_inside() -> Translation {
    translation(Side::Inside, Protocol::Tcp, 40_000, 50_000, 21)
}

/// What leaves, as text.
fn rewritten(payload: &str, model: &mut Model) -> (String, Rewritten) {
    let (left, done) = run(Gateway::Ftp, payload.as_bytes(), &from_inside(), model);
    (String::from_utf8(left).expect("text stays text"), done)
}

#[test]
fn the_forms_of_the_rfcs_are_replaced() {
    for (told, leaves, port) in [
        ("PORT 10,0,0,1,19,137\r\n", "PORT 198,51,100,77,20,81\r\n", 5001),
        ("port  10,0,0,1,019,137 \n", "port  198,51,100,77,20,81 \n", 5001),
        ("EPRT |1|10.0.0.1|6275|\r\n", "EPRT |1|198.51.100.77|6475|\r\n", 6275),
        ("EPRT !1!10.0.0.1!6275!\r\n", "EPRT !1!198.51.100.77!6475!\r\n", 6275),
        (
            "227 Entering Passive Mode (10,0,0,1,19,137).\r\n",
            "227 Entering Passive Mode (198,51,100,77,20,81).\r\n",
            5001,
        ),
        ("227 =10,0,0,1,19,137\r\n", "227 =198,51,100,77,20,81\r\n", 5001),
        (
            "229 Entering Extended Passive Mode (|||6446|)\r\n",
            "229 Entering Extended Passive Mode (|||6646|)\r\n",
            6446,
        ),
    ] {
        let mut model = Model { add: 100, ..Model::default() };
        let (left, done) = rewritten(told, &mut model);
        assert_eq!((left.as_str(), done.reason), (leaves, None));
        let expected = Expectation {
            protocol: Protocol::Tcp,
            inside: SocketAddrV4::new(INSIDE, port),
            outside: SocketAddrV4::new(OUTSIDE, port + 200),
            ports: 1,
            remote: Some(REMOTE),
            remote_port: None,
        };
        assert_eq!(done.expectations.iter().collect::<Vec<_>>(), [expected]);
        let from_outside = Translation { from: Side::Outside, ..from_inside() };
        let (left, done) = run(Gateway::Ftp, told.as_bytes(), &from_outside, &mut model);
        assert_eq!((left.as_slice(), done.reason), (told.as_bytes(), None), "the other way");
    }
}

#[test]
fn what_is_not_to_be_replaced_passes_with_its_reason() {
    for (told, reason) in [
        ("USER anonymous\r\nPASS PORT 10,0,0,1,19,137\r\n", None),
        ("EPRT |2|2001:db8::1|6275|\r\n", None),
        ("227-PORT\r\n", None),
        ("PORT 10,0,0,2,19,137\r\n", Some(Reason::ForeignAddress)),
        ("EPRT |1|203.0.113.5|6275|\r\n", Some(Reason::ForeignAddress)),
        ("PORT 10,0,0,1,3,255\r\n", Some(Reason::PrivilegedPort)),
        ("PORT 10,0,0,1,19\r\n", Some(Reason::Malformed)),
        ("PORT 10,0,0,1,19,137,1\r\n", Some(Reason::Malformed)),
        ("PORT 10,0,0,1,19,256\r\n", Some(Reason::Malformed)),
        ("PORT 10,0,0,1,19,1370\r\n", Some(Reason::Malformed)),
        ("EPRT |1|10.0.0.1|65536|\r\n", Some(Reason::Malformed)),
        ("EPRT |1|10.0.0.1|6275\r\n", Some(Reason::Malformed)),
        ("EPRT \r\n", Some(Reason::Malformed)),
        ("229 Entering (||6446|)\r\n", Some(Reason::Malformed)),
        ("229 \r\n", Some(Reason::Malformed)),
        ("227 nothing\r\n", Some(Reason::Malformed)),
        ("PORT 10,0,0,1,19,137", Some(Reason::Split)),
        ("NOOP\r\nEP", Some(Reason::Split)),
        ("NOOP\r\nST", None),
        ("PORT 10,0,0,1,30,0\r\n", Some(Reason::NoMapping)),
        ("", None),
    ] {
        let mut model = Model { full: Some(30 * 256), ..Model::default() };
        let (left, done) = rewritten(told, &mut model);
        assert_eq!((left.as_str(), done.reason), (told, reason), "{told:?}");
        assert!(done.expectations.is_empty(), "{told:?}");
    }
}

#[test]
fn a_bad_line_does_not_hurt_the_others_and_there_is_a_limit() {
    let mut model = Model { add: 1, ..Model::default() };
    let told = "PORT 10,0,0,1,8,0\r\nPORT x\r\nPORT 10,0,0,1,9,0\r\nPORT 10";
    let (left, done) = rewritten(told, &mut model);
    let expected = "PORT 198,51,100,77,8,2\r\nPORT x\r\nPORT 198,51,100,77,9,2\r\nPORT 10";
    assert_eq!((left.as_str(), done.reason), (expected, Some(Reason::Malformed)));
    let edited: Vec<Edited> = done.edited.iter().collect();
    let part = |at| Edited { at, old_len: 17, new_len: 22 };
    assert_eq!(edited, [part(0), part(27)]);
    assert_eq!(done.expectations.len(), 2);

    let many = "PORT 10,0,0,1,8,0\r\n".repeat(UNITS_MAX + 1);
    let (left, done) = rewritten(&many, &mut model);
    assert_eq!(done.reason, Some(Reason::TooMany));
    assert_eq!(left.matches("198,51").count(), UNITS_MAX);
}

fn any_line() -> impl Strategy<Value = String> {
    let octet = prop_oneof![Just(10_u16), Just(0), Just(1), 0..300_u16];
    let own = prop_oneof![
        4 => Just([10, 0, 0, 1]),
        1 => [octet.clone(), octet.clone(), octet.clone(), octet],
    ];
    let ending = prop_oneof![4 => Just("\r\n"), 1 => Just("\n"), 1 => Just(" \r\n"), 1 => Just("")];
    let delimiter = prop_oneof![Just('|'), Just('!'), Just('~'), Just('a'), Just('1'), Just(',')];
    (own, any::<u16>(), 0..9, ending, delimiter).prop_map(|(own, port, form, ending, d)| {
        let [a, b, c, e] = own;
        let (high, low) = (port / 256, port % 256);
        let body = match form {
            0 => format!("PORT {a},{b},{c},{e},{high},{low}"),
            1 => format!("pOrT   {a},{b},{c},{e},{high},{low}"),
            2 => format!("227 Entering Passive Mode ({a},{b},{c},{e},{high},{low})."),
            3 => format!("227 {a},{b},{c},{e},{high},{low},{low}"),
            4 => format!("EPRT {d}1{d}{a}.{b}.{c}.{e}{d}{port}{d}"),
            5 => format!("EPRT  {d}2{d}::{d}{port}{d}x"),
            6 => format!("229 Entering ({d}{d}{d}{port}{d})"),
            7 => format!("229 ({d}{d}{port}{d}) or ({d}{d}{d}{port}{d})"),
            _ => format!("STOR {port}"),
        };
        body + ending
    })
}

/// Lines, some with a few characters changed.
fn any_payload() -> impl Strategy<Value = Vec<u8>> {
    let lines = proptest::collection::vec(any_line(), 0..12);
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), any_byte()), 0..3);
    (lines, changes).prop_map(|(lines, changes)| {
        let mut payload = lines.concat().into_bytes();
        for (place, byte) in changes.into_iter().filter(|_| !lines.is_empty()) {
            if !payload.is_empty() {
                let place = place.index(payload.len());
                payload[place] = byte;
            }
        }
        payload
    })
}

fn any_byte() -> impl Strategy<Value = u8> {
    prop_oneof![prop::sample::select(&b" \r\n,|()0129PORTeprt."[..]), any::<u8>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn payloads_leave_as_the_twin_says(payload in any_payload(), add in 0_u16..40_000) {
        let mut model = Model { add, ..Model::default() };
        let (left, done) = run(Gateway::Ftp, &payload, &from_inside(), &mut model);
        let expected = twin(&payload, INSIDE, &mut |port| model.of(port));
        prop_assert_eq!(
            String::from_utf8_lossy(&left),
            String::from_utf8_lossy(&expected),
            "{:?}", done.reason
        );
        let growth: isize =
            done.edited.iter().map(|one| isize::from(one.new_len as i16 - one.old_len as i16)).sum();
        prop_assert_eq!(left.len() as isize - payload.len() as isize, growth);
    }
}
