"""A world in workers keeps the contract: same numbers as in this process, seeds, ends of every kind, resume."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from holdfast.kit.errors import MissingPackage, SnapshotUnsupported, UnknownName, WorldError
from holdfast.rollout.evaluate import Evaluation, evaluation_keys, play_yardsticks
from holdfast.worlds.api import random_policy
from holdfast.worlds.gym import GymSettings
from holdfast.worlds.registry import make_world
from tests.worlds.workers.places import living, markers, signal_worker, supervisor, world, zeros

CARTPOLE = "gym:CartPole-v1"
OLD = "tests.worlds.workers.odd_envs"


def test_workers_play_the_same_episodes_as_this_process(tmp_path: Path) -> None:
    with world(tmp_path, CARTPOLE, lanes=3) as made:
        twin = make_world(CARTPOLE, GymSettings(), 3, 1)
        for one in (made, twin):
            one.reset()
        for _ in range(60):
            for one in (made, twin):
                one.step(random_policy(one))
            assert made.player.obs.tobytes() == twin.roles["player"].obs.tobytes()
            assert made.player.final_obs.tobytes() == twin.roles["player"].final_obs.tobytes()
            assert made.player.reward.tobytes() == twin.roles["player"].reward.tobytes()
            assert (made.terminated.tolist(), made.truncated.tolist()) == (
                twin.terminated.tolist(),
                twin.truncated.tolist(),
            )
            theirs = twin.finished()
            mine = made.finished()
            assert all(np.array_equal(mine[name], theirs[name]) for name in theirs.columns)
        assert made.clock.episode_index.sum() > 3
    assert living(tmp_path) == []


def test_resumed_workers_go_on_bit_for_bit_and_situations_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with world(tmp_path, CARTPOLE) as made, world(tmp_path / "b", CARTPOLE, seed=9) as resumed:
        made.reset()
        for _ in range(25):
            made.step(random_policy(made))
        assert resumed.restore({name: array.copy() for name, array in made.arrays().items()}) == []
        for _ in range(40):
            for one in (made, resumed):
                one.step(random_policy(one))
            theirs = resumed.arrays()
            assert all(array.tobytes() == theirs[name].tobytes() for name, array in made.arrays().items())
        with pytest.raises(SnapshotUnsupported, match=r"world.backend = loop"):
            made.save(np.array([0]))


def test_a_lane_that_cannot_be_rebuilt_begins_anew_and_is_told(tmp_path: Path) -> None:
    with world(tmp_path, f"{OLD}:Cloudy", lanes=2) as made:
        made.reset()
        for _ in range(3):
            made.step(zeros(made))
        notes = made.restore({name: array.copy() for name, array in made.arrays().items()})
        assert notes == [
            f"{OLD}:Cloudy: lanes 0, 1 begin new episodes because repeating their actions led to another "
            "observation, so the seed does not decide everything"
        ]
        assert made.clock.t.tolist() == [0, 0] and made.clock.episode_index.tolist() == [2, 2]


@pytest.mark.parametrize("name", ["FourValues", "SameStep", "NextStep"])
def test_old_forms_and_every_autoreset_are_mapped_to_one_contract(tmp_path: Path, name: str) -> None:
    """Each counts to 3 from a seeded start; whatever it returns at the end, we see 3 last, and 0 first."""
    with world(tmp_path, f"{OLD}:{name}", lanes=1) as made:
        made.reset(keys=np.array([41], np.uint64))
        for expected in (1.0, 2.0):
            made.step(zeros(made))
            assert made.player.obs[0, 0].tolist() == [expected, 41.0]
        made.step(zeros(made))
        assert (made.truncated[0], made.terminated[0]) == (name == "FourValues", name != "FourValues")
        assert made.player.final_obs[0, 0].tolist() == [3.0, 41.0]
        seed = float(int(made.clock.episode_key[0]) % 2**31 % 1000)
        assert made.player.obs[0, 0].tolist() == [0.0, seed]  # the seed reached reset
        made.step(zeros(made))
        assert made.player.obs[0, 0].tolist() == [1.0, seed]


def test_max_steps_cuts_old_environments_too(tmp_path: Path) -> None:
    with world(tmp_path, f"{OLD}:FourValues", lanes=1, max_steps=2) as made:
        made.reset()
        made.step(zeros(made))
        made.step(zeros(made))
        assert made.truncated[0] and made.finished()["length"].tolist() == [2.0]
        assert made.ram().tolist() == [[0, 7]]


def test_pictures_come_from_the_worker(tmp_path: Path) -> None:
    with world(tmp_path, CARTPOLE, lanes=1) as made:
        made.reset()
        picture = made.draw(0)
    assert picture.dtype == np.uint8 and picture.shape == (400, 600, 3) and picture.std() > 1
    (tmp_path / "b").mkdir()
    with world(tmp_path / "b", lanes=1) as plain:
        plain.reset()
        assert plain.draw(0).shape == (120, 36, 3)  # bars


def test_workers_start_one_after_the_other_under_the_baton(tmp_path: Path) -> None:
    with world(tmp_path, lanes=3, start_parallel=1, start_delay_s=0.05, prewarm=True, lock_file=str(tmp_path / "l")):
        pass
    seen = [(line["marker"], line["worker"]) for line in markers(tmp_path)]
    held: list[int] = []
    for marker, worker in seen:
        if marker == "baton_got":
            held.append(worker)
        elif marker == "baton_back":
            held.remove(worker)
        assert len(held) <= 1
    one = ["spawned", "baton_wait", "baton_got", "import", "lock", "build", "reset", "ready", "baton_back", "closed"]
    for number in range(4):  # number 0 is the one that went ahead
        assert [marker for marker, worker in seen if worker == number] == one
    assert seen.index(("closed", 0)) < seen.index(("spawned", 1))


def test_the_lock_file_is_waited_for_and_then_an_error(tmp_path: Path) -> None:
    from holdfast.kit.errors import WorkerFailed
    from holdfast.worlds.workers.process import build_lock

    with (
        build_lock(str(tmp_path / "lock"), 0.0),
        pytest.raises(WorkerFailed, match=r"another process has held the lock for 0.1 s"),
        build_lock(str(tmp_path / "lock"), 0.1),
    ):
        pass
    with build_lock(str(tmp_path / "lock"), 0.0):
        pass


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        ("gym:NoSuch-v1", UnknownName, "NoSuch"),
        ("no_such_module:Env", UnknownName, "pip install no_such_module"),
        (f"{OLD}:NoSuch", UnknownName, "has no 'NoSuch'"),
        (f"{OLD}:Needs", MissingPackage, "pip install bananas"),
        (f"{OLD}:Broken", WorldError, "making it raised KeyError: 'cartridge'"),
        (f"{OLD}:NotOne", WorldError, "is neither"),
    ],
)
def test_what_can_never_work_is_said_at_once_in_the_users_terms(
    tmp_path: Path, name: str, error: type, text: str
) -> None:
    with pytest.raises(error, match=text), world(tmp_path, name):
        pass
    assert "respawned" not in [line["marker"] for line in markers(tmp_path)]
    assert living(tmp_path) == []


def test_evaluations_reuse_their_workers_and_play_lost_episodes_again(tmp_path: Path) -> None:
    keys = evaluation_keys(3, 0, 11)
    here = Evaluation(CARTPOLE, GymSettings(), keys, 1)
    with supervisor(tmp_path) as boss:
        there = Evaluation(CARTPOLE, GymSettings(backend="workers"), keys, 1, boss)
        expected = play_yardsticks(here)["random"]
        killed = []

        def make_act(made):
            def act(one):
                if one.clock.t[0] == 4 and not killed:
                    killed.append(one.crew.workers[0].pid)
                    signal_worker(one, 0, 9)
                return random_policy(one)

            return act

        found = there.play(make_act)
        assert found["return"].tolist() == expected["return"].tolist()
        assert found["key"].tolist() == keys.tolist()
        assert len({line["worker"] for line in markers(tmp_path)}) == 6  # 11 episodes: two parts of 6 and 5 lanes
    assert [line["marker"] for line in markers(tmp_path)].count("respawned") == 1
    assert living(tmp_path) == []
