"""Ticks, short numbers, thinning and escaping behind a report."""

from __future__ import annotations

import math
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.views.report.axes import MOST_POINTS, STRETCHES, Span, padded_span, short, ticks
from holdfast.views.report.chart import Chart, Level, Line, draw, in_words, thinned
from holdfast.views.report.markup import element
from holdfast.views.report.record import Score, is_number
from holdfast.views.report.result import standing

FINITE = st.floats(-1e12, 1e12, allow_nan=False)


@given(st.lists(FINITE, min_size=1), st.integers(2, 8), st.booleans())
def test_ticks_are_round_and_inside_the_span(values: list[float], most: int, from_zero: bool) -> None:
    span = padded_span(values, from_zero)
    assert span.low <= min(values) <= max(values) <= span.high
    found = ticks(span, most)
    assert 1 <= len(found) <= most
    slack = (span.high - span.low) * 1e-6
    assert all(span.low - slack <= tick <= span.high + slack for tick in found)


def test_ticks_step_by_one_two_or_five() -> None:
    assert ticks(Span(0, 1), 6) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert ticks(Span(-3, 107), 5) == [0, 50, 100]
    assert ticks(Span(1, 4), 6, whole=True) == [1, 2, 3, 4]
    assert ticks(Span(1, 2), 6, whole=True) == [1, 2]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.97047, "0.9705"), (-0.32, "−0.32"), (2e-5, "2e-05"), (9999, "9999"), (12_500, "12.5 k")]
    + [(3_100_000, "3.1 M"), (999_999, "1000 k"), (7e13, "70 T"), (2e20, "2.000e+20"), (1000, "1000")],
)
def test_short_numbers(value: float, text: str) -> None:
    assert short(value) == text


def test_many_points_become_stretches_that_hide_no_extreme() -> None:
    x = list(range(5000))
    y = [math.sin(each / 700) for each in x]
    y[1234], y[4321] = 50.0, -50.0
    line = thinned(Line("loss", x, y))
    assert len(line.x) == len(line.y) == STRETCHES
    assert (max(line.high), min(line.low)) == (50.0, -50.0)
    assert all(low <= mean <= high for low, mean, high in zip(line.low, line.y, line.high, strict=True))
    assert sum(line.y) / STRETCHES == pytest.approx(sum(y) / len(y))
    assert thinned(Line("loss", x[:MOST_POINTS], y[:MOST_POINTS])).y == y[:MOST_POINTS]


def test_chart_puts_values_where_they_belong() -> None:
    chart = Chart("score", "", Span(0, 10), [Line("learned", [0, 10], [0.0, 1.0])], [Level("optimal", 0.5)])
    markup = draw(chart)
    assert 'd="M0.0 954.5L1000.0 45.5"' in markup  # 5 % of air on both sides: 0 lies 1/22 above the bottom
    assert 'd="M0 500.0H1000"' in markup
    assert in_words(chart) == "score: learned from 0 to 1, optimal at 0.5"


class Texts(HTMLParser):
    """What a browser would show, and the tags and attributes it would see."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.tags, self.attributes = "", [], []

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


@given(st.text("<>/&;#'\"=!- abpgt1é"))
def test_any_text_stays_text(words: str) -> None:
    parser = Texts()
    parser.feed(element("p", words, title=words))
    parser.close()
    assert (parser.tags, parser.text, parser.attributes) == (["p"], words, [("title", words)])


def test_standing_follows_the_intervals() -> None:
    middle = Score(5.0, 4.0, 6.0, 0.0, 8)
    assert standing(middle, Score(2.0, 1.0, 3.9, 0.0, 8)) == "better than"
    assert standing(middle, Score(7.0, 6.1, 8.0, 0.0, 8)) == "worse than"
    assert standing(middle, Score(6.5, 5.9, 7.0, 0.0, 8)) == "not distinguishable from"


@pytest.mark.parametrize("value", [True, None, "1", math.nan, math.inf, 10**400, [1]])
def test_only_finite_numbers_are_drawn(value: object) -> None:
    assert not is_number(value)
    assert is_number(0) and is_number(-1.5)
