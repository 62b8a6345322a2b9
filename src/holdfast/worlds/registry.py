"""From a world's name to its class: ours by name, `gym:ID` for a registered Gymnasium environment, `module:Class` for
a class of the user's own (a Holdfast world or a Gymnasium environment)."""

from __future__ import annotations

from typing import Any

from holdfast.kit.errors import UnknownName, WorldError, nearest
from holdfast.worlds.api import World
from holdfast.worlds.game import Game
from holdfast.worlds.importing import import_path
from holdfast.worlds.ours import OURS
from holdfast.worlds.trust import admit
from holdfast.worlds.workers.supervisor import Supervisor, is_supervised


def _is_foreign_name(name: str) -> bool:
    return name.startswith("gym:") or ":" in name


def _is_foreign(name: str) -> bool:
    if name in OURS:
        return False
    if name.startswith("gym:"):
        return True
    if ":" not in name:
        raise UnknownName(
            f"no world {name!r}{nearest(name, list(OURS))}; there are {', '.join(OURS)}, "
            "gym:ID for a registered Gymnasium environment, and module:Class for your own"
        )
    made = import_path(name)
    return not (isinstance(made, type) and issubclass(made, World))


def world_class(name: str, foreign: bool = False) -> type[World]:
    """The class behind a world's name; foreign environments all share one.

    `foreign`: known to be one, so its code need not be imported here to see that.
    """
    if foreign or _is_foreign(name):
        from holdfast.worlds.gym import GymWorld

        return GymWorld
    found = import_path(OURS.get(name, name))
    if not hasattr(found, "Settings"):
        raise WorldError(f"world {name!r} has no Settings class; see docs/new_world.md")
    return found


def own_game(name: object) -> Game:
    """The game of one of our own worlds, none for others: a name from a run folder decides on no import."""
    return world_class(str(name)).game if name in OURS else Game()


def game_of(config: Any) -> Game:
    """What the world of a configuration brings beside itself."""
    foreign = is_supervised(config.world) and ":" in config.world_name
    return world_class(config.world_name, foreign).game


def light(settings: Any) -> Any:
    """Settings of the same world without what takes long to compile and only makes it faster."""
    return getattr(settings, "light", settings)


def make_world(
    name: str, settings: Any, lanes: int, seed: int, threads: int = 1, supervisor: Supervisor | None = None
) -> World:
    """Construct a world; call `reset()` on it before the first step. Only worlds in workers use the supervisor."""
    if is_supervised(settings):
        admit(name)
        own = "" if _is_foreign_name(name) else world_class(name).game.in_workers
        if own:
            return import_path(own)(settings, lanes, seed, threads, supervisor)
        from holdfast.worlds.workers.world import WorkerWorld

        return WorkerWorld(name, settings, lanes, seed, threads, supervisor)
    made: Any = world_class(name)
    if _is_foreign(name):
        return made(name, settings, lanes, seed, threads)
    return made(settings, lanes, seed, threads)
