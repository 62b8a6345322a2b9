"""The report of a fish run says more: why the gate decided as it did, and the plots of its evaluations and deck."""

from __future__ import annotations

from base64 import b64encode
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.games.fish.school_records import DECISIONS, HISTORY, TRACE
from holdfast.games.fish.views.plots import write_school_plots
from holdfast.games.fish.views.records import read_yardsticks, write_school_records
from holdfast.games.fish.world.measure import early, final_share
from holdfast.kit.intervals import bootstrap_mean
from holdfast.runs.metrics import read_lines
from holdfast.views.report.axes import short
from holdfast.views.report.markup import Html, element, joined, section, table
from holdfast.views.report.record import Record

COLUMNS = ("avg_final", "95 %", "ceiling_avg", "min_final", "ceiling_min", "early_100", "step_one", "floor_step_one")


def school_sections(record: Record) -> Html:
    """Empty for a run of any other world. The files that the sections show are written first."""
    if not (record.folder / HISTORY).is_file():
        return joined()
    write_school_records(record.folder)
    plots = write_school_plots(record.folder)
    return joined(school_tables(record), _plots(plots))


def school_tables(record: Record) -> Html:
    """What the sections say without their plots; nothing is written."""
    if not (record.folder / HISTORY).is_file():
        return joined()
    decisions, history = read_lines(record.folder / DECISIONS), read_lines(record.folder / HISTORY)
    trace = read_lines(record.folder / TRACE)
    scripts = read_yardsticks(record.folder)
    return joined(_gate(decisions), _deck(trace), _schools(history, scripts))


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


def _deck(trace: list[dict[str, Any]]) -> Html:
    """Which situations were dealt when. Deals are counted over the whole run, so a block shows what it added."""
    lines = [line for line in trace if "block" in line["deck"]]
    if not lines:
        return joined()
    rows, before = [], 0
    for label, some in _runs_of(lines):
        last = some[-1]["deck"]
        warned = sum(line["deck"]["warning"] for line in some)
        rows.append([label or "all dealt", last["type"] or "–", f"{some[0]['iteration']}–{some[-1]['iteration']}",
                     str(last["deals"] - before), f"{last['ratio']:.0%}", str(warned or "–")])  # fmt: skip
        before = last["deals"]
    return section("Deck", table(["block", "type", "iterations", "deals", "left", "warned"], rows, numeric=3))


def _runs_of(lines: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Neighbouring iterations that dealt from the same block."""
    return [(label, list(some)) for label, some in groupby(lines, key=lambda line: str(line["deck"]["block"]))]


def _schools(history: list[dict[str, Any]], scripts: dict[str, np.ndarray]) -> Html:
    """Every evaluation beside what no policy could have bettered, and scripted policies on the same seeds."""
    rows = [_school_row(str(line["iteration"]), line) for line in history]
    if history:
        rows += [_school_row(name, {**history[-1], **_script_line(deaths)}) for name, deaths in scripts.items()]
    return section("Schools", table(["iteration", *COLUMNS], rows))


def _school_row(name: str, line: dict[str, Any]) -> list[str]:
    interval = f"{short(line['avg_final_low'])}–{short(line['avg_final_high'])}"
    return [name, *(interval if column == "95 %" else short(line[column]) for column in COLUMNS)]


def _script_line(deaths: np.ndarray) -> dict[str, float]:
    share = final_share(deaths)
    low, high = bootstrap_mean(share)
    return {
        "avg_final": float(share.mean()),
        "avg_final_low": low,
        "avg_final_high": high,
        "min_final": float(share.min()),
        "early_100": early(deaths, 100),
        "step_one": int((deaths == 1).sum()),
    }


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
