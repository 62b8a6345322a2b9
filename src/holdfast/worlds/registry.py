"""From a world's name to its class: ours by name, `gym:ID` for a registered Gymnasium environment, `module:Class` for
a class of the user's own (a Holdfast world or a Gymnasium environment)."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from holdfast.errors import UnknownName, WorldError, nearest
from holdfast.worlds.api import World

OURS = {
    "template": "holdfast.worlds.template.world:Template",
    "fish": "holdfast.worlds.fish.world:Fish",
    "pursuit": "holdfast.worlds.pursuit.world:Pursuit",
}


def import_path(path: str) -> Any:
    module_name, _, name = path.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # a user's own world usually lies where the command is given
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UnknownName(f"world {path!r}: no module {error.name!r} can be imported from here") from error
    try:
        return getattr(module, name)
    except AttributeError:
        classes = [key for key, value in vars(module).items() if isinstance(value, type)]
        raise UnknownName(f"world {path!r}: module {module_name} has no {name!r}{nearest(name, classes)}") from None


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


def world_class(name: str) -> type[World]:
    """The class behind a world's name; foreign environments all share one."""
    if _is_foreign(name):
        from holdfast.worlds.gym import GymWorld

        return GymWorld
    found = import_path(OURS.get(name, name))
    if not hasattr(found, "Settings"):
        raise WorldError(f"world {name!r} has no Settings class; see docs/new_world.md")
    return found


def make_world(name: str, settings: Any, lanes: int, seed: int, threads: int = 1) -> World:
    """Construct a world; call `reset()` on it before the first step."""
    made: Any = world_class(name)
    if _is_foreign(name):
        return made(name, settings, lanes, seed, threads)
    return made(settings, lanes, seed, threads)
