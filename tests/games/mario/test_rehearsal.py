"""The rehearsal of a game of stages fires everything that is enabled."""

from __future__ import annotations

from holdfast.config.reading import load_config
from holdfast.rehearsal import rehearse_run
from holdfast.views.terminal import Quiet

EVERYTHING = ["--world.rom=own", "--policy.hidden=16", "--rollout.threads=1", "--starts.share=0.3"]
EVERYTHING += ["--world.script=RIGHT+B:240,RIGHT+A+B:60", "--bootstrap.auto_threshold=120"]
EVERYTHING += ["--bootstrap.auto_steps=1024"]
EVERYTHING += ["--bootstrap.secondary_threshold=50", "--bootstrap.secondary_steps=64"]
EVERYTHING += ["--adaptive.entropy.min=0.001", "--adaptive.entropy.max=0.05", "--evaluation.every=0"]
FEATURES = {"start states", "forced steps", "bootstrap auto", "bootstrap secondary", "adaptive entropy", "resume"}


def test_every_enabled_feature_fires() -> None:
    rehearsal = rehearse_run(load_config("mario", EVERYTHING)[0], Quiet())
    assert not rehearsal.missing, rehearsal
    assert {feature.name for feature in rehearsal.features} >= FEATURES
