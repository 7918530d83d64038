"""Reads the records of Plumbline's runs, and turns them into rows and pandas frames."""

from .frames import figures_frame, trials_frame
from .records import VERSION_MAX, RecordError, figures, read, trials, words
from .types import RunRecord

__all__ = [
    "VERSION_MAX",
    "RecordError",
    "RunRecord",
    "figures",
    "figures_frame",
    "read",
    "trials",
    "trials_frame",
    "words",
]
