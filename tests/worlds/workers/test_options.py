"""The options of workers: what acts, what is refused, and what the backend changes by default."""

from __future__ import annotations

import pytest

from holdfast.config.reading import from_json, load_config
from holdfast.kit.errors import ConfigError


def test_the_backend_has_a_short_name_and_its_own_number_of_lanes() -> None:
    config, _ = load_config("gym:CartPole-v1", ["--backend", "workers"])
    assert (config.world.backend, config.rollout.lanes, config.workers.step_s) == ("workers", 8, 15.0)
    assert load_config("gym:CartPole-v1", ["--backend=workers", "--rollout.lanes", "3"])[0].rollout.lanes == 3
    assert load_config("gym:CartPole-v1", [])[0].rollout.lanes == 64


def test_lanes_of_a_run_are_kept_at_resume() -> None:
    from holdfast.config.sections import to_json

    config, _ = load_config("gym:CartPole-v1", ["--backend", "workers", "--rollout.lanes", "3"])
    again, changed = from_json(to_json(config), "run.json", ["--workers.step_s", "2"])
    assert (again.rollout.lanes, again.workers.step_s, changed) == (3, 2.0, {"workers.step_s"})


@pytest.mark.parametrize(
    ("target", "arguments", "text"),
    [
        ("gym:CartPole-v1", ["--workers.step_s", "2"], "no effect while world.backend is loop, only with workers"),
        ("template", ["--workers.step_s", "2"], "world template has no option world.backend"),
        ("template", ["--backend", "workers"], "no option world.backend"),
        ("gym:CartPole-v1", ["--backend", "cluster"], "is not one of loop, workers"),
        ("gym:CartPole-v1", ["--backend", "workers", "--workers.step_s", "-1"], "must be at least 0.01"),
        ("gym:CartPole-v1", ["--backend", "workers", "--workers.import_s", "0"], "must be at least 0.01"),
        ("gym:CartPole-v1", ["--backend", "workers", "--workers.build_s", "nan"], "must be a finite number"),
        ("gym:CartPole-v1", ["--backend", "workers", "--workers.start_parallel", "0"], "must be at least 1"),
        ("gym:CartPole-v1", ["--backend", "workers", "--workers.respawns", "-2"], "must be at least 0"),
        ("gym:CartPole-v1", ["--backend", "workers", "--world.backend", "workers"], "--world.backend: given twice"),
    ],
)
def test_what_cannot_act_or_makes_no_sense_is_refused(target: str, arguments: list[str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        load_config(target, arguments)


def test_a_class_in_workers_is_not_imported_to_read_its_options() -> None:
    config, _ = load_config("no_such_module:Env", ["--backend", "workers"])
    assert config.world_name == "no_such_module:Env"
