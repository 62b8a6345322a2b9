"""`exploit` and `crossplay` on a finished run of pennies: verdicts with evidence, a full matrix, clear refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast.kit.errors import CheckpointError, ConfigError, UnknownName
from holdfast.runs.folder import RunFolder
from holdfast.runs.reopen import config_of, load_checkpoint
from holdfast.selfplay.certificate import FROZEN, case_of
from holdfast.selfplay.crossplay import read_book
from holdfast.selfplay.matches import Contender
from holdfast.selfplay.response import Setting, respond
from holdfast.selfplay.rota import FIRST, SECOND
from holdfast.views.dry_run import spec_of
from holdfast.views.selfplay import exploit, show_crossplay
from tests.conftest import finished_run
from tests.selfplay.test_duel import PENNIES, SELFPLAY


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return finished_run(tmp_path_factory.mktemp("runs"), PENNIES, **{**SELFPLAY, "run.iterations": "6"})[0]


def test_exploit_measures_each_challenger_and_tells_its_power(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exploit(run, "seeker", "latest", 1024, 200, power=False, as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    side = found["sides"]["seeker"]
    assert set(side["challengers"]) == {"incumbent", "scratch"} and side["low"] <= side["gap"] <= side["high"]
    narrow = found["gap"] <= found["pass_gap"]
    expected = "failed" if not narrow else "passed" if side["power"]["passed"] else "inconclusive"
    assert found["verdict"] == expected
    assert side["power"]["checks"]["learned as long as the incumbent"]
    assert (run.folder / "evals/response-000006-seeker.json").is_file()


@pytest.mark.parametrize(("enough", "stops"), [(0.0, True), (1.0, False)])
def test_a_challenger_stops_once_it_is_beyond_what_is_enough(run: RunFolder, enough: float, stops: bool) -> None:
    config, saved = config_of(run), load_checkpoint(run, "latest")
    case = case_of(config, spec_of(config), read_book(saved)[0], saved.arrays)
    rival = Contender(FROZEN, case.pair[SECOND])
    setting = Setting(config, case.ladder, case.level, FIRST, rival, enough=enough)
    per_rollout = config.rollout.lanes * config.rollout.steps
    found = respond(setting, case.pair[FIRST], 12 * per_rollout, seed=1)
    assert found.steps == (len(found.history) - 1) * per_rollout
    assert len(found.history) == 2 if stops else len(found.history) >= 13


def test_challengers_have_their_own_limit_of_entropy(run: RunFolder) -> None:
    config, saved = config_of(run), load_checkpoint(run, "latest")
    case = case_of(config, spec_of(config), read_book(saved)[0], saved.arrays)

    def weights(entropy: float, most: float) -> np.ndarray:
        changed = replace(
            config,
            learner=replace(config.learner, entropy=entropy, entropy_final=entropy),
            response=replace(config.response, entropy=most),
        )
        setting = Setting(changed, case.ladder, case.level, FIRST, Contender(FROZEN, case.pair[SECOND]))
        return respond(setting, None, 1, seed=1).arrays["optimizer/parameters"]

    plain = weights(0.0, 1.0)
    assert np.array_equal(weights(0.5, 0.0), plain) and not np.array_equal(weights(0.5, 1.0), plain)


def test_crossplay_fills_the_matrix_and_draws_it(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert show_crossplay([run], 16, as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    rates = np.array(found["rates"])
    assert rates.shape == (len(found["rows"]), len(found["columns"])) and ((rates >= 0) & (rates <= 1)).all()
    assert found["rows"][-1] == "random" and 0.0 <= found["value"] <= 1.0
    assert Path(found["picture"]).stat().st_size > 5000


def test_wrong_roles_budgets_and_runs_are_refused(run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="seeker, hider and both"):
        exploit(run, "seekr", "latest", None, None, power=False, as_json=True)
    with pytest.raises(ConfigError, match="--steps 0"):
        exploit(run, "both", "latest", 0, None, power=False, as_json=True)
    with pytest.raises(ConfigError, match="--duels 0"):
        show_crossplay([run], 0, as_json=True)
    plain, _ = finished_run(tmp_path)
    with pytest.raises(CheckpointError, match="not one of self-play"):
        show_crossplay([plain], 16, as_json=True)
