"""What a world class must declare before anything can be built on it, checked when the class is first named.

A part that is missing would otherwise show as an AttributeError far from the class that lacks it.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from holdfast.kit.errors import WorldError
from holdfast.worlds.api import World
from holdfast.worlds.game import Game
from holdfast.worlds.spec import WorldSpec

HELP = "see docs/new_world.md"


def check_class(name: str, found: Any) -> None:
    """WorldError unless this is a complete world class with settings and a game that can be read."""
    if not (isinstance(found, type) and issubclass(found, World)):
        raise WorldError(f"world {name!r} is no World class; {HELP}")
    settings = getattr(found, "Settings", None)
    if settings is None:
        raise WorldError(f"world {name!r} has no Settings class; {HELP}")
    if not (isinstance(settings, type) and dataclasses.is_dataclass(settings)):
        raise WorldError(f"world {name!r}: Settings must be a dataclass, one field for each option; {HELP}")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise WorldError(f"world {name!r} does not define {missing}; {HELP}")
    _check_game(name, found.game)


def _check_game(name: str, game: Any) -> None:
    if not isinstance(game, Game):
        raise WorldError(f"world {name!r}: game must be a Game(...), not {game!r}")
    for section, kind in game.sections.items():
        if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
            raise WorldError(f"world {name!r}: the section [{section}] of its game must be a dataclass, not {kind!r}")


def check_instance(name: str, world: World) -> None:
    """WorldError if its constructor left out what every world has."""
    if not isinstance(getattr(world, "spec", None), WorldSpec):
        raise WorldError(
            f"world {name!r} has no spec: its __init__ must call super().__init__ with a WorldSpec, the lanes, the "
            f"seed and the threads, and an ArrayWorld also with its state; {HELP}"
        )
