"""The earlier trainer's command lines: every flag becomes an option, a note, or a refusal that names it."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.checks import check_against_world
from holdfast.config.preset_text import preset_text, toml_value
from holdfast.config.reading import from_table, load_config
from holdfast.config.sections import flat
from holdfast.curriculum.deck_spec import deck_types, parse_stages
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.games.fish.fish_command import import_command, import_flags
from holdfast.games.fish.fish_flags import ABSENT, ALL, COMBINED, CONSTANTS, GATE, OPTIONS, SWITCHES, WITHOUT_VALUE
from holdfast.kit.errors import ConfigError
from holdfast.views.dry_run import spec_of
from tests.conftest import Command
from tests.curriculum.published import DATA, imported

V42_GATE = GateSettings(
    enabled=True,
    controls="density",
    phase_allowance=(4, 5, 6, 7),
    lock_iteration=28,
    required_successes=2,
    freeze_iterations=5,
    success_freeze_iterations=2,
    success_step_one=18,
    by_type={
        "main": {
            "success_step_one": 45,
            "success_early_death": 0.1,
            "success_early_death_window": 4,
            "success_p10": 100,
            "success_p10_window": 3,
            "failure_tolerance": 3,
        },
        "ne": {"success_early_death": 0.13},
    },
    success_step_one_ratio=0.02,
    success_early_death=0.10,
    success_early_death_window=3,
    success_p10=70.0,
    success_p10_window=4,
    failure_p10=95.0,
    failure_min_final=0.5,
    failure_tolerance=2,
    median_fallback="p10",
)


def test_the_gate_of_v42() -> None:
    assert imported("v42").gate == V42_GATE


def test_the_deck_of_v42() -> None:
    stages = parse_stages(imported("v42").deck.stages)
    assert [stage.deals for stage in stages] == [10, 8, 16, 12, 16, 12, 10, 8, 8, 10, 8]
    assert {stage.apply for stage in stages} == {"pre_roll"} and deck_types(stages) == ("ne", "main")
    assert stages[4].label == "main_midbuffer_a"


def test_v42_is_its_preset_but_for_what_the_preset_leaves_open() -> None:
    mine, preset = flat(imported("v42")), flat(load_config("fish-v42")[0])
    assert {name: value for name, value in mine.items() if value != preset[name] and name != "deck.stages"} == {
        "run.name": "dev_v42_stage_buffer_v2",
        "checkpoint.every": 5,
        "learner.lr_schedule": "cosine",
        "boost.phase_floors": "3:0.76,4:0.78,5:0.80,6:0.80,7:0.80",
    }


@pytest.mark.parametrize("version", ["v40", "v41", "v42"])
def test_leaving_out_any_flag_changes_the_outcome(version: str) -> None:
    """Nothing is lost: whatever flag is taken away, the import notices, unless it only repeats a default."""
    words = shlex.split((DATA / f"{version}.txt").read_text())
    whole = import_flags(words)
    same_as_default = {
        "num_envs",
        "batch_size",
        "multi_eval_probe_episodes",
        "eval_multi_episodes",
        "penalty_gate_success_early_death",
        "penalty_gate_success_median_window",
        "penalty_gate_failure_p10",
        "penalty_gate_failure_min_final",
        "penalty_gate_failure_tolerance",
    } | ({"multi_eval_seed_base"} if version == "v40" else set())  # that run's own seed is the same number
    for place, word in enumerate(words):
        name = word.removeprefix("--")
        if word.startswith("--"):
            end = place + (1 if name in WITHOUT_VALUE else 2)
            unchanged = import_flags(words[:place] + words[end:]) == whole
            assert unchanged == (name in same_as_default), word


def test_there_are_92_flags_and_each_is_in_one_table() -> None:
    tables = [OPTIONS, GATE, SWITCHES, COMBINED, CONSTANTS, ABSENT]
    assert len(ALL) == sum(map(len, tables)) == 92


@pytest.mark.parametrize("flag", sorted(ALL))
def test_every_flag_may_be_given_with_its_own_default(flag: str) -> None:
    """The outcome is the same; a note follows where it means nothing here, and nowhere else."""
    defaults = {**{name: to.default for name, to in OPTIONS.items()}, **COMBINED, **CONSTANTS}
    defaults |= {f"penalty_gate_{name}": to.default for name, to in GATE.items()}
    plain = import_flags(["--seed", "3"])
    words = [f"--{flag}"] if flag in WITHOUT_VALUE else [f"--{flag}={defaults.get(flag, '1')}"]
    found = import_flags(["--seed", "3", *words])
    told = [note for note in found.notes if note.startswith((f"--{flag}:", f"--{flag} "))]
    idle = flag in ("tail_stage_warn_ratio", "tail_stage_warn_patience")  # there is no deck
    assert bool(told) == (flag in ABSENT or flag == "lr_schedule" or idle)
    if flag not in ("seed", "no_neighbor_features", "no_initial_escape_boost"):
        assert found.options == plain.options


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("--no_neighbor_features", {"world.neighbours": False}),
        ("--no_initial_escape_boost", {"world.boost": 0.0, "boost.speed": 0.0}),
        ("--density_target 0.5 --divergence_reward_coef 2", {"world.density_target": 0.5, "world.divergence_coef": 2}),
        ("--lr_schedule constant", {"learner.lr_schedule": "constant"}),
        ("--seed 7", {"run.seed": 7, "evaluation.seed": 7}),
        ("--seed 7 --multi_eval_seed_base 8", {"run.seed": 7, "evaluation.seed": 8}),
        ("--eval_multi_fish 96", {"evaluation.world": {"fish": 96, "steps": 500}}),
        ("--multi_eval_interval 0", {"evaluation.every": 0}),
        ("--eval_multi_fish 1", {"evaluation.every": 0}),
        ("--density_penalty_lock_until 24", {"density.lock_until": 24, "gate.lock_iteration": 24}),
        ("--penalty_gate_lock_iteration 16", {"density.lock_until": 28, "gate.lock_iteration": 16}),
        ("--density_penalty_lock_value 0", {"density.lock_until": 0, "gate.lock_iteration": 28}),
        ("--penalty_gate_success_step_one_ratio 0", {"gate.success_step_one_ratio": None}),
        ("--penalty_gate_success_p10 -1", {"gate.success_p10": None}),
        ("--penalty_gate_success_min_final 0.8", {"gate.success_min_final": 0.8}),  # of ours, by the same prefix
        (
            "--tail_seed_replay_path a.json --tail_seed_prewarm_iterations 12",
            {"deck.stages": "12:a.json|apply=pre_roll", "deck.share": 1.0, "deck.warn_ratio": 0.65},
        ),
        ("--tail_force_reset_steps 224", {"deck.force_reset_steps": 224, "deck.replay_count": 0}),
        (
            "--escape_boost_floor_default 0.8",
            {"boost.phase_floors": "1:0.8,2:0.8,3:0.76,4:0.78,5:0.8,6:0.8,7:0.8", "world.boost": 0.75},
        ),
        ("--curriculum= --num_fish 30 --escape_boost_floor_default 0.8", {"world.fish": 30, "world.boost": 0.8}),
        ("--seed 1 --seed=2", {"run.seed": 2}),
    ],
)
def test_flags_become_options(words: str, options: dict[str, Any]) -> None:
    found = import_flags(words.split()).options
    assert {name: found[name] for name in options} == options


@pytest.mark.parametrize(
    ("words", "told", "sections"),
    [
        (
            "--curriculum= --density_penalty_lock_value 0.1",
            "density_penalty_lock_value 0.1: it has no effect without --curriculum",
            {"gate", "density", "boost", "schedule"},
        ),
        ("--penalty_gate_required_successes 0", "required_successes 0: it has no effect without", {"gate"}),
        ("--multi_eval_interval 0 --penalty_gate_success_p10 50", "success_p10 50: it has no effect", {"gate"}),
        ("--tail_stage_warn_ratio 0.5", "tail_stage_warn_ratio 0.5: it has no effect without a deck", {"deck"}),
        ("--no_initial_escape_boost --escape_boost_speed 0.8", "speed 0.8: it has no effect with --no_initial", set()),
        ("--tail_seed_prewarm_iterations 3", "3: it had no effect without the other of the two", {"deck"}),
        ("--tail_seed_replay_path a --tail_seed_stage_spec 1:b", "a: --tail_seed_stage_spec took its place", set()),
        ("--lr_schedule cosine", "it began anew in every phase", set()),
        ("--obs_sampling random", "every fish learns from its own observation", set()),
        ("--seed 1", "--entropy_coef_schedule 16-24:0.03,25-32:0.02: the entropy bonus", set()),
    ],
)
def test_what_does_not_act_here_is_told(words: str, told: str, sections: set[str]) -> None:
    found = import_flags(words.split())
    assert told in "\n".join(found.notes)
    free = {"deck.replay_count", "deck.force_reset_steps"}
    said = {name.partition(".")[0] for name in found.options.keys() - free}
    assert not said & sections


def test_wrong_flags_are_told_at_once() -> None:
    words = "--n_stesp 3 --num_envs many --penalty_gate_success_luck 1 --seed --predator_pre_roll_steps 20 "
    words += "--n_epochs 0 --eval_multi_fish few --skip_final_eval=1 --curriculum 1:1 x"
    with pytest.raises(ConfigError) as caught:
        import_flags(words.split())
    assert len(caught.value.problems) == 9
    for part in (
        "--n_stesp: not a flag of the earlier trainer (did you mean n_steps?)",
        "--num_envs: 'many' is not int",
        "--penalty_gate_success_luck: not a flag",
        "--seed: no value given",
        "--predator_pre_roll_steps 20: it is part of the world here, 16",
        "--n_epochs: 0 must be at least 1",
        "--eval_multi_fish: 'few' is not a number",
        "--skip_final_eval: takes no value",
        "'x': a value without a flag",
    ):
        assert part in str(caught.value)


def test_what_is_part_of_the_world_may_be_repeated_in_any_spelling() -> None:
    import_flags(["--neighbor_radius", "3", "--escape_jitter_std=0.350", "--predator_pre_roll_angle_jitter", "0.30"])
    with pytest.raises(ConfigError, match="predator_heading_bias 0-90:1: it is part of the world here"):
        import_flags(["--predator_heading_bias", "0-90:1"])


@pytest.mark.parametrize("text", ["", "python train.py", "--seed 'open"])
def test_what_is_no_command_line_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not a command line"):
        import_command(text)


def test_lines_may_be_continued_as_in_a_shell() -> None:
    text = "python experiments/v42/train.py \\\n  --seed 3 \\\r\n --tail_seed_stage_spec '1:a b.json'\n"
    assert import_command(text) == import_flags(["--seed", "3", "--tail_seed_stage_spec", "1:a b.json"])


@given(st.dictionaries(st.sampled_from(["run.name", "deck.stages"]), st.text(st.characters(exclude_categories=["C"]))))
def test_texts_come_back_from_a_preset(options: dict[str, str]) -> None:
    table = tomllib.loads(preset_text("fish", options, ["a # comment\nof two lines"]))
    assert {f"{section}.{key}": value for section, rest in table.items() for key, value in rest.items()} == {
        "world.name": "fish",
        **options,
    }


def test_values_are_written_as_toml_has_them() -> None:
    value = {"a": (1, 2.5), "b": True}
    assert toml_value(value) == "{ a = [1, 2.5], b = true }" and toml_value(None) == '"none"'


def test_the_verb_writes_a_preset_that_fits_the_world(tmp_path: Path, holdfast: Command) -> None:
    told = holdfast("import", "fish-command", str(DATA / "v42.txt"))
    assert told.returncode == 0 and "note: --video_num_fish 48: films are made" in told.stderr
    config, explicit = from_table(tomllib.loads(told.stdout), "stdout")
    check_against_world(config, explicit, spec_of(config))
    assert config == imported("v42")
    written = holdfast("import", "fish-command", str(DATA / "v42.txt"), "--out", "mine.toml")
    assert written.returncode == 0 and not written.stdout
    assert (tmp_path / "mine.toml").read_text() == told.stdout
    checked = holdfast("gate", "check", "mine.toml")
    assert checked.returncode == 1, checked.stderr  # as published: it cannot open


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("--seed", "--seed: no value given"),
        ("--seed 3 --total_iterations 10", "but run.iterations is 10"),
        ("--seed 3 --batch_size 1000", "learner.minibatch = 1000 does not divide"),
        ("--seed 3 --tail_seed_stage_spec 0:a", "stage 1"),
        (None, "cannot be read"),
    ],
)
def test_bad_input_ends_with_status_2(tmp_path: Path, holdfast: Command, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "line.txt").write_text(text)
    done = holdfast("import", "fish-command", "line.txt", "--out", "mine.toml")
    assert done.returncode == 2 and said in done.stderr and not (tmp_path / "mine.toml").exists()


def test_an_unknown_source_is_answered_with_the_nearest(holdfast: Command) -> None:
    done = holdfast("import", "fish-comand", str(DATA / "v42.txt"))
    assert done.returncode == 2 and "no source 'fish-comand' (did you mean fish-command?)" in done.stderr
