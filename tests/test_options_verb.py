"""`holdfast options` explains every option, and names of other libraries are answered with ours."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from holdfast.cli.command import VERBS as VERBS_OF_OURS
from holdfast.cli.command import make_parser
from holdfast.config.catalogue import Entry, catalogue, dependents, example, set_by, settings_of_presets
from holdfast.config.foreign_names import OPTIONS, OTHERWISE, VERBS, environment_hint, hint
from holdfast.config.options import from_text, is_table, option, options_of, out_of_bounds
from holdfast.config.presets import presets
from holdfast.config.reading import load_config
from holdfast.kit.errors import ConfigError, UnknownName
from holdfast.worlds.ours import OURS
from tests.conftest import Command

NAMES = {entry.name for entry in catalogue()}


def entry(name: str, world: str = "") -> Entry:
    return next(one for one in catalogue() if (one.name, one.world) == (name, world))


@pytest.mark.parametrize("one", catalogue(), ids=lambda one: f"{one.name}-{one.world}")
def test_every_option_has_an_example_that_is_read(one: Entry) -> None:
    text = example(one)
    assert text, one.name
    if not is_table(one.info.kind):
        assert out_of_bounds(from_text(text, one.info.kind), one.info) is None


def test_who_depends_on_an_option_is_known_both_ways() -> None:
    governed = [one.name for one in dependents(entry("learner.replay"))]
    assert "replay.alpha" in governed and entry("replay.alpha").info.only == ("learner.replay", (True,))
    for one in catalogue():
        if one.info.only is not None and one.info.only[0] not in ("actions", "observations"):
            assert one.info.only[0] in NAMES, f"{one.name} depends on {one.info.only[0]}, which is no option"


def test_presets_that_set_an_option_are_told_with_those_of_their_bases() -> None:
    assert settings_of_presets().keys() == presets().keys()
    assert set_by(entry("duel.warmup")) == {"pursuit-z1": True, "pursuit-z2": True}
    assert "pursuit-w" in set_by(entry("world.filter", "pursuit"))


def test_an_option_a_section_a_word_and_all_of_it_as_json(holdfast: Command) -> None:
    one = holdfast("options", "world.reward.capture")
    assert one.returncode == 0 and "default      100" in one.stdout and "--world.reward.capture" in one.stdout
    section = holdfast("options", "replay", "--json")
    assert [found["name"] for found in json.loads(section.stdout)] == [n for n in _ordered() if n.startswith("replay.")]
    assert "learner.gamma" in holdfast("options", "discount").stdout
    assert "world.slip" in holdfast("options", "template").stdout
    (found,) = json.loads(holdfast("options", "learner.gamma", "--json").stdout)
    assert (found["low"], found["high"], found["type"]) == (0.0, 1.0, "float") and "fish" not in found["presets"]
    assert "rollout" in holdfast("options").stdout


def _ordered() -> list[str]:
    return [one.name for one in catalogue()]


def test_an_unknown_word_is_answered_with_the_nearest_and_ends_with_2(holdfast: Command) -> None:
    for word, answer in (("learner.gama", "learner.gamma"), ("n_envs", "--rollout.lanes"), ("lerner", "learner")):
        done = holdfast("options", word)
        assert done.returncode == 2 and answer in done.stderr and not done.stdout


PLAUSIBLE = {
    "--lr": "--learner.lr",
    "--learning_rate": "--learner.lr",
    "--learning-rate": "--learner.lr",
    "--learner.learning_rate": "--learner.lr",
    "--device": "networks run on the CPU",
    "--total-timesteps": "--total-steps",
    "--total_timesteps": "--total-steps",
    "--n_envs": "--rollout.lanes",
    "--num_envs": "--rollout.lanes",
    "--ent_coef": "--learner.entropy",
    "--seed": "--run.seed",
    "--n_steps": "--rollout.steps",
    "--batch_size": "--learner.minibatch",
    "--clip_range": "--learner.clip",
    "--gae_lambda": "--learner.gae_lambda",
    "--n_epochs": "--learner.epochs",
    "--vf_coef": "--learner.value_coef",
    "--max_grad_norm": "--learner.max_grad_norm",
    "--gamma": "--learner.gamma",
    "--env": "the environment comes first",
    "--policy_kwargs": "--policy.hidden",
    "--net_arch": "--policy.hidden",
    "--hidden_sizes": "--policy.hidden",
    "--use_lstm": "--policy.core",
    "--num_workers": "world.backend = workers",
    "--eval_freq": "--evaluation.every",
    "--rollout.n_envs": "--rollout.lanes",
    "--run.total_timesteps": "--total-steps",
    "--tensorboard_log": "--run.tensorboard",
    "--cuda": "networks run on the CPU",
}


@pytest.mark.parametrize("word", PLAUSIBLE)
def test_a_name_of_another_library_is_answered_with_ours(word: str) -> None:
    for words in ([word, "3"], [f"{word}=3"]):
        with pytest.raises(ConfigError) as caught:
            load_config("gym:CartPole-v1", words)
        assert PLAUSIBLE[word] in caught.value.problems[0], caught.value.problems


def test_every_answer_is_an_option_that_exists() -> None:
    for ours, names in OPTIONS.items():
        assert ours in NAMES, ours
        assert all(ours in hint(name) for name in names if ours.rpartition(".")[2] != name), ours
    every = [name for names in (*OPTIONS.values(), *OTHERWISE.values()) for name in names]
    assert len(every) == len(set(every)), "one name, one answer"
    assert hint("learner.nothing_like_it") == "" and hint("warmth") == ""


def test_an_environment_without_its_prefix_and_verbs_of_others_are_answered(holdfast: Command) -> None:
    for target in ("CartPole-v1", "cartpole", "ALE/Pong-v5", "My-Own-v0"):
        wanted = {"cartpole": "CartPole-v"}.get(target, target)
        with pytest.raises(UnknownName, match=f"did you mean gym:{wanted}"):
            load_config(target)
    assert environment_hint("fihs") == ""
    for verb, meant in (("learn", "train"), ("enjoy", "play"), ("eval", "evaluate"), ("trian", "train")):
        done = holdfast(verb, "template")
        assert done.returncode == 2 and f"did you mean {meant}?" in done.stderr
    assert set(VERBS.values()) <= VERBS_OF_OURS.keys()


def test_lists_in_brackets_and_numbers_with_exponents_are_read() -> None:
    config, _ = load_config("gym:CartPole-v1", ["--policy.hidden", "[256,256]", "--learner.minibatch", "1e2", *PLAIN])
    assert config.policy.hidden == (256, 256) and config.learner.minibatch == 100
    assert load_config("gym:CartPole-v1", ["--policy.separate", "False"])[0].policy.separate is False
    with pytest.raises(ConfigError, match=r"learner\.minibatch = '1.5' is not an int"):
        load_config("gym:CartPole-v1", ["--learner.minibatch", "1.5"])


PLAIN = ["--rollout.lanes", "10", "--rollout.steps", "10"]


def test_total_steps_is_the_number_of_iterations_it_takes(holdfast: Command) -> None:
    fish = holdfast("train", "fish", "--total-steps", "16384e3", "--gate.enabled", "false", "--dry-run")
    assert "run.iterations = 100: 64 lanes x 64 steps x 40 agents = 163,840 agent-steps each, 16,384,000 in all\n" in (
        fish.stdout
    )
    done = holdfast("train", "template", "--total-steps", "1000", "--rollout.lanes", "16", "--rollout.steps", "8",
                    "--learner.minibatch", "64", "--dry-run")  # fmt: skip
    assert "run.iterations = 8: 16 lanes x 8 steps x 1 agent = 128 agent-steps each, 1,024 in all, at least 1,000" in (
        done.stdout
    )
    both = holdfast("train", "template", "--total-steps", "1000", "--run.iterations", "3", "--dry-run")
    assert both.returncode == 2 and "use one of the two" in both.stderr
    for wrong in ("0", "-4", "many"):
        refused = holdfast("train", "template", f"--total-steps={wrong}", "--dry-run")
        assert refused.returncode == 2 and "--total-steps" in refused.stderr


def test_the_first_page_is_short_and_every_text_stands_alone() -> None:
    ours = [one for one in catalogue() if one.world in ("", *OURS, "gym:ID")]
    assert len(ours) <= 380 and len([one for one in ours if not one.info.expert]) <= 60
    vague = re.compile(r"\b(so many|whoever|nobody|somebody|that weight|the same|how strongly|undecided|sights?)\b")
    for one in ours:
        text = one.info.meaning
        assert text[0].isupper() or text[0] in '"0123456789', f"{one.name}: {text}"
        assert text.endswith((".", "…")) and len(text) >= 20 and not vague.search(text), f"{one.name}: {text}"


def test_a_class_may_say_that_all_its_options_are_for_experts() -> None:
    @dataclass(frozen=True)
    class Mine:
        expert: ClassVar = True
        tables: ClassVar = ("motor",)
        motor_delay_s: float = option(0.1, "Delay of the motor.")
        mass: float = option(1.0, "Mass.", expert=False, unit="kg")

    delay, mass = options_of(Mine)
    assert (delay.name, delay.attribute, delay.expert, delay.unit) == ("motor.delay_s", "motor_delay_s", True, "s")
    assert (mass.name, mass.expert, mass.unit) == ("mass", False, "kg")


def test_help_of_every_verb_has_its_options_and_an_example_that_is_understood(
    holdfast: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = make_parser()
    for name, verb in VERBS_OF_OURS.items():
        words = shlex.split(verb.example.partition(" > ")[0])
        if words[0] == "doctor" and words[1] in ("nes", "mario", "backends"):
            words = [name, *(words[1:] if name == "doctor-game" else words[2:])]
        assert parser.parse_known_args(words)[0].verb == name, verb.example
        with pytest.raises(SystemExit, match="0"):
            parser.parse_args([name, "--help"])
        assert f"holdfast {verb.example}" in capsys.readouterr().out, name
    assert "--section.key value" in holdfast("train", "--help").stdout


def completed(script: Path, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    typed = " ".join(f"'{word}'" for word in words)
    asked = f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _holdfast; printf '%s\\n' ${{COMPREPLY[@]}}"
    line = f"source {script}; {asked}"
    done = subprocess.run(["bash", "-c", line], cwd=script.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_shell_completes_verbs_presets_options_and_values(tmp_path: Path, holdfast: Command) -> None:
    script = tmp_path / "holdfast.bash"
    script.write_text(holdfast("completion", "bash").stdout)
    assert completed(script, "holdfast", "tra") == ["train"]
    assert {"fish", "fish-v42", "fish-hunt"} <= set(completed(script, "holdfast", "train", "fi"))
    assert completed(script, "holdfast", "train", "fish", "--learner.lr") == [
        "--learner.lr",
        "--learner.lr_restart",
        "--learner.lr_schedule",
    ]
    assert completed(script, "holdfast", "train", "fish", "--learner.lr_schedule", "c") == ["constant", "cosine"]
    assert completed(script, "holdfast", "evaluate", "first", "--ep") == ["--episodes"]
    assert holdfast("completion", "zsh").stdout.startswith("autoload -U +X bashcompinit")
    fish = holdfast("completion", "fish").stdout
    assert "-a train -d" in fish and "-l learner.lr_schedule -x -a 'constant linear cosine'" in fish
    assert holdfast("completion", "tcsh").returncode == 2
