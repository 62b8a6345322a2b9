"""The deck of a school in use: dealing at resets, warnings, promotions, and the harvest after evaluations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.config.presets import preset_folders
from holdfast.config.sections import Config
from holdfast.curriculum.bytype import parse_by_type
from holdfast.curriculum.contract import Tell
from holdfast.curriculum.dealing import Dealer
from holdfast.curriculum.deck_files import Deck, Source, read_deck
from holdfast.curriculum.deck_promotion import promote, promotion_due
from holdfast.curriculum.deck_queue import QueuePlan, blocks_of, episode_limit
from holdfast.curriculum.deck_spec import OWN_HARVEST, check_files, parse_stages
from holdfast.curriculum.deck_supply import Loaded, Supply, deal, open_supply, scaled_deck
from holdfast.curriculum.deck_warning import Warned, WarningState, watch
from holdfast.games.fish.course import Course
from holdfast.games.fish.harvest import HarvestRule, harvest_keys, harvest_path, harvest_run
from holdfast.games.fish.world.fish import Fish
from holdfast.games.fish.world.resized import with_room
from holdfast.kit.disk import replace_file
from holdfast.worlds.api import Act, Episodes, Situation, World

COPIES = "decks"  # of the run's folder: the files as they were when the run began


def deck_folder(config: Config) -> Path:
    """Where the stages' files are: below the current folder, or beside the presets."""
    stages = parse_stages(config.deck.stages)
    for folder in (Path(), *preset_folders()):
        if all(stage.path == OWN_HARVEST or (folder / stage.path).is_file() for stage in stages):
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
        self.harvested: list[int] = []  # iterations whose harvest kept something

    def open(self, world: World) -> tuple[str, ...]:
        """Read the files, from the run's own copies once they are there; warnings about them."""
        if not self.in_use:
            return ()
        stages = parse_stages(self.config.deck.stages)
        own = self.folder / COPIES
        own.mkdir(exist_ok=True)
        copied = {}
        for number, stage in enumerate(stages, start=1):
            if stage.path != OWN_HARVEST:
                copied[number] = stage._replace(path=f"{number:02d}_{Path(stage.path).name}")
                if not (own / copied[number].path).exists():
                    replace_file(own / copied[number].path, (deck_folder(self.config) / stage.path).read_bytes())
        files = open_supply(list(copied.values()), own, world, self.config.world)
        loaded = iter(files.stages)
        empty = Deck(own, world.spec.name)
        self.supply = Supply(
            tuple(next(loaded) if number in copied else Loaded(stage, empty) for number, stage in enumerate(stages, 1)),
            files.warnings,
        )
        return files.warnings

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
        ready = [len(loaded.deck) > 0 for loaded in self.supply.stages]
        draws = self.dealer.draw(lanes, world.clock.lane_key, world.clock.episode_index, ready)
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
        self, iteration: int, episodes: Episodes, settings: Any, make_act: Callable[[World], Act], policy: str
    ) -> None:
        """Harvest, if the run does."""
        chosen = self.config.harvest
        if not chosen.enabled:
            return
        rule = HarvestRule(chosen.episodes, chosen.worst)
        keys = harvest_keys(self.config.evaluation.seed, iteration, rule.episodes)
        if chosen.allow_eval:
            keys = episodes["key"]
        source = Source(self.folder.name, iteration, policy)
        path = harvest_run(self.folder, settings, make_act, keys, rule, source, self.config.rollout.threads)
        kept = 0 if path is None else len(read_deck(path))
        self.tell("harvest", situations=kept, file="" if path is None else f"{COPIES}/{path.name}",
                  from_evaluation=chosen.allow_eval)  # fmt: skip
        if path is not None:
            self.harvested.append(iteration)
            self._take_harvest()

    def _take_harvest(self) -> None:
        """Let the stages that deal the run's own harvest deal all of it."""
        if self.supply is None or not self.harvested:
            return
        decks = [read_deck(harvest_path(self.folder, iteration)) for iteration in self.harvested]
        room = self.config.world.fish
        schools = [with_room(deck.situations, room) for deck in decks if deck.situations is not None]
        whole = replace(decks[-1], situations=Situation.joined(schools))
        world = Fish(self.config.world, 1, seed=0)
        self.supply = self.supply._replace(
            stages=tuple(
                Loaded(stage, scaled_deck(whole, world, stage.scale_speed))
                if stage.path == OWN_HARVEST
                else Loaded(stage, deck)
                for stage, deck in self.supply.stages
            )
        )

    def facts(self) -> dict[str, Any]:
        active = self.warning.active
        return {
            **self.dealer.facts(),
            "harvested": list(self.harvested),
            "low_streak": self.warning.low_streak,
            "warning": None if active is None else list(active),
        }

    def restore(self, facts: Mapping[str, Any]) -> None:
        self.dealer.restore(facts)
        self.harvested = list(facts["harvested"])
        self._take_harvest()
        active = facts["warning"]
        self.warning = WarningState(facts["low_streak"], None if active is None else Warned(*active))
