"""From the stages of a deck to lanes: which situation a reset takes, and how the lane begins from it.

The trainer's use, after a step in which lanes ended (a world has begun their next episodes already) and after the
ended episodes were read, or after the world's very first `reset()`:

    supply = open_supply(parse_stages(text), folder, world, settings)     # once; .warnings are for the user
    chosen = deals_now(world, lanes, share)                               # [len(lanes)] bool, by a counter-based draw
    cards = next_cards(blocks, supply, cursor[lanes[chosen]], lanes[chosen], world.lanes, on_empty)
    deal(world, lanes[chosen], supply, cards)                             # overwrites just these episodes
    cursor[lanes[chosen]] += 1                                            # deals so far of each lane: part of the state

Nothing else is remembered: the draw depends on the new episode's key, the card on the lane's count of deals. A lane
whose deck is exhausted gets `NO_CARD` (stage -1) and `deal` leaves its normal spawn alone. The lane keeps its own key
and level: its next spawn is its own, and a dealt episode lasts no longer than the level's step limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.curriculum.deck_files import Deck, check_deck, read_deck
from holdfast.curriculum.deck_queue import Block, OnEmpty
from holdfast.curriculum.deck_spec import Stage, mismatch
from holdfast.errors import ConfigError, DeckError, SituationError
from holdfast.rng import uniform
from holdfast.worlds.api import World

DEAL_STREAM = 0xDEA1  # of the draw between deck and spawn, by the key of the new episode
NO_CARD = -1


class Loaded(NamedTuple):
    """A stage with its file in memory, its speeds already scaled."""

    stage: Stage
    deck: Deck


class Supply(NamedTuple):
    """All stages of a run, in the order of the text."""

    stages: tuple[Loaded, ...]
    warnings: tuple[str, ...]  # types that most of their items do not have


class Cards(NamedTuple):
    """What some lanes are dealt, one each."""

    stage: np.ndarray  # [K] number of the stage in the text from 0, or `NO_CARD`
    item: np.ndarray  # [K] its place in the stage's file


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


def deals_now(world: World, lanes: np.ndarray, share: float) -> np.ndarray:
    """[K] bool: which of these lanes, which have just begun an episode, take a situation instead of their spawn."""
    return np.array([uniform(key, DEAL_STREAM, 0) < share for key in world.clock.episode_key[lanes]], np.bool_)


def next_cards(
    blocks: Sequence[Block],
    supply: Supply,
    dealt: np.ndarray,
    lanes: np.ndarray,
    schools: int,
    on_empty: OnEmpty,
) -> Cards:
    """The cards of lanes that were dealt so many before, from the queue of blocks as it is now.

    A block holds its file's items in order, repeated; item g of it goes to school g mod `schools`.
    """
    ends = np.cumsum([block.deals for block in blocks], dtype=np.int64)
    capacity = int(ends[-1]) if len(ends) else 0
    position = np.asarray(dealt, np.int64)
    if on_empty == "cycle" and capacity:
        position = position % capacity
    place = np.searchsorted(ends, position, side="right")  # index of the block each lane is in
    left = place < len(blocks)
    stage, item = np.full(len(lanes), NO_CARD), np.zeros(len(lanes), np.int64)
    for index, block in enumerate(blocks):
        here = left & (place == index)
        local = (position[here] - (ends[index] - block.deals)) * schools + np.asarray(lanes)[here]
        stage[here] = block.number - 1
        item[here] = local % len(supply.stages[block.number - 1].deck)
    return Cards(stage, item)


def deal(world: World, lanes: np.ndarray, supply: Supply, cards: Cards) -> None:
    """Let lanes that have just begun an episode begin it from their cards; those without one keep their spawn."""
    lanes = np.asarray(lanes, np.int64)
    for number, (stage, deck) in enumerate(supply.stages):
        mine = cards.stage == number
        if not mine.any():
            continue
        if deck.situations is None:
            assert deck.velocities is not None
            world.begin_moving(lanes[mine], deck.velocities[cards.item[mine]], stage.apply == "pre_roll")
        else:
            world.begin_from(lanes[mine], deck.situations.take(cards.item[mine]))
