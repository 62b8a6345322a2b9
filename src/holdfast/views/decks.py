"""Decks on the command line: `deck harvest` makes one from a run's policy, `deck show` says what is in one."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.curriculum.deck_errors import DeckError
from holdfast.curriculum.deck_files import Deck, check_deck, distinct_items, read_deck
from holdfast.kit.errors import ConfigError
from holdfast.worlds.api import World
from holdfast.worlds.registry import game_of, make_world, own_game, world_class, world_names

BAR = 32


def harvest_deck(arguments: argparse.Namespace) -> int:
    """Play a run's policy on seeds of its own and write the worst moments to a deck."""
    from holdfast.runs.folder import find_run
    from holdfast.runs.reopen import config_of

    run = find_run(arguments.run, arguments.root)
    config = config_of(run)
    harvest = game_of(config).harvest_deck
    if harvest is None:
        raise ConfigError([f"deck harvest: run {arguments.run} plays {config.world_name}, which has no harvest"])
    harvest(arguments, run, config)
    return 0


def show_deck(arguments: argparse.Namespace) -> int:
    """What a deck holds, computed from its items."""
    deck = read_deck(Path(arguments.deck))
    facts = deck_facts(deck)
    if arguments.picture:
        from holdfast.views.deck_picture import write_picture

        facts["picture"] = str(write_picture(deck, Path(arguments.picture), _world_of(deck)))
    print(json.dumps(facts) if arguments.json else "\n".join(_lines(facts)))
    return 0


def _world_of(deck: Deck, lanes: int | None = None) -> World | None:
    """The world a full deck's situations were saved in; None for a light deck."""
    if deck.situations is None:
        return None
    if deck.world not in world_names():
        raise DeckError(f"deck {deck.path} is of world {deck.world}, which this Holdfast does not have")
    try:
        settings = world_class(deck.world).Settings(**deck.settings)
        world = make_world(deck.world, settings, lanes or len(deck), seed=0)
    except (TypeError, ValueError) as error:
        raise DeckError(f"deck {deck.path}: manifest.json: settings do not fit world {deck.world}: {error}") from error
    check_deck(deck, world, settings)
    return world


def deck_facts(deck: Deck) -> dict[str, Any]:
    """Everything that `deck show` tells, whichever form the deck has."""
    facts: dict[str, Any] = {"path": str(deck.path), "form": "light" if deck.light else "full", "world": deck.world}
    facts |= {"items": len(deck), "note": deck.note}
    if deck.situations is None:
        assert deck.velocities is not None
        return (
            facts
            | {"distinct": len(np.unique(deck.velocities, axis=0))}
            | (tell(deck.velocities) if (tell := own_game(deck.world).velocity_facts) is not None else {})
        )
    world = _world_of(deck, lanes=1)
    assert world is not None
    facts |= {"distinct": distinct_items(deck.situations), "world_version": deck.situations.version}
    facts |= {"source": deck.source._asdict(), **world.situation_facts(deck.situations)}
    facts["steps"] = deck.situations.rows["t"].tolist()
    facts |= {name: array.tolist() for name, array in deck.per_item.items() if array.ndim == 1}
    return facts


def _lines(facts: dict[str, Any]) -> list[str]:
    """The facts for people: histograms as bars."""
    source = facts.get("source")
    lines = [f"{facts['path']}: a {facts['form']} deck of world {facts['world']}"]
    lines.append(
        f"{facts['items']} situations, {facts['distinct']} distinct" + (f"; {facts['note']}" if facts["note"] else "")
    )
    if source:
        lines.append(
            f"from run {source['run'] or '?'}, iteration {source['iteration']}, policy {source['policy'] or '?'}"
        )
    tell = own_game(facts["world"]).deck_lines
    lines += tell(facts) if tell is not None else []
    if "steps" in facts:
        begun = sum(step == 0 for step in facts["steps"])
        lines.append(f"{begun} at the beginning of an episode, {len(facts['steps']) - begun} in the middle of one")
    if "heading_histogram" in facts:
        lines += ["", "heading", *_bars(facts["heading_histogram"], 30.0, "°")]
        lines += ["", "speed", *_bars(facts["speed_histogram"], 0.4, "")]
    if "picture" in facts:
        lines += ["", f"picture: {facts['picture']}"]
    return lines


def _bars(counts: list[int], width: float, unit: str) -> list[str]:
    most = max(max(counts), 1)
    return [
        f"  {number * width:5.4g} to {(number + 1) * width:<5.4g}{unit} {count:5d} {'█' * round(BAR * count / most)}"
        for number, count in enumerate(counts)
    ]
