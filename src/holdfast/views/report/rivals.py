"""What others make of a pair, in the report of self-play: what challengers gained, and who beats whom."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from holdfast.views.report.axes import Span, short
from holdfast.views.report.chart import Chart, Level, Line, draw
from holdfast.views.report.markup import Html, element, joined, section, table
from holdfast.views.report.record import Record, is_number, read_object

LIGHT = 0.55  # darker cells have light numbers

# --- what challengers gained -----------------------------------------------------------------------------------------


def response_section(record: Record) -> Html:
    tests = [event for event in record.events if event.get("event") == "best_response" and _is_test(event)]
    if not tests:
        command = element("code", f"holdfast exploit {shlex.quote(str(record.folder))}")
        note = element(
            "p", "No best-response test was made, so nothing is said about equilibrium; make one with ", command
        )
        return section("Best response", note)
    last = tests[-1]
    words = f"Iteration {last['iteration']}: {last['verdict']}. The widest gap is {last['gap']:.3f}, "
    note = element("p", f"{words}{last['pass_gap']:g} is the limit.", class_="note")
    rows = [row for name, side in last["sides"].items() for row in _challengers(str(name), side)]
    head = ["challenger", "begins with", "incumbent wins", "challenger wins, 95 %", "gap, 95 %", "agent-steps"]
    proofs = [element("p", f"Power of the {name}'s challengers: {_power(side)}.", class_="note")
              for name, side in last["sides"].items()]  # fmt: skip
    charts = [draw(chart) for name, side in last["sides"].items() if (chart := _lessons(str(name), side)) is not None]
    return section(
        "Best response", note, table(head, rows, numeric=2), *proofs, element("div", *charts, class_="charts two")
    )


def _is_test(event: dict[str, Any]) -> bool:
    sides = event.get("sides")
    numbers = all(is_number(event.get(name)) for name in ("iteration", "gap", "pass_gap"))
    return numbers and "verdict" in event and isinstance(sides, dict) and all(map(_is_side, sides.values()))


def _is_side(side: Any) -> bool:
    return (
        isinstance(side, dict)
        and all(is_number(side.get(name)) for name in ("gap", "low", "high", "incumbent"))
        and isinstance(side.get("challengers"), dict)
        and all(isinstance(one, dict) and is_number(one.get("rate")) for one in side["challengers"].values())
    )


def _challengers(name: str, side: dict[str, Any]) -> Iterator[list[str]]:
    best = max((one["rate"] for one in side["challengers"].values()), default=None)
    for start, one in side["challengers"].items():
        low, high = one.get("interval", (None, None))
        within = f" [{low:.3f}, {high:.3f}]" if is_number(low) and is_number(high) else ""
        widest = one["rate"] == best
        gap = f"{side['gap']:+.3f} [{side['low']:+.3f}, {side['high']:+.3f}]" if widest else ""
        begins = "the incumbent's weights" if start == "incumbent" else str(start)
        steps = short(one["steps"]) if is_number(one.get("steps")) else ""
        wins = f"{one['rate']:.3f}{within}"
        yield [name, begins, f"{side['incumbent']:.3f}", wins, gap, steps]


def _power(side: dict[str, Any]) -> str:
    checks = side.get("power", {}).get("checks", {})
    return ", ".join(f"{what}: {'yes' if passed else 'no'}" for what, passed in checks.items()) or "not checked"


def _lessons(name: str, side: dict[str, Any]) -> Chart | None:
    """How challengers of a role came to win, on the duels they were chosen by."""
    lines = []
    for start, one in side["challengers"].items():
        points = [(at["steps"], at["rate"]) for at in one.get("history", ()) if isinstance(at, dict)]
        if len(points) > 1:
            lines.append(Line(f"from {start}", [steps for steps, _ in points], [rate for _, rate in points]))
    if not lines:
        return None
    across = Span(0, max(line.x[-1] for line in lines))
    level = [Level("incumbent", side["incumbent"])]
    return Chart(f"challengers of the {name}", "share of wins over their agent-steps", across, lines, level)


# --- who beats whom --------------------------------------------------------------------------------------------------


def matrix_section(record: Record) -> Html:
    found = read_object(record.folder / "evals" / "crossplay.json")
    rows, columns, rates = found.get("rows", []), found.get("columns", []), found.get("rates", [])
    if not _is_matrix(rows, columns, rates):
        command = element("code", f"holdfast crossplay {shlex.quote(str(record.folder))}")
        return section("Who beats whom", element("p", "No cross-play yet; make it with ", command, class_="none"))
    head = ["", *(element("span", str(name)) for name in columns)]
    body = [
        joined(
            element("th", str(name)),
            *(_cell(str(name), str(other), rate) for other, rate in zip(columns, line, strict=True)),
        )
        for name, line in zip(rows, rates, strict=True)
    ]
    inside = element(
        "table",
        element("thead", element("tr", *(element("th", cell) for cell in head))),
        element("tbody", *(element("tr", line) for line in body)),
    )
    facts = {
        "value": "Value {:.3f}",
        "circular_share": "circles in {:.0%} of pairs",
        "newest_gap_at_least": "the newest pair can be beaten by at least {:.3f} from within this table",
    }
    words = [text.format(found[name]) for name, text in facts.items() if is_number(found.get(name))]
    told = f"Wins of the first role (rows) against the second (columns), per cent. {'; '.join(words)}."
    note = element("p", told, class_="note")
    return section("Who beats whom", element("div", inside, class_="scroll heat"), note)


def _is_matrix(rows: Any, columns: Any, rates: Any) -> bool:
    if not all(isinstance(one, list) and one for one in (rows, columns, rates)) or len(rates) != len(rows):
        return False
    return all(isinstance(line, list) and len(line) == len(columns) and all(map(is_number, line)) for line in rates)


def _cell(row: str, column: str, rate: float) -> Html:
    """The more of the first role's colour, the more it wins."""
    share = min(1.0, max(0.0, rate))
    words, dark = f"{row} against {column}: {rate:.3f}", "dark" if share > LIGHT else None
    return element("td", f"{100 * share:.0f}", style=f"--share:{share:.2f}", title=words, class_=dark)
