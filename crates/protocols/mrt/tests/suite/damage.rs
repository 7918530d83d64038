//! Files that are cut and damaged: what can be read is read, and nothing else.

use protocol_mrt::{Framing, Record, Unfinished};

use crate::support::{session, table};

/// How many records of a file can be read, how many cannot, how many bytes were skipped, and how it
/// ends.
fn read(file: &[u8]) -> (usize, usize, u64, Result<(), Unfinished>) {
    let mut framing = Framing::default();
    let (mut fine, mut damaged, mut skipped) = (0, 0, 0);
    for mut piece in file.chunks(100) {
        while let Some(frame) = framing.next(&mut piece) {
            skipped += frame.skipped;
            match frame.read() {
                Ok((_, Record::Other)) => panic!("all are known"),
                Ok(_) => fine += 1,
                Err(_) => damaged += 1,
            }
        }
    }
    (fine, damaged, skipped, framing.finish())
}

#[test]
fn a_file_that_is_cut_says_where() {
    let file = [table(), session()].concat();
    assert_eq!(read(&file), (11, 0, 0, Ok(())));
    for end in 1..file.len() {
        let (fine, damaged, skipped, ends) = read(&file[..end]);
        assert!(fine < 11 && damaged == 0 && skipped == 0);
        if let Err(ends) = ends {
            let record = fine as u64 + 1;
            assert!(matches!(ends, Unfinished::Cut { record: is, .. } if is == record), "{ends}");
            assert!(ends.to_string().contains("is it complete?"));
        }
    }
}

#[test]
fn a_record_that_cannot_be_read_costs_no_other() {
    let file = [table(), session()].concat();
    let start = table().len();
    // The number of peers, and a family of addresses that there is not.
    for (at, value) in [(12 + 4 + 2 + 4, 200), (start + 12 + 4 + 11, 9)] {
        let mut damaged = file.clone();
        damaged[at] = value;
        assert_eq!(read(&damaged), (10, 1, 0, Ok(())), "byte {at}");
    }
}

#[test]
fn behind_a_header_that_is_none_the_next_record_is_found() {
    let file = [table(), session()].concat();
    let lens: Vec<usize> = {
        let (mut framing, mut piece, mut lens) = (Framing::default(), &file[..], Vec::new());
        while let Some(frame) = framing.next(&mut piece) {
            lens.push(12 + frame.body.len());
        }
        lens
    };
    let start = lens[0] + lens[1];
    // A type that there is not, and a length that no record has.
    for (at, value) in [(start + 5, 99), (start + 8, 0xff)] {
        let mut damaged = file.clone();
        damaged[at] = value;
        assert_eq!(read(&damaged), (10, 0, lens[2] as u64, Ok(())), "byte {at}");
    }
    // Bytes between records, and all of a file that is none.
    let garbage = b"what is this? ".repeat(20);
    let damaged = [&file[..start], &garbage, &file[start..]].concat();
    assert_eq!(read(&damaged), (11, 0, garbage.len() as u64, Ok(())));
    let (fine, _, _, ends) = read(&garbage);
    let left = garbage.len() as u64;
    assert_eq!((fine, ends), (0, Err(Unfinished::Lost { place: 0, left })));
}
