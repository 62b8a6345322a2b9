"""Options of earlier versions: refused with what became of them, dropped from old runs in which they had no effect."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.old_names import REMOVED, RENAMED, renewed, what_became_of
from holdfast.config.reading import from_json, load_config
from holdfast.config.sections import FORMAT, SECTIONS, Config, known_options, to_json
from holdfast.kit.errors import ConfigError
from tests.conftest import Command


def of_the_first_version(config: Config, **changed: Any) -> dict[str, Any]:
    """What 0.1 wrote into run.json: all of these options, at their defaults unless changed."""
    table = json.loads(json.dumps(to_json(config)))
    for name, gone in REMOVED.items():
        section, _, key = name.partition(".")
        table[section][key] = changed.get(name, gone.idle)
    return table


def test_no_removed_option_is_still_there() -> None:
    assert not REMOVED.keys() & known_options(SECTIONS).keys()


@pytest.mark.parametrize("name", REMOVED)
def test_a_removed_option_is_refused_by_name_whatever_its_value(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"command line: {name} was removed in 0\.2\.0: \w"):
        load_config("pursuit", [f"--{name}", "2"])


def test_a_removed_value_is_refused_and_the_others_of_the_option_are_not() -> None:
    with pytest.raises(ConfigError, match=r"learner\.lr_schedule = quadratic was removed in 0\.2\.0: use linear or"):
        load_config("pursuit", ["--learner.lr_schedule", "quadratic"])
    assert load_config("template", ["--learner.lr_schedule", "cosine"])[0].learner.lr_schedule == "cosine"


def test_the_command_line_answers_a_removed_option_and_ends_with_2(tmp_path: Path, holdfast: Command) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('[world]\nname = "pursuit"\n[duel]\nmode = "simultaneous"\ngenerations = 4\n')
    for words in (["pursuit", "--duel.partners", "2"], [str(mine)]):
        done = holdfast("train", *words)
        name = "duel.partners" if "pursuit" in words else "duel.generations"
        assert done.returncode == 2 and f"{name} was removed in 0.2.0: " in done.stderr and not done.stdout


def test_a_run_of_the_first_version_is_read_where_they_had_no_effect() -> None:
    config = load_config("pursuit")[0]
    again, changed = from_json(of_the_first_version(config), "run.json")
    assert again == config and not changed and to_json(config)["format"] == FORMAT


def test_a_run_of_the_first_version_that_used_one_is_refused_by_its_name() -> None:
    table = of_the_first_version(load_config("pursuit")[0], **{"duel.partners": 2, "league.challenge_every": 50})
    with pytest.raises(ConfigError) as caught:
        from_json(table, "run.json")
    assert [text.split(" was ")[0] for text in caught.value.problems] == [
        "run.json: duel.partners",
        "run.json: league.challenge_every",
    ]


@pytest.mark.parametrize("name", RENAMED)
def test_an_option_with_another_name_is_answered_with_it(name: str) -> None:
    target = "mario-1-1" if name.startswith("adaptive.") else "pursuit"
    assert RENAMED[name] in known_options({"world": type(load_config(target)[0].world), **SECTIONS})
    with pytest.raises(ConfigError, match=rf"command line: {name} is called {RENAMED[name]} since 0\.2\.0"):
        load_config(target, [f"--{name}", "2"])


def test_a_world_of_ones_own_may_have_an_option_that_is_called_as_an_old_one() -> None:
    table = {"world": {"shaping": 3, "name": "mine"}}
    assert renewed(table, ["world.shaping"]) == table and what_became_of("world.shaping", 3, ["world.shaping"]) is None


def test_values_by_type_are_answered_with_their_table() -> None:
    with pytest.raises(
        ConfigError, match=r"gate\.by_type\.ne\.success_p10 = 70, gate\.by_type\.main\.success_p10 = 100"
    ):
        load_config("fish-v42", ["--gate.success_p10_by_type", "ne:70,main:100"])
    with pytest.raises(ConfigError, match=r"is a table since 0\.2\.0: gate\.by_type\.TYPE\.success_p10 = VALUE"):
        load_config("fish-v42", ["--gate.success_p10_by_type", "north"])


def test_a_run_of_the_first_version_is_read_with_its_old_names() -> None:
    config = load_config("pursuit", ["--world.reward.capture", "7", "--evaluation.world.reward.capture", "8"])[0]
    table = json.loads(json.dumps(to_json(config)))
    for old, new in RENAMED.items():
        section, group, key = new.split(".")
        table[section][old.partition(".")[2]] = table[section][group].pop(key)
    table["evaluation"]["world"] = {"capture_bonus": 8.0}
    table["gate"]["success_p10_by_type"] = "ne:70"
    table["gate"]["success_p10_window_by_type"] = ""
    del table["gate"]["by_type"]
    again, changed = from_json(table, "run.json")
    assert again == replace(config, gate=replace(config.gate, by_type={"ne": {"success_p10": 70}})) and not changed
    assert (again.world.reward_capture, again.evaluation_world.reward_capture) == (7.0, 8.0)
