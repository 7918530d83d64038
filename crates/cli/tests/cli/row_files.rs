//! Files that a scenario or a function's file names lie beside it, wherever the program runs.

use std::fs;
use std::path::Path;

use crate::{Ended, run, temporary_folder, write};

const SCENARIO: &str = "\
function:
  name: l3-router
  upstream-l3-table-size: 0
  downstream-l3-table-size: 0
  route-file: rows/internet.txt
  next-hops: [{port: uplink, mac: 02:00:00:00:00:09}]
  route-files: {path: rows/routes.txt, next-hop: 0}
";

const ROUTER: &str = "\
function:
  name: l3-router
  next-hops: [{port: uplink, mac: 02:00:00:00:00:09}]
  route-files: [rows/routes.txt]
  ingress-acl-files: rows/rules.txt
ports:
  downlink: {type: tap, interface: down}
  uplink: {type: tap, interface: up}
workers: {cores: [0]}
";

#[test]
fn files_are_found_beside_the_file_that_names_them() {
    let folder = temporary_folder();
    fs::create_dir_all(folder.path().join("conf/rows")).expect("a folder");
    write(folder.path(), "conf/scenario.yaml", SCENARIO);
    write(folder.path(), "conf/router.yaml", ROUTER);
    write(folder.path(), "conf/rows/internet.txt", "192.0.2.0/24\n198.51.100.0/24\n");
    write(folder.path(), "conf/rows/routes.txt", "203.0.113.0/24 0\n");
    write(folder.path(), "conf/rows/rules.txt", "permit source=198.51.100.0/24\n");
    let scenario = |folder: &Path, path: &str| run(folder, &["check", path, "--quiet"]);
    let router = |folder: &Path, path: &str| run(folder, &["run", path, "--check"]);
    scenario(folder.path(), "conf/scenario.yaml").expect(0);
    router(folder.path(), "conf/router.yaml").expect(0);
    // From elsewhere, too, and by the whole path.
    let whole = folder.path().join("conf/router.yaml");
    router(temporary_folder().path(), &whole.to_string_lossy()).expect(0);
    // What is missing is told by the whole path that was tried.
    let told = |ended: Ended, absent: &str| {
        let path = folder.path().join("conf/rows").join(absent);
        let told = ended.expect(2).stderr;
        assert!(told.contains(&*path.to_string_lossy()), "{}: {told}", path.display());
    };
    let remove = |name: &str| fs::remove_file(folder.path().join("conf/rows").join(name));
    remove("internet.txt").expect("it is there");
    told(scenario(folder.path(), "conf/scenario.yaml"), "internet.txt");
    remove("routes.txt").expect("it is there");
    told(router(folder.path(), "conf/router.yaml"), "routes.txt");
}
