"""Pages of docs/ that are made from the code they describe: `make docs`. A test says if they are stale."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from holdfast.config.catalogue import FOREIGN, Entry, as_typed, catalogue, sections_of
from holdfast.config.options import OptionInfo, flattened, kind_name, wanted
from holdfast.config.presets import presets, read_preset, read_toml
from holdfast.runs.metrics import DUEL_METRICS, HEARTBEATS, METRICS, RESOURCES, TIMINGS, Metric
from holdfast.views.options import bounds
from holdfast.worlds.ours import OURS
from holdfast.worlds.registry import own_game

MADE = "<!-- Made by `make docs`; edit the code, not this page. -->"


def config_page() -> str:
    """The options that most people need, of every section."""
    return _page(
        "Options",
        "Set any option with `--section.key value` on the command line or in a TOML preset, where nested tables stand "
        "for dots. Names are exact; a wrong one is answered with the nearest right one, also a name that another "
        "library has for it. `holdfast options learner.lr` explains an option at the prompt, `holdfast options WORD` "
        "finds one. This page has the options to begin with; [the rest](config-expert.md) is for experts.",
        [entry for entry in _ours() if not entry.info.expert],
        [_presets()],
    )


def expert_page() -> str:
    """All other options."""
    return _page(
        "Options for experts",
        "The options that are not on [the first page](config.md). *Acts only with* names the setting that an option "
        "depends on: set without it, the option is refused. Options marked *free* may change when a run is resumed; "
        "any other change needs `--allow-change`.",
        [entry for entry in _ours() if entry.info.expert],
        [],
    )


def _ours() -> list[Entry]:
    """The options of the core, of our own worlds and of Gymnasium environments."""
    return [entry for entry in catalogue() if entry.world in ("", *OURS, FOREIGN)]


def _page(title: str, text: str, entries: list[Entry], more: list[str]) -> str:
    sections: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        sections.setdefault((entry.world, entry.section), []).append(entry)
    tables = [_section(world, section, some) for (world, section), some in sections.items()]
    return "\n\n".join([MADE, f"# {title}", text, *tables, *more]) + "\n"


def _section(world: str, section: str, entries: list[Entry]) -> str:
    rows = [
        f"| `{entry.name}` | {kind_name(entry.info.kind)} | {_shown(entry.info.default)} | {_meaning(entry.info)} |"
        for entry in entries
    ]
    first_line = (sections_of(world)[section].__doc__ or "").strip().splitlines()[0]
    title = f"`[{section}]` of `{world}`" if world else f"`[{section}]`"
    head = ["| option | type | default | what it does |", "|---|---|---|---|"]
    return "\n".join([f"## {title}", "", first_line, "", *head, *rows])


def _shown(value: Any) -> str:
    return f"`{as_typed(value)}`" if as_typed(value) else "empty"


def _meaning(info: OptionInfo) -> str:
    notes = [f"in {info.unit}"] if info.unit else []
    notes += [bounds(info.low, info.high)] if bounds(info.low, info.high) else []
    if info.only is not None:
        notes.append(f"acts only with `{info.only[0]}` = {wanted(info.only[1])}")
    if info.free:
        notes.append("free")
    return (info.meaning + (f" *{'; '.join(notes)}*" if notes else "")).replace("|", "\\|")


def _presets() -> str:
    names = {entry.name for entry in catalogue()}
    lines = ["## Presets", "", "| preset | world | what it changes |", "|---|---|---|"]
    for name, path in sorted(presets().items()):
        own, whole = read_toml(path), read_preset(path)
        base = f"`{own.pop('base')}` and " if "base" in own else ""
        keys = (key for key, _ in flattened(own, names))
        changed = ", ".join(f"`{key}`" for key in keys if key != "world.name")
        lines.append(f"| `{name}` | {whole['world']['name']} | {base}{changed} |")
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


PAGES = {"config.md": config_page, "config-expert.md": expert_page, "metrics.md": metrics_page}


def write_pages(folder: Path) -> None:
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
