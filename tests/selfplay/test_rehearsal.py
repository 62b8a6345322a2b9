"""The rehearsal of self-play: each enabled feature fires, in miniature and through the real engine."""

from __future__ import annotations

import pytest

from holdfast.config.reading import load_config
from holdfast.kit.errors import ConfigError
from holdfast.rehearsal import rehearse_run
from holdfast.views.terminal import Quiet

ROLES = ("pursuer", "evader")
EXPECTED = {
    "cold start", "turns", "rollback of both roles", "advance", "regress", "warm start", "evader first", "mixed levels",
    "EWC", "RND", "warm-up of turns", "resume",
}  # fmt: skip


@pytest.mark.parametrize(("preset", "expected"), [("pursuit-z2", EXPECTED), ("pursuit-v", {"advance", "regress"})])
def test_every_feature_of_a_published_experiment_fires(preset: str, expected: set[str]) -> None:
    """By balance, and by captures."""
    sight = ["--world.obs=flat_masked", "--policy.network=mlp"]
    config, _ = load_config(preset, [*sight, "--rollout.threads=1", "--run.allow_slow=true"])
    found = rehearse_run(config, Quiet())
    assert found.missing == ()
    assert {feature.name for feature in found.features} >= expected


def test_beliefs_are_rehearsed() -> None:
    config, _ = load_config("pursuit-z2", ["--rollout.threads=1", "--run.allow_slow=true"])
    found = rehearse_run(config, Quiet())
    assert found.missing == ()
    assert {feature.name for feature in found.features} >= {*EXPECTED, "belief"}


@pytest.mark.parametrize("mode", ["turns", "simultaneous"])
def test_pennies_rehearse_without_levels(mode: str) -> None:
    words = [f"--duel.mode={mode}", "--duel.finish_share=0.2", "--rollout.threads=1"]
    config, _ = load_config("tests.two_roles:Pennies", [*words, "--run.allow_slow=true"])
    found = rehearse_run(config, Quiet())
    assert found.missing == ()
    expected = {"turns", "rollback", "league", "finish", "scripted opponents"}
    assert {feature.name for feature in found.features} >= expected


@pytest.mark.parametrize("power", ["false", "true"])
def test_the_best_response_test_is_rehearsed(power: str) -> None:
    """With every challenger and all that is planted, whatever its levels and however the miniature plays."""
    words = ["--world.obs=flat_masked", "--policy.network=mlp", "--rollout.threads=1", "--run.allow_slow=true"]
    words += ["--response.certify=true", f"--response.power={power}"]
    found = rehearse_run(load_config("pursuit-v", words)[0], Quiet())
    assert found.missing == ()
    (test,) = [feature for feature in found.features if feature.name == "best-response test"]
    assert all(f"{role} from {start}" in test.evidence for role in ROLES for start in ("incumbent", "scratch"))


def test_a_power_check_that_a_world_cannot_have_is_refused_before_the_run() -> None:
    words = ["--duel.mode=turns", "--response.certify=true", "--response.power=true", "--run.allow_slow=true"]
    with pytest.raises(ConfigError, match="does not tell"):
        rehearse_run(load_config("tests.two_roles:Pennies", words)[0], Quiet())


@pytest.mark.parametrize("mends", [0, 1])
def test_rounds_of_every_kind_are_rehearsed(mends: int) -> None:
    words = ["--duel.mode=simultaneous", "--rollout.threads=1", "--run.allow_slow=true", "--response.certify=true"]
    words += ["--response.rounds=4", "--response.anew=true", "--learner.lr_schedule=linear"]
    words += [f"--response.mends={mends}", "--response.heirs=first"] if mends else []
    found = rehearse_run(load_config("tests.two_roles:Pennies", words)[0], Quiet())
    assert found.missing == ()
    told = {feature.name: feature.evidence for feature in found.features}
    assert ("heirs" in told) == bool(mends) and "rounds anew" in told
    assert f"{2 + mends} tests" in told["rounds"]
