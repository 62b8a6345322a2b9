"""Every option there is, of the core and of all installed worlds, with what depends on it and which presets set it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_origin

from holdfast.config.options import OptionInfo, flattened, from_text, options_of, out_of_bounds
from holdfast.config.presets import presets, read_preset
from holdfast.config.sections import SECTIONS
from holdfast.kit.errors import WorldError
from holdfast.worlds.registry import own_game, world_class, world_names

FOREIGN = "gym:ID"  # stands for every Gymnasium environment


class Entry(NamedTuple):
    """One option: a name may be of several worlds, each with its own meaning."""

    name: str  # learner.lr
    world: str  # the world it is of; empty: of the core, so of all
    info: OptionInfo

    @property
    def section(self) -> str:
        return self.name.partition(".")[0]


@cache
def catalogue() -> tuple[Entry, ...]:
    """All options, those of the core first."""
    core = [Entry(f"{name}.{info.name}", "", info) for name, kind in SECTIONS.items() for info in options_of(kind)]
    return (*core, *(entry for world in (*world_names(), FOREIGN) for entry in _of_installed(world)))


def _of_installed(world: str) -> list[Entry]:
    """Nothing for a game of another package that cannot be imported: that is told when it is asked for."""
    try:
        return list(of_world(world))
    except WorldError:
        return []


def of_world(world: str) -> Iterator[Entry]:
    """The options that only one world has, its game's sections among them."""
    if world == FOREIGN:
        kind, own = world_class("gym:any", foreign=True), {}
    else:
        kind, own = world_class(world), dict(own_game(world).sections)
    for section, settings in {"world": kind.Settings, **own}.items():
        for info in options_of(settings):
            yield Entry(f"{section}.{info.name}", world, info)


def sections_of(world: str) -> dict[str, type]:
    """The sections of one world; those of the core for the empty name."""
    if not world:
        return SECTIONS
    kind = world_class("gym:any", foreign=True) if world == FOREIGN else world_class(world)
    return {"world": kind.Settings, **(own_game(world).sections if world != FOREIGN else {})}


def dependents(entry: Entry) -> list[Entry]:
    """Options that act only with certain values of this one."""
    return [
        other
        for other in catalogue()
        if other.info.only is not None and other.info.only[0] == entry.name and entry.world in ("", other.world)
    ]


@cache
def settings_of_presets() -> Mapping[str, tuple[str, dict[str, Any]]]:
    """By preset: its world, and the options it sets, those of its base among them."""
    names = {entry.name for entry in catalogue()}
    found = {}
    for name, path in sorted(presets().items()):
        table = read_preset(path)
        world = str(table.get("world", {}).get("name", ""))
        found[name] = world, {key: value for key, value in flattened(table, names) if key in names}
    return found


def set_by(entry: Entry) -> dict[str, Any]:
    """The presets that set an option, with their values."""
    presets_of_world = settings_of_presets().items()
    return {
        name: options[entry.name]
        for name, (world, options) in presets_of_world
        if entry.name in options and entry.world in ("", world)
    }


def example(entry: Entry) -> str:
    """A value to type that is not the default: from the option itself, a preset, or its kind."""
    info = entry.info
    if info.example:
        return info.example
    from_presets = [value for value in set_by(entry).values() if value != info.default and not isinstance(value, dict)]
    chosen = from_presets[0] if from_presets else _other_than_default(info)
    return as_typed(chosen)


def _other_than_default(info: OptionInfo) -> Any:
    if get_origin(info.kind) is Literal:
        return next(choice for choice in get_args(info.kind) if choice != info.default)
    if isinstance(info.default, bool):
        return not info.default
    for guess in _guesses(info.default):
        if guess != info.default and out_of_bounds(guess, info) is None and _is_read(guess, info):
            return guess
    return info.default


def _guesses(default: Any) -> tuple[Any, ...]:
    if isinstance(default, int | float) and default:
        return (default * 2, default / 2)
    if isinstance(default, tuple):
        return tuple((number,) for number in (8, 2, 1, 0.5)) if not default else (default,)
    return (1, 0.5, 10, 16, 1024)


def _is_read(value: Any, info: OptionInfo) -> bool:
    try:
        from_text(as_typed(value), info.kind)
    except ValueError:
        return False
    return True


def as_typed(value: Any) -> str:
    """A value as one types it on the command line."""
    if isinstance(value, tuple | list):
        return ",".join(as_typed(part) for part in value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)
