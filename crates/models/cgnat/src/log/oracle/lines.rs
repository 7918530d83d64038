//! Messages of syslog by the grammar of RFC 5424 section 6.

use super::Facts;

/// What stands in a message beside what happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Facility and severity.
    pub priority: u32,
    /// From whom it is.
    pub hostname: String,
    /// The application.
    pub application: String,
    /// Its process.
    pub process: String,
    /// The name of the structured data.
    pub data: String,
}

/// What a message tells.
///
/// # Errors
/// Where it departs from the grammar.
pub(super) fn read(message: &str) -> Result<(Facts, Header), String> {
    let wrong = || format!("not by the grammar: {message}");
    let (priority, rest) =
        message.strip_prefix('<').and_then(|rest| rest.split_once('>')).ok_or_else(wrong)?;
    let priority: u32 = priority.parse().map_err(|_| wrong())?;
    let rest = rest.strip_prefix("1 ").ok_or_else(wrong)?;
    let (header, data) = rest.split_once(" [").ok_or_else(wrong)?;
    let data = data.strip_suffix(']').ok_or_else(wrong)?;
    let fields: Vec<&str> = header.split(' ').collect();
    let &[time, hostname, application, process, event] = fields.as_slice() else {
        return Err(wrong());
    };
    let limits = [(hostname, 255), (application, 48), (process, 128), (event, 32)];
    let is_printable =
        |text: &str, most: usize| (1..=most).contains(&text.len()) && text.bytes().all(is_graphic);
    if priority > 191 || !limits.iter().all(|(text, most)| is_printable(text, *most)) {
        return Err(wrong());
    }
    let mut facts = Facts::new();
    facts.insert("event".to_owned(), event.to_owned());
    facts.insert("at".to_owned(), unix_ms(time).ok_or_else(wrong)?.to_string());
    let mut parameters = data.split(' ');
    let name = parameters.next().ok_or_else(wrong)?;
    if !name.contains('@') || !is_printable(name, 32) {
        return Err(wrong());
    }
    for parameter in parameters {
        let (name, value) = parameter.split_once("=\"").ok_or_else(wrong)?;
        let value = value.strip_suffix('"').ok_or_else(wrong)?;
        let is_plain = !value.is_empty() && !value.contains(['"', '\\', ']']);
        if !is_plain || !is_printable(name, 32) {
            return Err(wrong());
        }
        if facts.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(wrong());
        }
    }
    let header = Header {
        priority,
        hostname: hostname.to_owned(),
        application: application.to_owned(),
        process: process.to_owned(),
        data: name.to_owned(),
    };
    Ok((facts, header))
}

fn is_graphic(byte: u8) -> bool {
    byte.is_ascii_graphic()
}

/// Milliseconds since 1970 of `2026-11-22T08:15:30.123Z`, by counting days.
fn unix_ms(time: &str) -> Option<u64> {
    let pattern = "0000-00-00T00:00:00.000Z";
    let is_like = time.len() == pattern.len()
        && time.chars().zip(pattern.chars()).all(|(is, like)| match like {
            '0' => is.is_ascii_digit(),
            _ => is == like,
        });
    if !is_like {
        return None;
    }
    let number = |range: std::ops::Range<usize>| time[range].parse::<u64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let february = if is_leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let of_month = *months.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if day < 1 || day > of_month || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let years: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    let days = years + months[..month as usize - 1].iter().sum::<u64>() + day - 1;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + number(20..23)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_departs_from_the_grammar_is_refused() {
        let good = "<134>1 2026-11-22T08:15:30.123Z host cgnat 0 event [nat@1 vrf=\"0\"]";
        let (facts, header) = read(good).expect("it is right");
        assert_eq!((facts["at"].as_str(), facts["vrf"].as_str()), ("1795335330123", "0"));
        assert_eq!((header.priority, header.data.as_str()), (134, "nat@1"));
        for (right, wrong) in [
            ("<134>", "<200>"),
            (">1 ", ">2 "),
            ("-22T", "-32T"),
            ("11-22", "02-29"),
            (".123Z", "Z"),
            (" cgnat", ""),
            ("nat@1", "nat"),
            ("\"0\"", "\"]\""),
            ("\"0\"", "0"),
            (" [", "  ["),
        ] {
            let bad = good.replacen(right, wrong, 1);
            assert!(read(&bad).is_err(), "{bad}");
        }
    }
}
