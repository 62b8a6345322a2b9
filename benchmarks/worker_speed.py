"""What a step of environments in workers costs: ours against Gymnasium's AsyncVectorEnv, taking turns in one run.

`python benchmarks/worker_speed.py [lanes]`. Two environments: CartPole, whose own step takes microseconds, so that all
that is seen is the cost of the processes; and one that sleeps 2 ms per step, where a step of all should cost little
over one. CPU seconds of this process and all below it are told as well: they depend less on what else the machine does.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import psutil

from holdfast.bench.rounds import as_table, ratio, take_turns
from holdfast.worlds.gym import PLAYER, GymSettings
from holdfast.worlds.registry import make_world
from holdfast.worlds.workers.settings import WorkerSettings
from holdfast.worlds.workers.supervisor import Supervisor

STEPS, ROUNDS, SLEEP_S = 400, 9, 0.002
HERE = Path(__file__).resolve()


class Slow(gymnasium.Env[Any, Any]):
    """Sleeps, and is otherwise as small as can be."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.zeros(4, np.float32), {}

    def step(self, action: Any) -> Any:
        time.sleep(SLEEP_S)
        return np.zeros(4, np.float32), 1.0, False, False, {}


def ours(name: str, lanes: int, supervisor: Supervisor) -> Callable[[], int]:
    world = make_world(name, GymSettings(backend="workers"), lanes, 1, 1, supervisor)
    world.reset()
    actions = np.arange(lanes).reshape(-1, 1) % 2

    def work() -> int:
        for t in range(STEPS):
            world.step({PLAYER: (actions + t) % 2})
        return STEPS

    return work


def theirs(make: Callable[[], Any], lanes: int) -> Callable[[], int]:
    vector = gymnasium.vector.AsyncVectorEnv([make] * lanes, context="spawn")
    vector.reset(seed=1)
    actions = np.arange(lanes) % 2

    def work() -> int:
        for t in range(STEPS):
            vector.step((actions + t) % 2)
        return STEPS

    return work


def cpu_s() -> float:
    """CPU seconds so far of this process and all that live below it."""
    here = psutil.Process()
    times = [process.cpu_times() for process in (here, *here.children(recursive=True))]
    return sum(time_.user + time_.system for time_ in times)


class Metered:
    """A contender whose CPU seconds per step are noted in every turn but the first."""

    def __init__(self, work: Callable[[], int]) -> None:
        self.work = work
        self.taken: list[float] = []

    def __call__(self) -> int:
        before = cpu_s()
        done = self.work()
        self.taken.append((cpu_s() - before) / done)
        return done

    @property
    def cpu_us_per_step(self) -> float:
        return 1e6 * float(np.median(self.taken[1:]))


def cartpole() -> Any:
    return gymnasium.make("CartPole-v1", disable_env_checker=True)


def main() -> None:
    lanes = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    sys.path.insert(0, str(HERE.parent))
    supervisor = Supervisor(WorkerSettings(start_delay_s=0.0))
    contenders = {
        "ours_cartpole": Metered(ours("gym:CartPole-v1", lanes, supervisor)),
        "async_cartpole": Metered(theirs(cartpole, lanes)),
        "ours_slow": Metered(ours(f"{HERE.stem}:Slow", lanes, supervisor)),
        "async_slow": Metered(theirs(Slow, lanes)),
    }
    rates = take_turns(dict(contenders), ROUNDS)
    result = {
        **as_table(rates, "steps_per_s"),
        **{f"{name}_cpu_us_per_step": one.cpu_us_per_step for name, one in contenders.items()},
        "ratio_cartpole": ratio(rates["ours_cartpole"], rates["async_cartpole"]),
        "ratio_slow": ratio(rates["ours_slow"], rates["async_slow"]),
        "slow_step_over_its_sleep": 1.0 / (float(np.median(rates["ours_slow"])) * SLEEP_S),
        "lanes": lanes,
    }
    print(json.dumps(result, indent=1))
    (HERE.parent / "results" / "worker_speed.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
