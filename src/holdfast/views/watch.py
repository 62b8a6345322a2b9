"""`holdfast watch`: a run's heartbeat, rates, resources and hints, followed by reading its folder only."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from holdfast.runs.reading import in_short
from holdfast.runs.snapshot import Snapshot, Watcher
from holdfast.runs.worker_story import in_words
from holdfast.views.words import key_numbers, shares_line, visible

COLOURS = {
    "running": "green",
    "solved": "green",
    "converged": "green",
    "finished": "green",
    "silent": "red",
    "killed": "red",
    "failed": "red",
    "unstable": "red",
}


def watch(folder: Path, once: bool, as_json: bool, every_s: float) -> int:
    """Follow until the run is over. Status 1 when one look found a damaged stream."""
    watcher = Watcher(folder)
    if once:
        found = watcher.look()
        _print(found, as_json)
        return _damage_status(found)
    try:
        _follow(watcher, as_json, every_s)
    except KeyboardInterrupt:  # the usual way to stop watching
        return 0
    return 0


def _follow(watcher: Watcher, as_json: bool, every_s: float) -> None:
    if as_json or not sys.stdout.isatty():
        while True:
            found = watcher.look()
            _print(found, as_json)
            if found.is_over:
                return
            time.sleep(every_s)
    with Live(console=Console(), auto_refresh=False) as live:
        while True:
            found = watcher.look()
            live.update(drawn(found), refresh=True)
            if found.is_over:
                return
            time.sleep(every_s)


def _print(found: Snapshot, as_json: bool) -> None:
    if as_json:
        print(json.dumps(asdict(found)), flush=True)
    else:
        Console(width=None if sys.stdout.isatty() else 110).print(drawn(found))


def _damage_status(found: Snapshot) -> int:
    if not found.damage:
        return 0
    print(f"holdfast: error: not whole: {in_short(found.damage)}; the rest was read", file=sys.stderr)
    return 1


def drawn(found: Snapshot) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for name, text, style in _rows(found):
        table.add_row(Text(name, "dim"), Text(visible(text), style))
    bar = Table.grid(expand=True)  # a bar alone does not end its line
    bar.add_row(ProgressBar(total=max(found.iterations, 1), completed=found.iteration))
    title = Text.assemble((visible(found.run), "bold"), f"  world {visible(found.world)}  ")
    title.append(visible(found.status), COLOURS.get(found.status, "yellow")).append(f"  ({visible(found.why)})")
    return Group(title, bar, table)


def _rows(found: Snapshot) -> list[tuple[str, str, str]]:
    left = "" if found.left_s is None else f", about {_span(found.left_s)} left"
    speed = "" if found.agent_steps_per_s is None else f"  ({found.agent_steps_per_s:,.0f}/s)"
    phase = (
        "" if found.phase is None or found.is_over else f"{found.phase}, for {found.idle_s or 0:.1f} s at the last beat"
    )
    rows = [
        ("iteration", f"{found.iteration} of {found.iterations}{left}", ""),
        ("agent-steps", f"{found.agent_steps:,}{speed}", ""),
        ("phase", phase, ""),
        ("time goes to", shares_line(found.time_shares), ""),
        ("training", key_numbers(found.training), ""),
        ("evaluation", _score_text(found.score), "bold"),
        ("machine", _resources_text(found), ""),
        ("workers", in_words(found.workers, found.is_over), ""),
    ]
    rows += [("hint", hint, "yellow") for hint in found.hints]
    rows += [("event", _event_text(event), "dim") for event in found.events if event.get("event") != "hint"]
    if found.training.get("episodes") == 0:
        rows.append(("alarm", "no episode has ended yet", "bold red"))
    if found.torn_last_lines:
        rows.append(
            ("torn", f"{found.torn_last_lines} last lines are not whole (being written, or cut by a crash)", "dim")
        )
    if found.damage:
        rows.append(("damage", in_short(found.damage), "bold red"))
    return [row for row in rows if row[1]]


def _score_text(score: dict[str, float]) -> str:
    if not score:
        return ""
    low, high = score.get("evaluation.score_low"), score.get("evaluation.score_high")
    interval = "" if low is None or high is None else f" [{low:.4g}, {high:.4g}]"
    return f"{score['evaluation.score']:.4g}{interval} at iteration {score.get('iteration', 0):.0f}"


def _resources_text(found: Snapshot) -> str:
    """As measured by the run itself, on its own machine."""
    units = {"_pct": "%", "_mb": " MB"}
    parts = []
    for name, value in found.resources.items():
        unit = next((text for ending, text in units.items() if name.endswith(ending)), None)
        if unit is not None and isinstance(value, (int, float)):
            plain = name.removesuffix("_pct").removesuffix("_mb").replace("_", " ")
            parts.append(f"{plain} {value:,.0f}{unit}")
    return ", ".join(parts)


def _event_text(event: dict[str, object]) -> str:
    facts = {name: value for name, value in event.items() if name not in ("event", "time", "iteration")}
    text = ", ".join(f"{name} {value}" for name, value in facts.items() if value not in (None, [], {}))
    return f"{event.get('time', '')}  {event.get('event', '?')} at iteration {event.get('iteration', '?')}  {text}"[
        :200
    ]


def _span(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
