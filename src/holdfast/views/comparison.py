"""`holdfast compare`: groups of runs as tables on a terminal, as JSON, or as a page."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from holdfast.studies.comparison import Comparison, GroupResult, compare
from holdfast.studies.groups import shown
from holdfast.studies.statistics import Estimate, Reached
from holdfast.views.report.axes import short

PLAIN: dict[str, Any] = {"title_justify": "left", "box": SIMPLE_HEAD, "pad_edge": False, "collapse_padding": True}
MOST_DIFFERENCES = 20  # rows of the configuration table on a terminal


def show_comparison(arguments: argparse.Namespace) -> int:
    """The verb."""
    by = [name for name in arguments.by.split(",") if name]
    found = compare(arguments.paths, by=by, measure=arguments.measure, threshold=arguments.threshold)
    if arguments.page:
        from holdfast.views.comparison_page import write_comparison

        write_comparison(found, Path(arguments.page))
    if arguments.json:
        print(json.dumps(found.as_json()))
    else:
        print_comparison(found, wide_console())
        if arguments.page:
            print(f"page: {arguments.page}", file=sys.stdout)
    return 0


def wide_console() -> Console:
    """As wide as the terminal; into a file or a pipe, wide enough for every table."""
    console = Console()
    return console if console.is_terminal else Console(width=140)


def print_comparison(found: Comparison, console: Console) -> None:
    """All tables that have a row."""
    for name, group in zip(letters(found), found.groups, strict=True):
        console.print(f"{name}  {group.label}", markup=False, highlight=False)
    console.print(groups_table(found))
    if found.pairs:
        console.print(pairs_table(found))
    if found.reached:
        console.print(reached_table(found))
    if found.differences:
        console.print(differences_table(found))
    for note in found.notes:
        console.print(note, markup=False, highlight=False)


def number(value: float) -> str:
    """In three digits: an interval over seeds has no more to say."""
    return short(float(f"{value:.3g}"))


def interval(estimate: Estimate, group: GroupResult | None = None) -> str:
    """`0.97 [0.95, 0.98]`, with a star where there are too few seeds."""
    star = "*" if group is not None and not group.reliable else ""
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]{star}"


def probability(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def letters(found: Comparison) -> list[str]:
    """A short name for each group: A to Z, then by numbers."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    few = len(found.groups) <= len(alphabet)
    return [alphabet[at] if few else f"#{at + 1}" for at in range(len(found.groups))]


GROUP_HEADINGS = ("group", "seeds", "IQM", "mean", "median")


def group_cells(found: Comparison) -> list[list[str]]:
    names = letters(found) if len(found.groups) > 1 else [""]
    return [
        [f"{name} {group.label}".strip(), str(group.n)]
        + [interval(one, group) for one in (group.iqm, group.mean, group.median)]
        for name, group in zip(names, found.groups, strict=True)
    ]


def groups_table(found: Comparison) -> Table:
    """By their letters: a label can be longer than a terminal is wide."""
    title = f"{found.measure}, 95 % bootstrap intervals over seeds"
    table = Table(title=title, **PLAIN)
    for name in GROUP_HEADINGS:
        table.add_column(name, justify="left" if name == "group" else "right", no_wrap=True)
    for name, cells in zip(letters(found), group_cells(found), strict=True):
        table.add_row(name, *cells[1:])
    return table


PAIR_HEADINGS = ("groups", "P(1st > 2nd)", "difference", "pairs", "p", "Holm", "detectable")


def pair_cells(found: Comparison) -> list[list[str]]:
    names = dict(zip((group.label for group in found.groups), letters(found), strict=True))
    return [
        [
            f"{names[pair.first]} – {names[pair.second]}",
            interval(pair.improvement),
            number(pair.difference),
            str(pair.pairs),
            probability(pair.p),
            probability(pair.p_corrected),
            "" if pair.detectable is None else number(pair.detectable),
        ]
        for pair in found.pairs
    ]


def pairs_table(found: Comparison) -> Table:
    title = "between groups: sign flips over paired seeds; detectable: true difference found in 4 of 5 such comparisons"
    table = Table(title=title, **PLAIN)
    for name in PAIR_HEADINGS:
        table.add_column(name, justify="left" if name == "groups" else "right", no_wrap=True)
    for cells in pair_cells(found):
        table.add_row(*cells)
    return table


REACHED_HEADINGS = ("group", "reached", "iterations", "agent-steps", "seconds")


def reached_cells(found: Comparison) -> list[list[str]]:
    def median(one: Reached) -> str:
        return "not reached by half" if one.median is None else short(one.median)

    return [
        [
            name,
            f"{one.iterations.reached} of {one.iterations.runs}",
            *(median(spent) for spent in (one.iterations, one.agent_steps, one.seconds)),
        ]
        for name, one in zip(letters(found), found.reached, strict=True)
    ]


def reached_table(found: Comparison) -> Table:
    title = f"until {found.measure} {found.threshold:g}: medians, runs that never reached it counted as censored"
    table = Table(*REACHED_HEADINGS, title=title, **PLAIN)
    for cells in reached_cells(found):
        table.add_row(*cells)
    return table


def differences_table(found: Comparison) -> Table:
    table = Table("option", title="what differs between the groups", **PLAIN)
    few = len(found.groups) <= 6
    for name in letters(found) if few else ():
        table.add_column(name)
    if not few:
        table.add_column("values")
    for name, values in list(found.differences.items())[:MOST_DIFFERENCES]:
        texts = [shown(value) for value in values]
        table.add_row(name, *(texts if few else [", ".join(dict.fromkeys(texts))]))
    if len(found.differences) > MOST_DIFFERENCES:
        table.add_row(f"and {len(found.differences) - MOST_DIFFERENCES} more, with --json")
    return table
