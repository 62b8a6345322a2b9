"""The report of a game of stages says more: how often each was cleared, and a map of where its episodes came to."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.games.mario.views.levels import LevelRow, level_row
from holdfast.games.mario.world.play import REASONS, STAGNATION, TIMEOUT
from holdfast.games.mario.world.stages import STAGES
from holdfast.views.report.markup import Html, element, joined, section, table
from holdfast.views.report.record import Record, is_number, read_object
from holdfast.worlds.spec import Episodes

NEEDED = ("stage", "reason", "cleared", "length", "max_x")
BIN_PX, SHORTEST_PX = 64, 3200  # about the length of a stage
WIDTH, HEIGHT = 720, 64
KINDS = {"cleared": "#2f9e62", "lost": "#d1495b", "cut": "#8a93a6"}
HEAD = ["stage", "cleared", "95 % interval", "episodes", "median steps", "furthest x", "ends"]


def stage_sections(record: Record) -> Html:
    """Empty for a run of any other world."""
    found = judged_episodes(record) if record.config.get("world", {}).get("name") == "mario" else None
    if found is None:
        return joined()
    episodes, where = found
    parts = {STAGES[number]: episodes.take(episodes["stage"] == number) for number in np.unique(episodes["stage"])}
    rows = [level_row(stage, some) for stage, some in parts.items()]
    maps = [_map(stage, some) for stage, some in parts.items()]
    legend = joined(*(element("span", f"■ {name} ", style=f"color:{colour}") for name, colour in KINDS.items()))
    note = element("p", f"Each bar counts {where} by the furthest x they came to. ", legend, class_="note")
    return joined(
        section("Stages", table(HEAD, [_cells(row) for row in rows])), section("Where episodes end", note, *maps)
    )


def judged_episodes(record: Record) -> tuple[Episodes, str] | None:
    """The learned policy's episodes of the last word on it: held out, else of the last evaluation."""
    named = sorted((record.folder / "evals").glob("[0-9]*.json"))
    for path, where in ((record.folder / "evals/final.json", "held-out episodes"), *((one, "evaluation episodes") for
                        one in reversed(named))):  # fmt: skip
        columns = _columns(read_object(path))
        if columns is not None:
            return Episodes(columns), where
    return None


def _columns(content: dict[str, Any]) -> dict[str, np.ndarray] | None:
    """What is needed of a file of `evals/`; None unless all of it is there and makes sense."""
    policies = content.get("policies")
    learned = policies.get("learned") if isinstance(policies, dict) else None
    found = learned.get("episodes") if isinstance(learned, dict) else None
    if not isinstance(found, dict):
        return None
    lists = [found.get(name) for name in NEEDED]
    if not all(isinstance(some, list) and some and all(is_number(one) for one in some) for some in lists):
        return None
    columns = {name: np.array(found[name]) for name in NEEDED}
    count = len(columns["stage"])
    columns |= {name: columns[name].astype(np.int64) for name in ("stage", "reason")} | {"lane": np.arange(count)}
    whole = {len(column) for column in columns.values()} == {count}
    known = columns["stage"].min() >= 0 and columns["stage"].max() < len(STAGES)
    meant = columns["reason"].min() >= 0 and columns["reason"].max() < len(REASONS)
    return columns if whole and known and meant else None


def _cells(row: LevelRow) -> list[str]:
    ends = ", ".join(f"{name} {count}" for name, count in row.ends.items())
    steps = "–" if row.median_steps is None else f"{row.median_steps:.0f}"
    interval = f"{row.low:.2f} to {row.high:.2f}"
    return [row.stage, f"{row.rate:.2f}", interval, str(row.episodes), steps, f"{row.furthest_x:.0f}", ends]


def counts_by_kind(episodes: Episodes) -> dict[str, np.ndarray]:
    """[bins] episodes that ended so, by the furthest x they came to."""
    bins = int(max(SHORTEST_PX, episodes["max_x"].max())) // BIN_PX + 1
    place = (np.maximum(episodes["max_x"], 0) // BIN_PX).astype(np.int64)
    cleared, cut = episodes["cleared"] > 0, np.isin(episodes["reason"], (STAGNATION, TIMEOUT))
    chosen = {"cleared": cleared, "lost": ~cleared & ~cut, "cut": ~cleared & cut}
    return {name: np.bincount(place[mask], minlength=bins) for name, mask in chosen.items()}


def _map(stage: str, episodes: Episodes) -> Html:
    """Stacked bars over the length of a stage."""
    counts = counts_by_kind(episodes)
    tallest = max(1, int(sum(counts.values()).max()))  # type: ignore[union-attr]
    bins = len(counts["cleared"])
    wide, bars = WIDTH / bins, []
    below = np.zeros(bins)
    for name, colour in KINDS.items():
        for at in np.flatnonzero(counts[name]):
            tall = counts[name][at] * HEIGHT / tallest
            title = element("title", f"{counts[name][at]} {name} at x {at * BIN_PX} to {(at + 1) * BIN_PX}")
            bars.append(
                element("rect", title, x=f"{at * wide:.1f}", y=f"{HEIGHT - below[at] - tall:.1f}", fill=colour,
                        width=f"{max(1.0, wide - 1):.1f}", height=f"{tall:.1f}")
            )  # fmt: skip
            below[at] += tall
    line = element("line", x1="0", y1=str(HEIGHT), x2=str(WIDTH), y2=str(HEIGHT), stroke="currentColor")
    ticks = [
        element("text", str(x), x=f"{x / BIN_PX * wide:.1f}", y=str(HEIGHT + 12), fill="currentColor", font_size="10")
        for x in range(0, bins * BIN_PX, 512)
    ]
    size, told = f"0 0 {WIDTH} {HEIGHT + 16}", f"stage {stage}: episodes by the furthest x they came to"
    picture = element("svg", *bars, line, *ticks, viewBox=size, width="100%", role="img", aria_label=told)
    return element("figure", picture, element("figcaption", f"stage {stage}, x in pixels"))
