//! What stands in files beside the configuration: stations and rules in bulk.

use std::collections::HashSet;
use std::sync::Arc;

use function_kit::Invalid;
use function_kit::sections::function_key;
use rows::{Files, Form, Remarks, Said, Troubles, Unfit};

use super::acl::Rule;
use super::{Config, FromFiles, Port, Station};

impl Config {
    /// Most stations of the list and of all files together.
    pub const STATIONS_MAX: usize = 4_000_000;

    /// Most rules of a list with those of its files.
    pub const RULES_MAX: usize = 65_536;

    /// All stations, those of the list before those of files.
    pub fn all_stations(&self) -> impl Iterator<Item = Station> + '_ {
        self.stations.iter().chain(self.from_files.stations.iter()).copied()
    }

    /// How many there are.
    pub fn station_count(&self) -> usize {
        self.stations.len() + self.from_files.stations.len()
    }

    /// All rules of which frames ports take.
    pub fn all_acl(&self) -> Vec<Rule> {
        self.acl.iter().chain(self.from_files.acl.iter()).copied().collect()
    }

    /// All rules of which frames leave.
    pub fn all_egress_acl(&self) -> Vec<Rule> {
        self.egress_acl.iter().chain(self.from_files.egress_acl.iter()).copied().collect()
    }

    /// What of the files was left out.
    pub fn remarks(&self) -> &[String] {
        &self.from_files.remarks
    }

    /// Reads the files that the configuration names, unless that is done.
    ///
    /// # Errors
    /// The key whose files cannot be read, or have rows that cannot be.
    pub fn read_files(&mut self) -> Result<(), Invalid> {
        if std::mem::replace(&mut self.from_files.is_read, true) {
            return Ok(());
        }
        let refuse =
            |key: &'static str| move |told: Troubles| function_key(key, told.to_string(), "");
        let (stations, of_stations) = self.read_stations().map_err(refuse("station-files"))?;
        let (acl, of_acl) =
            self.read_rules(&self.acl, &self.acl_files).map_err(refuse("acl-files"))?;
        let (egress_acl, of_egress) = self
            .read_rules(&self.egress_acl, &self.egress_acl_files)
            .map_err(refuse("egress-acl-files"))?;
        let remarks = [of_stations, of_acl, of_egress];
        self.from_files = FromFiles {
            is_read: true,
            stations: Arc::new(stations),
            acl: Arc::new(acl),
            egress_acl: Arc::new(egress_acl),
            remarks: Arc::new(remarks.iter().flat_map(Remarks::sentences).collect()),
        };
        Ok(())
    }

    fn read_stations(&self) -> Result<(Vec<Station>, Remarks), Troubles> {
        let mut stations = Vec::new();
        let mut seen: HashSet<(u16, super::Mac)> = HashSet::new();
        if !self.station_files.is_empty() {
            seen.extend(self.stations.iter().map(|one| (one.domain, one.mac)));
        }
        let places: HashSet<(Port, u16)> =
            self.circuits().iter().map(|one| (one.port, one.domain)).collect();
        let room = Config::STATIONS_MAX.saturating_sub(self.stations.len());
        let told = rows::read(&self.station_files, &STATIONS, |said| {
            let Said::Cells(cells) = said else { return Ok(()) };
            let station: Station = cells.typed().map_err(Unfit::Wrong)?;
            let (mac, port) = (station.mac.0, station.port.name());
            let refuse = |what: String| Err(Unfit::Wrong(format!("{mac} {what}")));
            if mac.is_multicast() || mac == wire::MacAddr::ZERO {
                return refuse("is no station's address; give that of one station".to_owned());
            }
            if !places.contains(&(station.port, station.domain)) {
                return refuse(format!(
                    "is at {port} in domain {}, where no attachment is; name a port and a domain \
                     of `attachments`",
                    station.domain
                ));
            }
            if !seen.insert((station.domain, station.mac)) {
                return refuse("is there twice; keep one".to_owned());
            }
            if stations.len() == room {
                let most = Config::STATIONS_MAX;
                return refuse(format!("is a station too many; there are {most} at most"));
            }
            stations.push(station);
            Ok(())
        })?;
        Ok((stations, told))
    }

    fn read_rules(&self, listed: &[Rule], files: &Files) -> Result<(Vec<Rule>, Remarks), Troubles> {
        let mut rules = Vec::new();
        let mut seen: HashSet<u32> = listed.iter().map(|rule| rule.priority).collect();
        let room = Config::RULES_MAX.saturating_sub(listed.len());
        let told = rows::read(files, &RULES, |said| {
            let Said::Cells(cells) = said else { return Ok(()) };
            let rule: Rule = cells.typed().map_err(Unfit::Wrong)?;
            let refuse = |what: String| Err(Unfit::Wrong(what));
            if !rule.is_possible(self.ports) {
                let what = "can match no frame; name a port that there is, ranges from low to \
                            high, networks of one family and the type";
                return refuse(what.to_owned());
            }
            if !seen.insert(rule.priority) {
                let at = rule.priority;
                return refuse(format!("has the priority {at} of another; give each its own"));
            }
            if rules.len() == room {
                let most = Config::RULES_MAX;
                return refuse(format!("is a rule too many; a list has {most} at most"));
            }
            rules.push(rule);
            Ok(())
        })?;
        Ok((rules, told))
    }
}

/// Rows of stations.
const STATIONS: Form = Form { keys: &["mac", "port", "domain"], unnamed: 2, takes_routes: false };

/// Rows of rules: the keys of [`Rule`].
const RULES: Form = Form {
    keys: &[
        "priority",
        "action",
        "port",
        "source-mac",
        "destination-mac",
        "vlan",
        "ether-type",
        "source",
        "destination",
        "protocol",
        "source-ports",
        "destination-ports",
    ],
    unnamed: 2,
    takes_routes: false,
};

#[cfg(test)]
mod tests {
    use std::fs;

    use function_kit::NetworkFunction;
    use serde_json::json;

    use super::*;
    use crate::L2Switch;

    fn switch(keys: serde_json::Value) -> Result<Config, Invalid> {
        let mut config: Config = serde_json::from_value(keys).expect("keys");
        L2Switch::validate(&mut config)?;
        Ok(config)
    }

    #[test]
    fn a_row_of_a_rule_has_every_key_of_one() {
        let schema = schemars::schema_for!(Rule);
        let keys = schema.get("properties").and_then(serde_json::Value::as_object).expect("keys");
        let mut of_rules: Vec<&str> = keys.keys().map(String::as_str).collect();
        let mut of_rows = RULES.keys.to_vec();
        of_rules.sort_unstable();
        of_rows.sort_unstable();
        assert_eq!(of_rules, of_rows);
    }

    #[test]
    fn stations_and_rules_stand_in_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("text"), "02:00:00:00:00:01 uplink\n02:00:00:00:00:02 downlink domain=0\n")
            .expect("writes");
        fs::write(path("s.csv"), "port,mac\nuplink,02:00:00:00:00:03\n").expect("writes");
        fs::write(path("rules"), "10 deny source-ports=[1,9] port=uplink\n20 permit vlan=7\n")
            .expect("writes");
        let keys = json!({
            "stations": [{"mac": "02:00:00:00:00:09", "port": "uplink"}],
            "station-files": [path("text"), path("s.csv")],
            "acl-files": path("rules"),
        });
        let config = switch(keys.clone()).expect("a switch");
        assert_eq!((config.station_count(), config.all_acl().len()), (4, 2));
        assert!(config.is_switch() && config.static_limit() > 4);
        let wanted = {
            fs::write(path("text"), "02:00:00:00:00:01 downlink\n").expect("writes");
            switch(keys.clone()).expect("a switch")
        };
        let changes = L2Switch::difference(&config, &wanted).expect("stations alone");
        let changes = serde_json::to_value(changes).expect("text");
        let expected = json!([
            {"remove-station": {"mac": "02:00:00:00:00:02"}},
            {"set-station": {"mac": "02:00:00:00:00:01", "port": "downlink"}},
        ]);
        assert_eq!(changes, expected);
        for (line, what) in [
            ("02:00:00:00:00:01", "text:1: `port` is missing"),
            ("02:00:00:00:00 uplink", "text:1: mac: "),
            ("01:00:00:00:00:01 uplink", "text:1: 01:00:00:00:00:01 is no station's address"),
            ("02:00:00:00:00:01 port-9", "is at port-9 in domain 0, where no attachment is"),
            ("02:00:00:00:00:09 uplink", "text:1: 02:00:00:00:00:09 is there twice"),
        ] {
            fs::write(path("text"), line).expect("writes");
            let error = switch(keys.clone()).expect_err(line);
            assert!(error.key == "station-files" && error.what.contains(what), "{error}");
        }
        fs::write(path("text"), "").expect("writes");
        fs::write(path("rules"), "10 deny\n10 permit\n1 deny port=port-3\n").expect("writes");
        let error = switch(keys).expect_err("rules");
        assert!(error.what.contains("rules:2: has the priority 10 of another"), "{error}");
        assert!(error.what.contains("rules:3: can match no frame"), "{error}");
    }
}
