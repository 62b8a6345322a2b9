"""docs/config.md and docs/metrics.md, made from the code they describe: `make docs`. A test says if they are stale."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from holdfast.config.options import OptionInfo, kind_name, options_of
from holdfast.config.presets import presets, read_toml
from holdfast.config.sections import SECTIONS
from holdfast.runs.metrics import DUEL_METRICS, HEARTBEATS, METRICS, RESOURCES, TIMINGS, Metric
from holdfast.worlds.ours import OURS
from holdfast.worlds.registry import own_game, world_class

MADE = "<!-- Made by `make docs`; edit the code, not this page. -->"


def config_page() -> str:
    parts = [
        MADE,
        "# Options",
        "Set any of these with `--section.key value` on the command line or in a TOML preset. Names are exact; "
        "a wrong one is answered with the nearest right one. *Acts only with* names the setting an option depends on: "
        "set without it, the option is refused. Options marked *free* may change when a run is resumed; any other "
        "change needs `--allow-change`.",
    ]
    for section, settings in SECTIONS.items():
        parts.append(_section(section, settings))
    for name in [*OURS, "gym:..."]:
        settings = world_class("gym:any" if name == "gym:..." else name).Settings
        parts.append(_section("world", settings, title=f"`[world]` for `{name}`"))
        parts += [_section(section, kind) for section, kind in own_game(name).sections.items()]
    parts.append(_presets())
    return "\n\n".join(parts) + "\n"


def _section(section: str, settings: type, title: str | None = None) -> str:
    rows = [
        f"| `{section}.{info.name}` | {kind_name(info.kind)} | `{_shown(info.default)}` | {_meaning(info)} |"
        for info in options_of(settings)
    ]
    first_line = (settings.__doc__ or "").strip().splitlines()[0]
    head = ["| option | type | default | meaning |", "|---|---|---|---|"]
    return "\n".join([f"## {title or f'`[{section}]`'}", "", first_line, "", *head, *rows])


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)
    return str(value).lower() if isinstance(value, bool) or value is None else str(value) or " "


def _meaning(info: OptionInfo) -> str:
    bounds = [f"at least {info.low:g}"] if info.low is not None else []
    bounds += [f"at most {info.high:g}"] if info.high is not None else []
    notes = [", ".join(bounds)] if bounds else []
    if info.only is not None:
        notes.append(f"acts only with {info.only[0]} = {' or '.join(str(value) for value in info.only[1])}")
    if info.free:
        notes.append("free")
    return info.meaning + (f" ({'; '.join(notes)})" if notes else "")


def _presets() -> str:
    lines = ["## Presets", "", "| preset | world | what it changes |", "|---|---|---|"]
    for name, path in sorted(presets().items()):
        table = read_toml(path)
        changed = [f"`{section}.{key}`" for section, keys in table.items() for key in keys if key != "name"]
        lines.append(f"| `{name}` | {table['world']['name']} | {', '.join(changed)} |")
    return "\n".join(lines)


def metrics_page() -> str:
    return (
        "\n\n".join(
            [
                MADE,
                "# Metrics",
                "`metrics.jsonl` has one line per iteration and only numbers that the seed decides, so that a resumed "
                "run's file equals an uninterrupted one's byte for byte. `{role}` and `{column}` stand for the "
                "world's own names.",
                _metric_table(METRICS),
                *_of_games(),
                "Runs of self-play add these.",
                _metric_table(DUEL_METRICS),
                "`timing.jsonl` has the clock times of the same iterations.",
                _metric_table(TIMINGS),
                "`heartbeat.jsonl` has signs of life.",
                _metric_table(HEARTBEATS),
                "`resources.jsonl` has what the run takes of the machine. What cannot be measured is absent, never 0.",
                _metric_table(RESOURCES),
            ]
        )
        + "\n"
    )


def _of_games() -> list[str]:
    """A table for each game that has metrics of its own."""
    parts = []
    for name in OURS:
        if own_game(name).metrics:
            parts += [f"World `{name}` adds these:", _metric_table(own_game(name).metrics)]
    return parts


def _metric_table(table: tuple[Metric, ...]) -> str:
    rows = [f"| `{metric.name}` | {metric.unit} | {metric.meaning} |" for metric in table]
    return "\n".join(["| name | unit | meaning |", "|---|---|---|", *rows])


PAGES = {"config.md": config_page, "metrics.md": metrics_page}


def write_pages(folder: Path) -> None:
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
