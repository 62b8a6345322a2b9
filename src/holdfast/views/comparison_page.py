"""A comparison as one self-contained page in the style of a run's report."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from holdfast.kit.disk import replace_file
from holdfast.studies.comparison import Comparison, GroupResult
from holdfast.studies.groups import shown
from holdfast.studies.statistics import Band
from holdfast.views.comparison import (
    GROUP_HEADINGS,
    PAIR_HEADINGS,
    REACHED_HEADINGS,
    group_cells,
    letters,
    pair_cells,
    reached_cells,
)
from holdfast.views.report.axes import Span, padded_span
from holdfast.views.report.chart import COLOURS, Chart, Line, draw
from holdfast.views.report.markup import Html, element, joined, section, table


def write_comparison(found: Comparison, path: Path) -> None:
    names = f"{len(found.groups)} groups" if len(found.groups) > 1 else found.groups[0].label
    replace_file(path, as_page(f"{names}: {found.measure}", *sections(found)).encode("utf-8", "backslashreplace"))


def as_page(title: str, *content: Html) -> str:
    """A whole document; it loads nothing and runs nothing."""
    css = (Path(__file__).parent / "report/report.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        element("title", title),
        element("style", Html(css)),
    )
    body = element("body", element("main", element("header", element("h1", title)), *content))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def sections(found: Comparison) -> list[Html]:
    """Everything a comparison has to show."""
    return [
        _groups(found),
        _curves(found),
        _profiles(found),
        _pairs(found),
        _reached(found),
        _differences(found),
        section("Notes", element("ul", *(element("li", note) for note in found.notes))) if found.notes else joined(),
    ]


def _groups(found: Comparison) -> Html:
    ends = [end for group in found.groups for end in (group.iqm.low, group.iqm.high)]
    span = padded_span(ends)
    rows = []
    for group, cells in zip(found.groups, group_cells(found), strict=True):
        rows.append([cells[0], _whisker(group, span), *cells[1:]])
    head = [GROUP_HEADINGS[0], "", *GROUP_HEADINGS[1:]]
    return section(f"{found.measure}, with 95 % intervals over seeds", table(head, rows, numeric=2, class_="result"))


def _whisker(group: GroupResult, span: Span) -> Html:
    low, high = span.share(group.iqm.low), span.share(group.iqm.high)
    bar = element("i", style=f"left:{low:.2%};width:{high - low:.2%}")
    return element("div", bar, element("b", style=f"left:{span.share(group.iqm.value):.2%}"), class_="whisker")


def _line(name: str, band: Band) -> Line:
    return Line(name, *(values.tolist() for values in band))


def _curves(found: Comparison) -> Html:
    drawn = [(group.label, band) for group, band in zip(found.groups, found.curves, strict=True) if band is not None]
    drawn = drawn[:COLOURS]
    if not drawn:
        return joined()
    across = _across([band.x for _, band in drawn])
    meaning = "mean over seeds with its 95 % interval, over agent-steps" + _first_only(found)
    chart = Chart(found.measure, meaning, across, [_line(name, band) for name, band in drawn], wide=True)
    return section("Learning curves", element("div", draw(chart), class_="charts"))


def _profiles(found: Comparison) -> Html:
    lines = [_line(group.label, band) for group, band in zip(found.groups, found.profiles, strict=True)][:COLOURS]
    meaning = f"share of runs above a {found.measure}, with its 95 % interval" + _first_only(found)
    chart = Chart("performance profile", meaning, _across([found.profiles[0].x]), lines, from_zero=True, wide=True)
    return section("Performance profiles", element("div", draw(chart), class_="charts"))


def _first_only(found: Comparison) -> str:
    return f"; the first {COLOURS} of {len(found.groups)} groups" if len(found.groups) > COLOURS else ""


def _across(xs: list[np.ndarray]) -> Span:
    low, high = float(min(x[0] for x in xs)), float(max(x[-1] for x in xs))
    return Span(low, high) if low < high else Span(low - 1.0, high + 1.0)


def _pairs(found: Comparison) -> Html:
    if not found.pairs:
        return joined()
    rows = pair_cells(found)
    note = element(
        "p",
        "P: Mann–Whitney with a bootstrap interval. p: exact sign flips over the seeds that both ran, corrected by "
        "Holm over all rows. Detectable: the smallest true difference that so many seeds show four times in five.",
        class_="note",
    )
    return section("Between groups", table(list(PAIR_HEADINGS), rows, numeric=1), note)


def _reached(found: Comparison) -> Html:
    if not found.reached:
        return joined()
    title = f"Until {found.measure} {found.threshold:g}"
    note = element("p", "Medians by Kaplan and Meier; a run that ended before is censored there.", class_="note")
    return section(title, table(list(REACHED_HEADINGS), reached_cells(found)), note)


def _differences(found: Comparison) -> Html:
    if not found.differences:
        return joined()
    head = ["option", *letters(found)]
    rows = [[name, *(shown(value) for value in values)] for name, values in found.differences.items()]
    return section("What differs between the groups", table(head, rows, class_="options"))
