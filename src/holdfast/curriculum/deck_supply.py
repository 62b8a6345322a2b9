"""The files behind a deck's stages, ready to be dealt into lanes.

The trainer's use, after a step in which lanes ended (a world has begun their next episodes already) and after the
ended episodes were read, or after the world's very first `reset()`:

    supply = open_supply(parse_stages(text), folder, world, settings)    # once; supply.warnings are for the user
    deal(world, supply, lanes, stages, items)                            # one stage (from 0) and item for each lane

`items` count on without end: the file's items come again and again. Only the episodes of these lanes are overwritten;
what the ended ones left (flags, `finished()`) stays, and so do the lane's key and level: its next spawn is its own, and
a dealt episode lasts no longer than the level's step limit. Lanes that are dealt nothing are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.curriculum.deck_errors import DeckError
from holdfast.curriculum.deck_files import Deck, check_deck, read_deck
from holdfast.curriculum.deck_spec import Stage, mismatch
from holdfast.kit.errors import ConfigError, SituationError
from holdfast.worlds.api import World


class Loaded(NamedTuple):
    """A stage with its file in memory, its speeds already scaled."""

    stage: Stage
    deck: Deck


class Supply(NamedTuple):
    """All stages of a run, in the order of the text."""

    stages: tuple[Loaded, ...]
    warnings: tuple[str, ...]  # types that most of their items do not have


def open_supply(stages: Sequence[Stage], folder: Path, world: World, settings: Any) -> Supply:
    """Read, check and scale the file of every stage; ConfigError tells the problems of all stages at once."""
    loaded: list[Loaded] = []
    problems: list[str] = []
    for number, stage in enumerate(stages, start=1):
        try:
            loaded.append(_load(stage, folder, world, settings))
        except (DeckError, SituationError) as error:
            problems.append(f"deck.stages: stage {number} ({stage.label}): {error}")
    if problems:
        raise ConfigError(problems)
    found = [mismatch(one.stage, _velocities(one.deck, world)) for one in loaded]
    return Supply(tuple(loaded), tuple(text for text in found if text is not None))


def _load(stage: Stage, folder: Path, world: World, settings: Any) -> Loaded:
    deck = read_deck(folder / stage.path)
    check_deck(deck, world, settings)
    if not deck.light and stage.apply == "pre_roll":
        raise DeckError(f"deck {deck.path} holds whole situations: apply=pre_roll is only for velocities")
    return Loaded(stage, scaled_deck(deck, world, stage.scale_speed))


def scaled_deck(deck: Deck, world: World, factor: float) -> Deck:
    """The same items with an opponent that moves this much faster."""
    if factor == 1:
        return deck
    if deck.situations is None:
        assert deck.velocities is not None
        return replace(deck, velocities=deck.velocities * factor)
    return replace(deck, situations=world.scaled(deck.situations, factor))


def _velocities(deck: Deck, world: World) -> list[tuple[float, float]]:
    found = deck.velocities if deck.situations is None else world.opponent_velocities(deck.situations)
    return [] if found is None else [(float(vx), float(vy)) for vx, vy in found]


def deal(world: World, supply: Supply, lanes: Sequence[int], stages: Sequence[int], items: Sequence[int]) -> None:
    """Let lanes that have just begun an episode begin it from one item each."""
    lane, stage, item = (np.asarray(numbers, np.int64) for numbers in (lanes, stages, items))
    for number, (chosen, deck) in enumerate(supply.stages):
        here = stage == number
        if not here.any():
            continue
        places = item[here] % len(deck)
        if deck.situations is None:
            assert deck.velocities is not None
            world.begin_moving(lane[here], deck.velocities[places], chosen.apply == "pre_roll")
        else:
            world.begin_from(lane[here], deck.situations.take(places))
