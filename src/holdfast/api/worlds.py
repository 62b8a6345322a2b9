"""A world to be stepped by hand."""

from __future__ import annotations

from typing import Any

from holdfast.api.targets import target_name
from holdfast.config.reading import read_settings
from holdfast.kit.errors import ConfigError
from holdfast.worlds.api import World
from holdfast.worlds.registry import make_world as construct
from holdfast.worlds.registry import world_class
from holdfast.worlds.trust import name_world


def make_world(world: Any, *, lanes: int = 1, seed: int = 0, threads: int = 1, **settings: Any) -> World:
    """A world at the start of its first episodes; `settings` are its own options, without `world.` before them.

    `world` is one of ours, `"gym:ID"`, `"module:Class"`, or a class. Its buffers are filled in place by every step:

    >>> import holdfast as hf
    >>> world = hf.make_world("template", lanes=8, seed=1, far=3)
    >>> world.step(hf.random_policy(world))
    >>> world.roles["player"].obs.shape, world.roles["player"].reward.shape
    ((8, 1, 16), (8, 1))
    >>> hf.make_world("template", fra=3)
    Traceback (most recent call last):
    holdfast.kit.errors.ConfigError: 1 problem in the configuration:
      - settings of template: no option world.fra (did you mean world.far?)
    """
    problems = [
        f"{name} = {value!r}: must be a whole number, at least {least}"
        for name, value, least in (("lanes", lanes, 1), ("seed", seed, 0), ("threads", threads, 1))
        if not isinstance(value, int) or isinstance(value, bool) or value < least
    ]
    if problems:
        raise ConfigError(problems)
    name = target_name(world)
    name_world(name)
    chosen = read_settings(world_class(name).Settings, settings, f"settings of {name}")
    made = construct(name, chosen, lanes, seed, threads)
    made.reset()
    return made
