"""Metrics as Parquet: the newest row in `latest.parquet`, all rows in `metrics.parquet`, for other programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.kit.disk import writing
from holdfast.runs.reading import read_stream

if TYPE_CHECKING:
    import pyarrow

LATEST, TABLE = "latest.parquet", "metrics.parquet"


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """One column per name, empty where a row does not have it; the file is replaced in one move."""
    import pyarrow.parquet

    aside = path.with_name(f".{path.name}.{os.getpid()}")
    table = as_table(rows)
    with writing(path, "the metrics are whole in metrics.jsonl"):
        try:
            pyarrow.parquet.write_table(table, aside)
            os.replace(aside, path)
        finally:
            with suppress(OSError):  # the first error is the one to tell
                aside.unlink(missing_ok=True)


def as_table(rows: Sequence[dict[str, Any]]) -> pyarrow.Table:
    """One column per name, empty where a row does not have it."""
    import pyarrow

    names = list(dict.fromkeys(name for row in rows for name in row))
    return pyarrow.table({name: _typed([row.get(name) for row in rows]) for name in names})


def _typed(column: list[Any]) -> list[Any]:
    """One type per column: a number that happens to be whole in one row is still a float."""
    types = {type(value) for value in column if value is not None}
    if len(types) < 2:
        return column
    kind = float if types == {int, float} else str
    return [None if value is None else kind(value) for value in column]


def metrics_rows(folder: Path) -> list[dict[str, Any]]:
    """All of a run's metrics beside the clock times of the same iterations."""
    rows = {row["iteration"]: row for row in read_stream(folder / "metrics.jsonl").records if "iteration" in row}
    for timing in read_stream(folder / "timing.jsonl").records:
        if timing.get("iteration") in rows:
            rows[timing["iteration"]] = {**timing, **rows[timing["iteration"]]}
    return list(rows.values())


def write_table(folder: Path) -> Path | None:
    """The same as `metrics.parquet`; nothing if there are no metrics yet."""
    rows = metrics_rows(folder)
    if not rows:
        return None
    write_rows(folder / TABLE, rows)
    return folder / TABLE
