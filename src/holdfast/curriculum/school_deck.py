"""The deck of a school in use: dealing at resets, warnings, promotions, and the harvest after evaluations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.config import Config
from holdfast.curriculum.bytype import parse_by_type
from holdfast.curriculum.course import Conditions, Course
from holdfast.curriculum.dealing import Dealer
from holdfast.curriculum.deck_promotion import promote, promotion_due
from holdfast.curriculum.deck_queue import QueuePlan, blocks_of, episode_limit
from holdfast.curriculum.deck_spec import check_files, parse_stages
from holdfast.curriculum.deck_supply import Supply, deal, open_supply
from holdfast.curriculum.deck_warning import Warned, WarningState, watch
from holdfast.curriculum.live import Tell
from holdfast.disk import replace_file
from holdfast.presets import preset_folders
from holdfast.worlds.api import Act, Episodes, World

COPIES = "decks"  # of the run's folder: the files as they were when the run began


def deck_folder(config: Config) -> Path:
    """Where the stages' files are: below the current folder, or beside the presets."""
    stages = parse_stages(config.deck.stages)
    for folder in (Path(), *preset_folders()):
        if all((folder / stage.path).is_file() for stage in stages):
            return folder
    check_files(stages, Path())
    return Path()


def queue_plan(config: Config, course: Course) -> QueuePlan:
    """How far the deck will be dealt, by arithmetic."""
    return QueuePlan(
        blocks=blocks_of(parse_stages(config.deck.stages)),
        schedule=course.schedule,
        rollout_steps=config.rollout.steps,
        episode_steps=episode_limit(config.world.steps, config.deck.force_reset_steps),
        share=config.deck.share,
        phase_reset=config.schedule.phase_reset,
        on_empty=config.deck.on_empty,
    )


class SchoolDeck:
    """What a run's deck has dealt so far, and what it will deal next."""

    def __init__(self, config: Config, course: Course, folder: Path, tell: Tell) -> None:
        self.config, self.course, self.folder, self.tell = config, course, folder, tell
        self.plan = queue_plan(config, course)
        self.dealer = Dealer(self.plan.blocks, config.rollout.lanes, config.deck.share, config.deck.on_empty)
        self.minimum = parse_by_type(config.deck.min_reinjections, "deck.min_reinjections")
        self.warning = WarningState()
        self.supply: Supply | None = None

    def open(self, world: World) -> tuple[str, ...]:
        """Read the files, from the run's own copies once they are there; warnings about them."""
        if not self.in_use:
            return ()
        stages = parse_stages(self.config.deck.stages)
        copies = [f"{number:02d}_{Path(stage.path).name}" for number, stage in enumerate(stages, start=1)]
        own = self.folder / COPIES
        own.mkdir(exist_ok=True)
        for stage, copy in zip(stages, copies, strict=True):
            if not (own / copy).exists():
                replace_file(own / copy, (deck_folder(self.config) / stage.path).read_bytes())
        renamed = [stage._replace(path=copy) for stage, copy in zip(stages, copies, strict=True)]
        self.supply = open_supply(renamed, own, world, self.config.world)
        return self.supply.warnings

    @property
    def in_use(self) -> bool:
        return bool(self.plan.blocks)

    @property
    def type(self) -> str:
        return self.dealer.reading().type if self.in_use else ""

    @property
    def label(self) -> str:
        return self.dealer.reading().label if self.in_use else ""

    def deal(self, world: World, lanes: np.ndarray) -> None:
        """Put situations into lanes that have just begun an episode."""
        assert self.supply is not None  # opened with the run
        draws = self.dealer.draw(lanes, world.clock.lane_key, world.clock.episode_index)
        if draws:
            deal(world, self.supply, *zip(*draws, strict=True))

    def after_iteration(self, iteration: int) -> dict[str, Any]:
        """Warn and promote where due; the state of the queue for the trace."""
        if not self.in_use:
            return {"deals": 0, "ratio": 0.0}
        reading = self.dealer.reading()
        self.warning, event = watch(self.warning, iteration, reading, self.config.deck)
        if event is not None:
            self.tell("deck_warning", **event._asdict())
        self._promote(iteration)
        return {
            "deals": reading.consumed,
            "ratio": reading.ratio,
            "block": reading.label,
            "entered": self.dealer.entered(),
            "type": reading.type,
            "progress": reading.progress,
            "remaining": reading.remaining,
            "remaining_by_type": reading.remaining_by_type,
            "reinjections": reading.reinjections,
            "reinjections_legacy": reading.reinjections_legacy,
            "warning": self.warning.active is not None,
        }

    def _promote(self, iteration: int) -> None:
        mean = self.dealer.consumed // self.dealer.lanes
        kind = promotion_due(self.plan, self.dealer.blocks, iteration, mean, self.minimum)
        if kind is not None:
            self.dealer.blocks, promotion = promote(self.dealer.blocks, self.dealer.furthest, kind)
            self.tell("promotion", **promotion._asdict())

    def after_evaluation(
        self,
        iteration: int,
        episodes: Episodes,
        settings: Any,
        now: Conditions | None,
        make_act: Callable[[World], Act],
    ) -> None:
        """Harvest, if the run does."""

    def facts(self) -> dict[str, Any]:
        active = self.warning.active
        return {
            **self.dealer.facts(),
            "low_streak": self.warning.low_streak,
            "warning": None if active is None else list(active),
        }

    def restore(self, facts: Mapping[str, Any]) -> None:
        self.dealer.restore(facts)
        active = facts["warning"]
        self.warning = WarningState(facts["low_streak"], None if active is None else Warned(*active))
