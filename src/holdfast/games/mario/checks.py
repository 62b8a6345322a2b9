"""What cannot work, or does nothing, in the curriculum of a game of stages; told before a run begins."""

from __future__ import annotations

from holdfast.config.reading import with_options
from holdfast.config.sections import Config
from holdfast.curriculum.adaptive import CHANNELS
from holdfast.games.mario.bootstrap import BootstrapRules
from holdfast.games.mario.series_options import SeriesConfig
from holdfast.games.mario.world.actions import read_actions
from holdfast.games.mario.world.errors import ActionError
from holdfast.games.mario.world.script import forward_buttons
from holdfast.games.mario.world.stages import STAGES
from holdfast.kit.errors import ConfigError

BOUNDS = ("min", "max")


def stage_problems(config: Config, explicit: frozenset[str]) -> list[str]:
    problems = (
        config.section(BootstrapRules).problems() + _forward_problems(config) + _adaptive_problems(config, explicit)
    )
    problems += _series_problems(config)
    if config.starts.share > 0.0 and config.world.backend != "console":
        problems.append(
            f"starts.share = {config.starts.share:g} begins episodes at kept moments, which world.backend = "
            f"{config.world.backend} cannot load: set it to 0, or take the console"
        )
    return problems


def _series_problems(config: Config) -> list[str]:
    series = config.section(SeriesConfig)
    problems: list[str] = []
    for stage, options in series.stages.items():
        try:
            with_options(config, options, f"series.stages, stage {stage}")
        except ConfigError as error:
            problems += error.problems
    unknown = [stage for stage in series.stages if stage not in STAGES]
    problems += [f"series.stages: there is no stage {stage}, only 1-1 to 8-4" for stage in unknown]
    if series.enabled and config.evaluation.every == 0:
        problems.append(
            "series.enabled = true keeps the policy that did best in evaluations: evaluation.every must be 1 or more"
        )
    return problems


def _forward_problems(config: Config) -> list[str]:
    """Rules that force lanes forward need a forward action."""
    world = config.world
    if not config.section(BootstrapRules).on or world.probe_steps:
        return []
    try:
        forward_buttons(world.forward_action, read_actions(world.actions, world.auto_start))
    except ActionError as error:
        return [f"bootstrap: {error}"]
    return []


def _adaptive_problems(config: Config, explicit: frozenset[str]) -> list[str]:
    settings = config.adaptive
    channels = [settings.channel(name, 1.0) for name in CHANNELS]
    on = {channel.name for channel in channels if channel.on}
    problems = [problem for channel in channels for problem in channel.problems()]
    if "distance" in on and config.world.distance_anneal > 0:
        problems.append("adaptive.distance.min and world.distance_anneal both set the distance weight: choose one")
    if "entropy" in on and config.learner.entropy_final is not None:
        problems.append("adaptive.entropy.min and learner.entropy_final both set the entropy's reward: choose one")
    bounded = {f"adaptive.{name}.{bound}" for name in CHANNELS for bound in BOUNDS}
    for key in sorted(key for key in explicit - bounded if key.startswith("adaptive.")):
        name = key.removeprefix("adaptive.").partition(".")[0]
        if not on or (name in CHANNELS and name not in on):
            which = name if name in CHANNELS else "distance"
            problems.append(f"{key} has no effect without adaptive.{which}.min and adaptive.{which}.max: remove it")
    return problems
