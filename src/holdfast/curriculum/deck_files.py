"""Decks on disk. A full deck holds whole situations (any world), a light one predator velocities (the fish world).

    deck = read_deck(path)                  # DeckError names the file and the part that is missing, damaged or newer
    check_deck(deck, world, settings)       # ... or that does not fit this world
    write_deck(path, world, settings, situations, source)

`deck_supply.py` puts them into lanes. What a manifest says of its situations is computed when it is written.
"""

from __future__ import annotations

import dataclasses
import errno
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.curriculum.deck_archive import Archive, read_archive, write_archive
from holdfast.curriculum.deck_errors import DeckError
from holdfast.curriculum.deck_light import check_format, read_light
from holdfast.kit.errors import SituationError
from holdfast.worlds.api import Situation, World
from holdfast.worlds.ours import OURS
from holdfast.worlds.registry import own_game

KIND, VERSION = "deck", 1
STATE, ITEM = "state/", "item/"  # names of a situation's arrays, and of what else is known of each item


def light_world() -> str:
    """The world whose opponents a light deck's velocities are of."""
    return next(name for name in OURS if own_game(name).velocity_facts is not None)


class Source(NamedTuple):
    """Where situations come from."""

    run: str = ""
    iteration: int = 0
    policy: str = ""  # a fingerprint of the weights, or a yardstick's name


@dataclass(frozen=True)
class Deck:
    """A deck in memory: either situations or velocities."""

    path: Path
    world: str
    situations: Situation | None = None
    velocities: np.ndarray | None = None  # [K, 2]
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the world the situations were saved in
    statistics: Mapping[str, Any] = field(default_factory=dict)
    per_item: Mapping[str, np.ndarray] = field(default_factory=dict)  # more about each item, such as expected deaths
    source: Source = field(default_factory=Source)
    note: str = ""

    def __len__(self) -> int:
        return len(self.velocities if self.velocities is not None else self.situations or ())

    @property
    def light(self) -> bool:
        return self.velocities is not None


def write_deck(
    path: Path,
    world: World,
    settings: Any,
    situations: Situation,
    source: Source,
    note: str = "",
    per_item: Mapping[str, np.ndarray] | None = None,
) -> None:
    """A full deck in one move. `settings` are those of the world the situations were saved in."""
    kept = world.of_episode(situations)
    if len(kept) == 0:
        raise DeckError(f"deck {path}: there is no situation to write")
    world.check_situation(kept)
    manifest = {
        "format": f"{KIND}/{VERSION}",
        "world": kept.world,
        "world_version": kept.version,
        "settings": dataclasses.asdict(settings),
        "items": len(kept),
        "distinct": distinct_items(kept),
        "statistics": world.situation_facts(kept),
        "source": source._asdict(),
        "note": note,
    }
    arrays = {STATE + name: array for name, array in kept.rows.items()}
    arrays |= {ITEM + name: array for name, array in (per_item or {}).items()}
    write_archive(path, Archive(manifest, arrays))


def distinct_items(situations: Situation) -> int:
    """How many of the situations differ in any byte."""
    rows = list(situations.rows.values())
    return len({b"".join(np.ascontiguousarray(array[k]).tobytes() for array in rows) for k in range(len(situations))})


def read_deck(path: Path) -> Deck:
    """A full or a light deck, whichever the file is."""
    try:
        if path.exists() and not path.is_file():  # a pipe would wait for ever
            raise OSError(errno.EINVAL, "it is no file")
        with path.open("rb") as file:
            start = file.read(2)
        if not start:
            raise DeckError(f"deck {path} is empty: it has 0 bytes")
        if start == b"PK":
            return _full(path, read_archive(path))
        velocities, note = read_light(path)
    except OSError as error:
        raise DeckError(f"deck {path} cannot be read: {error.strerror or error}") from error
    return Deck(path, light_world(), velocities=velocities, note=note)


def _full(path: Path, archive: Archive) -> Deck:
    manifest = archive.manifest
    check_format(path, manifest.get("format"), KIND, VERSION)
    kinds = {"world": str, "world_version": int, "settings": dict, "items": int, "statistics": dict, "source": dict}
    for name, kind in kinds.items():
        if not isinstance(manifest.get(name), kind) or isinstance(manifest[name], bool):
            raise DeckError(f"deck {path}: manifest.json: {name} is missing or no {kind.__name__}")
    if manifest["items"] < 1:
        raise DeckError(f"deck {path} is empty: manifest.json: items is {manifest['items']}")
    _check_rows(path, archive.arrays, manifest["items"])
    rows = _below(archive.arrays, STATE)
    return Deck(
        path=path,
        world=manifest["world"],
        situations=Situation(manifest["world"], manifest["world_version"], rows),
        settings=manifest["settings"],
        statistics=manifest["statistics"],
        per_item=_below(archive.arrays, ITEM),
        source=_source(path, manifest["source"]),
        note=str(manifest.get("note", "")),
    )


def _source(path: Path, table: dict[str, Any]) -> Source:
    try:
        return Source(str(table["run"]), int(table["iteration"]), str(table["policy"]))
    except (KeyError, TypeError, ValueError):
        raise DeckError(f"deck {path}: manifest.json: source has no run, iteration and policy") from None


def _check_rows(path: Path, arrays: Mapping[str, np.ndarray], items: int) -> None:
    for name, array in arrays.items():
        if not name.startswith((STATE, ITEM)):
            raise DeckError(f"deck {path}: array {name} is neither of a situation nor of an item")
        if array.ndim == 0 or len(array) != items:
            raise DeckError(f"deck {path}: array {name} has shape {list(array.shape)}, not {items} items")
    if not any(name.startswith(STATE) for name in arrays):
        raise DeckError(f"deck {path} has no situations: no array begins with {STATE}")


def _below(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def check_deck(deck: Deck, world: World, settings: Any) -> None:
    """DeckError unless every item can be dealt in this world, which has these settings."""
    name, version = world.spec.name, world.spec.version
    if deck.world != name:
        raise DeckError(f"deck {deck.path} is of world {deck.world}; this run plays {name}")
    if deck.situations is None:
        return
    if deck.situations.version != version:
        other = deck.situations.version
        advice = "update Holdfast" if other > version else "harvest it anew"
        raise DeckError(f"deck {deck.path} is of version {other} of world {name}, here it is {version}: {advice}")
    for key in world.AGREE:
        theirs, ours = deck.settings.get(key, getattr(type(settings), key)), getattr(settings, key)
        if theirs != ours:
            raise DeckError(f"deck {deck.path} was made under world.{key} = {theirs}; this run has {ours}")
    try:
        world.check_situation(deck.situations)
    except SituationError as error:
        raise DeckError(f"deck {deck.path}: {error}") from error
