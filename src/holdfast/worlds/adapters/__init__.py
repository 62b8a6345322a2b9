"""Our worlds for other people's learners: Gymnasium vector environments, Stable-Baselines3 and PettingZoo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.kit.errors import MissingPackage
from holdfast.worlds.api import World

if TYPE_CHECKING:
    from holdfast.worlds.adapters.parallel import LaneParallelEnv
    from holdfast.worlds.adapters.sb3 import RowsVecEnv
    from holdfast.worlds.adapters.vector import RowsVectorEnv

__all__ = ["as_parallel_env", "as_sb3", "as_vector_env"]


def as_vector_env(world: World) -> RowsVectorEnv:
    """A Gymnasium VectorEnv of lanes x agents rows, which resets in the step in which an episode ends."""
    from holdfast.worlds.adapters.vector import RowsVectorEnv

    return RowsVectorEnv(world)


def as_sb3(world: World) -> RowsVecEnv:
    """A Stable-Baselines3 VecEnv of lanes x agents rows."""
    try:
        from holdfast.worlds.adapters.sb3 import RowsVecEnv
    except ModuleNotFoundError as error:
        raise _missing("Stable-Baselines3", "stable-baselines3", error) from error
    return RowsVecEnv(world)


def as_parallel_env(world: World) -> LaneParallelEnv:
    """A PettingZoo ParallelEnv of a world with one lane: all its roles, agents named `<role>_<number>`."""
    try:
        from holdfast.worlds.adapters.parallel import LaneParallelEnv
    except ModuleNotFoundError as error:
        raise _missing("PettingZoo", "pettingzoo", error) from error
    return LaneParallelEnv(world)


def _missing(what: str, package: str, error: ModuleNotFoundError) -> MissingPackage:
    return MissingPackage(f"{what} is needed here ({error}): pip install {package}")
