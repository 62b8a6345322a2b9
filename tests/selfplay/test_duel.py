"""The engine on matching pennies: roles take turns against frozen opponents, a resumed run equals an unbroken one."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.config.checks import check_against_world
from holdfast.config.reading import load_config
from holdfast.config.sections import Config
from holdfast.kit.errors import ConfigError
from holdfast.runs.folder import RunFolder, create_run
from holdfast.runs.metrics import read_lines
from holdfast.selfplay.book import Book
from holdfast.selfplay.vault import arrays_of
from holdfast.train import resume, train
from holdfast.views.dry_run import spec_of
from holdfast.views.terminal import Quiet
from tests.conftest import small_config, small_words
from tests.selfplay.running import lived_through, pair_of
from tests.test_resume import StopAfter, end_of

PENNIES = "tests.two_roles:Pennies"
SELFPLAY = {
    "duel.mode": "turns",
    "duel.turn_steps": "256",
    "run.iterations": "9",
    "evaluation.episodes": "24",
    "health.window": "40",
    "health.ring_every": "100",
    "league.size": "3",
    "run.allow_slow": "true",
}


def duel_config(folder: Path, **options: str) -> Config:
    return small_config(PENNIES, **{"run.root": str(folder), **SELFPLAY, **options})


def lived(folder: Path, **options: str) -> tuple[RunFolder, list[dict[str, Any]]]:
    config = duel_config(folder, **options)
    run = create_run(config, "pennies", ["test"])
    train(config, run, Quiet())
    return run, read_lines(run.folder / "events.jsonl")


CASES = {
    "turns": {},
    "micro": {"duel.turn_steps": "1", "rnd.coef": "0.1", "rnd.roles": "both"},
    "simultaneous": {
        "duel.mode": "simultaneous",
        "duel.turn_steps": "1",
        "policy.core": "gru",
        "policy.core_size": "4",
    },
    "rollbacks": {
        "health.high": "0.2",
        "health.on_domination": "rollback",
        "health.cooldown": "0",
        "health.ring_every": "32",
    },
    "finish": {"duel.mode": "simultaneous", "duel.turn_steps": "1", "duel.finish_share": "0.67"},
    "finish in turns": {"duel.finish_share": "0.3"},
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_resumed_in_the_middle_of_a_turn_equals_an_unbroken_one(tmp_path: Path, case: str) -> None:
    whole, events = lived(tmp_path, **CASES[case])
    config = duel_config(tmp_path, **CASES[case])
    run = create_run(config, "pennies", ["test"])
    stopped = train(config, run, StopAfter(4))
    assert stopped.outcome == "interrupted" and stopped.exit_status == 130
    run.unlock()
    assert resume(config, run, Quiet()).outcome == "finished"
    assert end_of(run) == end_of(whole)
    assert (run.folder / "evals/final.json").read_bytes() == (whole.folder / "evals/final.json").read_bytes()
    assert any(event["event"] == "offered" for event in events)


@pytest.mark.parametrize(
    ("path", "value"),
    [(("turns",), "many"), (("gap",), float("inf")), (("sides", 0, "ring", "entries"), {}), (("sides", 0), None)],
)
def test_a_memory_of_another_type_is_refused(path: tuple[Any, ...], value: Any) -> None:
    table = Book().to_json()
    assert Book.from_json(table) == Book()
    place: Any = table
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises((TypeError, ValueError)):
        Book.from_json(table)


def test_turns_alternate_and_every_opponent_stays_what_it_was(tmp_path: Path) -> None:
    config = duel_config(tmp_path)
    duel = lived_through(config)
    events = read_lines(duel.folder.folder / "events.jsonl")
    turns = [event for event in events if event["event"] == "turn"]
    assert [turn["roles"][0] for turn in turns][:4] == ["seeker", "hider", "seeker", "hider"]
    assert [turn["rollouts"] for turn in turns][:2] == [2, 1]
    vault = pair_of(duel).vault
    for name in pair_of(duel).needed():
        vault.take(name)  # refuses a policy whose content no longer has its hash
    offered = [event["policy"] for event in events if event["event"] == "offered"]
    assert len(set(offered)) == len(offered) > 3


def test_all_opponents_act_in_one_forward_per_step(tmp_path: Path) -> None:
    config = duel_config(tmp_path)
    duel = lived_through(config)
    for arena, side in zip(pair_of(duel).arenas, pair_of(duel).book.sides, strict=True):
        assert arena.cast is not None
        rollouts = side.turns * (2 if arena.is_first else 1)
        assert arena.cast.stack.forwards == rollouts * config.rollout.steps


def test_the_league_counts_results_against_its_members(tmp_path: Path) -> None:
    config = duel_config(tmp_path, **{"league.mix": "0.2,0.8,0.0"})
    duel = lived_through(config)
    assert sum(member.met for side in pair_of(duel).book.sides for member in side.pool.members) > 50


@pytest.mark.parametrize("mode", ["turns", "simultaneous"])
def test_at_the_end_the_first_role_learns_alone(tmp_path: Path, mode: str) -> None:
    options = {"duel.mode": mode, "duel.turn_steps": "1", "run.iterations": "12", "learner.lr_schedule": "linear"}
    bonus = {"learner.entropy": "0.05", "learner.entropy_final": "0.01", "response.entropy": "0.002"}
    config = duel_config(tmp_path, **options, **bonus, **{"duel.finish_share": "0.34"})
    duel = lived_through(config)
    events = read_lines(duel.folder.folder / "events.jsonl")
    (begun,) = [event for event in events if event["event"] == "finish"]
    assert (begun["iteration"], begun["role"]) == (8, "seeker")
    turns = [event for event in events if event["event"] == "turn"]
    assert [turn["roles"] for turn in turns if turn["reason"] == "finish"] == [["seeker"]] * 4
    assert all("hider" not in turn["roles"] for turn in turns if turn["iteration"] >= 8)
    rows = read_lines(duel.folder.folder / "metrics.jsonl")
    rates = [row.get("learner.seeker.lr") for row in rows]
    assert rates[0] == rates[8] and rates[8:] == sorted(rates[8:], reverse=True) and rates[11] > 0.0
    bonuses = [row["learner.seeker.entropy_coef"] for row in rows if "learner.seeker.entropy_coef" in row]
    assert bonuses[0] == pytest.approx(0.05) and bonuses[-4:] == pytest.approx([0.002] * 4)
    frozen = pair_of(duel).vault.take(begun["policy"])
    assert not np.allclose(arrays_of(pair_of(duel).learners[0])["optimizer/parameters"], frozen["optimizer/parameters"])


def test_a_long_turn_ends_where_the_finish_begins(tmp_path: Path) -> None:
    options = {"duel.turn_steps": "1024", "duel.finish_share": "0.3", "run.iterations": "20"}
    _, events = lived(tmp_path, **options)
    assert [event["iteration"] for event in events if event["event"] == "finish"] == [14]
    turns = [event for event in events if event["event"] == "turn"]
    assert [turn["rollouts"] for turn in turns if turn["iteration"] < 14][-1] < turns[0]["rollouts"]
    assert turns[-1]["reason"] == "finish"


def test_simultaneous_turns_train_both_roles(tmp_path: Path) -> None:
    run, events = lived(tmp_path, **{"duel.mode": "simultaneous", "run.iterations": "4"})
    last = read_lines(run.folder / "metrics.jsonl")[-1]
    assert last["duel.seeker.steps"] > 0 and last["duel.hider.steps"] > 0
    assert {tuple(event["roles"]) for event in events if event["event"] == "turn"} == {("seeker", "hider")}


def test_the_second_role_can_learn_more_slowly(tmp_path: Path) -> None:
    run, _ = lived(tmp_path, **{"duel.mode": "simultaneous", "run.iterations": "3", "duel.evader_lr": "0.25"})
    for row in read_lines(run.folder / "metrics.jsonl"):
        assert row["learner.hider.lr"] == pytest.approx(0.25 * row["learner.seeker.lr"]) and row["learner.hider.lr"] > 0


@pytest.mark.parametrize("pass_gap", ["0.05", "0.9"])
def test_the_word_converged_needs_a_certificate(tmp_path: Path, pass_gap: str) -> None:
    """The last pair is tested whatever its balance; what the run is called follows from the verdict alone."""
    test = {"response.certify": "true", "response.steps": "256", "response.duels": "100", "response.pass_gap": pass_gap}
    config = duel_config(tmp_path, **test, **{"evaluation.every": "0"})  # none before the last: no alarm of theirs
    run = create_run(config, "pennies", ["test"])
    result = train(config, run, Quiet())
    assert result.certificate is not None
    tested = [event for event in read_lines(run.folder / "events.jsonl") if event["event"] == "best_response"]
    assert tested[-1]["verdict"] == result.certificate["verdict"]
    assert (result.outcome == "converged") == (result.certificate["verdict"] == "passed")
    for side in result.certificate["sides"].values():  # as long as the role itself learned, which is more than 256
        long = all(one["steps"] >= side["trained_steps"] > 256 for one in side["challengers"].values())
        assert long or side["gap"] > float(pass_gap)  # or until the gap was certain
        assert side["power"]["checks"]["learned as long as the incumbent"] == long


def test_within_a_run_the_first_wide_gap_ends_the_test(tmp_path: Path) -> None:
    test = {"response.certify": "true", "response.steps": "256", "response.duels": "100", "response.pass_gap": "0.0"}
    config = duel_config(tmp_path, **test, **{"evaluation.every": "0", "run.iterations": "2"})
    result = train(config, create_run(config, "pennies", ["test"]), Quiet())
    assert result.certificate is not None and result.certificate["verdict"] == "failed"
    tried = [(name, list(side["challengers"])) for name, side in result.certificate["sides"].items()]
    assert result.certificate["gap"] > 0.0 and sum(len(starts) for _, starts in tried) < 4, tried


@pytest.mark.parametrize("midway", ["true", "false"])
def test_candidates_are_tested_unless_only_the_last_pair_is_to_be(tmp_path: Path, midway: str) -> None:
    """A pair that plays at random is balanced at once, and nobody gains 0.9 against it."""
    test = {"response.certify": "true", "response.midway": midway, "response.pass_gap": "0.9", "response.duels": "100"}
    still = {"learner.lr": "1e-6", "evaluation.sampled": "true", "evaluation.episodes": "4096", "run.iterations": "12"}
    config = duel_config(tmp_path, **test, **still, **{"evaluation.every": "1", "response.steps": "64"})
    run = create_run(config, "pennies", ["test"])
    result = train(config, run, Quiet())
    tested = [event for event in read_lines(run.folder / "events.jsonl") if event["event"] == "best_response"]
    assert result.outcome == "converged" and len(tested) == 1
    assert (tested[0]["iteration"] == 12) == (midway == "false")


class StopAtChallenger(Quiet):
    """Sends the process a signal in the middle of a best-response test."""

    def decided(self, kind: str, iteration: int, facts: Mapping[str, Any]) -> None:
        if kind == "challenger":
            os.kill(os.getpid(), signal.SIGINT)


def test_a_best_response_test_can_be_interrupted_and_is_made_again(tmp_path: Path) -> None:
    test = {"response.certify": "true", "response.steps": "256", "response.duels": "100", "evaluation.every": "0"}
    ends = []
    for name, watch in (("whole", Quiet()), ("broken", StopAtChallenger())):
        config = duel_config(tmp_path, **test, **{"run.name": name})
        run = create_run(config, "pennies", ["test"])
        result = train(config, run, watch)
        if name == "broken":
            assert result.outcome == "interrupted" and result.exit_status == 130 and result.certificate is None
            result = resume(config, run, Quiet())
        ends.append((result.outcome, result.certificate, end_of(run)))
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"duel.mode": "off", "duel.turn_steps": "5"}, "duel.turn_steps has no effect"),
        ({"duel.boost_turns": "5"}, "duel.boost_threshold above 0"),
        ({"league.size": "0", "league.draw": "variance"}, "league.size above 0"),
        ({"duel.evader_first": "true"}, "levels.kind other than none"),
        ({"levels.kind": "smooth", "levels.start_max": "20"}, "20.0 is above levels.final_max"),
        ({"league.mix": "0.5,0.2"}, "three shares"),
        ({"duel.warmup": "true", "duel.turn_steps": "8"}, "single rollout"),
        ({"ewc.keep": "online"}, "ewc.strength above 0"),
        ({"duel.finish_share": "0.5", "duel.max_turns": "3"}, "duel.max_turns does not go with duel.finish_share"),
        ({"duel.finish_share": "0.5", "duel.freeze_role": "first"}, "duel.freeze_role does not go with"),
        ({"duel.finish_share": "0.01"}, "duel.finish_share = 0.01 is no iteration of run.iterations = 4"),
        ({"duel.finish_share": "0.9"}, "leaves no iteration of run.iterations = 4 in which both roles learn"),
        ({"run.stop_score": "0.5"}, "run.stop_score has no effect in self-play"),
        ({"rollout.lag": "1"}, "rollout.lag has no effect in self-play"),
        ({"rollout.lag": "1", "rollout.overlap": "true"}, "rollout.overlap has no effect in self-play"),
        ({"learner.algorithm": "vtrace", "learner.replay": "true"}, "learner.replay has no effect in self-play"),
        ({"evaluation.seeds": "rolling"}, "evaluation.seeds has no effect in self-play"),
        ({"memory.auto": "true"}, "memory.auto has no effect in self-play"),
        ({"response.power": "true"}, "response.power has no effect while response.certify"),
        ({"duel.alternate_freeze": "true", "duel.freeze_schedule": "x"}, "freeze_schedule"),
    ],
)
def test_options_that_cannot_act_are_refused_with_the_reason(options: dict[str, str], named: str) -> None:
    words = [word for word in small_words(**{"duel.mode": "turns", **options}) if "stop_score=none" not in word]
    with pytest.raises(ConfigError, match=named):
        config, explicit = load_config(PENNIES, words)
        check_against_world(config, explicit, spec_of(config))


def test_a_world_of_one_role_has_no_self_play() -> None:
    config, explicit = load_config("template", ["--duel.mode=turns"])
    with pytest.raises(ConfigError, match="two roles"):
        check_against_world(config, explicit, spec_of(config))
