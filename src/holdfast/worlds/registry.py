"""From a world's name to its class: ours and those of installed packages by name, `gym:ID` for a registered Gymnasium
environment, `module:Class` for a class of the user's own (a Holdfast world or a Gymnasium environment)."""

from __future__ import annotations

from typing import Any, cast

from holdfast.kit.errors import UnknownName, nearest
from holdfast.worlds.api import World, WorldSpec
from holdfast.worlds.declared import check_class, check_instance
from holdfast.worlds.game import Game
from holdfast.worlds.importing import import_path
from holdfast.worlds.ours import OURS
from holdfast.worlds.plugins import load_plugin, plugins
from holdfast.worlds.trust import admit
from holdfast.worlds.workers.supervisor import Supervisor, is_supervised


def _is_foreign_name(name: str) -> bool:
    return name.startswith("gym:") or ":" in name


def world_names() -> list[str]:
    """Worlds that are known by a name alone: ours, then those of installed packages."""
    return [*OURS, *(name for name in plugins() if name not in OURS)]


def _is_foreign(name: str) -> bool:
    if name in OURS:
        return False
    if name.startswith("gym:"):
        return True
    if ":" not in name and name not in plugins():
        raise UnknownName(
            f"no world {name!r}{nearest(name, world_names())}; there are {', '.join(world_names())}, "
            "gym:ID for a registered Gymnasium environment, and module:Class for your own"
        )
    made = _named(name)
    return not (isinstance(made, type) and issubclass(made, World))


def world_class(name: str, foreign: bool = False) -> type[World]:
    """The class behind a world's name; foreign environments all share one.

    `foreign`: known to be one, so its code need not be imported here to see that.
    """
    if foreign or _is_foreign(name):
        from holdfast.worlds.gym import GymWorld

        return GymWorld
    found = _named(name)
    check_class(name, found)
    return cast(type[World], found)


def _named(name: str) -> Any:
    """What a name stands for; one of ours cannot be taken by an installed package."""
    if name not in OURS and ":" not in name:
        return load_plugin(name)
    return import_path(OURS.get(name, name))


def path_of(name: str) -> str:
    """`module:Class` for the game of an installed package; other names stay."""
    return plugins()[name].value if name not in OURS and name in plugins() else name


def own_game(name: object) -> Game:
    """The game of a world that is installed, none for others: a name in a run folder does not choose what is imported
    from elsewhere."""
    return world_class(str(name)).game if name in world_names() else Game()


def game_of(config: Any) -> Game:
    """What the world of a configuration brings beside itself."""
    foreign = is_supervised(config.world) and ":" in config.world_name
    return world_class(config.world_name, foreign).game


def known_spec(config: Any) -> WorldSpec | None:
    """The spec of a configuration's world where it is known without making the world."""
    if is_supervised(config.world):
        return None
    return world_class(config.world_name).spec_for(config.world)


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

        return WorkerWorld(path_of(name), settings, lanes, seed, threads, supervisor)
    kind: Any = world_class(name)
    if _is_foreign(name):
        foreign: World = kind(path_of(name), settings, lanes, seed, threads)
        return foreign
    made: World = kind(settings, lanes, seed, threads)
    check_instance(name, made)
    return made
