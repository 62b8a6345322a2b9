"""Reading the command lines of the earlier fish project, so that its published runs can be checked and repeated.

What that project took for granted is written out: its defaults, situations applied before the pre-roll, resets at
every phase. Flags without a counterpart are kept by name, so that nothing is lost silently.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from holdfast.config.options import from_text, kind_name
from holdfast.curriculum.deck_spec import DeckSettings, parse_stages, print_stages
from holdfast.curriculum.gate_changes import option_name, read_by_type, read_value
from holdfast.curriculum.gate_settings import GateSettings, changed_gate
from holdfast.curriculum.schedule import ScheduleSettings
from holdfast.games.fish.boost import BoostSettings
from holdfast.games.fish.density import DensitySettings
from holdfast.kit.errors import ConfigError, nearest

GATE_PREFIX = "penalty_gate_"
GATE_DEFAULTS = GateSettings(enabled=True, success_step_one=7, median_fallback="p10")
DECK_DEFAULTS = DeckSettings(share=1.0)
DENSITY_DEFAULTS = DensitySettings(
    targets=(0.0, 0.02, 0.04, 0.05, 0.055, 0.06, 0.065),
    ramp_phases=(6, 7),
    plateaus=(0, 0, 6, 6, 4, 0, 0),
    lock_until=28,
)
BOOST_DEFAULTS = BoostSettings(
    phase_speeds="3:0.76,4:0.78,5:0.82,6:0.82,7:0.82",
    phase_floors="3:0.76,4:0.78,5:0.8,6:0.8,7:0.8",
    density_caps="0.05:0.8",
    in_evaluations="current",
)
SWITCHES = ("skip_final_eval",)
WITHOUT_COUNTERPART = ("video_num_fish", *SWITCHES)


class _Target(NamedTuple):
    """Where the value of a flag goes."""

    name: str  # dotted
    kind: Any


FLAGS = {
    "run_name": _Target("run.name", str),
    "seed": _Target("run.seed", int),
    "total_iterations": _Target("run.iterations", int),
    "num_envs": _Target("rollout.lanes", int),
    "n_steps": _Target("rollout.steps", int),
    "batch_size": _Target("learner.minibatch", int),
    "n_epochs": _Target("learner.epochs", int),
    "learning_rate": _Target("learner.lr", float),
    "multi_eval_interval": _Target("evaluation.every", int),
    "multi_eval_probe_episodes": _Target("evaluation.episodes", int),
    "eval_multi_fish": _Target("evaluation.world.fish", int),
    "eval_multi_episodes": _Target("evaluation.final_episodes", int),
    "multi_eval_seed_base": _Target("evaluation.seed", int),
    "curriculum": _Target("schedule.phases", str),
    "density_penalty_phase_targets": _Target("density.targets", tuple[float, ...]),
    "density_penalty_lock_value": _Target("density.lock_value", float),
    "density_penalty_lock_until": _Target("density.lock_until", int),
    "tail_seed_stage_spec": _Target("deck.stages", str),
    "tail_force_reset_steps": _Target("deck.force_reset_steps", int),
    "tail_stage_warn_ratio": _Target("deck.warn_ratio", float),
    "tail_stage_warn_patience": _Target("deck.warn_patience", int),
    "tail_replay_count": _Target("deck.replay_count", int),
}


@dataclass(frozen=True)
class Imported:
    """An earlier command line in today's terms."""

    gate: GateSettings
    schedule: ScheduleSettings
    density: DensitySettings
    boost: BoostSettings
    deck: DeckSettings
    options: dict[str, Any]  # all others, by dotted name
    kept: dict[str, str]  # flags that mean nothing here, as they were written


def import_command(line: str) -> Imported:
    """The settings behind a command line; ConfigError lists every flag that cannot be read."""
    words = shlex.split(line)
    first = next((place for place, word in enumerate(words) if word.startswith("--")), len(words))
    return import_flags(words[first:])


def import_flags(words: list[str]) -> Imported:
    texts, problems = _split(words)
    gate: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for flag, text in texts.items():
        try:
            if flag.startswith(GATE_PREFIX):
                gate |= _gate_values(flag, text)
            elif flag in FLAGS:
                values[FLAGS[flag].name] = _value(FLAGS[flag], text)
            elif flag not in WITHOUT_COUNTERPART:
                problems.append(f"--{flag}: not a flag of the earlier project{nearest(flag, list(FLAGS))}")
        except ValueError as wrong:
            problems.append(f"--{flag}: {wrong}")
    if problems:
        raise ConfigError(problems)
    return _assembled(gate, values, {flag: text for flag, text in texts.items() if flag in WITHOUT_COUNTERPART})


def _split(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Flags with their texts, and what could not be taken apart."""
    texts: dict[str, str] = {}
    problems: list[str] = []
    waiting = list(words)
    while waiting:
        flag, equals, text = waiting.pop(0).partition("=")
        name = flag.removeprefix("--")
        if not flag.startswith("--"):
            problems.append(f"{flag!r}: a value without a flag")
        elif not equals and name not in SWITCHES and (not waiting or waiting[0].startswith("--")):
            problems.append(f"{flag}: no value given")
        else:
            texts[name] = text if equals or name in SWITCHES else waiting.pop(0)
    return texts, problems


def _gate_values(flag: str, text: str) -> dict[str, Any]:
    """By their names inside the gate."""
    name, by_type = option_name(flag.removeprefix(GATE_PREFIX))
    if not hasattr(GATE_DEFAULTS, name):
        raise ValueError(f"the gate has no option {name}")
    if by_type:
        return dict(read_by_type(name, text, f"--{flag}"))
    value = read_value(name, text)
    # The earlier project wrote 0 for a share that is not checked.
    return {name: None if name == "success_step_one_ratio" and value == 0 else value}


def _value(target: _Target, text: str) -> Any:
    try:
        return from_text(text, target.kind)
    except ValueError:
        raise ValueError(f"{text!r} is not {kind_name(target.kind)}") from None


def _assembled(gate: dict[str, Any], values: dict[str, Any], kept: dict[str, str]) -> Imported:
    def section(name: str) -> dict[str, Any]:
        prefix = f"{name}."
        return {key.removeprefix(prefix): values.pop(key) for key in list(values) if key.startswith(prefix)}

    density = replace(DENSITY_DEFAULTS, **section("density"))
    deck = replace(DECK_DEFAULTS, **section("deck"))
    return Imported(
        gate=changed_gate(GATE_DEFAULTS, {"lock_iteration": density.lock_until, **gate}),
        schedule=ScheduleSettings(phase_reset="always", **section("schedule")),
        density=density,
        boost=BOOST_DEFAULTS,
        deck=replace(deck, stages=_before_the_roll(deck.stages)),
        options=values,
        kept=kept,
    )


def _before_the_roll(text: str) -> str:
    """The stages with their situations applied before the pre-roll, as they were then."""
    return print_stages(stage._replace(apply="pre_roll") for stage in parse_stages(text, "--tail_seed_stage_spec"))
