"""The rehearsal of a game of stages: short episodes that begin with standing still, so that start states are dealt and
every rule that waits for a run without progress fires within seconds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from holdfast.config.sections import Config
from holdfast.curriculum.adaptive import CHANNELS
from holdfast.games.mario.bootstrap import BootstrapRules
from holdfast.games.mario.world.actions import NOOP, read_actions
from holdfast.run import unprepared
from holdfast.runs.folder import RunFolder
from holdfast.runs.metrics import read_lines
from holdfast.runs.rehearse import STEPS, Company, Feature

EPISODE_STEPS = 24
STILL_STEPS = STEPS  # one iteration without any ground
FORCED_STEPS = 4
RULES = ("auto", "adaptive", "secondary")


def stage_company() -> Company:
    return Company(shrink, unprepared, stage_features)


def shrink(whole: Config, mini: Config) -> Config:
    """Rules fire as early as they can; most episodes begin along the level where any do."""
    world = replace(
        mini.world,
        max_steps=min(mini.world.max_steps, EPISODE_STEPS),
        forward_steps=min(mini.world.forward_steps, FORCED_STEPS),
        script=_script(mini),
    )
    starts = replace(mini.starts, share=0.9) if mini.starts.share > 0.0 else mini.starts
    return replace(mini, world=world, starts=starts).with_section(_early(mini.section(BootstrapRules)))


def _script(mini: Config) -> str:
    """The run's own script, after standing still where a rule waits for that."""
    still = waits(mini) and 0 in read_actions(mini.world.actions, mini.world.auto_start)
    return ",".join(part for part in (f"{NOOP}:{STILL_STEPS}" if still else "", mini.world.script) if part)


def waits(config: Config) -> bool:
    return config.section(BootstrapRules).on or bool(_adapts(config))


def _adapts(config: Config) -> list[str]:
    return [name for name in CHANNELS if config.adaptive.channel(name, 1.0).on]


def _early(rules: BootstrapRules) -> BootstrapRules:
    changes: dict[str, Any] = {}
    for rule, when in zip(RULES, ("auto_threshold", "adaptive_logs", "secondary_threshold"), strict=True):
        if getattr(rules, when) > 0:
            changes |= {when: 1, f"{rule}_steps": FORCED_STEPS}
    return replace(rules, **changes, secondary_patience=1)


def stage_features(mini: Config, run: RunFolder) -> list[Feature]:
    lines, events = read_lines(run.folder / "metrics.jsonl"), read_lines(run.folder / "events.jsonl")
    found = []
    if mini.starts.share > 0.0:
        dealt = int(lines[-1]["starts.dealt"])
        found.append(Feature("start states", dealt > 0, f"{dealt} episodes began along the level"))
    if mini.world.script or mini.world.forward_steps:
        forced = max(line["learner.player.forced_share"] for line in lines)
        found.append(Feature("forced steps", forced > 0.0, f"up to {forced:.0%} of an iteration"))
    orders = [event["rule"] for event in events if event["event"] == "bootstrap"]
    for rule, steps in ((rule, getattr(mini.section(BootstrapRules), f"{rule}_steps")) for rule in RULES):
        if steps:
            found.append(Feature(f"bootstrap {rule}", rule in orders, f"ordered {orders.count(rule)} times"))
    changes = [event["name"] for event in events if event["event"] == "adapted"]
    return found + [
        Feature(f"adaptive {name}", name in changes, f"moved {changes.count(name)} times") for name in _adapts(mini)
    ]
