"""The finish of a run: it ends once the first role wins often enough, begins anew with rounds, resumes exactly."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.config.checks import check_against_world
from holdfast.config.reading import load_config
from holdfast.kit.errors import ConfigError
from holdfast.run import Run, open_run
from holdfast.runs.folder import RunFolder, create_run
from holdfast.runs.metrics import read_lines
from holdfast.runs.renew import BOOK, renewed
from holdfast.runs.snapshot import Watcher
from holdfast.selfplay.judging import Judgement
from holdfast.selfplay.pair_judge import PairJudge
from holdfast.train import resume, train
from holdfast.views.dry_run import spec_of
from holdfast.views.terminal import Quiet
from tests.conftest import small_words
from tests.selfplay.running import begun, opened, pair_of
from tests.selfplay.test_duel import PENNIES, SELFPLAY, duel_config
from tests.selfplay.test_rounds import ANEW, MENDS, NEVER, ROUNDS, events_of
from tests.test_resume import StopAfter, end_of

FINISH = {
    "duel.mode": "simultaneous", "duel.turn_steps": "1", "run.iterations": "12", "duel.finish_share": "0.5",
    "evaluation.every": "0", "learner.lr_schedule": "linear",
}  # fmt: skip


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[int, float]], None]:
    """Lets evaluations find what is wanted after so many iterations of the schedules; the duels are played."""

    def wanted(found: dict[int, float]) -> None:
        def judge(self: PairJudge, run: Run) -> Judgement:
            judged = self.play(self.config)
            count = round(found.get(self.pair.scheduled, 0.1) * judged.duels)
            return Judgement(**{**judged.__dict__, "wins": count})

        monkeypatch.setattr(PairJudge, "evaluate", judge)

    return wanted


def finished(folder: Path, **words: str) -> tuple[RunFolder, Run]:
    config = duel_config(folder, **{**FINISH, **words})
    run = create_run(config, "pennies", ["test"])
    duel = open_run(config, run, Quiet())
    assert begun(duel).outcome == "finished"
    return run, duel


def test_a_role_that_wins_often_enough_has_nothing_to_finish(tmp_path: Path, rates: Callable[..., None]) -> None:
    rates({6: 0.5})
    run, duel = finished(tmp_path, **{"duel.finish_until": "0.4"})
    assert events_of(run, "finish") == []
    (early,) = events_of(run, "finished_early")
    assert (early["iteration"], early["role"], early["rate"], early["after"]) == (6, "seeker", 0.5, 0)
    assert [event["iteration"] for event in events_of(run, "evaluation")] == [6] and duel.is_done
    assert read_lines(run.folder / "metrics.jsonl")[-1]["iteration"] == 6
    assert (run.folder / "checkpoints/000006").is_dir()


def test_the_finish_ends_with_an_evaluation_that_finds_enough_wins(tmp_path: Path, rates: Callable[..., None]) -> None:
    """Between them only what the last duels say asks for one, and not every time."""
    rates({9: 0.5})
    run, duel = finished(tmp_path, **{"duel.finish_until": "0.4", "evaluation.every": "3"})
    assert [event["iteration"] for event in events_of(run, "finish")] == [6]
    assert [event["iteration"] for event in events_of(run, "evaluation")] == [3, 6, 9]
    assert [(event["iteration"], event["after"]) for event in events_of(run, "finished_early")] == [(9, 3)]
    rows = read_lines(run.folder / "metrics.jsonl")
    assert duel.is_done and len(rows) == 9 and 6 * rows[-1]["duel.seeker.steps"] == 9 * rows[5]["duel.seeker.steps"]
    assert rows[-1]["duel.hider.steps"] == rows[5]["duel.hider.steps"]


def test_the_last_duels_ask_for_an_evaluation(
    tmp_path: Path, rates: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.selfplay.ending.LOOK_EVERY", 2)
    rates({8: 0.3})
    run, duel = finished(tmp_path, **{"duel.finish_until": "0.2", "health.window": "20"})
    assert pair_of(duel).book.sides[0].pulse.rate >= 0.2  # of real duels against a hider who plays nearly at random
    assert [event["iteration"] for event in events_of(run, "evaluation")] == [6, 8]
    assert [event["after"] for event in events_of(run, "finished_early")] == [2]


def test_a_finish_that_finds_too_little_has_all_of_its_time_and_a_last_evaluation(
    tmp_path: Path, rates: Callable[..., None]
) -> None:
    rates({})
    run, duel = finished(tmp_path, **{"duel.finish_until": "1.0"})
    assert [event["iteration"] for event in events_of(run, "evaluation")] == [6, 12]
    assert events_of(run, "finished_early") == [] and not pair_of(duel).book.has_finished
    assert read_lines(run.folder / "metrics.jsonl")[-1]["iteration"] == 12


def test_rounds_anew_have_a_finish_each(tmp_path: Path, rates: Callable[..., None]) -> None:
    """The first ends early, so everything after it comes sooner; the second has nothing to finish."""
    rates({9: 0.5})
    words = {**ROUNDS, **NEVER, **ANEW, **FINISH, "duel.finish_until": "0.4", "evaluation.every": "3"}
    run, _ = finished(tmp_path, **{**words, "response.rounds": "1"})
    assert [event["iteration"] for event in events_of(run, "finish")] == [6, 15]
    assert [event["iteration"] for event in events_of(run, "finished_early")] == [9, 18]
    (begun,) = events_of(run, "round")
    assert (begun["iteration"], begun["until"]) == (9, 21)
    rows = read_lines(run.folder / "metrics.jsonl")
    shown = [row["learner.seeker.lr"] for row in rows]
    assert len(rows) == 18 and shown[:9] == shown[9:] and shown[0] == shown[6] > shown[5]
    tests = events_of(run, "best_response")
    assert [test["iteration"] for test in tests] == [9, 18]
    trained = [{name: side["trained_steps"] for name, side in test["sides"].items()} for test in tests]
    shared = trained[0].keys() & trained[1].keys()
    assert shared and all(trained[0][name] == trained[1][name] for name in shared)
    assert Watcher(run.folder).look().iterations == 21


def test_a_pair_that_learns_on_does_so_together_and_finishes_again(tmp_path: Path, rates: Callable[..., None]) -> None:
    rates({7: 0.5})
    words = {**ROUNDS, **NEVER, **FINISH, "duel.finish_until": "0.4", "response.heirs": "first"}
    run, _ = finished(tmp_path, **{**words, "response.rounds": "1", "evaluation.every": "1"})
    assert [event["iteration"] for event in events_of(run, "finish")] == [6, 10]
    assert [event["iteration"] for event in events_of(run, "finished_early")] == [7, 11]
    (begun,) = events_of(run, "round")
    assert (begun["iteration"], begun["anew"], begun["until"]) == (7, False, 16)
    rows = read_lines(run.folder / "metrics.jsonl")
    rate = [row["learner.seeker.lr"] for row in rows]
    assert len(rows) == 11 and rate[7:10] == rate[3:6] and rate[10] == rate[6] > rate[5]
    assert rows[-1]["duel.hider.steps"] == rows[9]["duel.hider.steps"] > rows[6]["duel.hider.steps"]
    assert Watcher(run.folder).look().iterations == 16


@pytest.mark.parametrize("words", [ANEW, MENDS], ids=["anew", "mended"])
@pytest.mark.parametrize("stop", [7, 9, 11, 16])
def test_a_finish_and_rounds_after_it_resume_exactly(
    tmp_path: Path, rates: Callable[..., None], stop: int, words: dict[str, str]
) -> None:
    rates({9: 0.5})
    words = {**ROUNDS, **NEVER, **words, **FINISH, "duel.finish_until": "0.4", "evaluation.every": "3"}
    words |= {"response.rounds": "2"} if "response.mends" in words else {"response.rounds": "1"}
    ends = []
    for name, watch in (("whole", Quiet()), ("broken", StopAfter(stop))):
        config = duel_config(tmp_path, **{**words, "run.name": name})
        run = create_run(config, "pennies", ["test"])
        if train(config, run, watch).outcome == "interrupted":
            run.unlock()
            assert resume(config, run, Quiet()).outcome == "finished"
        else:
            assert name == "whole"
        ends.append(end_of(run))
    assert ends[0] == ends[1]


def test_a_run_made_longer_learns_together_first_and_then_finishes_again(
    tmp_path: Path, rates: Callable[..., None]
) -> None:
    rates({7: 0.5, 12: 0.5})
    words = {**FINISH, "duel.finish_until": "0.4", "evaluation.every": "1"}
    config = duel_config(tmp_path, **words)
    run = create_run(config, "pennies", ["test"])
    train(config, run, Quiet())
    assert [event["iteration"] for event in events_of(run, "finished_early")] == [7]
    run.unlock()
    longer = duel_config(tmp_path, **{**words, "run.iterations": "20"})
    resume(longer, run, Quiet())
    assert [event["until"] for event in events_of(run, "unfinished")] == [21]
    turns = [(event["iteration"], event["roles"]) for event in events_of(run, "turn")]
    both = [iteration for iteration, roles in turns if len(roles) == 2]
    assert both == [*range(6), *range(7, 11)]  # schedules go on where the finish began, after six iterations
    assert [event["iteration"] for event in events_of(run, "finish")] == [6, 11]
    assert [event["iteration"] for event in events_of(run, "finished_early")] == [7, 13]


def test_a_run_made_longer_goes_on_where_there_was_nothing_to_finish(
    tmp_path: Path, rates: Callable[..., None]
) -> None:
    rates({6: 0.5})
    words = {**FINISH, "duel.finish_until": "0.4"}
    run, _ = finished(tmp_path, **words)
    run.unlock()
    resume(duel_config(tmp_path, **{**words, "run.iterations": "16"}), run, Quiet())
    assert [event["until"] for event in events_of(run, "unfinished")] == [16]
    assert [event["iteration"] for event in events_of(run, "finish")] == [8]
    rows = read_lines(run.folder / "metrics.jsonl")
    assert len(rows) == 16 and rows[-1]["duel.hider.steps"] > rows[5]["duel.hider.steps"]


def test_a_book_of_the_first_version_is_read(tmp_path: Path) -> None:
    """It also held what generations, partners and sharpening needed, and did not know that rounds can end early."""
    config = duel_config(tmp_path, **{**ROUNDS, "response.anew": "true"})
    duel = opened(config)
    pair_of(duel).book.rounds = 2
    duel.state.counts.iteration = 15
    facts, arrays = duel.state.facts(), {}
    for name, array in duel.state.arrays().items():  # as that version named them
        place = name.removeprefix("curriculum/") if "/vault/" in name else name
        arrays[re.sub(r"^(arena/\w+)/\w+/memory/", r"\1/memory/", place)] = array
    players = {name.split("/")[1]: seated for name, seated in facts["curriculum"]["players"].items()}
    kept = {"book": facts["curriculum"]["book"], "players": players}
    for name in ("shift", "has_finished"):
        del kept["book"][name]
    kept["book"] |= {"challenged_at": 0, "generation": 0, "born_at": 0, "sharpen_at": None, "partner_steps": 0}
    kept["book"] |= {"has_chosen": False, "outside_streak": 0}
    for side in kept["book"]["sides"]:
        side["stood"] = None
    arrays[BOOK] = np.frombuffer(json.dumps(kept).encode(), np.uint8)
    duel.state.restore(*renewed(arrays, {"counts": {"iteration": 15}}))
    assert pair_of(duel).book.shift == 12 and pair_of(duel).scheduled == 3


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"duel.finish_until": "0.1"}, "duel.finish_until has no effect as it is set; it needs duel.finish_share"),
        ({**FINISH, "duel.finish_until": "1.5"}, "duel.finish_until"),
    ],
)
def test_a_finish_that_could_not_act_is_refused(tmp_path: Path, words: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        config, explicit = load_config(PENNIES, small_words(**{"run.root": str(tmp_path), **SELFPLAY, **words}))
        check_against_world(config, explicit, spec_of(config))
