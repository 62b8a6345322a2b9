"""The checker finds nothing on a sound world, and on each broken one exactly the promise that was broken."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numba
import numpy as np
import pytest

from holdfast.kit.errors import ConfigError, UnknownName
from holdfast.worlds.api import ArrayWorld, Episodes, Plan, Role, RoleBuffers, Situation, make_buffers
from holdfast.worlds.bounds import Bounds
from holdfast.worlds.check import PROOFS, check_world
from holdfast.worlds.spaces import Discrete, Observations
from holdfast.worlds.template.world import Template, TrackSettings

DOCS = Path(__file__).resolve().parents[2] / "docs" / "new_world.md"


class Unmade(Template):
    def __init__(self, settings: TrackSettings, lanes: int, seed: int, threads: int = 1) -> None:
        raise ValueError("no track today")


class Twins(Template):
    """The second of two open worlds of one kind pays more."""

    open: ClassVar[Counter[tuple[int, int, int]]] = Counter()

    def __init__(self, settings: TrackSettings, lanes: int, seed: int, threads: int = 1) -> None:
        self.kind = (lanes, seed, threads)
        self.second = lanes > 1 and self.open[self.kind] > 0
        self.open[self.kind] += 1
        super().__init__(settings, lanes, seed, threads)

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step(actions)
        self.player.reward[...] += self.second

    def close(self) -> None:
        self.open[self.kind] -= 1


class Seedless(Template):
    def __init__(self, settings: TrackSettings, lanes: int, seed: int, threads: int = 1) -> None:
        super().__init__(settings, lanes, 0, threads)


class ForgetsTarget(Template):
    OWN = (*ArrayWorld.OWN, "target")


class ForgetsIndex(Template):
    def load(self, lanes: np.ndarray, situation: Situation, exact: bool = False) -> None:
        before = self.clock.episode_index.copy()
        super().load(lanes, situation, exact)
        self.clock.episode_index[:] = before


class ForgetsTotal(Template):
    def restore(self, arrays: Mapping[str, np.ndarray]) -> list[str]:
        notes = super().restore(arrays)
        self.state.total[:] = 0.0
        return notes


class RestoresWithNotes(Template):
    def restore(self, arrays: Mapping[str, np.ndarray]) -> list[str]:
        return [*super().restore(arrays), "lane 3 began anew"]


class Lonely(Template):
    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step(actions)
        self.player.reward[...] += self.lanes == 1


class Threaded(Template):
    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step(actions)
        self.player.reward[...] += self.threads == 2


class Interpreted(Template):
    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step(actions)
        self.player.reward[...] += bool(numba.config.DISABLE_JIT)


class Bright(Template):
    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step(actions)
        self.player.obs[...] *= 2.0


class BrightAtTheEnd(Template):
    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step(actions)
        self.player.final_obs[self.terminated] = np.nan


class Endless(Template):
    def __init__(self, settings: TrackSettings, lanes: int, seed: int, threads: int = 1) -> None:
        super().__init__(TrackSettings(steps=10**6), lanes, seed, threads)

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step({"player": np.ones_like(actions["player"])})


class Undecided(Template):
    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step(actions)
        self.truncated[self.terminated] = True


class Silent(Template):
    def finished(self) -> Episodes:
        table = super().finished()
        return table.take(np.arange(1, len(table)))


class SeeingDead(Template):
    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step(actions)
        self.player.alive[:, 0] = self.clock.t % 2 == 0


class PaidDead(SeeingDead):
    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step(actions)
        self.player.obs[~self.player.alive] = 0.0


class Boastful(Template):
    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step(actions)
        self.clock.ended[self.terminated | self.truncated, 1] += 1.0


class Longer(Template):
    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step(actions)
        self.clock.ended[self.terminated | self.truncated, 0] += 1.0


class Moving(Template):
    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step(actions)
        self.player = RoleBuffers(*(array.copy() for array in self.player))
        self.roles = {"player": self.player}


class Grey(Template):
    def draw(self, lane: int) -> np.ndarray:
        return super().draw(lane)[:, :, 0]


class ChangedByLooking(Template):
    def draw(self, lane: int) -> np.ndarray:
        self.state.position[lane] = 7 - self.state.position[lane]
        return super().draw(lane)


class Undrawable(Template):
    def draw(self, lane: int) -> np.ndarray:
        raise ValueError("out of paint")


class TakesAnyLevel(Template):
    def plan(self, lanes: np.ndarray, plan: Plan) -> None:
        known = {parameter.name for parameter in self.spec.level}
        super().plan(lanes, Plan({name: value for name, value in plan.level.items() if name in known}))


class TakesNoLevel(Template):
    def plan(self, lanes: np.ndarray, plan: Plan) -> None:
        super().plan(lanes, plan)
        self.clock.level[lanes] = [parameter.default for parameter in self.spec.level]


class Careless(Template):
    def bounds(self) -> dict[str, Bounds]:
        return {name: bound for name, bound in super().bounds().items() if name != "target"}


class Reckless(Template):
    """Allows what its kernel cannot live with."""

    def bounds(self) -> dict[str, Bounds]:
        return {**super().bounds(), "target": (-(2**31), 2**31 - 1)}


class Pair(Template):
    """Two roles: the watcher earns what the player loses."""

    def __init__(self, settings: TrackSettings, lanes: int, seed: int, threads: int = 1) -> None:
        super().__init__(settings, lanes, seed, threads)
        watcher = Role("watcher", 1, Observations((1,), np.dtype(np.float32), 0.0, 1.0), Discrete(2))
        columns = ("length", "return_player", "arrived", "return_watcher")
        self.spec = self.spec._replace(roles=(*self.spec.roles, watcher), columns=columns)
        self.roles["watcher"] = make_buffers(watcher, lanes)
        self.clock = self.clock._replace(ended=np.zeros((lanes, len(columns))))

    def _begin(self, lanes: np.ndarray) -> None:
        super()._begin(lanes)
        if "watcher" in self.roles:
            self.roles["watcher"].alive[lanes] = True

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        super().step(actions)
        if "watcher" in self.roles:
            self.roles["watcher"].reward[...] = -self.player.reward
            self.clock.ended[self.terminated | self.truncated, 3] = self.lost()

    def lost(self) -> np.ndarray:
        return -self.clock.ended[self.terminated | self.truncated, 1]


class BoastfulPair(Pair):
    def lost(self) -> np.ndarray:
        return super().lost() + 1.0


BROKEN: list[tuple[type, str, str]] = [
    (Unmade, "a world is made", "no track today"),
    (Twins, "same seed, same bytes", "after 0 steps .* player.reward"),
    (Seedless, "another seed, other bytes", "seeds 7 and 8 look the same"),
    (ForgetsTarget, "a saved lane has the same future in another lane", "differ in"),
    (ForgetsIndex, "a lane loaded exactly has the same future past its end", "differ in episode_index"),
    (ForgetsTotal, "a restored world has the same future", "differ in total"),
    (RestoresWithNotes, "a restored world has the same future", "lane 3 began anew"),
    (Lonely, "a batch is its single lanes", "lane 0 .* player.reward"),
    (Threaded, "one thread is two threads", "player.reward"),
    (Interpreted, "compiled is plain Python", "after 0 steps .* player.reward"),
    (Bright, "bounds hold", "player.obs spans 0.0 to 2.0, outside 0.0 to 1.0"),
    (BrightAtTheEnd, "bounds hold", "player.final_obs is not finite"),
    (Endless, "episodes end", r"lanes \[0, 1, 2, 3\] did not end once in 10000 steps"),
    (Undecided, "flags and finished() are true", "both terminated and truncated"),
    (Silent, "flags and finished() are true", "finished"),
    (SeeingDead, "dead agents see and earn nothing", "observation that is not zero"),
    (PaidDead, "dead agents see and earn nothing", "has a reward"),
    (Boastful, "lengths and returns add up", "its return in finished"),
    (BoastfulPair, "lengths and returns add up", "its return_watcher in finished"),
    (Longer, "lengths and returns add up", "has length"),
    (Moving, "buffers stay where they are", "player.obs, player.reward"),
    (Grey, "a lane can be drawn", r"uint8\[40, 264\]"),
    (ChangedByLooking, "a lane can be drawn", "changed the world: position"),
    (Undrawable, "a lane can be drawn", "raised ValueError: out of paint"),
    (Careless, "out-of-range rows are refused", "which values these integers may have: target"),
    (Reckless, "out-of-range rows are refused", "with target = -?2147483"),
    (TakesAnyLevel, "a level is obeyed or refused", "no such parameter"),
    (TakesNoLevel, "a level is obeyed or refused", "level far"),
]


def test_all_proofs_hold_on_the_template() -> None:
    proofs = check_world("template", {"slip": 0.2})
    assert [proof.name for proof in proofs] == list(PROOFS)
    assert [proof for proof in proofs if not proof.passed] == []


@pytest.mark.parametrize(("world", "promise", "detail"), BROKEN, ids=[world.__name__ for world, _, _ in BROKEN])
def test_a_broken_world_fails_exactly_the_promise_it_breaks(world: type, promise: str, detail: str) -> None:
    proofs = check_world(
        f"{__name__}:{world.__name__}", lanes=4, steps=60, plain=world in (Interpreted, Careless, Reckless)
    )
    failed = [proof for proof in proofs if not proof.passed]
    assert [proof.name for proof in failed] == [promise]
    assert re.search(detail, failed[0].detail), failed[0].detail


def test_worlds_of_several_roles_have_a_return_for_each() -> None:
    proofs = check_world(f"{__name__}:Pair", lanes=4, steps=60, plain=False)
    assert [proof for proof in proofs if not proof.passed] == []


def test_every_promise_has_a_world_that_breaks_it() -> None:
    assert {promise for _, promise, _ in BROKEN} == set(PROOFS)


def test_without_plain_python_that_proof_is_left_out() -> None:
    proofs = check_world("template", lanes=2, steps=3, plain=False)
    assert "compiled is plain Python" not in [proof.name for proof in proofs]


def test_unknown_worlds_and_options_are_named() -> None:
    with pytest.raises(UnknownName, match="did you mean template"):
        check_world("templat")
    with pytest.raises(ConfigError, match=r"'slipp' .did you mean slip"):
        check_world("template", {"slipp": 0.1})


def python_blocks(page: Path) -> str:
    return "\n\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL))


def test_the_world_in_the_docs_keeps_every_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "coins.py").write_text(python_blocks(DOCS))
    monkeypatch.syspath_prepend(tmp_path)
    proofs = check_world("coins:Coins", {"flips": 12})
    assert [proof for proof in proofs if not proof.passed] == []
    coins: Any = importlib.import_module("coins")
    guessing, following = (mean_return(coins.Coins, name) for name in ("random", "majority"))
    assert following > guessing + 2.0  # of 20 flips: with the coin's side known well above chance


def mean_return(world_class: Any, yardstick: str) -> float:
    world = world_class(world_class.Settings(), 500, 3)
    act = world.yardsticks()[yardstick]
    world.reset()
    while not world.terminated.any():
        world.step(act(world))
    return float(world.finished()["return"].mean())
