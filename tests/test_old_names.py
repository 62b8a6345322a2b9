"""Options of earlier versions: refused with what became of them, dropped from old runs in which they had no effect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.old_names import REMOVED
from holdfast.config.reading import from_json, load_config
from holdfast.config.sections import FORMAT, Config, options_known, to_json
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
    assert not REMOVED.keys() & options_known(load_config("pursuit")[0]).keys()


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
