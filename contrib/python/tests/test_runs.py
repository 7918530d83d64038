"""The package against the records in results/, and its types against the schema."""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
RESULTS = ROOT / "results"
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parent)]

import generate  # noqa: E402
import plumbline_runs as runs  # noqa: E402

FIRST = RESULTS / "mobile-gateway-20261121T165745Z"


class Types(unittest.TestCase):
    def test_types_are_those_of_the_schema(self):
        fresh = generate.types_of(json.loads(generate.SCHEMA.read_text()))
        same = fresh == generate.TYPES.read_text()
        self.assertTrue(same, "types.py is out of date; run: python3 contrib/python/generate.py")

    def test_every_key_of_a_record_has_a_type(self):
        from plumbline_runs import types

        def keys(kind):
            return set(kind.__annotations__)

        record = runs.read(FIRST)
        self.assertLessEqual(set(record), keys(types.RunRecord))
        for cell in record["cells"]:
            self.assertLessEqual(set(cell), keys(types.Cell))
            for outcome in cell["outcomes"]:
                self.assertLessEqual(set(outcome), keys(types.Outcome))
                for trial in outcome["trials"]:
                    self.assertLessEqual(set(trial), keys(types.TrialRecord))
        self.assertIn("value", types.Figure.__required_keys__)
        self.assertIn("bound", types.Figure.__optional_keys__)


class Records(unittest.TestCase):
    def test_every_record_yields_its_figures_and_trials(self):
        folders = [path for path in sorted(RESULTS.iterdir()) if path.is_dir()]
        self.assertGreater(len(folders), 50)
        for folder in folders:
            record = runs.read(folder)
            outcomes = [one for cell in record["cells"] for one in cell["outcomes"]]
            count = sum(len(one["figures"]) for one in outcomes)
            self.assertEqual(len(list(runs.figures(record))), count, folder)
            directions = sum(len(t["directions"]) for one in outcomes for t in one["trials"])
            self.assertEqual(len(list(runs.trials(record))), directions, folder)

    def test_a_figure_has_its_spread_and_its_swept_keys(self):
        rows = [row for row in runs.figures(runs.read(FIRST)) if row["figure"] == "function_pps"]
        self.assertEqual([row["traffic.pkt-size"] for row in rows], [64, "imix"])
        for row in rows:
            self.assertTrue(row["min"] <= row["median"] == row["value"] <= row["max"])
            self.assertEqual((row["n"], row["unit"], row["method"]), (5, "pps", "capacity"))

    def test_a_bound_bears_its_sign(self):
        row = {"value": 8615686.9, "unit": "pps", "bound": "at-least"}
        self.assertEqual(runs.words(row), "≥ 8615686.9 pps")
        self.assertEqual(runs.words(row | {"bound": None}), "8615686.9 pps")

    def test_what_is_no_record_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.json"
            for text, why in [
                ("{", "no JSON"),
                ("[]", "no record"),
                ("{}", "no record"),
                (json.dumps({"schema_version": runs.VERSION_MAX + 1}), "version"),
            ]:
                path.write_text(text)
                with self.assertRaisesRegex(runs.RecordError, why):
                    runs.read(folder)
            packed = Path(folder) / "other.json"
            packed.write_bytes(gzip.compress(b'{"schema_version": 1, "cells": []}'))
            self.assertEqual(runs.read(packed)["cells"], [])

    def test_the_version_is_the_newest_that_the_records_have(self):
        newest = max(runs.read(path)["schema_version"] for path in RESULTS.iterdir() if path.is_dir())
        self.assertEqual(newest, runs.VERSION_MAX)


@unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
class Frames(unittest.TestCase):
    def test_frames_have_a_row_for_each(self):
        record = runs.read(FIRST)
        frame = runs.figures_frame(record)
        self.assertEqual(len(frame), len(list(runs.figures(record))))
        rates = frame[frame.figure == "function_pps"].set_index("traffic.pkt-size")
        self.assertGreater(rates.loc[64, "value"], 1e6)
        self.assertEqual(str(frame.started.dt.tz), "UTC")
        trials = runs.trials_frame(record, record)
        self.assertEqual(len(trials), 2 * len(list(runs.trials(record))))


if __name__ == "__main__":
    unittest.main()
