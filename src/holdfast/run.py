"""A run in progress: its parts, how they are put together, and how it begins, goes on, is saved and ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import psutil

from holdfast.config.sections import Config
from holdfast.curriculum.contract import Curriculum, Judge, Numbers, Played
from holdfast.curriculum.judge import EpisodeJudge
from holdfast.kit.closing import close_all
from holdfast.kit.errors import ConfigError
from holdfast.kit.rng import derive
from holdfast.kit.signals import StopRequest
from holdfast.kit.soundness import restoring
from holdfast.kit.timing import Clock
from holdfast.learner.update import Learned, learn
from holdfast.rollout.evaluate import Summary, summary
from holdfast.runs.checkpoint import BEST_WORST, Checkpoints, Saved
from holdfast.runs.device import Pace, refuse_large
from holdfast.runs.failing import named
from holdfast.runs.first_weights import begin_with
from holdfast.runs.folder import RunFolder
from holdfast.runs.history import WORKING
from holdfast.runs.metadata import Lineage, Spent, metadata, refuse_other_world
from holdfast.runs.recorder import CUT_AT_RESUME, Recorder, cut_streams_back
from holdfast.runs.renew import renewed
from holdfast.runs.supervised import supervisor_of
from holdfast.runs.watch import Progress, Result, Watch, peak_memory_mb
from holdfast.state import State, initial_state
from holdfast.worlds.api import Episodes, World
from holdfast.worlds.registry import game_of, make_world
from holdfast.worlds.workers.supervisor import Supervisor

Loop = Callable[["Run"], Result]
Learn = Callable[..., Learned]
Prepare = Callable[["Run"], None]


def unprepared(run: Run) -> None:
    """Leave a run as it is made."""


@dataclass
class Parts:
    """What the kind of a run decides."""

    state: State
    curriculum: Curriculum
    judge: Judge


class Run:
    """The parts of a run, and what keeps them together."""

    def __init__(self, config: Config, folder: RunFolder, watch: Watch) -> None:
        self.config, self.folder, self.watch = config, folder, watch
        self.clock, self.cpu_begun_s = Clock(), time.process_time()
        self.checkpoints = Checkpoints(folder.folder / "checkpoints", config.checkpoint)
        self.recorder = Recorder(folder.folder, config, self.clock)
        self.supervisor = supervisor_of(config, folder)
        self.stop = StopRequest()  # the loop's own, while it runs
        self.learn: Learn = learn  # a rehearsal wraps it
        self.advice: dict[str, int] = {}  # hints that an earlier process gave, and when
        self.lineage = Lineage()
        self.speed_guard = Pace(config.run.allow_slow)
        self.steps_before = 0
        self.seconds_before: dict[str, float] = {}
        try:
            parts = make_parts(self)
            self.state, self.curriculum, self.judge = parts.state, parts.curriculum, parts.judge
            self.state.memory = self.curriculum
            refuse_large(self.state.learners, config.run.allow_slow)
            for seat in self.state.seats.values():
                seat.open(config.rollout)
        except BaseException as error:
            self._failed(error)
            with suppress(Exception):  # the first error is the one to tell
                close_all([self.recorder.close, *([] if self.supervisor is None else [self.supervisor.close])])
            raise_named(error)

    # --- beginning and continuing ------------------------------------------------------------------------------------

    def start(self, loop: Loop, notes: Sequence[str] = (), saved: Saved | None = None, anew: bool = False) -> Result:
        """Run the loop from the first step, or from a checkpoint, with its lanes or with lanes that begin anew."""
        told = list(notes)
        try:
            if saved is not None:
                told += self._continue_from(saved, anew)
            elif self.config.run.init:
                begin_with(self.config.run.init, self.state.learners)
            told += self.curriculum.begin(self, saved is None)
            self.event("resumed" if saved else "started", notes=told)
            self.watch.started(self.config, self.folder, self.state, told)
            self.judge.begin(self)
            counts = self.state.counts
            self.recorder.open(self.state.world.spec, counts.iteration, counts.agent_steps, self.advice)
            result = loop(self)
        except BaseException as error:
            self._failed(error)
            with suppress(Exception):
                self.close()
            raise_named(error)
        self.close()
        self.folder.write_json("result.json", result.as_json())
        self.watch.finished(self.folder, result)
        return result

    def go_on(self, loop: Loop, notes: Sequence[str] = (), fresh_lanes: bool = False) -> Result:
        """From the newest whole checkpoint, or from the first step if none was written yet."""
        try:
            found = self.checkpoints.load_latest() if self.checkpoints.names() else None
            if found is None:
                streams = (*CUT_AT_RESUME, *self.curriculum.streams)
                cut_streams_back(self.folder.folder, dict.fromkeys(streams, 0))
        except BaseException:
            with suppress(Exception):
                self.close()
            raise
        if found is None:
            return self.start(loop, [*notes, "no checkpoint yet: starting from the first step"])
        saved, damage = found
        lanes = int(saved.meta.get("counters", {}).get("lanes") or self.config.rollout.lanes)
        return self.start(loop, [*notes, *damage], saved, fresh_lanes or lanes != self.config.rollout.lanes)

    def _continue_from(self, saved: Saved, anew: bool) -> list[str]:
        notes: list[str] = []
        refuse_other_world(saved.name, saved.meta, self.state.world)
        with restoring(saved.name):
            arrays, facts = renewed(saved.arrays, saved.facts)
            if anew:
                self.state.restore_without_lanes(arrays, facts, self._another_world(saved))
            else:
                notes = self.state.restore(arrays, facts)
            positions = saved.facts["streams"]
        counts = self.state.counts
        self.steps_before = counts.agent_steps
        self.checkpoints.drop_after(counts.iteration)
        if counts.best_iteration:  # the process may have died between saving the best and saying so
            self.checkpoints.mark_best(counts.best_iteration)
        self.advice = saved.facts.get("advice", {})
        self.lineage = Lineage.of(saved.name, saved.meta)
        return notes + cut_streams_back(self.folder.folder, positions)

    def _another_world(self, saved: Saved) -> World:
        """With another seed, so that the first episodes of the run are not repeated."""
        if self.curriculum.needs_its_lanes:
            raise ConfigError(
                ["self-play goes on only with the lanes it had: leave rollout.lanes and the world as they are"]
            )
        config, iteration = self.config, int(saved.facts["counts"]["iteration"])
        seed = int(derive(np.uint64(config.run.seed), np.uint64(iteration)) >> np.uint64(1))
        lanes, threads = config.rollout.lanes, config.rollout.threads
        world = make_world(config.world_name, config.world, lanes, seed, threads, self.supervisor)
        world.reset()
        return world

    def close(self) -> None:
        seats = [seat.close for seat in self.state.seats.values()]
        close_all([*seats, self.recorder.close, *([] if self.supervisor is None else [self.supervisor.close])])

    def _failed(self, error: BaseException) -> None:
        """Leave what is known of a failure in the run folder, as far as the disk takes it."""
        if isinstance(error, KeyboardInterrupt):
            return
        known = named(error)
        facts = {"error": type(known or error).__name__, "text": str(known or error)}
        status = known.exit_status if known else 1
        with suppress(Exception):
            self.recorder.event("failed", **facts)
        with suppress(Exception):
            self.folder.write_json("result.json", {"outcome": "failed", **facts, "exit_status": status})

    # --- where it stands ---------------------------------------------------------------------------------------------

    @property
    def is_done(self) -> bool:
        return self.curriculum.is_done(self)

    @property
    def is_over(self) -> bool:
        """Asked to stop, or done without another phase to come."""
        if self.stop.received is not None:
            return True
        return self.is_done and not self.curriculum.goes_on(self)

    def is_due(self, every: int) -> bool:
        return every > 0 and self.state.counts.iteration % every == 0

    @property
    def improved(self) -> bool:
        return self.state.counts.best_iteration == self.state.counts.iteration

    # --- record ------------------------------------------------------------------------------------------------------

    def count(self, played: Sequence[Played]) -> Numbers:
        """Take an iteration into the counts; its metrics so far."""
        counts, spec = self.state.counts, self.state.world.spec
        tables = [one.episodes for one in played if one.episodes is not None and one.seat.is_counted]
        episodes = Episodes.joined(tables) if tables else None
        counts.iteration += 1
        counts.agent_steps += acted(played)
        counts.episodes += len(episodes) if episodes else 0
        row: Numbers = {
            "iteration": counts.iteration,
            "agent_steps": counts.agent_steps,
            "episodes": counts.episodes,
        }
        if episodes:
            row |= {f"episode.{name}": float(episodes[name].mean()) for name in spec.columns}
        for one in played:
            for role, learned in one.learned.items():
                row |= learned.measured(role)
        return row

    def write(self, row: Numbers, played: Sequence[Played], seconds: float) -> None:
        """One line to each stream; the time since the line before, so that what comes after it (saving) is not lost."""
        steps = acted(played)
        spent = {name: total - self.seconds_before.get(name, 0.0) for name, total in self.clock.seconds.items()}
        self.seconds_before = dict(self.clock.seconds)
        timing = {
            "iteration": self.state.counts.iteration,
            "elapsed_s": round(self.clock.elapsed_s, 4),
            "agent_steps_per_s": round(steps / seconds, 1),
            "memory_mb": round(psutil.Process().memory_info().rss / 1e6, 1),
            **{f"phase.{name}_s": round(value, 6) for name, value in spent.items()},
        }
        tables = [one.episodes for one in played if one.episodes is not None and one.seat.is_counted]
        hints = self.recorder.write(row, timing, Episodes.joined(tables) if tables else None)
        self.speed_guard.check(steps, sum(spent.get(name, 0.0) for name in WORKING))
        duel = self.curriculum.progress(self)
        self.watch.iteration(Progress(self.state.counts, row, steps / seconds, self.clock, hints, duel))

    def event(self, kind: str, /, **facts: object) -> None:
        self.recorder.event(kind, **{"iteration": self.state.counts.iteration, **facts})

    def decision(self, kind: str, /, **facts: object) -> None:
        """Something the curriculum decided, for the record and for whoever watches."""
        self.event(kind, **facts)
        self.watch.decided(kind, self.state.counts.iteration, facts)

    def keep_evaluation(
        self, name: str, score: str, tables: Mapping[str, Episodes], iteration: int | None = None
    ) -> None:
        """Whole episodes of an evaluation, in `evals/`."""
        policies = {
            who: {
                "summary": summary(episodes, score)._asdict(),
                "episodes": {column: values.tolist() for column, values in episodes.columns.items()},
            }
            for who, episodes in tables.items()
        }
        moment = self.state.counts.iteration if iteration is None else iteration
        self.keep_summaries(name, {"iteration": moment, "score": score, "policies": policies})

    def keep_summaries(self, name: str, content: Mapping[str, Any]) -> None:
        self.folder.write_json(f"evals/{name}.json", {"iteration": self.state.counts.iteration, **content})

    # --- save --------------------------------------------------------------------------------------------------------

    def save_if_due(self) -> None:
        done, stopped = self.is_done, self.stop.received is not None
        kept = self.improved or self.curriculum.improved
        if self.is_due(self.config.checkpoint.every) or done or stopped or kept:
            with self.clock("save"):
                self.save("final" if done else "interrupt" if stopped else "interval")

    def save(self, reason: str) -> None:
        iteration = self.state.counts.iteration
        facts = {**self.state.facts(), **self.recorder.facts(self.curriculum.streams)}
        spent = Spent(self.clock.elapsed_s, time.process_time() - self.cpu_begun_s)
        meta = metadata(self.folder, self.config, self.state, self.lineage, spent, reason)
        self.checkpoints.save(iteration, self.state.arrays(), facts, meta)
        if self.improved:
            self.checkpoints.mark_best(iteration)
        if self.curriculum.improved:
            self.checkpoints.mark_best(iteration, BEST_WORST)
        self.event("checkpoint", best=self.improved)

    # --- the end -----------------------------------------------------------------------------------------------------

    def conclude(self) -> Result:
        """The last word, unless the run was asked to stop."""
        if self.stop.received is not None:
            self.event("interrupted", signal=self.stop.received)
            return self._result("interrupted", {}, self.stop.exit_status)
        ending = self.judge.conclude(self)
        self.event(ending.outcome, **ending.facts)
        return self._result(ending.outcome, ending.scores, ending.exit_status, ending.certificate)

    def _result(
        self, outcome: str, scores: dict[str, Summary], status: int, certificate: dict[str, Any] | None = None
    ) -> Result:
        working = sum(self.clock.seconds.get(phase, 0.0) for phase in WORKING)
        steps = self.state.counts.agent_steps - self.steps_before
        return Result(
            outcome=outcome,
            counts=self.state.counts,
            score_name=self.judge.score_name(self),
            scores=scores,
            elapsed_s=self.lineage.wall_s + self.clock.elapsed_s,
            agent_steps_per_s=steps / working if working else 0.0,
            peak_memory_mb=peak_memory_mb(),
            phases=self.clock.shares(),
            curriculum=self.curriculum.outcome(),
            exit_status=status,
            certificate=certificate,
        )


def raise_named(error: BaseException) -> NoReturn:
    """Raise an error under the name that a user knows it by, if it has one."""
    known = named(error)
    if known is None or known is error:
        raise error
    raise known from error


def acted(played: Sequence[Played]) -> int:
    """Steps in which living agents acted."""
    return sum(int(batch.valid.sum()) for one in played for batch in one.seat.batches.values())


def make_parts(run: Run) -> Parts:
    """An ordinary run with the curriculum of its game, or self-play."""
    config = run.config
    if config.duel.mode != "off":
        from holdfast.selfplay.curriculum import self_play

        return Parts(*self_play(run))
    state = initial_state(config, run.supervisor)
    game = game_of(config)
    if game.curriculum is None:
        return Parts(state, Curriculum(), EpisodeJudge())
    curriculum, judge = game.curriculum(run, state)
    return Parts(state, curriculum, judge)


def open_run(config: Config, folder: RunFolder, watch: Watch, prepare: Prepare = unprepared) -> Run:
    run = Run(config, folder, watch)
    prepare(run)
    return run


__all__ = ["Loop", "Prepare", "Run", "Supervisor", "open_run", "unprepared"]
