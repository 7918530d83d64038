"""Records: reading them, and their figures and trials as rows of plain values."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Iterator, cast

from .types import Cell, Outcome, RunRecord

#: The newest version of the format that is read.
VERSION_MAX = 2

#: The largest record that is read, in bytes of JSON, however small its file is.
BYTES_MAX = 1 << 30


class RecordError(ValueError):
    """A file that is no record, or one of a newer version."""


def read(path: str | Path) -> RunRecord:
    """Reads a record: `run.json`, `run.json.gz`, or the folder of a run that has one of them."""
    path = Path(path)
    if path.is_dir():
        packed = path / "run.json.gz"
        path = packed if packed.exists() else path / "run.json"
    with open(path, "rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        stream: Any = gzip.GzipFile(fileobj=file) if is_packed else file
        text = stream.read(BYTES_MAX + 1)
    if len(text) > BYTES_MAX:
        raise RecordError(f"{path}: more than {BYTES_MAX} bytes")
    try:
        record = json.loads(text)
    except ValueError as error:
        raise RecordError(f"{path}: no JSON: {error}") from error
    if not isinstance(record, dict) or "schema_version" not in record:
        raise RecordError(f"{path}: no record of a run")
    if record["schema_version"] > VERSION_MAX:
        version = record["schema_version"]
        raise RecordError(f"{path}: version {version}, and this package reads {VERSION_MAX}")
    return cast(RunRecord, record)


def figures(record: RunRecord) -> Iterator[dict[str, Any]]:
    """A row for each figure; swept keys are entries of their own, named as in the scenario."""
    for cell, outcome in _outcomes(record):
        for figure in outcome["figures"]:
            spread: dict[str, Any] = dict(figure.get("spread") or {})
            yield _head(record, cell) | {
                "method": outcome["method"],
                "figure": figure["name"],
                "of": figure.get("of"),
                "value": figure["value"],
                "unit": figure["unit"],
                "bound": figure.get("bound"),
                "n": spread.get("n", 1),
                "min": spread.get("min"),
                "median": spread.get("median"),
                "max": spread.get("max"),
                "valid": outcome["validity"]["valid"],
            }


def trials(record: RunRecord) -> Iterator[dict[str, Any]]:
    """A row for each trial and direction."""
    for cell, outcome in _outcomes(record):
        for trial in outcome["trials"]:
            for direction in trial["directions"]:
                plain = {
                    key: value
                    for key, value in direction.items()
                    if not isinstance(value, (dict, list))
                }
                yield _head(record, cell) | {
                    "method": outcome["method"],
                    "trial": trial["index"],
                    "repetition": trial.get("repetition", 0),
                    "purpose": trial["purpose"],
                    "load": trial["load"]["kind"],
                    "load_pps": trial["load"].get("pps"),
                    "seconds": trial["effective_ns"] / 1e9,
                    "loss_fraction": trial["loss_fraction"],
                } | {f"direction_{key}": value for key, value in plain.items()}


def words(row: dict[str, Any]) -> str:
    """A figure as text: `≥ 8615687 pps` for a lower bound."""
    sign = "≥ " if row["bound"] == "at-least" else ""
    return f"{sign}{row['value']:.12g} {row['unit']}"


def _outcomes(record: RunRecord) -> Iterator[tuple[Cell, Outcome]]:
    for cell in record["cells"]:
        for outcome in cell["outcomes"]:
            yield cell, outcome


def _head(record: RunRecord, cell: Cell) -> dict[str, Any]:
    return {
        "run": record.get("id") or record["started"],
        "scenario": record["scenario"]["name"],
        "started": record["started"],
        "host": record["host"]["cpu_model"],
        "cell": cell["id"],
        "benchmark": cell.get("benchmark", ""),
        "function": cell["function"],
        "device": cell["device"],
        **cell["parameters"],
    }
