"""Any Gymnasium environment as a world: one environment per lane, stepped in a Python loop on one thread.

Every episode is seeded by its key, so it can be rebuilt by resetting and repeating its actions: that is how a
checkpoint keeps it, for environments whose seed decides everything. Situations are deep copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from holdfast.config.options import option
from holdfast.kit.errors import SituationError, SnapshotUnsupported, WorldError
from holdfast.worlds.api import ArrayWorld, Role, Situation, WorldSpec
from holdfast.worlds.gym_draw import rendered, sight_picture
from holdfast.worlds.gym_lanes import History, LiveLane, Packed, Totals, pack, saved_arrays, split_saved, unpack
from holdfast.worlds.gym_make import Environment, copied, make_environment
from holdfast.worlds.gym_spaces import Controls, Sight, controls_of, sight_of
from holdfast.worlds.lanes import next_episode

SEEDS = 2**31  # environments take seeds below this
PLAYER = "player"


@dataclass(frozen=True)
class GymSettings:
    """A foreign environment."""

    backend: Literal["loop", "workers"] = option(
        "loop",
        "How environments run. loop: one after the other in this process; workers: each in a supervised process "
        "of its own, for environments that are slow, crash or hang.",
    )
    kwargs: dict[str, Any] = option(
        {},
        "Keyword arguments of the environment's constructor.",
        example='{"difficulty": 2}',
    )
    max_steps: int = option(
        0,
        "Truncate episodes after this many steps; 0 keeps the environment's own limit.",
        low=0,
        unit="steps",
    )
    replay_limit: int = option(
        10_000,
        "Longest episode that is rebuilt at resume by repeating its actions; longer ones begin anew.",
        low=0,
        expert=True,
        unit="steps",
    )


def gym_spec(name: str, sight: Sight, controls: Controls) -> WorldSpec:
    return WorldSpec(
        name=name,
        version=1,
        roles=(Role(PLAYER, 1, sight.space, controls.space),),
        columns=("length", "return"),
        score="return",
    )


def anew_notes(name: str, limit: int, too_long: list[int], other: list[int]) -> list[str]:
    """Which lanes begin new episodes at resume, and why."""
    reasons = {
        f"their episodes are longer than replay_limit = {limit}": too_long,
        "repeating their actions led to another observation, so the seed does not decide everything": other,
    }
    return [
        f"{name}: lanes {', '.join(map(str, lanes))} begin new episodes because {reason}"
        for reason, lanes in reasons.items()
        if lanes
    ]


class GymWorld(ArrayWorld):
    """N copies of one foreign environment; `threads` is of no use to them."""

    Settings = GymSettings

    def __init__(self, name: str, settings: GymSettings, lanes: int, seed: int, threads: int = 1) -> None:
        first = make_environment(name, settings.kwargs, settings.max_steps)
        self.sight = sight_of(first.observation_space, name)
        self.controls = controls_of(first.action_space, name)
        totals = Totals(total=np.zeros(lanes, np.float64))
        super().__init__(gym_spec(name, self.sight, self.controls), lanes, seed, threads, totals)
        self.settings = settings
        others = [make_environment(name, settings.kwargs, settings.max_steps) for _ in range(lanes - 1)]
        self.environments: list[Environment] = [first, *others]
        self.histories: list[History] = [[] for _ in range(lanes)]
        self.player = self.roles[PLAYER]
        self.unsaveable: str | None = None  # why situations cannot be taken, once that is known

    def _failed(self, call: str, lane: int, error: BaseException) -> WorldError:
        t = int(self.clock.t[lane])
        return WorldError(f"{self.spec.name}: {call} raised {type(error).__name__} in lane {lane}, step {t}: {error}")

    def _begin(self, lanes: np.ndarray) -> None:
        for lane in lanes.tolist():
            next_episode(self.clock, lane)
            self.histories[lane] = []
            self.state.total[lane] = 0.0
            self.player.obs[lane, 0] = self._reset_environment(lane)
            self.player.alive[lane, 0] = True

    def _reset_environment(self, lane: int) -> np.ndarray:
        try:
            seen, _ = self.environments[lane].reset(seed=int(self.clock.episode_key[lane]) % SEEDS)
            return self.sight.convert(seen)
        except (Exception, SystemExit) as error:  # foreign code may raise anything: told with its cause
            raise self._failed("reset()", lane, error) from error

    def _step_environment(self, lane: int, action: Any) -> tuple[np.ndarray, float, bool, bool]:
        try:
            seen, reward, terminated, truncated, _ = self.environments[lane].step(self.controls.convert(action))
            return self.sight.convert(seen), float(reward), bool(terminated), bool(truncated)
        except (Exception, SystemExit) as error:  # foreign code may raise anything: told with its cause
            raise self._failed("step()", lane, error) from error

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        chosen = actions[PLAYER][:, 0].copy()  # [N] or [N, K]; rows stay in the histories
        for lane in range(self.lanes):
            self.clock.t[lane] += 1
            seen, reward, terminated, truncated = self._step_environment(lane, chosen[lane])
            self.histories[lane].append(chosen[lane])
            self.player.reward[lane, 0] = reward
            self.state.total[lane] += self.player.reward[lane, 0]
            self.clock.terminated[lane] = terminated
            self.clock.truncated[lane] = truncated and not terminated
            if terminated or truncated:
                self._end(lane, seen)
            else:
                self.player.obs[lane, 0] = seen

    def _end(self, lane: int, seen: np.ndarray) -> None:
        self.clock.ended_key[lane] = self.clock.episode_key[lane]
        self.clock.ended[lane] = self.clock.t[lane], self.state.total[lane]
        self.player.final_obs[lane, 0] = seen
        self.player.final_alive[lane, 0] = True
        self._begin(np.array([lane]))

    # -- situations: deep copies, in memory only --

    def save(self, lanes: np.ndarray) -> Situation:
        chosen = self.chosen(lanes)
        live = tuple(LiveLane(self._copied(lane), list(self.histories[lane])) for lane in chosen.tolist())
        return replace(super().save(chosen), live=live)

    def _copied(self, lane: int) -> Environment:
        if self.unsaveable:
            raise SnapshotUnsupported(self.unsaveable)
        try:
            return copied(self.environments[lane], self.spec.name)
        except SnapshotUnsupported as error:
            self.unsaveable = str(error)
            raise

    def load(self, lanes: np.ndarray, situation: Situation, exact: bool = False) -> None:
        chosen = self.chosen(lanes)
        if len(situation.live) != len(situation):
            raise SituationError(f"a situation of {self.spec.name} lives in memory only and cannot come from a file")
        super().load(chosen, situation, exact)
        for index, lane in enumerate(chosen.tolist()):
            live = situation.live[index if len(situation) > 1 else 0]
            self.environments[lane] = copied(live.environment, self.spec.name)
            self.histories[lane] = list(live.history)

    # -- checkpoints: the key of each episode and the actions since it began --

    def arrays(self) -> dict[str, np.ndarray]:
        packed = pack(self.histories, self.settings.replay_limit, self.controls.space)
        return {**dict(self._named()), **saved_arrays(packed)}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> list[str]:
        fixed, packed = split_saved(arrays, self.lanes, self.spec.name)
        super().restore(fixed)
        return self._replay(packed)

    def _replay(self, packed: Packed) -> list[str]:
        """Rebuild every lane; where that fails, begin a new episode there and say so."""
        too_long, other = [], []
        for lane, history in enumerate(unpack(packed, self.controls.space)):
            if not self.clock.episode_index[lane]:
                continue  # saved before its first episode
            if len(history) != self.clock.t[lane]:
                too_long.append(lane)
            elif not self._rebuilt(lane, history):
                other.append(lane)
        self._begin(np.array([*too_long, *other], np.int64))
        return anew_notes(self.spec.name, self.settings.replay_limit, too_long, other)

    def _rebuilt(self, lane: int, history: History) -> bool:
        seen, over = self._reset_environment(lane), False
        for action in history:
            if over:
                return False
            seen, _, terminated, truncated = self._step_environment(lane, action)
            over = terminated or truncated
        self.histories[lane] = history
        stored = self.player.obs[lane, 0]
        return not over and seen.astype(stored.dtype).tobytes() == stored.tobytes()

    def draw(self, lane: int) -> np.ndarray:
        picture = rendered(self.environments[lane], self.spec.name)
        return sight_picture(self.player.obs[lane, 0]) if picture is None else picture

    def close(self) -> None:
        for environment in self.environments:
            environment.close()
