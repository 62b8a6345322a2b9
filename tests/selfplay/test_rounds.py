"""A pair that fails its best-response test learns on as at the end of the run, is tested again, and resumes exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.config.checks import check_against_world
from holdfast.config.reading import load_config
from holdfast.kit.errors import ConfigError
from holdfast.run import open_run
from holdfast.runs.folder import RunFolder, create_run
from holdfast.runs.metrics import read_lines
from holdfast.runs.snapshot import Watcher
from holdfast.selfplay.book import Book
from holdfast.selfplay.rounds import begin_round
from holdfast.selfplay.schedule import in_schedule, last_iteration
from holdfast.selfplay.vault import arrays_of
from holdfast.train import iteration, resume, train
from holdfast.views.dry_run import facts, spec_of
from holdfast.views.run_list import describe
from holdfast.views.terminal import Quiet
from tests.conftest import small_words
from tests.selfplay.running import begun, judge_of, listened, opened, pair_of, play_of, weights_of
from tests.selfplay.test_duel import PENNIES, SELFPLAY, StopAtChallenger, duel_config
from tests.test_resume import StopAfter, end_of

ROUNDS = {
    "response.certify": "true", "response.steps": "64", "response.duels": "100", "evaluation.every": "0",
    "response.rounds": "2", "run.iterations": "6", "learner.lr_schedule": "linear",
}  # fmt: skip
NEVER, AT_ONCE = {"response.pass_gap": "0.0"}, {"response.pass_gap": "1.0"}
MENDS = {"response.anew": "true", "response.mends": "1", "response.heirs": "first", "response.rounds": "3"}
ANEW = {"response.anew": "true", "duel.mode": "simultaneous", "duel.turn_steps": "1"}


def events_of(run: RunFolder, kind: str) -> list[dict[str, Any]]:
    return [event for event in read_lines(run.folder / "events.jsonl") if event["event"] == kind]


def test_a_pair_that_fails_learns_on_as_at_the_end_of_the_run(tmp_path: Path) -> None:
    config = duel_config(tmp_path, **ROUNDS, **NEVER)
    run = create_run(config, "pennies", ["test"])
    result = train(config, run, Quiet())
    metrics = read_lines(run.folder / "metrics.jsonl")
    assert result.outcome == "finished" and result.certificate is not None
    assert [row["iteration"] for row in metrics] == list(range(1, 13))
    assert [event["iteration"] for event in events_of(run, "round")] == [6, 9]
    assert [event["iteration"] for event in events_of(run, "best_response")] == [6, 9, 12]
    assert Watcher(run.folder).look().iterations == describe(run)["iterations"] == 12
    rates = [{name: value for name, value in row.items() if name.endswith(".lr")} for row in metrics]
    for later in range(6, 12):  # whoever had a turn, at the rate of three or six iterations before
        shared = rates[later].keys() & rates[3 + later % 3].keys()
        assert all(rates[later][name] == rates[3 + later % 3][name] > 0.0 for name in shared)


def test_a_pair_that_passes_needs_no_round(tmp_path: Path) -> None:
    config = duel_config(tmp_path, **ROUNDS, **AT_ONCE)
    run = create_run(config, "pennies", ["test"])
    result = train(config, run, Quiet())
    assert result.outcome == "converged" and len(events_of(run, "best_response")) == 1
    assert events_of(run, "round") == [] and len(read_lines(run.folder / "metrics.jsonl")) == 6


@pytest.mark.parametrize(("words", "stop"), [({}, 4), ({}, 6), ({}, 8), (ANEW, 9), (MENDS, 8), (MENDS, 11)])
def test_rounds_resume_exactly(tmp_path: Path, words: dict[str, str], stop: int) -> None:
    ends = []
    for name, watch in (("whole", Quiet()), ("broken", StopAfter(stop))):
        config = duel_config(tmp_path, **{**ROUNDS, **NEVER, **words, "run.name": name})
        run = create_run(config, "pennies", ["test"])
        result = train(config, run, watch)
        if name == "broken":
            assert result.outcome == "interrupted"
            run.unlock()
            assert resume(config, run, Quiet()).outcome == "finished"
        ends.append(end_of(run))
    assert ends[0] == ends[1]


def test_a_test_between_rounds_can_be_interrupted(tmp_path: Path) -> None:
    ends = []
    for name, watch in (("whole", Quiet()), ("broken", StopAtChallenger())):
        config = duel_config(tmp_path, **ROUNDS, **NEVER, **{"run.name": name})
        run = create_run(config, "pennies", ["test"])
        if train(config, run, watch).outcome == "interrupted":
            run.unlock()
            resume(config, run, Quiet())
        ends.append(end_of(run))
    assert ends[0] == ends[1]


def test_a_role_that_was_outdone_goes_on_as_its_challenger(tmp_path: Path) -> None:
    """Bit for bit; what the challenger learned from counts as the role's own, so the next one must learn as long."""
    config = duel_config(tmp_path, **ROUNDS, **NEVER, **{"response.heirs": "first"})
    run = create_run(config, "pennies", ["test"])
    duel = open_run(config, run, Quiet())
    taken: list[dict[str, np.ndarray]] = []

    def note(kind: str, **told: Any) -> None:
        if kind == "heir":
            best = max((one for one in judge_of(duel).challengers if one.response.role == 0), key=lambda one: one.wins)
            now = arrays_of(pair_of(duel).learners[0])
            assert all(np.array_equal(now[name], array) for name, array in best.response.arrays.items())
            assert told["policy"] == pair_of(duel).vault.freeze(pair_of(duel).learners[0])
            taken.append(best.response.arrays)
            assert pair_of(duel).book.sides[0].own_steps == before + best.response.steps

    listened(duel, note)
    duel.recorder.open(duel.state.world.spec, 0, 0, {})
    play_of(duel).begin(duel, True)
    for _ in range(6):
        iteration(duel)
    before = pair_of(duel).book.sides[0].own_steps
    assert play_of(duel).goes_on(duel) and pair_of(duel).book.rounds == 1
    assert events_of(run, "best_response")[0]["sides"]["seeker"]["gap"] > 0.0
    assert len(taken) == 1


def test_heirs_resume_exactly(tmp_path: Path) -> None:
    ends = []
    for name, watch in (("whole", Quiet()), ("broken", StopAfter(8))):
        words = {"run.name": name, "response.heirs": "both"}
        config = duel_config(tmp_path, **ROUNDS, **NEVER, **words)
        run = create_run(config, "pennies", ["test"])
        if train(config, run, watch).outcome == "interrupted":
            run.unlock()
            resume(config, run, Quiet())
        assert events_of(run, "heir")
        ends.append(end_of(run))
    assert ends[0] == ends[1]


def test_a_round_anew_is_a_run_from_other_weights(tmp_path: Path) -> None:
    """Its learning rates are those of the whole run, and its challengers learn as long as the new roles did."""
    config = duel_config(tmp_path, **ROUNDS, **NEVER, **ANEW)
    run = create_run(config, "pennies", ["test"])
    duel = open_run(config, run, Quiet())
    began, trained = [weights_of(duel)], []

    def note(kind: str, **told: Any) -> None:
        if kind == "round":
            began.append(weights_of(duel))
            trained.append(pair_of(duel).book.sides[0].own_steps)
            assert all(len(side.ring.entries) == 1 for side in pair_of(duel).book.sides)
            assert pair_of(duel).book.standing.rates == []

    listened(duel, note)
    assert begun(duel).outcome == "finished"
    assert len({weights for one in began for weights in one}) == 6  # two roles, three beginnings
    assert trained == [0, 0]
    metrics = read_lines(run.folder / "metrics.jsonl")
    assert [row["iteration"] for row in metrics] == list(range(1, 19))
    name = next(key for key in metrics[0] if key.endswith(".lr"))
    rates = [row[name] for row in metrics]
    assert rates[:6] == rates[6:12] == rates[12:] and rates[0] > rates[5]
    tests = events_of(run, "best_response")
    assert [test["iteration"] for test in tests] == [6, 12, 18]
    assert len({(name, side["trained_steps"]) for test in tests for name, side in test["sides"].items()}) <= 2


def test_roles_begin_anew_with_other_weights_and_an_empty_optimiser(tmp_path: Path) -> None:
    config = duel_config(tmp_path, **ROUNDS, **ANEW)
    pair = pair_of(opened(config))
    first = [learner.optimizer.parameters.numpy().copy() for learner in pair.learners]
    for learner in pair.learners:
        learner.optimizer.gradients.fill_(1.0)
        learner.optimizer.step(0.1, 0.0)
    assert begin_round(pair, True)
    for learner, weights in zip(pair.learners, first, strict=True):
        found = arrays_of(learner)
        assert not np.allclose(found["optimizer/parameters"], weights)
        assert not any(found[key].any() for key in found if key.startswith("optimizer/") and "parameters" not in key)


def test_a_challenger_that_outdid_a_role_joins_the_pool_and_is_met(tmp_path: Path) -> None:
    """Both roles are outdone as far as this test goes, so that it need not learn how."""
    config = duel_config(tmp_path, **{**ROUNDS, **NEVER, "league.size": "1", "run.iterations": "8"})
    run = create_run(config, "pennies", ["test"])
    duel = open_run(config, run, Quiet())
    judge_of(duel).rules.is_outdone = lambda judge, side: True
    begun(duel)
    joined = [(event["role"], event["policy"]) for event in events_of(run, "challenged")]
    assert joined and all(event["steps"] >= 64 for event in events_of(run, "challenged"))
    turns = [event["opponents"] for event in events_of(run, "turn")]
    rivals = {"seeker": "hider", "hider": "seeker"}
    assert any(f"earlier:{policy}" in met.get(rivals[role], []) for role, policy in joined for met in turns)


def test_a_pair_is_mended_before_the_next_begins_anew(tmp_path: Path) -> None:
    """As often as each may be, its first role as its challenger; the next pair owes nothing to either."""
    config = duel_config(tmp_path, **{**ROUNDS, **NEVER, **ANEW, **MENDS})
    run = create_run(config, "pennies", ["test"])
    train(config, run, Quiet())
    begun = [(event["iteration"], event["anew"], event["until"]) for event in events_of(run, "round")]
    assert begun == [(6, False, 9), (9, True, 15), (15, False, 18)]
    assert [event["iteration"] for event in events_of(run, "heir")] == [6, 15]
    rows = read_lines(run.folder / "metrics.jsonl")
    rates = [row["learner.seeker.lr"] for row in rows]
    assert rates[6:9] == rates[3:6] and rates[9:15] == rates[:6] and rates[15:] == rates[3:6]
    tests = events_of(run, "best_response")
    trained = [test["sides"]["seeker"]["trained_steps"] for test in tests]
    assert trained[2] == trained[0] < min(trained[1], trained[3])


def test_a_pair_that_set_off_an_alarm_is_not_mended(tmp_path: Path) -> None:
    config = duel_config(tmp_path, **{**ROUNDS, **NEVER, **ANEW, **MENDS})
    run = create_run(config, "pennies", ["test"])
    duel = open_run(config, run, Quiet())
    judge_of(duel).rules.alarms_of = lambda judge, found: ["hopeless"]
    begun(duel)
    assert [event["anew"] for event in events_of(run, "round")] == [True, True, True]
    assert events_of(run, "best_response") == events_of(run, "heir") == []


def test_every_round_is_the_same_part_of_the_schedules(tmp_path: Path) -> None:
    config = duel_config(tmp_path, **ROUNDS)
    for rounds, iterations in ((0, range(6)), (1, range(6, 9)), (2, range(9, 12))):
        book = Book(rounds=rounds, shift=3 * rounds)
        assert last_iteration(config, book) == iterations[-1] + 1
        shown = [in_schedule(book, one) for one in iterations]
        assert shown == (list(range(6)) if rounds == 0 else [3, 4, 5])


def test_a_dry_run_tells_of_rounds(tmp_path: Path) -> None:
    config = duel_config(tmp_path, **ROUNDS)
    told = facts(config, spec_of(config))
    once = facts(duel_config(tmp_path, **{"run.iterations": "6"}), spec_of(config))
    assert told["rounds"] == 2 and told["agent_steps"] == 2 * once["agent_steps"]  # six iterations, and three twice


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"response.rounds": "2"}, "response.rounds has no effect while response.certify"),
        ({"response.certify": "true", "response.round_share": "0.2"}, "needs response.rounds above 0"),
        ({"response.certify": "true", "response.heirs": "first"}, "needs response.rounds above 0"),
        ({"response.certify": "true", "response.anew": "true"}, "needs response.rounds above 0"),
        ({**ROUNDS, "response.anew": "true", "response.heirs": "first"}, "needs response.anew = false"),
        ({**ROUNDS, "response.anew": "true", "response.round_share": "0.2"}, "needs response.anew = false"),
        ({**ROUNDS, "response.mends": "1"}, "response.mends has no effect as it is set; it needs response.anew = true"),
        ({**ROUNDS, "response.anew": "true", "response.mends": "2"}, "leave no round for response.anew"),
        (
            {**ROUNDS, "response.anew": "true", "ewc.strength": "1", "levels.kind": "smooth"},
            "ewc.strength does not go with response.anew",
        ),
        ({**ROUNDS, "duel.max_turns": "3"}, "duel.max_turns does not go with response.rounds"),
        ({**ROUNDS, "response.rounds": "-1"}, "response.rounds"),
    ],
)
def test_rounds_that_could_not_act_are_refused(tmp_path: Path, words: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        config, explicit = load_config(PENNIES, small_words(**{"run.root": str(tmp_path), **SELFPLAY, **words}))
        check_against_world(config, explicit, spec_of(config))
