"""The loop: plan, collect, learn, observe, evaluate, decide, write, save. It reads downwards and has no maths in it.

Ordinary training, self-play and rehearsal are this one loop; they differ in the curriculum that plans and in the judge
that evaluates. What a run is made of, and how it is saved and resumed, is in `run.py`.
"""

from __future__ import annotations

import time

from holdfast.config.sections import Config
from holdfast.curriculum.contract import Plan, Played
from holdfast.kit.signals import Stopped, StopRequest
from holdfast.kit.timing import heap_at_rest
from holdfast.rollout.seat import Seat
from holdfast.run import Prepare, Run, open_run, unprepared
from holdfast.runs.folder import RunFolder
from holdfast.runs.ladder import with_ladder
from holdfast.runs.watch import Result, Watch


def loop(run: Run) -> Result:
    """Train until the run is over or somebody asks it to stop."""
    with StopRequest() as stop, heap_at_rest():
        run.stop = stop
        try:
            while not run.is_over:
                iteration(run)
            return run.conclude()
        except Stopped:  # in the middle of a long test, which a resumed run begins again
            return run.conclude()


def iteration(run: Run) -> None:
    """One rollout of every seat, what is learned from it, and what follows."""
    begun = time.perf_counter()
    with run.clock("collect"):
        plan = run.curriculum.plan(run)
    played = [collect_and_learn(run, seat, plan) for seat in plan.seats]
    row = run.count(played)
    row |= run.curriculum.observe(run, played, row)
    if run.curriculum.evaluation_is_due(run):
        with run.clock("evaluate"):
            found = run.judge.evaluate(run)
            row |= {**found.row, **run.curriculum.judge(run, found)}
    run.write(row, played, time.perf_counter() - begun)
    run.save_if_due()


def collect_and_learn(run: Run, seat: Seat, plan: Plan) -> Played:
    """Fill a seat's batches and let every role of it learn; with a lag, the next rollout goes on meanwhile."""
    with run.clock("collect"):
        episodes = seat.collect(run.clock, plan.deal)
    with run.clock("learn"):
        learned = {
            role: run.learn(learner, seat.batches[role], plan.paces[role], run.state.shuffle, plan.is_strict)
            for role, learner in seat.learners.items()
        }
    seat.settle(run.clock)
    return Played(seat, episodes, learned)


def train(config: Config, folder: RunFolder, watch: Watch, prepare: Prepare = unprepared) -> Result:
    """A new run from its first step. `prepare` may change the parts of a run before it begins, as a rehearsal does."""

    def first(sizes: Config, notes: list[str]) -> Result:
        return open_run(sizes, folder, watch, prepare).start(loop, notes)

    def again(sizes: Config, notes: list[str]) -> Result:
        return open_run(sizes, folder, watch, prepare).go_on(loop, notes)

    return with_ladder(config, folder, first, again)


def resume(
    config: Config,
    folder: RunFolder,
    watch: Watch,
    notes: list[str] | None = None,
    fresh_lanes: bool = False,
    prepare: Prepare = unprepared,
) -> Result:
    """Go on from the newest whole checkpoint, or from the first step if none was written yet."""

    def again(sizes: Config, more: list[str]) -> Result:
        return open_run(sizes, folder, watch, prepare).go_on(loop, [*(notes or []), *more], fresh_lanes)

    return with_ladder(config, folder, again, again)
