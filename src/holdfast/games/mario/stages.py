"""The curriculum of a game of stages, as the training loop uses it: where episodes begin, what adapts to progress, and
who is forced forward when there is none.

`starts.py`, `adaptive.py` and `bootstrap.py` decide; here is only what is remembered between two iterations, and which
arrays of the world it reaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.config.sections import Config
from holdfast.curriculum.adaptive import Adaptive, adapted, make_adaptive, positive_share
from holdfast.curriculum.contract import Curriculum, Evaluated, Numbers, Plan, Played
from holdfast.curriculum.deck_files import Source, write_deck
from holdfast.curriculum.starts import REACH_PX, Starts
from holdfast.games.mario.backward import Along, Backward
from holdfast.games.mario.bootstrap import BootstrapRules, BootstrapState, Log, after_log
from holdfast.games.mario.exploring import Explorer
from holdfast.games.mario.imitation import Imitation
from holdfast.games.mario.world import play
from holdfast.games.mario.world.mario import Mario
from holdfast.kit.rng import numpy_generator
from holdfast.learner.schedules import Pace
from holdfast.rollout.seat import below
from holdfast.state import State
from holdfast.worlds.api import Episodes, Situation, World

if TYPE_CHECKING:
    from holdfast.run import Run

SCRATCH_SEED = 0x5EED
DECK = "decks/starts.npz"  # what is left of the moments at the end of a run


def adaptive_of(config: Config) -> Adaptive:
    starts = {"distance": config.world.distance_weight, "entropy": config.learner.entropy, "lr": 1.0}
    channels = [config.adaptive.channel(name, start) for name, start in starts.items()]
    return make_adaptive(channels, config.adaptive.window)


class StageCurriculum(Curriculum):
    """Start states, adaptive values and bootstrap of one run."""

    def __init__(self, run: Run, state: State) -> None:
        self.config, self.folder, self.tell = run.config, run.folder.folder, run.decision
        config = run.config
        kind = Along if config.starts.along else Backward if config.starts.backward else Starts
        self.starts: Starts = kind(config.starts, config.rollout.lanes)
        self.deal = self._deal if config.starts.share > 0.0 else None
        self.adaptive = adaptive_of(config)
        self.adapts = {channel.name for channel in self.adaptive.channels if channel.on}
        self.bootstrap = BootstrapState()
        self.ground = np.zeros(config.rollout.lanes, np.int64)  # of each lane, when it was last looked at
        self.best_x = 0
        self.scheduled_lr = 0.0  # of the last update, before it was scaled
        self._world: Mario | None = None
        self.imitation: Imitation | None = None
        if config.starts.imitate > 0.0:
            backward = self.starts if isinstance(self.starts, Backward) and config.starts.backward else None
            self.imitation = Imitation(state.learners["player"], config.starts.imitate, backward)
        self._take(state.world)

    @property
    def world(self) -> Mario:
        assert self._world is not None  # opened with the run
        return self._world

    def _take(self, world: World) -> None:
        assert isinstance(world, Mario)
        self._world = world
        if len(self.ground) != world.lanes or bool((self.ground > world.ground_px()).any()):  # lanes began anew
            self.ground, self.starts.begun = world.ground_px(), [None] * world.lanes

    # --- before and in an iteration ----------------------------------------------------------------------------------

    def plan(self, run: Run) -> Plan:
        self._prepare(run.state.world, run.state.counts.iteration + 1)
        plan = super().plan(run)
        return plan._replace(deal=self.deal, paces={role: self._paced(pace) for role, pace in plan.paces.items()})

    def _prepare(self, world: World, iteration: int) -> None:
        """Keep the lanes as they stand, and set what they are paid."""
        self._take(world)
        if self.config.starts.explore and iteration == 1:
            self._explore()
        if self.deal is not None and iteration > 1:
            self.starts.keep(self.world.standing(), world.of_episode(world.save(world.chosen(None))))
        if self.imitation is not None:
            self.imitation.at((iteration - 1) / self.config.run.iterations)
        if "distance" in self.adapts:
            self.world.state.distance_weight[:] = self.adaptive.value("distance")

    def _explore(self) -> None:
        """Fill the bins with moments on ways through the stage, before a policy has seen it."""
        config, settings = self.config, replace(self.config.world, script="", forward_steps=0, sticky=0.0)
        scratch = Mario(settings, config.rollout.lanes, config.run.seed + SCRATCH_SEED, self.world.threads)
        explorer = Explorer(scratch, numpy_generator(config.run.seed, "explore"), REACH_PX)
        found = explorer.go(config.starts.explore)
        way = explorer.way() if found.ends and (isinstance(self.starts, Backward) or self.imitation is not None) else []
        if self.imitation is not None and way:
            self.imitation.take(way)
        if isinstance(self.starts, Backward) and way:
            self.starts.follow([(one.place.room, one.place.x, one.place.rows) for one in way])
        else:
            for place in explorer.on_the_way():
                self.starts.seed(*place)
        furthest = max(cell.place[:2] for cell in found.cells)
        facts = {"steps": found.steps, "cells": len(found.cells), "ways_to_the_end": len(found.ends)}
        self.tell("explored", **facts, furthest_x=furthest[1], moments=len(self.starts.moments))

    def _deal(self, world: World, lanes: np.ndarray) -> None:
        """What came of the ended episodes is noted before their lanes may begin elsewhere."""
        for lane, (cleared, room, room_x, maze) in zip(lanes.tolist(), self.world.came_to(lanes).tolist(), strict=True):
            self.starts.ended(lane, bool(cleared), room, room_x, bool(maze))
        draws = self.starts.draw(lanes, world.clock.lane_key, world.clock.episode_index)
        if draws:
            situations = [Situation(world.spec.name, world.spec.version, moment.rows) for _, moment in draws]
            world.begin_from(np.array([lane for lane, _ in draws]), Situation.joined(situations))

    def _paced(self, pace: Pace) -> Pace:
        self.scheduled_lr = pace.lr
        if "entropy" in self.adapts:
            pace = pace._replace(entropy=self.adaptive.value("entropy"))
        return pace._replace(lr=pace.lr * self.adaptive.value("lr")) if "lr" in self.adapts else pace

    # --- after an iteration ------------------------------------------------------------------------------------------

    def observe(self, run: Run, played: Sequence[Played], row: Numbers) -> Numbers:
        log, guessed = self._look(run.state.counts.iteration, played[0].episodes)
        found: Numbers = {
            "progress.distance_px": log.distance_px,
            "progress.positive_share": log.positive_share,
            "progress.best_x": log.best_x,
        }
        if self.adapts:
            found |= self._in_force(row)
            self._adapt(log)
            assert self.adaptive.ema is not None
            found |= {"adaptive.average": self.adaptive.average, "adaptive.ema": self.adaptive.ema}
            found["adaptive.guessed"] = int(guessed)
        if self.config.section(BootstrapRules).on:
            self._force(log)
            found["bootstrap.forced_left"] = int(self.world.state.lane[:, play.FORWARD_LEFT].sum())
        return found | (self._starts_numbers() if self.deal is not None else {})

    def _look(self, iteration: int, episodes: Episodes | None) -> tuple[Log, bool]:
        """How far the lanes came since the last look; True if the share of lanes is a guess."""
        before, self.ground = self.ground, self.world.ground_px()
        gained = self.ground - before
        ended = episodes["max_x"].max() if episodes else 0
        self.best_x = max(self.best_x, int(ended), int(self.world.state.track[:, play.MAX_X].max()))
        share, guessed = positive_share(int((gained > 0).sum()), len(gained), float(gained.sum()))
        return Log(iteration, float(gained.sum()), share, self.best_x), guessed

    def _in_force(self, learner: Mapping[str, float | int]) -> Numbers:
        """The adaptive values read back from where they act: the world's lanes, and what the update reports."""
        found: Numbers = {}
        if "distance" in self.adapts:
            found["adaptive.distance_weight"] = float(self.world.state.distance_weight.max())
        if "entropy" in self.adapts:
            found["adaptive.entropy"] = learner["learner.player.entropy_coef"]
        if "lr" in self.adapts:
            found["adaptive.lr_scale"] = learner["learner.player.lr"] / self.scheduled_lr if self.scheduled_lr else 1.0
        return found

    def _adapt(self, log: Log) -> None:
        self.adaptive, changes = adapted(self.adaptive, log.positive_share)
        for change in changes:
            self.tell("adapted", **asdict(change))

    def _force(self, log: Log) -> None:
        self.bootstrap, orders = after_log(self.config.section(BootstrapRules), self.bootstrap, log)
        for order in orders:
            lanes = np.arange(max(1, round(order.share * self.world.lanes)))
            self.world.force_forward(lanes, order.steps)
            self.tell("bootstrap", **asdict(order), lanes=len(lanes), log=asdict(log))

    def _starts_numbers(self) -> Numbers:
        way: Numbers = {"starts.way_left": self.starts.way_left} if isinstance(self.starts, Backward) else {}
        if self.imitation is not None:
            way["starts.agreement"] = self.imitation.agreement
        return way | {
            "starts.share": self.starts.share,
            "starts.clear_rate": self.starts.clear_rate,
            "starts.moments": len(self.starts.moments),
            "starts.bins": len({moment.place for moment in self.starts.moments}),
            "starts.dealt": self.starts.dealt,
        }

    # --- the end, saved and taken back -------------------------------------------------------------------------------

    def conclude(self, found: Evaluated) -> None:
        """Leave the moments as a deck."""
        moments = self.starts.moments
        if not moments:
            return
        world, source = self.world, Source(self.folder.name, self.config.run.iterations)
        situations = Situation(world.spec.name, world.spec.version, self.starts.arrays()).take(np.arange(len(moments)))
        per_item = {name: np.array([getattr(one, name) for one in moments]) for name in ("room", "x", "tried", "won")}
        note = f"{len(moments)} moments along the stage"
        write_deck(self.folder / DECK, world, self.config.world, situations, source, note, per_item)

    def facts(self) -> dict[str, Any]:
        return {
            "starts": self.starts.facts(),
            "adaptive": {"values": self.adaptive.values, "shares": self.adaptive.shares, "ema": self.adaptive.ema},
            "bootstrap": asdict(self.bootstrap),
            "ground": self.ground.tolist(),
            "best_x": self.best_x,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        imitated = {} if self.imitation is None else self.imitation.arrays()
        return {f"starts/{name}": array for name, array in self.starts.arrays().items()} | {
            f"imitation/{name}": array for name, array in imitated.items()
        }

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.starts.restore(facts["starts"], below(arrays, "starts/"))
        if self.imitation is not None:
            self.imitation.restore(below(arrays, "imitation/"))
        saved = facts["adaptive"]
        values, shares = tuple(saved["values"]), tuple(saved["shares"])
        self.adaptive = replace(self.adaptive, values=values, shares=shares, ema=saved["ema"])
        self.bootstrap = BootstrapState(**facts["bootstrap"])
        self.ground, self.best_x = np.array(facts["ground"], np.int64), facts["best_x"]
