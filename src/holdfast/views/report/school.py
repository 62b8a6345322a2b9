"""The report of a fish run says more: why the gate decided as it did, and the plots of its evaluations and deck."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

from holdfast.runs.metrics import read_lines
from holdfast.views.report.axes import short
from holdfast.views.report.markup import Html, element, joined, section, table
from holdfast.views.report.record import Record
from holdfast.views.school_plots import write_school_plots
from holdfast.views.school_records import DECISIONS, HISTORY, write_school_records

CEILINGS = ("avg_final", "ceiling_avg", "min_final", "ceiling_min", "early_100", "step_one", "floor_step_one")


def school_sections(record: Record) -> Html:
    """Empty for a run of any other world. The files that the sections show are written first."""
    if not (record.folder / HISTORY).is_file():
        return joined()
    write_school_records(record.folder)
    plots = write_school_plots(record.folder)
    decisions, history = read_lines(record.folder / DECISIONS), read_lines(record.folder / HISTORY)
    return joined(_gate(decisions), _schools(history), _plots(plots))


def _gate(decisions: list[dict[str, Any]]) -> Html:
    """Each decision with what decided it."""
    if not decisions:
        return joined()
    rows = [
        [str(one["iteration"]), one["type"] or "–", one["event"], f"{one['level']['before']} → {one['level']['after']}",
         one["because"]]
        for one in decisions
    ]  # fmt: skip
    return section("Gate", table(["iteration", "type", "event", "level", "because"], rows, numeric=5))


def _schools(history: list[dict[str, Any]]) -> Html:
    """Every evaluation beside what no policy could have bettered."""
    rows = [[str(line["iteration"]), *(short(line[name]) for name in CEILINGS)] for line in history]
    return section("Schools", table(["iteration", *CEILINGS], rows))


def _plots(paths: list[Path]) -> Html:
    pictures = [
        element(
            "figure",
            element("img", src=f"data:image/png;base64,{b64encode(path.read_bytes()).decode()}", alt=path.stem),
            element("figcaption", path.stem.replace("_", " ")),
        )
        for path in paths
    ]
    return section("Plots", element("div", *pictures, class_="media"))
