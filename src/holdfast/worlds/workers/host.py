"""A foreign environment inside its worker, whatever its age: seeds, four or five values, any kind of autoreset.

Gymnasium environments, those of the old `gym`, and classes that merely look like one are driven alike. What they
return is checked here, where a wrong shape or a NaN can still be named.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np

from holdfast.kit.errors import NonFinite, WorldError
from holdfast.worlds.gym_draw import as_picture
from holdfast.worlds.gym_make import import_environment, make_environment
from holdfast.worlds.gym_spaces import controls_of, sight_of
from holdfast.worlds.workers.block import NUMBERS, REWARD, TERMINATED, TRUNCATED, Block, Layout

# Where an environment that has already begun its next episode leaves the last observation of the one that ended.
LAST_SEEN = ("final_obs", "final_observation", "terminal_observation")


class Host:
    """One environment, and how what it returns is written into the shared block."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.name: str = job["name"]
        self.job = job
        self.block: Block | None = None

    def import_it(self) -> None:
        import_environment(self.name)

    def build(self) -> Layout:
        self.environment: Any = make_environment(
            self.name, self.job["kwargs"], self.job["max_steps"], old_ones_too=True
        )
        self.sight = sight_of(_space(self.environment.observation_space), self.name)
        self.controls = controls_of(_space(self.environment.action_space), self.name)
        self.ram = _find(self.environment, "ram")
        size = 0 if self.ram is None else len(self._ram_bytes())
        self.seeded = "seed" in _parameters(self.environment.reset)
        own_limit = isinstance(self.environment, gymnasium.Env)
        self.limit = 0 if own_limit else self.job["max_steps"]  # Gymnasium counts by itself
        return Layout(self.sight.space, self.controls.space, size)

    def _ram_bytes(self) -> np.ndarray:
        assert self.ram is not None
        return np.asarray(self.ram() if callable(self.ram) else self.ram, np.uint8)

    def reset(self, seed: int) -> None:
        self.steps = 0
        if self.seeded:
            returned = self.environment.reset(seed=seed)
        else:
            seed_it = getattr(self.environment, "seed", None)
            if callable(seed_it):
                seed_it(seed)
            returned = self.environment.reset()
        pair = isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict)
        self._show(returned[0] if pair else returned, np.zeros(NUMBERS))

    def step(self) -> None:
        assert self.block is not None
        action = self.block.action
        returned = self.environment.step(self.controls.convert(action.copy() if action.ndim else action[()]))
        seen, reward, terminated, truncated, info = five_values(returned)
        self.steps += 1
        truncated = truncated or self.steps == self.limit
        if terminated or truncated:
            seen = next((info[key] for key in LAST_SEEN if info.get(key) is not None), seen)
        reward = float(reward)
        if not np.isfinite(reward):
            raise NonFinite(f"{self.name}: the reward is {reward}")
        numbers = np.zeros(NUMBERS)
        numbers[[REWARD, TERMINATED, TRUNCATED]] = reward, terminated, truncated and not terminated
        self._show(seen, numbers)

    def _show(self, seen: Any, numbers: np.ndarray) -> None:
        assert self.block is not None
        row = self.sight.convert(seen)
        if row.shape != self.block.obs.shape:
            raise WorldError(
                f"{self.name}: the observation has shape {row.shape}, the space says {self.block.obs.shape}"
            )
        if row.dtype.kind == "f" and not np.isfinite(row.sum()):
            wrong = np.argwhere(~np.isfinite(row))
            if len(wrong):
                place, value = wrong[0].tolist(), row[tuple(wrong[0])]
                raise NonFinite(f"{self.name}: the observation is {value} at index {place}")
        self.block.obs[...] = row
        self.block.numbers[...] = numbers
        if len(self.block.ram):
            self.block.ram[...] = self._ram_bytes()

    def picture(self) -> np.ndarray | None:
        if isinstance(self.environment, gymnasium.Env):
            return as_picture(self.environment.render()) if self.environment.render_mode == "rgb_array" else None
        render = getattr(self.environment, "render", None)
        return as_picture(render(mode="rgb_array")) if render and "mode" in _parameters(render) else None

    def close(self) -> None:
        close = getattr(self.environment, "close", None)
        if callable(close):
            close()


def five_values(returned: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
    """What `step` returned, in the form of Gymnasium; the old form tells a cut by a time limit in its info."""
    if not isinstance(returned, tuple) or len(returned) not in (4, 5):
        what = f"{len(returned)} values" if isinstance(returned, tuple) else type(returned).__name__
        raise WorldError(f"step() returned {what}; it must return 5 values, or 4 in the old form")
    if len(returned) == 5:
        seen, reward, terminated, truncated, info = returned
        return seen, reward, bool(terminated), bool(truncated), info
    seen, reward, done, info = returned
    cut = bool(done) and bool(info.get("TimeLimit.truncated", False))
    return seen, reward, bool(done) and not cut, cut, info


def _parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def _layers(environment: Any) -> Iterator[Any]:
    """The environment and what it wraps, outermost first."""
    while environment is not None:
        yield environment
        environment = vars(environment).get("env")


def _find(environment: Any, name: str) -> Any:
    return next((getattr(layer, name) for layer in _layers(environment) if name in dir(layer)), None)


def _space(space: Any) -> gymnasium.Space[Any]:
    """Spaces of the old `gym` have the same names and fields but are other classes."""
    if isinstance(space, gymnasium.Space):
        return space
    match type(space).__name__:
        case "Box":
            return gymnasium.spaces.Box(space.low, space.high, space.shape, space.dtype.type)
        case "Discrete":
            return gymnasium.spaces.Discrete(int(space.n))
        case "MultiDiscrete":
            return gymnasium.spaces.MultiDiscrete(space.nvec)
        case "MultiBinary":
            return gymnasium.spaces.MultiBinary(space.n)
    raise WorldError(f"the space {space!r} is neither Gymnasium's nor one that looks like it")
