//! `plumbline bgp dump`: a file of MRT as lines, a record at a time.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use protocol_bgp::families::{FAMILIES, FamilySet};
use protocol_bgp::framing::Framing as Messages;
use protocol_bgp::message::{EXTENDED_LEN_MAX, Kind};
use protocol_bgp::notification::Notification;
use protocol_bgp::open::Open;
use protocol_bgp::refresh::Refresh;
use protocol_bgp::rules::Reading;
use protocol_bgp::update::Scan;
use protocol_mrt::header::{BGP4MP_ET, TABLE_DUMP_V2};
use protocol_mrt::session::Message;
use protocol_mrt::table::{Peer, Table};
use protocol_mrt::{Frame, Framing, Record, Stamp};

use super::line::{About, Attributed, Line, What};
use crate::exit::Exit;
use crate::output::{pour, tell};
use crate::problem::Problem;

/// Prints a file of MRT, one line for each route or message.
///
/// MRT (RFC 6396) is the format in which route collectors and speakers of BGP keep tables and
/// messages; the route reflector writes it, too. The file may be compressed by gzip. The fields of
/// a line are separated by `|`, and begin with those of `bgpdump -m`: type, time, what it is (B of
/// a table, A announced, W withdrawn, STATE …), address and AS of the peer, route, AS path, origin,
/// next hop, local preference, MED, communities, whether ASes are left out (AG or NAG), who has
/// aggregated. Then follow family, path identifier, labels, extended communities, large
/// communities, originator, clusters, and other attributes. The file is read a record at a time.
/// Damaged records are left out and counted, and the exit code is 2 then.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The file; `-` for the standard input
    file: PathBuf,
    /// Print each line as a JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  plumbline bgp dump rib.20261128.0800.mrt | grep '|192.0.2.0/24|'
  plumbline bgp dump updates.20261128.0800.gz --json | jq -r 'select(.what == \"state\")'
  bunzip2 -c rib.20261128.0800.bz2 | plumbline bgp dump -";

/// Runs `plumbline bgp dump`.
///
/// # Errors
/// When the file cannot be read, is no MRT, or is damaged.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    let failed = |error: &io::Error| {
        let what = format!("the file cannot be read: {error}");
        Problem::of_usage(what, "name a file of MRT").at("file", args.file.display())
    };
    let opened = match args.file == Path::new("-") {
        true => rows::decompress(BufReader::new(io::stdin())),
        false => rows::open(&args.file),
    };
    let (mut from, _) = opened.map_err(|error| failed(&error))?;
    let mut dump = Dump { as_json: args.json, ..Dump::default() };
    let mut unreadable = None;
    pour(|out| {
        let read = dump.read(&mut *from, out)?;
        unreadable = read.err();
        Ok(())
    })?;
    if dump.others > 0 {
        tell(&format!("{} records of other types were left out\n", dump.others));
    }
    match (dump.trouble(), unreadable) {
        (None, None) => Ok(Exit::Passed),
        (Some(trouble), None) => {
            let remedy = "what can be read was printed; get the file once more";
            Err(Problem::of_usage(trouble, remedy).at("file", args.file.display()))
        }
        (trouble, Some(error)) => {
            let records = dump.framing.records();
            let trouble = trouble.map_or(String::new(), |trouble| format!("; {trouble}"));
            let what = format!("the file cannot be read behind record {records}: {error}{trouble}");
            Err(Problem::of_usage(what, "get it once more").at("file", args.file.display()))
        }
    }
}

/// A file that is printed.
#[derive(Default)]
struct Dump {
    as_json: bool,
    framing: Framing,
    peers: Vec<Peer>,
    scan: Scan,
    text: Vec<u8>,
    /// Records of types that are not read.
    others: u64,
    /// Records with something that cannot be read.
    damaged: u64,
    /// Bytes between records.
    skipped: u64,
    /// What was wrong first.
    first: Option<String>,
    /// How the file ends that does not end behind a record.
    ends: Option<String>,
}

impl Dump {
    /// Reads to the end. The inner error is one of reading, the outer one of writing.
    fn read(
        &mut self,
        from: &mut dyn BufRead,
        out: &mut dyn Write,
    ) -> io::Result<Result<(), io::Error>> {
        let mut framing = std::mem::take(&mut self.framing);
        let ends = loop {
            let piece = match from.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => break Err(error),
            };
            let (len, mut left) = (piece.len(), piece);
            if len == 0 {
                self.ends = framing.finish().err().map(|ends| ends.to_string());
                break Ok(());
            }
            while let Some(frame) = framing.next(&mut left) {
                self.skipped += frame.skipped;
                if frame.skipped > 0 {
                    self.note(&frame, "what is before it is none");
                }
                if let Err(why) = self.record(&frame) {
                    self.damaged += 1;
                    self.note(&frame, &why);
                }
                out.write_all(&self.text)?;
                self.text.clear();
            }
            from.consume(len);
        };
        self.framing = framing;
        Ok(ends)
    }

    fn note(&mut self, frame: &Frame<'_>, why: &str) {
        let Frame { number, place, .. } = frame;
        self.first.get_or_insert_with(|| format!("record {number} at byte {place}: {why}"));
    }

    /// What is wrong with the file.
    fn trouble(&self) -> Option<String> {
        let mut all = Vec::new();
        match self.damaged {
            0 => {}
            1 => all.push("one record is damaged".to_owned()),
            count => all.push(format!("{count} records are damaged")),
        }
        if self.skipped > 0 {
            all.push(format!("{} bytes between records were skipped", self.skipped));
        }
        if let Some(first) = &self.first {
            all.push(format!("first {first}"));
        }
        all.extend(self.ends.clone());
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Makes lines of a record.
    fn record(&mut self, frame: &Frame<'_>) -> Result<(), String> {
        let (at, record) = frame.read().map_err(|error| error.to_string())?;
        let kind = match frame.header.kind {
            TABLE_DUMP_V2 => "TABLE_DUMP2",
            BGP4MP_ET => "BGP4MP_ET",
            _ => "BGP4MP",
        };
        match record {
            Record::Peers(table) => {
                self.peers.clear();
                self.peers.extend(table.peers());
            }
            Record::Table(table) => return self.table(at, &table),
            Record::Message(message) => return self.message((kind, at), &message),
            Record::StateChange(change) => {
                let about = About { kind, at, peer: change.ends.peer, asn: change.ends.peer_as };
                self.print(&about, &What::State(change.before, change.after));
            }
            Record::Other => self.others += 1,
        }
        Ok(())
    }

    fn table(&mut self, at: Stamp, table: &Table<'_>) -> Result<(), String> {
        let nlri = table.nlri().ok_or("its route is of a kind that is not known")?;
        let mut trouble = Ok(());
        for entry in table.entries() {
            let Some(Peer { address, asn, .. }) = self.peers.get(usize::from(entry.peer)).copied()
            else {
                trouble = Err(format!("there is no peer {} in its table", entry.peer));
                continue;
            };
            let about = About { kind: "TABLE_DUMP2", at, peer: address, asn };
            let route = (table.family, nlri.key.as_slice(), nlri.rest.as_slice(), entry.path_id);
            let next_hop = entry.next_hop(table.family);
            let attributed = Attributed::read(entry.attributes, next_hop);
            if !attributed.is_whole {
                trouble = Err("attributes of a path are cut".to_owned());
            }
            let since = Some(entry.since);
            let attributed = &attributed;
            self.print(&about, &What::Announced { route, attributed, since, is_table: true });
        }
        trouble
    }

    fn message(
        &mut self,
        (kind, at): (&'static str, Stamp),
        record: &Message<'_>,
    ) -> Result<(), String> {
        let about = About { kind, at, peer: record.ends.peer, asn: record.ends.peer_as };
        let (mut messages, mut bytes) = (Messages::default(), record.bytes);
        let message = messages.next(&mut bytes, EXTENDED_LEN_MAX);
        let message = message.map_err(|error| format!("its message: {error}"))?;
        let message = message.ok_or("its message is cut")?;
        let unreadable = |what: &str| format!("its {what} cannot be read");
        match message.kind {
            Kind::Keepalive => self.print(&about, &What::Keepalive),
            Kind::Open => {
                let open =
                    Open::read(message.body).map_err(|error| format!("its OPEN: {error}"))?;
                self.print(&about, &What::Open(&open));
            }
            Kind::Notification => {
                let why = Notification::read(message.body);
                let why = why.ok_or_else(|| unreadable("NOTIFICATION"))?;
                self.print(&about, &What::Notification(&why));
            }
            Kind::RouteRefresh => {
                let refresh = Refresh::read(message.body);
                let (family, what) = refresh.ok_or_else(|| unreadable("ROUTE-REFRESH"))?;
                self.print(&about, &What::Refresh(family, what));
            }
            Kind::Update => return self.update(&about, record, message.body),
        }
        Ok(())
    }

    fn update(&mut self, about: &About, record: &Message<'_>, body: &[u8]) -> Result<(), String> {
        let all: FamilySet = FAMILIES.iter().map(|row| row.family).collect();
        let reading = Reading {
            families: all,
            path_ids: if record.has_path_ids { all } else { FamilySet::NONE },
            extended_next_hops: all,
            is_wide: record.is_wide,
            // Which attributes a session does not have is nothing that a file is judged by.
            is_external: false,
        };
        let mut scan = std::mem::take(&mut self.scan);
        let read = scan.read(body, &reading);
        let update = match read {
            Ok(update) => update,
            Err(fault) => {
                self.scan = scan;
                return Err(fault.to_string());
            }
        };
        if let Some(family) = update.end_of_rib {
            self.print(about, &What::EndOfRib(family));
        }
        for field in update.withdrawn() {
            for nlri in field.nlris().flatten() {
                let route = (field.family, nlri.key.as_slice(), &[][..], nlri.path_id);
                self.print(about, &What::Withdrawn { route });
            }
        }
        for field in update.announced() {
            let attributed = &Attributed::read(scan.block(), field.next_hop);
            for nlri in field.nlris().flatten() {
                let (key, rest) = (nlri.key.as_slice(), nlri.rest.as_slice());
                let route = (field.family, key, rest, nlri.path_id);
                let what = What::Announced { route, attributed, since: None, is_table: false };
                self.print(about, &what);
            }
        }
        let is_sound = !update.is_treated_as_withdrawal() && update.disabled.is_empty();
        let finding = scan.findings().first().map(ToString::to_string);
        self.scan = scan;
        if is_sound { Ok(()) } else { Err(finding.unwrap_or_default()) }
    }

    fn print(&mut self, about: &About, what: &What<'_>) {
        let line = Line { about, what };
        // A vector takes everything.
        let _ = match self.as_json {
            true => line.write_json(&mut self.text),
            false => writeln!(self.text, "{line}"),
        };
    }
}
