"""What an option or a metric means, and what a preset sets: loaded when a page first needs it, not at the start."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

from holdfast.views.dashboard.standing import Facts


class Setting(NamedTuple):
    """One option as a run had it, beside what its preset or the defaults would have given."""

    name: str
    value: str
    other: str | None  # None: not known
    meaning: str

    @property
    def differs(self) -> bool:
        return self.other is not None and self.value != self.other


def settings_of(facts: Facts) -> tuple[list[Setting], str]:
    """Every option of a run, and what it is compared with."""
    world, preset = facts.get("world", ""), facts.get("preset", "")
    others, compared = values_of_preset(preset, world)
    known = meanings_of_options(world)
    found = [
        Setting(name, text, others.get(name), known.get(name, ""))
        for section, options in facts.get("config", {}).items()
        for key, value in options.items()
        for name, text in [(f"{section}.{key}", as_text(value))]
        if name not in ("run.name", "run.root")
    ]
    return found, compared


def as_text(value: Any) -> str:
    """A value as JSON writes it, so that tuples and lists compare equal; plain text without quotes."""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


@cache
def values_of_preset(preset: str, world: str) -> tuple[dict[str, str], str]:
    """A preset's options, or else the defaults. Only presets that come with the sources are opened: a run folder may
    name any file as its preset."""
    from holdfast.config.presets import presets
    from holdfast.config.reading import load_config
    from holdfast.config.sections import to_json
    from holdfast.kit.errors import HoldfastError

    if preset in presets():
        try:
            table = to_json(load_config(preset, [])[0])
        except HoldfastError:
            return {}, "nothing: its preset cannot be read"
        return _flat(table), f"the preset {preset}"
    return {name: as_text(info.default) for name, info in _known_options(world).items()}, "the defaults"


def _flat(table: dict[str, Any]) -> dict[str, str]:
    sections = {name: options for name, options in table.items() if isinstance(options, dict)}
    return {f"{name}.{key}": as_text(value) for name, options in sections.items() for key, value in options.items()}


@cache
def meanings_of_options(world: str) -> dict[str, str]:
    return {name: info.meaning for name, info in _known_options(world).items()}


@cache
def _known_options(world: str) -> dict[str, Any]:
    """Options of the core and, for a world of ours, of the world; a name never decides what else is imported."""
    from holdfast.config.options import options_of
    from holdfast.config.sections import SECTIONS
    from holdfast.worlds.ours import OURS
    from holdfast.worlds.registry import own_game, world_class

    kinds: dict[str, Any] = dict(SECTIONS)
    if world in OURS:
        kinds |= {"world": world_class(world).Settings, **own_game(world).sections}
    return {f"{section}.{info.name}": info for section, kind in kinds.items() for info in options_of(kind)}


@cache
def meanings_of_metrics() -> list[tuple[str, str, str]]:
    """Name with its places to fill in, unit and meaning, of everything a run may log."""
    from holdfast.runs import metrics
    from holdfast.worlds.ours import OURS
    from holdfast.worlds.registry import own_game

    games = [own_game(name).metrics for name in OURS]
    tables = (metrics.METRICS, metrics.DUEL_METRICS, *games, metrics.TIMINGS)
    found = [(one.name, one.unit, one.meaning) for table in tables for one in table]
    return found + [(f"resources.{one.name}", one.unit, one.meaning) for one in metrics.RESOURCES]
