"""Rows as pandas frames; pandas is imported where it is used, so that rows need none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Iterator

from .records import figures, trials
from .types import RunRecord

if TYPE_CHECKING:
    import pandas


def figures_frame(*records: RunRecord) -> pandas.DataFrame:
    """A frame with a row for each figure of the runs."""
    return _frame(row for record in records for row in figures(record))


def trials_frame(*records: RunRecord) -> pandas.DataFrame:
    """A frame with a row for each trial and direction of the runs."""
    return _frame(row for record in records for row in trials(record))


def _frame(rows: Iterator[dict[str, Any]] | Iterable[dict[str, Any]]) -> pandas.DataFrame:
    import pandas

    frame = pandas.DataFrame(list(rows))
    if "started" in frame:
        frame["started"] = pandas.to_datetime(frame["started"], utc=True)
    return frame
