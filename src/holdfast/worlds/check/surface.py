"""Proofs about what others hold on to: the buffers, the picture, the level parameters."""

from __future__ import annotations

import numpy as np

from holdfast.kit.errors import ConfigError
from holdfast.worlds.api import LevelParameter, Plan, World
from holdfast.worlds.check.subject import Arrays, Broken, Subject, advance, buffers, everything, first_difference

STEPS = 50


def begins(subject: Subject) -> str:
    world = subject.begun()
    names = [f"{role.agents} {role.name}" for role in world.spec.roles]
    return f"{subject.lanes} lanes of {', '.join(names)}"


def _held(world: World) -> Arrays:
    """What a learner holds on to. While it is held, its memory cannot be given to another array."""
    return {**dict(buffers(world)), **world.clock._asdict()}


def _place(array: np.ndarray) -> tuple[int, tuple[int, ...]]:
    return array.ctypes.data, array.shape


def buffers_stay(subject: Subject) -> str:
    world = subject.make()
    held = _held(world)
    world.reset()
    advance(world, STEPS)
    moved = [name for name, array in _held(world).items() if _place(array) != _place(held[name])]
    if moved:
        raise Broken(f"after {STEPS} steps these are other arrays than at the start: {', '.join(moved)}")
    return f"{len(held)} arrays over {STEPS} steps"


def picture_is_drawn(subject: Subject) -> str:
    world = subject.begun()
    advance(world)
    before = {name: array.copy() for name, array in everything(world).items()}
    picture = world.draw(subject.lanes - 1)
    if not (isinstance(picture, np.ndarray) and picture.dtype == np.uint8 and picture.ndim == 3):
        raise Broken(f"draw() gave {_kind(picture)}, not a uint8 array [height, width, 3]")
    if picture.shape[2] != 3 or not picture.size:
        raise Broken(f"draw() gave shape {list(picture.shape)}, not [height, width, 3]")
    difference = first_difference(before, everything(world))
    if difference:
        raise Broken(f"draw() changed the world: {difference}")
    return f"{picture.shape[1]} x {picture.shape[0]} pixels"


def _kind(value: object) -> str:
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__


def level_is_obeyed(subject: Subject) -> str:
    world = subject.begun()
    _refuses(world, "no such parameter", 0.0)
    for parameter in world.spec.level:
        if np.isfinite(parameter.high):
            _refuses(world, parameter.name, parameter.high + 1.0)
        _acts(subject, parameter)
    return f"{len(world.spec.level)} parameters"


def _refuses(world: World, name: str, value: float) -> None:
    try:
        world.reset(plan=Plan({name: value}))
    except ConfigError:
        return
    raise Broken(f"a plan with level {name} = {value} was accepted")


def _acts(subject: Subject, parameter: LevelParameter) -> None:
    """Both ends of the range run, and are not the same world."""
    worlds = [_towards(subject, parameter, value) for value in (parameter.low, parameter.high)]
    if parameter.low == parameter.high:
        return
    for _ in range(subject.steps):
        for world in worlds:
            advance(world)
        if first_difference(*map(_in_effect, worlds)):
            return
    raise Broken(f"level {parameter.name} = {parameter.low} and {parameter.high} gave the same {subject.steps} steps")


def _towards(subject: Subject, parameter: LevelParameter, end: float) -> World:
    """A world at this end of the range; where a plan refuses it because the other parameters do not go with it, at the
    nearest value on the way back to the default."""
    shares = np.linspace(1.0, 0.1, 10)
    for share in shares[:-1]:
        try:
            return _planned(subject, parameter.name, parameter.default + share * (end - parameter.default))
        except ConfigError:
            continue
    return _planned(subject, parameter.name, parameter.default + shares[-1] * (end - parameter.default))


def _planned(subject: Subject, name: str, value: float) -> World:
    world = subject.make()
    world.reset(plan=Plan({name: value}))
    return world


def _in_effect(world: World) -> Arrays:
    return {name: array for name, array in everything(world).items() if name != "level"}
