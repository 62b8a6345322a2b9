"""Holdfast trains reinforcement-learning agents and resumes them bit for bit.

    import holdfast as hf

    run = hf.train("template", {"run.iterations": 20})      # a preset, a .toml file, "gym:ID", a world of your own
    print(run.result.scores["learned"].mean)
    policy = run.policy()                                   # later: hf.load_policy("template-1")

Everything that a program needs is a name of this module; docs/api.md walks through it. Names are imported when they are
first used, so that `import holdfast` and `holdfast --help` answer at once.
"""

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

# Threads that wait for each other burn their core for milliseconds by default (libgomp spins 300,000 times). With one
# other busy program on a 2-core machine that made training three to five times slower; spinning less costs up to 15 %
# on a quiet machine (there, set OMP_WAIT_POLICY=ACTIVE). Read when torch and Numba load, so it is set before them.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

if TYPE_CHECKING:
    # --- train and use
    from holdfast.api.policies import LoadedPolicy as LoadedPolicy
    from holdfast.api.policies import RolePolicy as RolePolicy
    from holdfast.api.policies import load_policy as load_policy
    from holdfast.api.runs import OpenedRun as OpenedRun
    from holdfast.api.runs import open_run as open_run
    from holdfast.api.training import evaluate as evaluate
    from holdfast.api.training import resume as resume
    from holdfast.api.training import train as train
    from holdfast.api.worlds import make_world as make_world
    from holdfast.config.options import option as option
    from holdfast.curriculum.contract import Curriculum as Curriculum
    from holdfast.curriculum.judge import EpisodeJudge as EpisodeJudge
    from holdfast.kit.compiled import announced as announced
    from holdfast.kit.compiled import inlined as inlined
    from holdfast.kit.compiled import kernel as kernel
    from holdfast.kit.compiled import parallel_kernel as parallel_kernel
    from holdfast.kit.compiled import prange as prange
    from holdfast.kit.compiled import use_threads as use_threads
    from holdfast.kit.errors import ConfigError as ConfigError
    from holdfast.kit.errors import HoldfastError as HoldfastError
    from holdfast.kit.errors import ObservationError as ObservationError
    from holdfast.kit.errors import UnknownName as UnknownName
    from holdfast.kit.errors import WorldError as WorldError
    from holdfast.kit.rng import integer as integer
    from holdfast.kit.rng import normal as normal
    from holdfast.kit.rng import uniform as uniform
    from holdfast.kit.rng import uniform4 as uniform4
    from holdfast.rollout.evaluate import Summary as Summary
    from holdfast.runs.watch import Result as Result
    from holdfast.runs.watch import Watch as Watch
    from holdfast.studies import Study as Study
    from holdfast.studies import compare as compare
    from holdfast.worlds.adapters import as_parallel_env as as_parallel_env
    from holdfast.worlds.adapters import as_sb3 as as_sb3
    from holdfast.worlds.adapters import as_vector_env as as_vector_env
    from holdfast.worlds.api import ArrayWorld as ArrayWorld
    from holdfast.worlds.api import Episodes as Episodes
    from holdfast.worlds.api import LevelParameter as LevelParameter
    from holdfast.worlds.api import Plan as LevelPlan  # noqa: F401 - a plan of the loop has the other name
    from holdfast.worlds.api import Role as Role
    from holdfast.worlds.api import Situation as Situation
    from holdfast.worlds.api import World as World
    from holdfast.worlds.api import WorldSpec as WorldSpec
    from holdfast.worlds.api import random_policy as random_policy
    from holdfast.worlds.check import check_world as check_world
    from holdfast.worlds.game import Game as Game
    from holdfast.worlds.game import Metric as Metric
    from holdfast.worlds.lanes import next_episode as next_episode
    from holdfast.worlds.spaces import Continuous as Continuous
    from holdfast.worlds.spaces import Discrete as Discrete
    from holdfast.worlds.spaces import MultiDiscrete as MultiDiscrete
    from holdfast.worlds.spaces import Observations as Observations

NAMES_OF = {  # module -> the public names it defines; `Name=Other` is shown here as Name
    "api.training": "train resume evaluate",
    "api.runs": "open_run OpenedRun",
    "api.policies": "load_policy LoadedPolicy RolePolicy",
    "api.worlds": "make_world",
    "runs.watch": "Result Watch",
    "rollout.evaluate": "Summary",
    "studies": "Study compare",
    "worlds.api": "World ArrayWorld WorldSpec Role LevelParameter LevelPlan=Plan Situation Episodes random_policy",
    "worlds.spaces": "Observations Discrete MultiDiscrete Continuous",
    "worlds.game": "Game Metric",
    "worlds.lanes": "next_episode",
    "worlds.check": "check_world",
    "worlds.adapters": "as_sb3 as_vector_env as_parallel_env",
    "curriculum.contract": "Curriculum",
    "curriculum.judge": "EpisodeJudge",
    "config.options": "option",
    "kit.compiled": "kernel inlined parallel_kernel prange use_threads announced",
    "kit.rng": "uniform uniform4 normal integer",
    "kit.errors": "HoldfastError ConfigError UnknownName WorldError ObservationError",
}
PLACES = {  # public name -> module and the name it has there
    word.partition("=")[0]: (f"holdfast.{module}", word.rpartition("=")[2])
    for module, words in NAMES_OF.items()
    for word in words.split()
}

__all__ = sorted(["__version__", *PLACES])


class _Package(ModuleType):
    """Importing `holdfast.train`, the module of the loop, would put it in the place of the function `train`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in PLACES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, there = PLACES[name]
    found = getattr(import_module(module), there)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *PLACES})
