"""What happened when: where the time went, the timeline of events, and every evaluation in a row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from holdfast.views.event_words import told
from holdfast.views.report.axes import short
from holdfast.views.report.chart import COLOURS
from holdfast.views.report.markup import Html, element, joined, section, table
from holdfast.views.report.record import Record, Rows, is_number

ROUTINE = ("evaluation", "checkpoint")
MOST_ROWS = 500


# --- where the time goes ----------------------------------------------------------------------------------------------


def phase_shares(record: Record) -> tuple[dict[str, float], str]:
    """Share of the time per phase, largest first, and what it is a share of."""
    phases = record.result.get("phases")
    if isinstance(phases, dict) and phases and all(is_number(share) for share in phases.values()):
        return phases, "of the time of the last process" if record.was_resumed else "of the whole run"
    spent: dict[str, float] = {}
    for row in record.timing:
        for name, seconds in row.items():
            if name.startswith("phase.") and is_number(seconds):
                phase = name.removeprefix("phase.").removesuffix("_s")
                spent[phase] = spent.get(phase, 0.0) + seconds
    total = sum(spent.values()) or 1.0
    shares = {name: seconds / total for name, seconds in spent.items() if seconds > 0}
    return shares, "of the iterations so far, without saving"


def time_section(record: Record) -> Html:
    shares, of_what = phase_shares(record)
    if not shares:
        return joined()
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    bar = [
        element("i", class_=f"c{number % COLOURS}", style=f"width:{share:.2%}", title=f"{name} {share:.1%}")
        for number, (name, share) in enumerate(ordered)
    ]
    legend = [
        element("span", element("i", class_=f"key block c{number % COLOURS}"), f"{name} {share:.1%}")
        for number, (name, share) in enumerate(ordered)
    ]
    note = element("p", f"Shares {of_what}.", class_="note")
    return section(
        "Where the time goes", element("div", *bar, class_="shares"), element("div", *legend, class_="legend"), note
    )


# --- timeline ---------------------------------------------------------------------------------------------------------


def timeline_section(record: Record) -> Html:
    if not record.events:
        return section("Timeline", element("p", "events.jsonl has no whole line.", class_="none"))
    rows = list(_timeline(record.events))
    shown = rows[-MOST_ROWS:]
    note = f"The newest {MOST_ROWS} of {len(rows)} entries." if len(rows) > len(shown) else ""
    return section(
        "Timeline", table(["time", "iteration", "event", ""], shown, numeric=9, class_="timeline tall"), _note(note)
    )


def _note(text: str) -> Html:
    return element("p", text, class_="note") if text else joined()


def _timeline(events: Rows) -> Iterator[list[str]]:
    """One row per event, routine ones between two others taken together."""
    for routine, group in groupby(events, key=lambda event: event.get("event") in ROUTINE):
        if routine:
            yield _condensed(list(group))
            continue
        for event in group:
            name = element("strong", str(event.get("event")))
            yield [_moment(event), str(event.get("iteration", "")), name, told(event)]


def _condensed(events: Rows) -> list[str]:
    counts = [(kind, sum(event["event"] == kind for event in events)) for kind in ROUTINE]
    words = " and ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts if count)
    first, last = events[0].get("iteration", ""), events[-1].get("iteration", "")
    best = [event["best"] for event in events if is_number(event.get("best"))]
    return [
        _moment(events[-1]),
        f"{first}" if first == last else f"{first} to {last}",
        words,
        f"best mean so far {short(best[-1])}" if best else "",
    ]


def _moment(event: dict[str, Any]) -> str:
    """Date and time of day as the event has them, without the zone."""
    return str(event.get("time", ""))[:19].replace("T", " ")


# --- evaluations ------------------------------------------------------------------------------------------------------


def evaluations_section(record: Record) -> Html:
    rows = record.evaluations
    if not rows:
        return joined()
    best = max(rows, key=lambda row: row["evaluation.score"])["iteration"]
    prefix, own = "evaluation.", ("score", "score_low", "score_high", "score_worst")
    columns = [name.removeprefix(prefix) for name in rows[-1] if name.startswith(prefix)]
    columns = [*own, *(column for column in columns if column not in own)]

    def cells(row: dict[str, Any]) -> list[str]:
        values = [row.get(prefix + column) for column in columns]
        mark = element("span", "best", class_="badge best") if row["iteration"] == best else ""
        return [joined(str(row["iteration"]), " ", mark), *(short(v) if is_number(v) else "" for v in values)]

    shown = [cells(row) for row in rows[-MOST_ROWS:]][::-1]
    head = ["iteration", *(column.replace("_", " ") for column in columns)]
    note = f"The newest {MOST_ROWS} of {len(rows)} evaluations." if len(rows) > MOST_ROWS else "Newest first."
    return section("Evaluations", table(head, shown, class_="tall"), _note(note))
