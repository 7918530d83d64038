//! The exporters on a fixture: text and table as golden files, the page by its structure.
//!
//! `INSTA_UPDATE=always cargo test -p report` rewrites the golden files; review the difference.

use measure::record::{Limit, LimitKind, RunRecord, Status, Validity};

use crate::fixture;

fn file(name: &str, record: &RunRecord) -> String {
    let exporter = report::EXPORTERS.iter().find(|e| e.name == name).expect("an exporter");
    String::from_utf8((exporter.render)(record).expect("renders")).expect("is UTF-8")
}

#[test]
fn the_terminal_says_the_answer_first() {
    insta::assert_snapshot!("terminal", report::terminal::render(&fixture::record(), 100));
}

#[test]
fn the_terminal_shows_what_every_method_found() {
    for (name, record) in fixture::full::all() {
        let text = report::terminal::render(&record, 100);
        insta::assert_snapshot!(format!("terminal_{name}"), text);
    }
}

#[test]
fn what_checks_did_not_exercise_is_told_once_and_by_its_cause() {
    let mut record = fixture::record();
    let count = record.cells.len();
    for (index, cell) in (0..).zip(&mut record.cells) {
        let check = cell.check.as_mut().expect("a check");
        check.frames = 500 + index;
        check.uncovered = vec!["a (no rule)".into(), "b (no rule)".into(), "c (no port)".into()];
    }
    let text = report::terminal::render(&record, 100);
    assert_eq!(text.matches("match the oracle").count(), count, "{text}");
    assert!(
        text.contains("  not exercised, in all cells: a, b (no rule); c (no port)\n"),
        "{text}"
    );
    record.cells[0].check.as_mut().expect("a check").uncovered.pop();
    let text = report::terminal::render(&record, 100);
    assert!(!text.contains("in all cells"), "{text}");
    assert_eq!(text.matches(": a, b (no rule)\n").count(), 1, "{text}");
    assert_eq!(text.matches(": a, b (no rule); c (no port)\n").count(), 1, "{text}");
}

#[test]
fn a_table_wider_than_the_terminal_goes_on_below_without_breaking_a_word() {
    let text = report::terminal::render(&fixture::record(), 50);
    let tables: Vec<&str> = text.lines().take_while(|l| !l.starts_with("Changes")).collect();
    let is_drawn = |line: &&&str| line.starts_with([' ', '─', '═']);
    for line in tables.iter().filter(is_drawn) {
        assert!(line.chars().count() <= 50, "{line}");
    }
    for words in ["policer", "bearer", "10,000,000", "52.1 Mpps", "-5.7 .. +3.1 %"] {
        assert!(tables.iter().any(|line| line.contains(words)), "{words}:\n{text}");
    }
    assert_eq!(tables.iter().filter(|line| line.starts_with(" policer ")).count(), 2, "{text}");
}

#[test]
fn a_run_with_a_wide_spread_is_called_imprecise_first() {
    let mut record = fixture::record();
    record.status = Status::Passed;
    let outcomes = || record.cells.iter().flat_map(|cell| &cell.outcomes);
    let all = outcomes().count();
    let spread = Limit {
        kind: LimitKind::Spread,
        invalidates: false,
        what: "the repetitions differ by 21 % of the median".into(),
        advice: "measure longer".into(),
    };
    for outcome in record.cells.iter_mut().flat_map(|cell| &mut cell.outcomes) {
        outcome.validity = Validity::from_limits(Vec::new());
    }
    assert!(!file("html", &record).contains("imprecise"));
    record.cells[0].outcomes[0].validity = Validity::from_limits(vec![spread]);
    assert!(file("html", &record).contains(&format!("valid, imprecise: 1 of {all}")));
}

#[test]
fn stages_of_cold_and_hot_frames_have_a_table_each_with_a_column_for_each_cell() {
    let mut record = fixture::record();
    for outcome in record.cells.iter_mut().flat_map(|cell| &mut cell.outcomes) {
        let of = outcome.figures.iter().filter(|f| f.name == "ticks_per_packet" && f.of.is_some());
        let mut cold: Vec<_> = of.skip(1).cloned().collect();
        cold.iter_mut().for_each(|figure| figure.name = "ticks_cold_per_packet".into());
        outcome.figures.extend(cold);
    }
    let text = report::terminal::render(&record, 100);
    let table = |caption: &str| {
        let (_, behind) = text.split_once(caption).unwrap_or_else(|| panic!("{caption}: {text}"));
        behind.split("\n\n").next().unwrap_or_default().to_owned()
    };
    let hot = table("TSC cycles per packet by stage");
    let cold = table("TSC cycles per packet, cold frames by stage");
    assert!(hot.contains(" policer ") && cold.contains(" policer "), "{text}");
    let first = record.cells[0].outcomes[0].parts("ticks_per_packet").next().expect("stages");
    let first = format!(" {} ", first.of.as_deref().expect("a stage"));
    assert!(hot.contains(&first) && !cold.contains(&first), "{first}: {text}");
    assert!(!text.contains("in parts"), "{text}");
}

#[test]
fn a_failed_check_publishes_no_figure() {
    let text = report::terminal::render(&fixture::failed_check(), 100);
    assert!(!text.contains("pps"), "{text}");
    insta::assert_snapshot!("terminal_failed_check", text);
    let page = file("html", &fixture::failed_check());
    assert!(!page.contains("Mpps") && page.contains("no figure is published"));
    assert!(page.contains("drop &lt;policer&gt;"), "text of frames is escaped");
}

#[test]
fn what_a_feature_adds_stands_beside_what_is_there_without_it() {
    let all = fixture::full::all();
    let compared = &all.iter().find(|(name, _)| *name == "compared").expect("compared").1;
    let page = file("html", compared);
    for words in ["Effect of policer", "true against false", "+1.50 µs (20.0 µs)", "+0 % (0 %)"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!file("html", &fixture::record()).contains("id=\"added\""));
}

#[test]
fn trials_are_a_table_of_all_counts() {
    insta::assert_snapshot!("trials_csv", file("csv", &fixture::record()));
}

#[test]
fn a_record_survives_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let written = report::export_all(&fixture::record(), folder.path()).expect("writes");
    let names: Vec<_> = written.iter().filter_map(|p| p.file_name()?.to_str()).collect();
    let files = ["run.json", "trials.csv", "figures.csv", "run.jsonl", "junit.xml", "report.html"];
    assert_eq!(names, files);
    let read = report::read(&written[0]).expect("reads");
    assert!(read == fixture::record(), "the record changed on its way through the file");
}

#[test]
fn a_file_that_is_no_record_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.json");
    let error = |content: &str| {
        std::fs::write(&path, content).expect("writes");
        report::read(&path).expect_err("no record").to_string()
    };
    assert!(error("").contains("not a run record"));
    assert!(error("{\"schema_version\": 1}").contains("missing field"));
    assert!(error("{}").contains("no schema_version"));
    assert!(error("{\"schema_version\": 99}").contains("update the tool"));
    assert!(error("{\"schema_version\": 1, \"cells\": [").contains("line 1"));
}

#[test]
fn the_page_refers_to_nothing_outside_itself_and_runs_one_script() {
    let page = file("html", &fixture::record());
    for forbidden in ["http:", "https:", "<script ", "<link", "<img", "@import", "url(\"", "src="] {
        assert!(!page.contains(forbidden), "the page contains {forbidden}");
    }
    assert_eq!(page.matches("<script>").count(), 1);
    // References inside the page only: clip paths of charts, anchors, and the data of charts.
    for reference in page.split("url(").skip(1).chain(page.split(" href=\"").skip(1)) {
        let inside = reference.starts_with('#') || reference.starts_with("data:text/csv");
        assert!(inside, "{}", &reference[..20.min(reference.len())]);
    }
}

#[test]
fn many_comparisons_are_one_table_with_a_verdict_above_it() {
    let mut record = fixture::full::compared();
    let pairs = record.cells.clone();
    record.cells = (0..28)
        .flat_map(|size| {
            pairs.iter().cloned().map(move |mut cell| {
                cell.id = format!("{}-{size}", cell.id);
                cell.parameters.insert("traffic.pkt-size".into(), (64 + size).into());
                cell.outcomes.retain(|outcome| outcome.method == "capacity");
                cell
            })
        })
        .collect();
    record.comparisons = measure::record::compare_values("function.policer", &record.cells);
    assert!(record.comparisons.len() > 56);
    let text = report::terminal::render(&record, 100);
    let at = |words: &str| {
        let all: Vec<usize> = text.match_indices(words).map(|(at, _)| at).collect();
        assert_eq!(all.len(), 1, "{words} once:\n{text}");
        all[0]
    };
    let verdict = at("capacity, including generator and sink, policer against false: 28 slower.");
    let table = at("Comparison by policer: ratio with its 95 % confidence interval");
    assert!(verdict < table);
    let rows = text[table..].lines().filter(|line| line.trim_end().ends_with("slower")).count();
    assert_eq!(rows, 28, "a row for each size:\n{text}");
    assert!(!text.contains("do not differ") && !text.contains("policer: true is"), "{text}");
    let page = file("html", &record);
    assert_eq!(page.matches("<caption>Comparison by policer").count(), 1);
    assert!(page.contains("policer against false: 28 slower."));
    assert!(page.contains("id=\"bars-capacity\""), "side by side");
}

#[test]
fn the_first_screen_has_answer_validity_topology_host_and_one_chart() {
    for (name, record) in fixture::full::all() {
        let page = file("html", &record);
        let header = page.split_once("<header>").expect("a header").1;
        let header = header.split_once("</header>").expect("it ends").0;
        assert_eq!(header.matches("class=\"topology\"").count(), 1, "{name}");
        assert_eq!(header.matches("<figure").count(), 1, "{name}: one chart");
        assert!(header.contains("mobile-gateway") && header.contains("AMD EPYC"), "{name}");
        let badge = header.split_once("class=\"badge").expect("a badge").1;
        let badge = badge.split_once('>').expect("it begins").1;
        let words = badge.split_once("</span>").expect("it ends").0;
        assert!(words.split_whitespace().count() <= 5, "{name}: {words}");
    }
    let page = file("html", &fixture::record());
    assert_eq!(page.matches("Excluding Rx/Tx counts").count(), 1, "explained once");
    for words in ["core 1", "uplink", "downlink", "memory ports", "on embedded"] {
        assert!(page.contains(words), "{words}");
    }
    // The check and the trials are folded.
    for section in ["check", "trials"] {
        let part = page.split_once(&format!("<section id=\"{section}\"")).expect("is there").1;
        let part = part.split_once("</section>").expect("it ends").0;
        let open = part.split_once("<details>").expect("something is folded").0;
        assert!(!open.contains("<table"), "{section}");
    }
}

#[test]
fn a_percentile_is_no_deeper_than_its_samples() {
    let mut record = fixture::record();
    for trial in record.cells.iter_mut().flat_map(|c| &mut c.outcomes).flat_map(|o| &mut o.trials) {
        for direction in &mut trial.directions {
            direction.latency.as_mut().expect("is timed").samples = 2_000;
        }
    }
    let text = report::terminal::render(&record, 100);
    let row = text.lines().find(|line| line.contains("user 10,000, uplink")).expect("a row");
    assert!(row.contains("9.50 µs") && row.contains("too few") && !row.contains("81.0"), "{row}");
    assert!(row.contains("1.60 ms"), "the maximum is no percentile: {row}");
}

/// The body of the page, which is also well-formed XML but for `meta` and the doctype in front.
fn body(page: &str) -> String {
    let start = page.find("<body>").expect("a body");
    // The script is no XML; it is the last part of the body.
    let end = page.find("<script>").expect("a script");
    format!("{}</body>", &page[start..end])
}

#[test]
fn the_page_is_well_formed_and_every_anchor_and_label_exists_once() {
    whole(&fixture::record());
    whole(&fixture::failed_check());
    for (_, record) in fixture::full::all() {
        whole(&record);
    }
}

fn whole(record: &RunRecord) {
    let body = body(&file("html", record));
    let tree = roxmltree::Document::parse(&body).expect("well-formed");
    let mut ids: Vec<&str> = tree.descendants().filter_map(|n| n.attribute("id")).collect();
    for node in tree.descendants() {
        let targets = node.attribute("href").and_then(|h| h.strip_prefix('#')).into_iter();
        let labels = node.attribute("aria-labelledby").unwrap_or_default().split_whitespace();
        for id in targets.chain(labels) {
            assert!(ids.contains(&id), "{id} is referred to and does not exist");
        }
    }
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "an identifier is used twice");
}

#[test]
fn the_page_can_be_read_without_seeing_it() {
    let page = file("html", &fixture::record());
    let body = body(&page);
    let tree = roxmltree::Document::parse(&body).expect("well-formed");
    let all = |tag: &'static str| tree.descendants().filter(move |n| n.has_tag_name(tag));
    assert_eq!(all("h1").count(), 1);
    assert!(all("table").all(|t| t.children().any(|c| c.has_tag_name("caption"))));
    assert!(all("svg").count() >= 5, "the fixture has data for every chart");
    for svg in all("svg") {
        for name in ["title", "desc"] {
            let child = svg.children().find(|c| c.has_tag_name(name));
            assert!(child.is_some_and(|c| c.text().is_some_and(|t| !t.is_empty())), "{name}");
        }
    }
    for figure in all("figure") {
        assert!(figure.descendants().any(|n| n.has_tag_name("details")), "data of each chart");
        assert!(figure.descendants().any(|n| n.has_tag_name("figcaption")));
    }
}

/// The identifiers of a page's charts.
fn charts(record: &RunRecord) -> Vec<String> {
    let page = body(&file("html", record));
    let tree = roxmltree::Document::parse(&page).expect("well-formed");
    let figures = tree.descendants().filter(|n| n.has_tag_name("figure"));
    figures.filter_map(|n| n.attribute("id").map(String::from)).collect()
}

#[test]
fn every_method_has_its_chart_and_no_chart_is_drawn_without_its_data() {
    let expected: &[(&str, &[&str])] = &[
        ("sizes", &["size-throughput-traffic-pkt-size", "boxes-throughput"]),
        (
            "workers",
            &[
                "workers-capacity-function-core",
                "boxes-capacity",
                "cycles",
                "plot-1",
                "plot-2",
                "plot-3",
                "plot-4",
            ],
        ),
        (
            "grid",
            &[
                "sweep-capacity-function-user",
                "sweep-capacity-function-server",
                "surface-capacity-function-user-function-server",
                "boxes-capacity",
                "cycles",
                "plot-1",
            ],
        ),
        (
            "methods",
            &[
                "loss-0000-loss-curve",
                "forwarded-0000-loss-curve",
                "latency-by-load-0000-latency-uplink",
                "latency-by-load-0000-latency-downlink",
                "churn-surface-0000-churn",
                "churn-loss-0000-churn",
                "bursts-0000-burst",
                "recovery-0000-recovery",
                "policer-0000-rate-precision",
                "soak-0000-soak",
                "series-table-times-0000-newer-method",
            ],
        ),
        ("compared", &["bars-capacity", "boxes-capacity", "cycles"]),
    ];
    for (name, record) in fixture::full::all() {
        let (_, wanted) = expected.iter().find(|(n, _)| *n == name).expect("listed");
        assert_eq!(charts(&record), *wanted, "{name}");
    }
}

#[test]
fn published_figures_stand_on_the_axes_of_ours() {
    use fixture::published;
    let expected: [(RunRecord, &[&str], &[&str]); 5] = [
        (
            published::tables(),
            &[
                "kept-function-upstream-table-size",
                "kept-function-upstream-l3-table-size",
                "times-function-upstream-table-size",
            ],
            &["VPP, published", "OVS, published", "throughput relative to that"],
        ),
        (
            published::sizes(),
            &["size-throughput-traffic-pkt-size"],
            &["VSR-PE, IPv4, published, per core", "VSR-PE, services, published, per core"],
        ),
        (
            published::floods(),
            &["floods-0000-denial-of-service"],
            &["no flood", "icmp echo", "pings answered", "busiest core", "VSR-PE, echo", "72 %"],
        ),
        (
            published::added(),
            &["added-id-traffic-pkt-size", "times-traffic-pkt-size"],
            &["FSP 150, published", "added to the maximum, µs"],
        ),
        (
            published::sessions(),
            &["session-rates-0000-session-rate", "session-counts-0000-session-capacity"],
            &[
                "NFWare vCGNAT, published, per core",
                "requested sessions per second",
                "memory of the device, MB",
                "opened sessions",
            ],
        ),
    ];
    for (record, wanted, words) in expected {
        let name = &record.scenario.name;
        let found = charts(&record);
        for id in wanted {
            assert!(found.contains(&(*id).to_owned()), "{name}: no {id} in {found:?}");
        }
        let page = file("html", &record);
        for word in words {
            assert!(page.to_lowercase().contains(&word.to_lowercase()), "{name}: no {word}");
        }
        roxmltree::Document::parse(&body(&page)).expect("well-formed");
    }
    // Without being asked for, no other's figure of another function is shown.
    let mut record = published::tables();
    record.scenario.references.clear();
    record.cells.iter_mut().for_each(|cell| cell.function = "mobile-gateway".into());
    assert!(!charts(&record).iter().any(|id| id.starts_with("kept")));
}

#[test]
fn a_loss_curve_shows_a_little_loss_over_a_broad_range() {
    let methods = fixture::full::methods();
    let page = file("html", &methods);
    let (_, chart) = page.split_once("id=\"loss-0000-loss-curve\"").expect("the chart is there");
    let chart = chart.split_once("</figure>").expect("it ends").0;
    for words in ["0 ppm", "4 ppm", "10 ppm", "20 ppm", "100 ppm", "median of the trials"] {
        assert!(chart.contains(words), "{words}");
    }
    assert!(chart.contains("from the best to the worst trial"), "the band is explained");
    // 40 ppm at most between 4.5 and 4.8 Mpps; above that 1 % and more.
    assert!(chart.contains("range from 4.5 to 4.8"), "{chart}");
}

#[test]
fn charts_take_their_colours_from_the_page() {
    let page = file("html", &fixture::record());
    let body = body(&page);
    assert!(body.contains("var(--series-1)") && body.contains("var(--ink)"));
    assert!(!body.contains("#0102"), "a stand-in colour is left");
    for colour in ["fill=\"black\"", "stroke=\"black\"", "fill=\"white\"", "#000000", "#ffffff"] {
        assert!(!body.contains(colour), "{colour} would not follow dark mode");
    }
}

#[test]
fn text_of_the_scenario_is_escaped() {
    let page = file("html", &fixture::record());
    assert!(page.contains("# &lt;- swept &amp; measured"));
}

#[test]
fn a_hostile_record_injects_nothing() {
    let all = fixture::full::all().into_iter().map(|(_, record)| record);
    let all = all.chain([fixture::record(), fixture::failed_check()]);
    for record in all {
        let hostile = fixture::hostile::hostile(&record);
        let page = file("html", &hostile);
        let runs = report::comparison_page(&[hostile.clone(), hostile]);
        let runs = String::from_utf8(runs).expect("is UTF-8");
        for page in [page, runs] {
            assert_eq!(page.matches("<script").count(), 1, "a script got in");
            assert_eq!(page.matches("</script").count(), 1);
            assert_eq!(page.matches("</title>").count(), page.matches("<title").count());
            let body = body(&page);
            let tree = roxmltree::Document::parse(&body).expect("well-formed");
            assert!(body.contains("&lt;script&gt;alert(1)"), "the attack is shown as text");
            for node in tree.descendants().filter(roxmltree::Node::is_element) {
                assert!(!["script", "img", "iframe"].contains(&node.tag_name().name()));
                for attribute in node.attributes() {
                    assert!(!attribute.name().starts_with("on"), "{}", attribute.name());
                }
            }
        }
    }
}

#[test]
fn a_record_without_cells_still_renders() {
    let mut record = fixture::record();
    record.cells.clear();
    assert!(file("html", &record).contains("Nothing was measured."));
    assert_eq!(file("csv", &record).lines().count(), 1);
    assert!(report::terminal::render(&record, 80).starts_with("Nothing was measured."));
}

#[test]
fn cells_of_several_benchmarks_are_compared_each_with_its_own() {
    let of = |factor: f64| {
        let mut record = fixture::record();
        let mut cells = record.cells.clone();
        cells.truncate(1);
        cells.push(cells[0].clone());
        for (cell, (name, own)) in cells.iter_mut().zip([("ipv4", 1.0), ("ipv6", 0.5)]) {
            cell.benchmark = name.into();
            for figure in cell.outcomes.iter_mut().flat_map(|outcome| &mut outcome.figures) {
                (figure.value, figure.spread) = (figure.value * own * factor, None);
            }
        }
        record.cells = cells;
        record
    };
    let text = report::compared::render(&[of(1.0), of(2.0)], 200);
    let line = |name: &str| {
        let mut rows = text.lines().filter(|line| line.trim_start().starts_with(name));
        rows.find(|line| line.contains("Mpps")).unwrap_or_else(|| panic!("{name}: {text}"))
    };
    let figures = |name: &str| {
        let words = line(name).split_whitespace().collect::<Vec<_>>();
        let at = words.iter().position(|word| *word == "Mpps").expect("a rate");
        words[at - 1].parse::<f64>().expect("a number")
    };
    let (v4, v6) = (figures("ipv4"), figures("ipv6"));
    assert!((v4 / v6 - 2.0).abs() < 0.01, "{v4} and {v6} in {text}");
}

#[test]
fn nothing_is_divided_by_a_figure_of_another_host() {
    // Published figures stand beside ours: with host, source and the value per core.
    let page = file("html", &fixture::record());
    let (_, section) = page.split_once("id=\"comparison\"").expect("it has references");
    let section = section.split("</section>").next().unwrap_or_default();
    assert!(!section.contains(" times (") && !section.contains("ratio"), "{section}");
    assert!(section.contains("2x Xeon E5-2680 v3") && section.contains("per core"), "{section}");
    // Runs of two hosts are printed beside each other, and no ratio is.
    let (here, mut there) = (fixture::record(), fixture::record());
    assert!(report::compared::render(&[here.clone(), there.clone()], 200).contains("B / A"));
    there.host.cpu_model = "another processor".into();
    let text = report::compared::render(&[here.clone(), there.clone()], 200);
    assert!(text.contains("another processor") && text.contains("no ratio"), "{text}");
    assert!(
        text.contains("Mpps") && !text.contains("B / A") && !text.contains("times A"),
        "{text}"
    );
    let page = String::from_utf8(report::comparison_page(&[here, there])).expect("it is text");
    assert!(page.contains("run 2 is of another host") && page.contains("No ratio to"));
    assert!(!page.contains("95 % confidence interval"), "{page}");
}
