"""The report of self-play says more: who learned when, what happened then, and how far the pair is from balance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from holdfast.kit.intervals import wilson
from holdfast.views.report.axes import Span, short, ticks
from holdfast.views.report.chart import COLOURS, Chart, Level, Line, draw
from holdfast.views.report.curves import iterations_shown
from holdfast.views.report.markup import Html, element, joined, section
from holdfast.views.report.record import Record, Rows, is_number
from holdfast.views.report.rivals import matrix_section, response_section

WIDTH, LABELS, ROW, BAR = 960, 90, 26, 16  # of the timeline, in units of its own
MARKED = {  # event: its sign, and how a reader calls it
    "advance": ("▲", "a level up"),
    "regress": ("▼", "a level down"),
    "rollback": ("↶", "rollback"),
    "restored": ("↶", "a role got its best state back"),
    "forced_switch": ("⇄", "forced switch"),
    "challenged": ("c", "challenger joined the pool"),
    "finish": ("f", "the first role goes on alone"),
    "finished_early": ("e", "the first role wins often enough"),
    "round": ("r", "another round"),
    "heir": ("h", "a role goes on as its challenger"),
    "alarm": ("!", "alarm"),
    "best_response": ("◆", "best-response test"),
    "unstable": ("✕", "unstable"),
}
STAGES = {"play": 0, "exercise": 2, "warm": 3}  # number of their colour
STAGE_NAMES = {"play": "learns in duels", "exercise": "cold start", "warm": "warm start"}
MOST_MARKS = 400
CLOSE_TO_BALANCE = 0.10  # how far apart the earlier project's shares of wins might be at its end


def duel_sections(record: Record) -> Html:
    """Empty for a run without self-play."""
    if not record.is_duel or not record.metrics:
        return joined()
    return joined(_phases(record), _balance(record), response_section(record), matrix_section(record))


# --- who learned when ------------------------------------------------------------------------------------------------


@dataclass
class Stretch:
    """Turns of one role in a row, at one level."""

    role: str
    stage: str
    level: int
    first: int  # iteration
    last: int
    turns: int = 1


def stretches(events: Rows, last_iteration: int) -> list[Stretch]:
    """When each role learned; a turn lasts until the next one begins."""
    turns = [event for event in events if event.get("event") == "turn" and _is_turn(event)]
    if not turns:
        return []
    ends = [int(after["iteration"]) for after in turns[1:]] + [last_iteration]
    open_ones: dict[str, Stretch] = {}
    found: list[Stretch] = []
    for turn, end in zip(turns, ends, strict=True):
        begun = int(turn["iteration"])
        for role in map(str, turn["roles"]):
            before = open_ones.get(role)
            same = before is not None and (before.stage, before.level) == (turn["stage"], turn["level"])
            if before is not None and same and before.last == begun:
                before.last, before.turns = max(begun, end), before.turns + 1
            else:
                open_ones[role] = Stretch(role, str(turn["stage"]), int(turn["level"]), begun, max(begun, end))
                found.append(open_ones[role])
    return found


def _is_turn(event: dict[str, Any]) -> bool:
    whole = is_number(event.get("iteration")) and is_number(event.get("level"))
    return whole and isinstance(event.get("roles"), list) and isinstance(event.get("stage"), str)


def _phases(record: Record) -> Html:
    """Bars for the roles, a staircase for the level, and a sign for everything that was decided."""
    found = stretches(record.events, record.iteration)
    if not found:
        return joined()
    across = Span(0, max(1, record.iteration))
    told_of = [
        name.split(".")[1]
        for row in record.metrics[:1]
        for name in row
        if name.startswith("duel.") and name.endswith(".steps")
    ]
    learned = {one.role for one in found}
    roles = [role for role in dict.fromkeys((*told_of, *(one.role for one in found))) if role in learned]
    marks = list(_marks(record.events, across, ROW * (len(roles) + 1)))
    rows = [_bars(found, role, across, number) for number, role in enumerate(roles)]
    levels = _levels(found, across, ROW * len(roles))
    bottom = ROW * (len(roles) + 2)
    told = f"who learned when: {len(found)} stretches of {', '.join(roles)}, {len(marks)} decisions"
    picture = element(
        "svg", *rows, levels, *marks[:MOST_MARKS], _scale(across, bottom),
        viewBox=f"0 0 {WIDTH} {bottom + 16}", width="100%", role="img", aria_label=told,
    )  # fmt: skip
    return section("Who learned when", element("figure", picture, class_="chart"), _legend(record.events, found))


def _x(across: Span, iteration: float) -> float:
    return LABELS + across.share(iteration) * (WIDTH - LABELS - 16)


def _label(text: str, y: float) -> Html:
    return element("text", text, x="0", y=f"{y + BAR - 3}", fill="currentColor", font_size="12")


def _bars(found: list[Stretch], role: str, across: Span, number: int) -> Html:
    y, bars = number * ROW, []
    for one in found:
        if one.role == role:
            words = (
                f"{role}, {STAGE_NAMES.get(one.stage, one.stage)}, level {one.level}: iterations {one.first + 1} to "
            )
            title = element("title", f"{words}{max(one.first + 1, one.last)}, {one.turns} turn{'s' * (one.turns > 1)}")
            left, right = _x(across, one.first), _x(across, one.last)
            colour = f"bar c{(STAGES.get(one.stage, 4) + number * (one.stage == 'play')) % COLOURS}"
            size = {"width": f"{max(1.0, right - left - 0.5):.1f}", "height": str(BAR)}
            bars.append(element("rect", title, x=f"{left:.1f}", y=str(y), class_=colour, **size))
    return joined(_label(role, y), *bars)


def _levels(found: list[Stretch], across: Span, y: float) -> Html:
    """The level as a line that rises with it."""
    steps = sorted({(one.first, one.level) for one in found} | {(one.last, one.level) for one in found})
    top = max(1, *(level for _, level in steps))
    places = [f"{_x(across, at):.1f} {y + BAR - level / top * (BAR - 2):.1f}" for at, level in steps]
    path = element("path", d="M" + "L".join(places), class_="stair", fill="none")
    return joined(_label(f"level 0 to {top}" if top > 1 or steps[-1][1] else "level", y), path)


def _marks(events: Rows, across: Span, y: float) -> Iterator[Html]:
    for event in events:
        kind = event.get("event")
        if kind in MARKED and is_number(event.get("iteration")):
            sign, words = MARKED[kind]
            title = element("title", f"{words}, iteration {int(event['iteration'])}")
            place = {"x": f"{_x(across, event['iteration']):.1f}", "y": f"{y + BAR - 3}"}
            yield element("text", title, sign, fill="currentColor", font_size="12", text_anchor="middle", **place)


def _scale(across: Span, y: float) -> Html:
    return joined(
        *(
            element("text", short(tick), x=f"{_x(across, tick):.1f}", y=f"{y + 8}", class_="iteration")
            for tick in ticks(across, 8, whole=True)
        )
    )


def _legend(events: Rows, found: list[Stretch]) -> Html:
    kinds = [kind for kind in MARKED if any(event.get("event") == kind for event in events)]
    stages = [stage for stage in STAGES if stage != "play" and any(one.stage == stage for one in found)]
    words = [f"{MARKED[kind][0]} {MARKED[kind][1]}" for kind in kinds]
    blocks = [
        element("span", element("i", class_=f"key block c{STAGES[stage]}"), STAGE_NAMES[stage]) for stage in stages
    ]
    return element("div", *blocks, *(element("span", text) for text in words), class_="legend")


# --- how far from balance --------------------------------------------------------------------------------------------


def _balance(record: Record) -> Html:
    """Wins of the first role and the gap between the two, both with what the number of duels lets one know."""
    judged = [event for event in record.events if event.get("event") == "evaluation" and _is_judged(event)]
    if not judged:
        return joined()
    across, x = iterations_shown(record), [int(event["iteration"]) for event in judged]
    rates = [event["wins"] / event["duels"] for event in judged]
    limits = [wilson(int(event["wins"]), int(event["duels"])) for event in judged]
    won = Line("wins of the first role", x, rates, [low for low, _ in limits], [high for _, high in limits])
    gaps = [gap_limits(low, high) for low, high in limits]
    apart = Line("gap", x, [abs(2 * rate - 1) for rate in rates], [low for low, _ in gaps], [high for _, high in gaps])
    charts = [
        Chart(
            "wins of the first role", "share of the evaluation's duels, 95 %", across, [won], [Level("balance", 0.5)]
        ),
        Chart(
            "balance gap",
            "how far the two shares of wins are apart, 95 %; balance is not equilibrium",
            across,
            [apart],
            [Level("near balance", CLOSE_TO_BALANCE)],
            from_zero=True,
        ),
    ]
    return section("Balance", element("div", *map(draw, charts), class_="charts two"))


def _is_judged(event: dict[str, Any]) -> bool:
    return all(is_number(event.get(name)) for name in ("iteration", "wins", "duels")) and event["duels"] > 0


def gap_limits(low: float, high: float) -> tuple[float, float]:
    """Of |2c - 1|, where c is between these."""
    ends = (abs(2 * low - 1), abs(2 * high - 1))
    return (0.0 if low <= 0.5 <= high else min(ends)), max(ends)
