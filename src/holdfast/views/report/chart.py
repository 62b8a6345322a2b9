"""A line chart as HTML: lines in an SVG that stretches with the page, ticks and legend as text that does not.

The values under the pointer come from the `data-chart` attribute, read by report.js; without it the chart still shows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from holdfast.views.report.axes import MOST_POINTS, Span, in_stretches, padded_span, short, ticks
from holdfast.views.report.markup import Html, element, joined

COLOURS = 6  # --line-0 to --line-5 in report.css
SIDE = 1000  # of the SVG's own coordinates
DOTTED_UP_TO = 30  # points that are each marked with a dot


class Line(NamedTuple):
    """One curve, with its interval where it has one."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


class Level(NamedTuple):
    """A horizontal line to compare with."""

    name: str
    value: float


@dataclass(frozen=True)
class Chart:
    """Everything one chart shows; `across` is the span of iterations that all charts of a page share."""

    title: str
    meaning: str
    across: Span
    lines: list[Line]
    levels: list[Level] = field(default_factory=list)
    from_zero: bool = False
    wide: bool = False

    @property
    def upright(self) -> Span:
        values = [level.value for level in self.levels]
        for line in self.lines:
            values += [*line.y, *line.low, *line.high]
        return padded_span(values, self.from_zero)


def draw(chart: Chart) -> Html:
    """The chart as one figure."""
    chart = replace(chart, lines=[thinned(line) for line in chart.lines])
    upright = chart.upright
    marks = [_level(upright, number, level) for number, level in enumerate(chart.levels, len(chart.lines))]
    for number, line in enumerate(chart.lines):
        marks += _line(chart.across, upright, number, line)
    grid = [_grid(upright.share(tick)) for tick in ticks(upright, 5)]
    picture = element(
        "svg", *grid, *marks, viewBox=f"0 0 {SIDE} {SIDE}", preserveAspectRatio="none", aria_hidden="true"
    )
    plot = element(
        "div", picture, *_tick_labels(chart.across, upright), class_="plot", role="img", aria_label=in_words(chart)
    )
    return element(
        "figure",
        _caption(chart),
        plot,
        class_="chart wide" if chart.wide else "chart",
        data_chart=_data(chart, upright),
    )


def thinned(line: Line) -> Line:
    """A line of too many points as the mean of stretches, with the lowest and highest of each as its interval."""
    if line.low or len(line.x) <= MOST_POINTS:
        return line
    return Line(line.name, *in_stretches(line.x, line.y))


# --- marks in the SVG ------------------------------------------------------------------------------------------------


def _colour(number: int) -> str:
    return f"c{number % COLOURS}"


def _place(across: Span, upright: Span, x: float, y: float) -> str:
    return f"{across.share(x) * SIDE:.1f} {(1 - upright.share(y)) * SIDE:.1f}"


def _path(**attributes: str) -> Html:
    return element("path", vector_effect="non-scaling-stroke", **attributes)


def _grid(height: float) -> Html:
    return _path(d=f"M0 {(1 - height) * SIDE:.1f}H{SIDE}", class_="grid")


def _level(upright: Span, number: int, level: Level) -> Html:
    return _path(d=f"M0 {(1 - upright.share(level.value)) * SIDE:.1f}H{SIDE}", class_=f"level {_colour(number)}")


def _line(across: Span, upright: Span, number: int, line: Line) -> list[Html]:
    places = [_place(across, upright, x, y) for x, y in zip(line.x, line.y, strict=True)]
    marks = [_path(d="M" + "L".join(places), class_=f"line {_colour(number)}")]
    if len(places) <= DOTTED_UP_TO:
        marks.append(_path(d="".join(f"M{place}h0" for place in places), class_=f"dots {_colour(number)}"))
    if line.low:
        there = [_place(across, upright, x, y) for x, y in zip(line.x, line.high, strict=True)]
        back = [_place(across, upright, x, y) for x, y in zip(line.x, line.low, strict=True)][::-1]
        marks.insert(0, _path(d="M" + "L".join(there + back) + "Z", class_=f"band {_colour(number)}"))
    return marks


# --- words around it -------------------------------------------------------------------------------------------------


def _tick_labels(across: Span, upright: Span) -> list[Html]:
    below = [
        element("span", short(tick), class_="tick below", style=f"left:{across.share(tick):.2%}")
        for tick in ticks(across, 6, whole=True)
    ]
    beside = [
        element("span", short(tick), class_="tick beside", style=f"bottom:{upright.share(tick):.2%}")
        for tick in ticks(upright, 5)
    ]
    return below + beside


def _caption(chart: Chart) -> Html:
    keys = [(line.name, "key line", "") for line in chart.lines]
    keys += [(level.name, "key level", f" {short(level.value)}") for level in chart.levels]
    legend = [
        element("span", element("i", class_=f"{kind} {_colour(number)}"), name + value)
        for number, (name, kind, value) in enumerate(keys)
    ]
    title = element("strong", chart.title)
    return element(
        "figcaption",
        element("div", title, " ", element("span", chart.meaning, class_="meaning")),
        element("div", *legend, class_="legend") if len(legend) > 1 else joined(),
    )


def in_words(chart: Chart) -> str:
    """The chart for who cannot see it: where each line begins and ends."""
    lines = [f"{line.name} from {short(line.y[0])} to {short(line.y[-1])}" for line in chart.lines]
    levels = [f"{level.name} at {short(level.value)}" for level in chart.levels]
    return f"{chart.title}: " + ", ".join(lines + levels)


def _data(chart: Chart, upright: Span) -> str:
    def rounded(values: Sequence[float]) -> list[float]:
        return [float(f"{value:.9g}") for value in values]

    lines = [
        {
            "name": line.name,
            "colour": _colour(number),
            "x": list(line.x),
            "y": rounded(line.y),
            **({"low": rounded(line.low), "high": rounded(line.high)} if line.low else {}),
        }
        for number, line in enumerate(chart.lines)
    ]
    return json.dumps({"across": chart.across, "upright": upright, "lines": lines}, separators=(",", ":"))
