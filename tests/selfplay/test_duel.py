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
from holdfast.runs.folder import Run, create_run
from holdfast.runs.metrics import read_lines
from holdfast.selfplay.duel import Duel
from holdfast.selfplay.generations import begin_generation
from holdfast.selfplay.schedule import planned_end
from holdfast.selfplay.vault import arrays_of
from holdfast.train import resume, train
from holdfast.views.dry_run import facts, spec_of
from holdfast.views.terminal import Quiet
from tests.conftest import small_config, small_words
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


def lived(folder: Path, **options: str) -> tuple[Run, list[dict[str, Any]]]:
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
        "duel.evader_waits": "0.45",
        "policy.core": "gru",
        "policy.core_size": "4",
    },
    "challengers": {"league.challenge_every": "3", "league.challenge_steps": "256"},
    "generations": {"duel.turn_steps": "1", "duel.generations": "3", "duel.generation_share": "0.5"},
    "finish": {"duel.mode": "simultaneous", "duel.turn_steps": "1", "duel.finish_share": "0.67"},
    "sharpening": {"duel.mode": "simultaneous", "duel.turn_steps": "1", "duel.sharpen_share": "0.67"},
    "partners": {"duel.mode": "simultaneous", "duel.turn_steps": "1", "duel.partners": "2"},
    "partners in turns": {"duel.partners": "1", "duel.partner_share": "0.9", "duel.finish_share": "0.3"},
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


def test_turns_alternate_and_every_opponent_stays_what_it_was(tmp_path: Path) -> None:
    config = duel_config(tmp_path)
    run = create_run(config, "pennies", ["test"])
    duel = Duel(config, run, Quiet())
    duel.start()
    events = read_lines(run.folder / "events.jsonl")
    turns = [event for event in events if event["event"] == "turn"]
    assert [turn["roles"][0] for turn in turns][:4] == ["seeker", "hider", "seeker", "hider"]
    assert [turn["rollouts"] for turn in turns][:2] == [2, 1]
    vault = duel.state.vault
    for name in duel.state.needed():
        vault.take(name)  # refuses a policy whose content no longer has its hash
    offered = [event["policy"] for event in events if event["event"] == "offered"]
    assert len(set(offered)) == len(offered) > 3


def test_the_second_role_meets_partners_that_learn_for_themselves(tmp_path: Path) -> None:
    words = {"duel.mode": "simultaneous", "duel.turn_steps": "1", "duel.partners": "2", "duel.partner_share": "0.25"}
    config = duel_config(tmp_path, **words, **{"league.mix": "1,0,0", "league.size": "0"})
    run = create_run(config, "pennies", ["test"])
    duel = Duel(config, run, Quiet())
    first = [arrays_of(partner.side)["optimizer/parameters"].copy() for partner in duel.state.partners]
    mine = arrays_of(duel.state.sides[0])["optimizer/parameters"].copy()
    assert not np.array_equal(first[0], first[1]) and not np.array_equal(first[0], mine)
    duel.start()
    state = duel.state
    for before, partner in zip(first, state.partners, strict=True):
        assert not np.array_equal(before, arrays_of(partner.side)["optimizer/parameters"])
    cast = state.arenas[1].cast
    assert cast is not None
    kinds = [cast.player(place).kind for place in cast.promised]
    assert kinds.count("partner") / len(kinds) == pytest.approx(0.25, abs=0.07) and "newest" in kinds
    turns = [event["opponents"] for event in read_lines(run.folder / "events.jsonl") if event["event"] == "turn"]
    assert all([name.split(":")[0] for name in turn["hider"]] == ["newest", "partner", "partner"] for turn in turns)
    assert all([name.split(":")[0] for name in turn["seeker"]] == ["newest"] for turn in turns)
    rows = read_lines(run.folder / "metrics.jsonl")
    assert rows[-1]["duel.partners.steps"] == 2 * rows[-1]["duel.seeker.steps"]
    steps = ("duel.partners.steps", "duel.seeker.steps", "duel.hider.steps")
    assert rows[-1]["agent_steps"] == sum(rows[-1][name] for name in steps)
    planned = facts(config, duel.state.world.spec)
    seeker, hider = (planned["roles"][name]["agent_steps_per_iteration"] for name in ("seeker", "hider"))
    assert planned["agent_steps"] == 9 * (3 * seeker + hider)


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_best_learner_of_the_first_role_is_it_in_the_end(
    tmp_path: Path, best: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts are given, as nobody can say who wins most at pennies."""
    counts = [3, 3, 3]
    counts[best] = 4
    monkeypatch.setattr("holdfast.selfplay.choice.wins_of_each", lambda *given: counts)
    words = {"duel.mode": "simultaneous", "duel.turn_steps": "1", "duel.partners": "2", "evaluation.every": "3"}
    config = duel_config(tmp_path, **words)
    run = create_run(config, "pennies", ["test"])
    duel = Duel(config, run, Quiet())
    duel.start()
    learners = [duel.state.sides[0], *(partner.side for partner in duel.state.partners)]
    weights = [arrays_of(side)["optimizer/parameters"] for side in learners]
    assert [np.array_equal(weights[0], other) for other in weights[1:]] == [best == 1, best == 2]
    events = read_lines(run.folder / "events.jsonl")
    (choice,) = [event for event in events if event["event"] == "choice"]
    assert choice["chosen"] == ["seeker", "partner-1", "partner-2"][best] and choice["iteration"] == 9
    last = [event for event in events if event["event"] == "evaluation"][-1]
    assert last["iteration"] == 9 and events.index(choice) < events.index(last)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--duel.partner_share=0.4"], "duel.partner_share has no effect as it is set; it needs duel.partners above 0"),
        (["--duel.partners=1", "--duel.generations=2"], "duel.partners does not go with duel.generations above 1"),
        (["--duel.partners=1", "--duel.max_turns=3"], "duel.max_turns does not go with duel.partners"),
        (["--duel.partners=1", "--duel.freeze_role=first"], "duel.freeze_role does not go with duel.partners"),
    ],
)
def test_partners_that_could_not_act_are_refused(words: list[str], reason: str) -> None:
    config, explicit = load_config(PENNIES, [*(f"--{name}={value}" for name, value in SELFPLAY.items()), *words])
    with pytest.raises(ConfigError, match=reason):
        check_against_world(config, explicit, spec_of(config))


def test_all_opponents_act_in_one_forward_per_step(tmp_path: Path) -> None:
    config = duel_config(tmp_path)
    duel = Duel(config, create_run(config, "pennies", ["test"]), Quiet())
    duel.start()
    for arena, side in zip(duel.state.arenas, duel.state.book.sides, strict=True):
        assert arena.cast is not None
        rollouts = side.turns * (2 if arena.is_first else 1)
        assert arena.cast.stack.forwards == rollouts * config.rollout.steps


def test_the_league_counts_results_against_its_members(tmp_path: Path) -> None:
    config = duel_config(tmp_path, **{"league.mix": "0.2,0.8,0.0"})
    duel = Duel(config, create_run(config, "pennies", ["test"]), Quiet())
    duel.start()
    assert sum(member.met for side in duel.state.book.sides for member in side.pool.members) > 50


def test_challengers_join_the_pool_and_are_met(tmp_path: Path) -> None:
    options = {"league.challenge_every": "3", "league.challenge_steps": "256", "league.challenge_roles": "first"}
    config = duel_config(tmp_path, **options, **{"league.size": "1", "run.iterations": "12"})
    run = create_run(config, "pennies", ["test"])
    duel = Duel(config, run, Quiet())
    duel.start()
    events = read_lines(run.folder / "events.jsonl")
    challenged = [event for event in events if event["event"] == "challenged"]
    assert [event["iteration"] for event in challenged] == [3, 6, 9] and challenged[0]["steps"] >= 256
    assert {event["role"] for event in challenged} == {"seeker"}
    met = {who for event in events if event["event"] == "turn" for who in event["opponents"].get("hider", [])}
    assert any(f"earlier:{event['policy']}" in met for event in challenged)
    pools = [side.pool.members for side in duel.state.book.sides]
    assert [sum(member.challenger for member in pool) for pool in pools] == [1, 0]


def test_generations_begin_anew_and_meet_the_last_of_the_earlier_ones(tmp_path: Path) -> None:
    options = {"duel.mode": "simultaneous", "duel.turn_steps": "1", "duel.generations": "3", "run.iterations": "12"}
    config = duel_config(tmp_path, **options, **{"league.size": "1", "learner.lr_schedule": "linear"})
    run = create_run(config, "pennies", ["test"])
    duel = Duel(config, run, Quiet())
    duel.start()
    events, book = read_lines(run.folder / "events.jsonl"), duel.state.book
    begun = [event for event in events if event["event"] == "generation"]
    assert [(event["iteration"], event["generation"]) for event in begun] == [(4, 1), (8, 2)]
    last = [event for event in events if event["event"] == "turn" and event["iteration"] >= 8]
    for number, rival in enumerate(("hider", "seeker")):
        name = duel.state.sides[number].name
        members = [member.hash for member in book.sides[number].pool.members if member.challenger]
        assert members == [begun[1]["ancestors"][name]]  # one place here, and the newest has it
        assert any(f"earlier:{members[0]}" in who for turn in last for who in turn["opponents"][rival])
        assert book.sides[number].own_steps == book.sides[number].steps // 3
    rates = [row["learner.seeker.lr"] for row in read_lines(run.folder / "metrics.jsonl")]
    assert rates[:4] == rates[4:8] == rates[8:] and rates[0] > rates[3]


@pytest.mark.parametrize("mode", ["turns", "simultaneous"])
def test_at_the_end_the_first_role_learns_alone(tmp_path: Path, mode: str) -> None:
    options = {"duel.mode": mode, "duel.turn_steps": "1", "duel.generations": "2", "run.iterations": "12"}
    config = duel_config(tmp_path, **options, **{"duel.finish_share": "0.34", "learner.lr_schedule": "linear"})
    run = create_run(config, "pennies", ["test"])
    duel = Duel(config, run, Quiet())
    duel.start()
    events = read_lines(run.folder / "events.jsonl")
    (begun,) = [event for event in events if event["event"] == "finish"]
    assert (begun["iteration"], begun["role"]) == (8, "seeker")
    turns = [event for event in events if event["event"] == "turn"]
    assert [turn["roles"] for turn in turns if turn["reason"] == "finish"] == [["seeker"]] * 4
    assert all("hider" not in turn["roles"] for turn in turns if turn["iteration"] >= 8)
    rates = [row.get("learner.seeker.lr") for row in read_lines(run.folder / "metrics.jsonl")]
    assert rates[4] == rates[8] and rates[8:] == sorted(rates[8:], reverse=True) and rates[11] > 0.0
    frozen = duel.state.vault.take(begun["policy"])
    assert not np.allclose(
        arrays_of(duel.state.sides[0].learner)["optimizer/parameters"], frozen["optimizer/parameters"]
    )


@pytest.mark.parametrize(("high", "cut"), [("0.98", False), ("0.05", True)])  # 0.05: domination ends turns early
def test_before_that_each_role_sharpens_against_what_the_other_was(tmp_path: Path, high: str, cut: bool) -> None:
    options = {"duel.mode": "simultaneous", "duel.turn_steps": "1", "run.iterations": "12", "league.mix": "1,0,0"}
    shares = {"duel.sharpen_share": "0.34", "duel.finish_share": "0.25", "learner.lr_schedule": "linear"}
    bonus = {"learner.entropy": "0.05", "learner.entropy_final": "0.01", "response.entropy": "0.002"}
    health = {"health.high": high, "health.window": "20"}
    config = duel_config(tmp_path, **options, **shares, **bonus, **health)
    run = create_run(config, "pennies", ["test"])
    duel = Duel(config, run, Quiet())
    duel.start()
    events = read_lines(run.folder / "events.jsonl")
    begun = [(event["event"], event["iteration"]) for event in events if event["event"] in ("sharpen", "finish")]
    assert begun == [("sharpen", 5), ("finish", 9)]
    (policies,) = [event["policies"] for event in events if event["event"] == "sharpen"]
    sharpening = [event for event in events if event["event"] == "turn" and event["reason"] == "sharpen"]
    assert sharpening[0]["rollouts"] == 4 and (len(sharpening) > 1) == cut
    rivals = {"seeker": [f"newest:{policies['hider']}"], "hider": [f"newest:{policies['seeker']}"]}
    assert all(turn["opponents"] == rivals and turn["roles"] == ["seeker", "hider"] for turn in sharpening)
    rows = read_lines(run.folder / "metrics.jsonl")
    rates = [row["learner.seeker.lr"] for row in rows]
    assert rates[0] == rates[5] == rates[9] and rates[5] > rates[8]
    assert [row["learner.seeker.entropy_coef"] for row in rows[5:]] == pytest.approx([0.002] * 7)
    assert rows[0]["learner.seeker.entropy_coef"] == pytest.approx(0.05)


def test_long_turns_end_where_a_generation_or_the_finish_begins(tmp_path: Path) -> None:
    options = {"duel.turn_steps": "1024", "duel.finish_share": "0.3", "duel.generations": "2", "run.iterations": "20"}
    config = duel_config(tmp_path, **options)
    run = create_run(config, "pennies", ["test"])
    duel = Duel(config, run, Quiet())
    duel.start()
    events = read_lines(run.folder / "events.jsonl")
    begun = [(event["event"], event["iteration"]) for event in events if event["event"] in ("generation", "finish")]
    assert begun == [("generation", 7), ("finish", 14)]
    turns = [event for event in events if event["event"] == "turn"]
    assert turns[0]["rollouts"] == 7 and turns[-1]["reason"] == "finish"


@pytest.mark.parametrize(
    ("iterations", "generations", "share", "ends"),
    [
        (850, "4", "0.53", [150, 300, 450, 850]),
        (800, "4", "0", [200, 400, 600, 800]),
        (4, "4", "0.95", [1, 2, 3, 4]),
        (9, "3", "0.1", [1, 2, 9]),
    ],
)
def test_generations_share_the_run(
    tmp_path: Path, iterations: int, generations: str, share: str, ends: list[int]
) -> None:
    options = {"run.iterations": str(iterations), "duel.generations": generations, "duel.generation_share": share}
    config = duel_config(tmp_path, **options)
    assert [planned_end(config, number) for number in range(len(ends))] == ends


def test_a_generation_begins_with_other_weights_and_an_empty_optimiser(tmp_path: Path) -> None:
    config = duel_config(tmp_path, **{"duel.generations": "2"})
    duel = Duel(config, create_run(config, "pennies", ["test"]), Quiet())
    state = duel.state
    first = [side.learner.optimizer.parameters.numpy().copy() for side in state.sides]
    for side in state.sides:
        side.learner.optimizer.gradients.fill_(1.0)
        side.learner.optimizer.step(0.1, 0.0)
    before = [state.vault.freeze(side.learner) for side in state.sides]
    begin_generation(state, lambda kind, **facts: None)
    for side, side_book, name, weights in zip(state.sides, state.book.sides, before, first, strict=True):
        found = arrays_of(side.learner)
        assert [member.hash for member in side_book.pool.members] == [name]
        assert not np.allclose(found["optimizer/parameters"], weights)
        assert not any(found[key].any() for key in found if key.startswith("optimizer/") and "parameters" not in key)


class StopAtSecondChallenge(Quiet):
    """Sends a signal when the first challenger has joined, so that the next one's lessons are cut."""

    def decided(self, kind: str, iteration: int, facts: Mapping[str, Any]) -> None:
        if kind == "challenged":
            os.kill(os.getpid(), signal.SIGINT)


def test_a_challenger_that_was_cut_off_learns_again(tmp_path: Path) -> None:
    options = {"league.challenge_every": "3", "league.challenge_steps": "256"}
    whole, _ = lived(tmp_path, **options)
    config = duel_config(tmp_path, **options)
    run = create_run(config, "pennies", ["test"])
    assert train(config, run, StopAtSecondChallenge()).outcome == "interrupted"
    run.unlock()
    assert resume(config, run, Quiet()).outcome == "finished"
    assert end_of(run) == end_of(whole)


def test_simultaneous_turns_train_both_roles(tmp_path: Path) -> None:
    run, events = lived(tmp_path, **{"duel.mode": "simultaneous", "run.iterations": "4"})
    last = read_lines(run.folder / "metrics.jsonl")[-1]
    assert last["duel.seeker.steps"] > 0 and last["duel.hider.steps"] > 0
    assert {tuple(event["roles"]) for event in events if event["event"] == "turn"} == {("seeker", "hider")}


def test_the_second_role_can_learn_more_slowly(tmp_path: Path) -> None:
    run, _ = lived(tmp_path, **{"duel.mode": "simultaneous", "run.iterations": "3", "duel.evader_lr": "0.25"})
    for row in read_lines(run.folder / "metrics.jsonl"):
        assert row["learner.hider.lr"] == pytest.approx(0.25 * row["learner.seeker.lr"]) and row["learner.hider.lr"] > 0


def test_the_second_role_learns_as_fast_as_the_first_one_wins(tmp_path: Path) -> None:
    options = {"duel.mode": "simultaneous", "run.iterations": "6", "duel.evader_waits": "0.45"}
    run, _ = lived(tmp_path, **options)
    rows = read_lines(run.folder / "metrics.jsonl")
    for row in rows:
        assert row["learner.hider.lr"] == pytest.approx(row["duel.waiting"] * row["learner.seeker.lr"], abs=1e-9)
    assert len({row["duel.waiting"] for row in rows}) > 1


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
        ({"ewc.samples": "8"}, "ewc.strength above 0"),
        ({"league.challenge_steps": "8"}, "league.challenge_every above 0"),
        ({"duel.generation_share": "0.5"}, "duel.generations above 1"),
        ({"duel.generations": "2", "league.size": "0"}, "duel.generations has no effect"),
        ({"duel.generations": "2", "duel.max_turns": "3"}, "duel.max_turns does not go with duel.generations"),
        ({"duel.generations": "5"}, "duel.generations = 5 needs an iteration for each, run.iterations = 4"),
        ({"duel.finish_share": "0.5", "duel.max_turns": "3"}, "duel.max_turns does not go with duel.finish_share"),
        ({"duel.finish_share": "0.5", "duel.freeze_role": "first"}, "duel.freeze_role does not go with"),
        ({"duel.finish_share": "0.01"}, "duel.finish_share = 0.01 is no iteration of run.iterations = 4"),
        ({"duel.finish_share": "0.9"}, "leave no iteration of run.iterations = 4 for each generation before them"),
        ({"duel.sharpen_share": "0.5"}, "duel.sharpen_share has no effect"),
        ({"league.challenge_every": "8", "league.size": "0"}, "league.challenge_every has no effect"),
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
