"""The loop: collect, learn, record, evaluate, decide, save. It reads top to bottom and has no maths in it.

Whoever wants to watch (a terminal, a test) passes a `Watch`; the loop itself prints nothing and knows no view.
"""

from __future__ import annotations

import time
from dataclasses import asdict

import psutil

from holdfast.config import Config
from holdfast.curriculum.live import Curriculum
from holdfast.curriculum.start import make_curriculum
from holdfast.errors import CheckpointError
from holdfast.learner.fingerprint import fingerprint
from holdfast.learner.schedules import pace
from holdfast.learner.update import UpdateResult, update
from holdfast.rollout.act import PolicyActor, Tally
from holdfast.rollout.evaluate import (
    DURING_RUN,
    HELD_OUT,
    ROLLING,
    Evaluation,
    Summary,
    evaluation_keys,
    play_yardsticks,
    summary,
)
from holdfast.rollout.overlap import Collector
from holdfast.runs.checkpoint import BEST_WORST, Checkpoints, Saved
from holdfast.runs.device import Pace, refuse_large
from holdfast.runs.first_weights import begin_with
from holdfast.runs.folder import Run
from holdfast.runs.fresh_lanes import lanes_of, restore_without_lanes
from holdfast.runs.history import WORKING
from holdfast.runs.ladder import with_ladder
from holdfast.runs.metadata import Lineage, Spent, metadata, refuse_other_world
from holdfast.runs.recorder import CUT_AT_RESUME, Recorder, cut_streams_back
from holdfast.runs.signals import StopRequest
from holdfast.runs.supervised import supervisor_of
from holdfast.state import State, below, initial_state, torch_generator
from holdfast.timing import Clock, heap_at_rest
from holdfast.watch import DuelProgress, Progress, Result, Watch, peak_memory_mb
from holdfast.worlds.api import Act, Episodes, World

SAMPLED_EVALUATION = 4  # purpose of a torch generator


class Training:
    """A run in progress: its state, its folder, and the files it writes to."""

    def __init__(self, config: Config, run: Run, watch: Watch) -> None:
        self.config, self.run, self.watch = config, run, watch
        self.clock, self.cpu_begun_s = Clock(), time.process_time()
        self.checkpoints = Checkpoints(run.folder / "checkpoints", config.checkpoint)
        self.recorder = Recorder(run.folder, config, self.clock)
        self.supervisor = supervisor_of(config, run)
        try:
            self.state = self.first_state()
            refuse_large(self.state.learners, config.run.allow_slow)
            self.collector = Collector(self.state, config.rollout)
            self.curriculum: Curriculum = make_curriculum(config, run.folder, self.decision, self.recorder.append)
        except BaseException:
            self.recorder.close()
            if self.supervisor is not None:
                self.supervisor.close()
            raise
        self.advice: dict[str, int] = {}  # hints that an earlier process gave, and when
        self.lineage = Lineage()
        self.pace = Pace(config.run.allow_slow)
        self.top_shares: dict[str, float] = {}  # of the last evaluation, per role
        self.steps_before = 0
        self.seconds_before: dict[str, float] = {}
        self.scores: dict[str, Summary] = {}  # of the yardsticks, on the seeds used during the run

    def first_state(self) -> State:
        return initial_state(self.config, self.supervisor)

    # --- beginning and continuing ------------------------------------------------------------------------------------

    def start(self, saved: Saved | None = None, notes: list[str] | None = None, fresh_lanes: bool = False) -> Result:
        """Run the loop from the beginning, or from a checkpoint, with its lanes or with fresh ones."""
        notes = list(notes or [])
        try:
            notes += self.curriculum.open(self.state.world)
            self.curriculum.meet(self.state.learners)
            if saved is not None:
                notes += self._continue_from(saved, fresh_lanes)
            else:
                self._begin()
            self.event("resumed" if saved else "started", notes=notes)
            self.watch.started(self.config, self.run, self.state, notes)
            self._judge_yardsticks()
            counts = self.state.counts
            self.recorder.open(self.state.world.spec, counts.iteration, counts.agent_steps, self.advice)
            with heap_at_rest():
                result = self.loop()
        except Exception as error:
            self.event("failed", error=type(error).__name__, text=str(error))
            raise
        finally:
            self._close()
        self.run.write_json("result.json", result.as_json())
        self.watch.finished(self.run, result)
        return result

    def go_on(self, notes: list[str] | None = None, fresh_lanes: bool = False) -> Result:
        """From the newest whole checkpoint, or from the first step if none was written yet."""
        try:
            found = self.checkpoints.load_latest() if self.checkpoints.names() else None
            if found is None:
                cut_streams_back(self.run.folder, dict.fromkeys((*CUT_AT_RESUME, *self.curriculum.streams), 0))
        except BaseException:
            self._close()
            raise
        if found is None:
            return self.start(notes=[*(notes or []), "no checkpoint yet: starting from the first step"])
        saved, damage = found
        fresh_lanes = fresh_lanes or lanes_of(saved, self.config) != self.config.rollout.lanes
        return self.start(saved, [*(notes or []), *damage], fresh_lanes)

    def _begin(self) -> None:
        if self.config.run.init:
            begin_with(self.config.run.init, self.state.learners)
        self.curriculum.begin(self.state.world)

    def _continue_from(self, saved: Saved, fresh_lanes: bool) -> list[str]:
        notes: list[str] = []
        refuse_other_world(saved.name, saved.meta, self.state.world)
        try:
            if fresh_lanes:
                restore_without_lanes(self.state, self.config, saved, self.supervisor)
            else:
                notes = self.state.restore(saved.arrays, saved.facts["counts"])
            self.curriculum.restore(saved.facts["curriculum"], below(saved.arrays, "curriculum/"))
        except (KeyError, TypeError) as error:
            raise CheckpointError(f"checkpoint {saved.name} is not one of this kind of run: {error}") from error
        self.steps_before = self.state.counts.agent_steps
        self.checkpoints.drop_after(self.state.counts.iteration)
        if self.state.counts.best_iteration:  # the process may have died between saving the best and saying so
            self.checkpoints.mark_best(self.state.counts.best_iteration)
        self.advice = saved.facts.get("advice", {})
        self.lineage = Lineage.of(saved.name, saved.meta)
        return notes + cut_streams_back(self.run.folder, saved.facts["streams"])

    def _close(self) -> None:
        self.collector.close()
        self.recorder.close()
        self.state.world.close()
        if self.supervisor is not None:
            self.supervisor.close()

    # --- the loop ----------------------------------------------------------------------------------------------------

    def loop(self) -> Result:
        state, config = self.state, self.config
        with StopRequest() as stop:
            while not self.done and stop.received is None:
                begun = time.perf_counter()
                with self.clock("collect"):
                    self.prepare()
                    episodes = self.collector.next(self.clock, self.curriculum.deal)
                with self.clock("learn"):
                    now = self.curriculum.paced(pace(config.learner, state.counts.iteration, config.run.iterations))
                    updates = {
                        role: update(learner, state.batches[role], now, state.shuffle)
                        for role, learner in state.learners.items()
                    }
                self.collector.settle(self.clock)
                metrics = self.record(episodes, updates)
                if self.due(config.evaluation.every):
                    with self.clock("evaluate"):
                        metrics |= self.decide(self.evaluate(self.block, config.evaluation.episodes))
                self.write(metrics, episodes, time.perf_counter() - begun)
                kept = self.improved or self.curriculum.improved
                if self.due(config.checkpoint.every) or self.done or stop.received is not None or kept:
                    with self.clock("save"):
                        self.save("final" if self.done else "interrupt" if stop.received is not None else "interval")
            if stop.received is not None:
                self.event("interrupted", signal=stop.received)
            return self.conclude(stop)

    @property
    def done(self) -> bool:
        counts = self.state.counts
        return counts.solved or counts.iteration >= self.config.run.iterations or self.curriculum.exhausted

    @property
    def improved(self) -> bool:
        return self.state.counts.best_iteration == self.state.counts.iteration

    def due(self, every: int) -> bool:
        return every > 0 and self.state.counts.iteration % every == 0

    def prepare(self) -> None:
        """Let the curriculum set what the next episodes are like; a restarted lane's memory starts anew."""
        restarted = self.curriculum.prepare(self.state.world, self.state.counts.iteration + 1)
        if len(restarted):
            self.state.memory.restart(restarted, self.state.world.lanes)

    # --- record ------------------------------------------------------------------------------------------------------

    def record(self, episodes: Episodes | None, updates: dict[str, UpdateResult]) -> dict[str, float | int]:
        counts = self.state.counts
        counts.iteration += 1
        counts.agent_steps += sum(int(batch.valid.sum()) for batch in self.state.batches.values())
        counts.episodes += len(episodes) if episodes else 0
        metrics: dict[str, float | int] = {
            "iteration": counts.iteration,
            "agent_steps": counts.agent_steps,
            "episodes": counts.episodes,
        }
        if episodes:
            metrics |= {f"episode.{name}": float(episodes[name].mean()) for name in self.state.world.spec.columns}
        for role, result in updates.items():
            metrics |= {f"learner.{role}.{name}": value for name, value in result.measured().items()}
        return metrics | self.curriculum.learned(counts.iteration, episodes, metrics)

    def write(self, metrics: dict[str, float | int], episodes: Episodes | None, seconds: float) -> None:
        """One line to each stream; the time since the line before, so that what comes after it (saving) is not lost."""
        acted = sum(int(batch.valid.sum()) for batch in self.state.batches.values())
        spent = {name: total - self.seconds_before.get(name, 0.0) for name, total in self.clock.seconds.items()}
        self.seconds_before = dict(self.clock.seconds)
        timing = {
            "iteration": self.state.counts.iteration,
            "elapsed_s": round(self.clock.elapsed_s, 4),
            "agent_steps_per_s": round(acted / seconds, 1),
            "memory_mb": round(psutil.Process().memory_info().rss / 1e6, 1),
            **{f"phase.{name}_s": round(value, 6) for name, value in spent.items()},
        }
        hints = self.recorder.write(metrics, timing, episodes)
        self.pace.check(acted, sum(spent.get(name, 0.0) for name in WORKING))
        self.watch.iteration(Progress(self.state.counts, metrics, acted / seconds, self.clock, hints, self.duelling()))

    def duelling(self) -> DuelProgress | None:
        """Where self-play stands, in a run that is one."""
        return None

    def event(self, kind: str, /, **facts: object) -> None:
        self.recorder.event(kind, **{"iteration": self.state.counts.iteration, **facts})

    def decision(self, kind: str, /, **facts: object) -> None:
        """Something the curriculum decided, for the record and for whoever watches."""
        self.event(kind, **facts)
        self.watch.decided(kind, self.state.counts.iteration, facts)

    # --- evaluate and decide -----------------------------------------------------------------------------------------

    @property
    def block(self) -> int:
        """Which seeds the coming evaluation is played on."""
        if self.config.evaluation.seeds == "fixed":
            return DURING_RUN
        return ROLLING + self.state.counts.iteration // self.config.evaluation.every

    def evaluation(self, block: int, episodes: int) -> Evaluation:
        keys = evaluation_keys(self.config.evaluation.seed, block, episodes)
        settings = self.curriculum.evaluation_settings(self.config.evaluation_world)
        threads = self.config.rollout.threads
        return Evaluation(self.config.world_name, settings, keys, threads, self.supervisor)

    def learned_actor(self, world: World, tally: Tally | None = None) -> PolicyActor:
        generator = None
        if self.config.evaluation.sampled:
            generator = torch_generator(self.config.evaluation.seed, SAMPLED_EVALUATION)
        return PolicyActor(self.state.learners, generator, tally)

    def evaluate(self, block: int, count: int) -> Episodes:
        """The policy as it is now, on the block's seeds; kept whole in `evals/`."""
        tally = Tally()

        def make_act(world: World) -> Act:
            act = self.learned_actor(world, tally)
            return act if block == HELD_OUT else self.curriculum.watching(act, world)

        episodes = self.evaluation(block, count).play(make_act)
        self.top_shares = tally.top_shares()
        name = "final" if block == HELD_OUT else f"{self.state.counts.iteration:06d}"
        self._keep_evaluation(name, {"learned": episodes})
        return episodes

    def _keep_evaluation(self, name: str, tables: dict[str, Episodes]) -> None:
        score = self.state.world.spec.score
        content = {
            who: {
                "summary": summary(episodes, score)._asdict(),
                "episodes": {column: values.tolist() for column, values in episodes.columns.items()},
            }
            for who, episodes in tables.items()
        }
        self.run.write_json(
            f"evals/{name}.json", {"iteration": self.state.counts.iteration, "score": score, "policies": content}
        )

    def _judge_yardsticks(self) -> None:
        if self.config.evaluation.every == 0 or self.done:
            return
        with self.clock("yardsticks"):
            played = play_yardsticks(self.evaluation(self.block, self.config.evaluation.episodes))
        self._keep_evaluation("yardsticks", played)
        self.scores = {name: summary(table, self.state.world.spec.score) for name, table in played.items()}

    def decide(self, episodes: Episodes) -> dict[str, float | int]:
        """Is this the best so far, and is it good enough to stop? The evidence goes to `events.jsonl`."""
        counts, spec = self.state.counts, self.state.world.spec
        top_shares, self.top_shares = self.top_shares, {}  # each belongs to one evaluation
        if self.config.evaluation.seeds == "rolling":
            self._judge_yardsticks()
        found = summary(episodes, spec.score)
        if counts.best_score is None or found.mean > counts.best_score:
            counts.best_score, counts.best_iteration = found.mean, counts.iteration
        goal = self.config.run.stop_score
        counts.solved = goal is not None and found.mean >= goal
        self.event("evaluation", score=found._asdict(), best=counts.best_score, goal=goal, solved=counts.solved)
        self.watch.evaluated(counts.iteration, {"learned": found, **self.scores})
        settings = self.curriculum.evaluation_settings(self.config.evaluation_world)
        policy = fingerprint(self.state.learners)
        judged = self.curriculum.judge(counts.iteration, episodes, settings, self.learned_actor, policy)
        return judged | {
            "evaluation.score": found.mean,
            "evaluation.score_low": found.low,
            "evaluation.score_high": found.high,
            "evaluation.score_worst": found.worst,
            **{f"evaluation.{role}.top_action_share": top_shares[role] for role in top_shares},
            **{f"evaluation.{name}": float(episodes[name].mean()) for name in spec.columns},
        }

    # --- save --------------------------------------------------------------------------------------------------------

    def save(self, reason: str) -> None:
        iteration = self.state.counts.iteration
        kept = {"counts": asdict(self.state.counts), "curriculum": self.curriculum.facts()}
        facts = {**kept, **self.recorder.facts(self.curriculum.streams)}
        spent = Spent(self.clock.elapsed_s, time.process_time() - self.cpu_begun_s)
        meta = metadata(self.run, self.config, self.state, self.lineage, spent, reason)
        kept_arrays = {f"curriculum/{name}": array for name, array in self.curriculum.arrays().items()}
        self.checkpoints.save(iteration, {**self.state.arrays(), **kept_arrays}, facts, meta)
        if self.improved:
            self.checkpoints.mark_best(iteration)
        if self.curriculum.improved:
            self.checkpoints.mark_best(iteration, BEST_WORST)
        self.event("checkpoint", best=self.improved)

    # --- the end -----------------------------------------------------------------------------------------------------

    def conclude(self, stop: StopRequest) -> Result:
        """The last word: the policy on episodes it was never judged by, beside the yardsticks on the same ones."""
        scores: dict[str, Summary] = {}
        exit_status = stop.exit_status
        if exit_status == 0:
            count = self.config.evaluation.final_episodes
            with self.clock("evaluate"):
                tables = {"learned": self.evaluate(HELD_OUT, count)}
                self.curriculum.conclude(tables["learned"], self.evaluation(HELD_OUT, count).settings)
            with self.clock("yardsticks"):
                tables |= play_yardsticks(self.evaluation(HELD_OUT, count))
            self._keep_evaluation("final", tables)
            scores = {name: summary(table, self.state.world.spec.score) for name, table in tables.items()}
        outcome = "interrupted" if exit_status else "solved" if self.state.counts.solved else "finished"
        if exit_status == 0:
            self.event(outcome, scores={name: found._asdict() for name, found in scores.items()})
        return self.result(outcome, scores, exit_status)

    def result(self, outcome: str, scores: dict[str, Summary], exit_status: int) -> Result:
        return Result(
            outcome=outcome,
            counts=self.state.counts,
            score_name=self.score_name,
            scores=scores,
            elapsed_s=self.clock.elapsed_s,
            agent_steps_per_s=self._speed(),
            peak_memory_mb=peak_memory_mb(),
            phases=self.clock.shares(),
            curriculum=self.curriculum.outcome(),
            exit_status=exit_status,
        )

    @property
    def score_name(self) -> str:
        return self.state.world.spec.score

    def _speed(self) -> float:
        working = sum(self.clock.seconds.get(phase, 0.0) for phase in WORKING)
        return (self.state.counts.agent_steps - self.steps_before) / working if working else 0.0


def make_training(config: Config, run: Run, watch: Watch) -> Training:
    """A run of one loop for all worlds, or of self-play where that is asked for."""
    if config.duel.mode == "off":
        return Training(config, run, watch)
    from holdfast.selfplay.duel import Duel  # which is made of this module's loop

    return Duel(config, run, watch)


def train(config: Config, run: Run, watch: Watch) -> Result:
    """A new run from its first step."""
    return with_ladder(
        config,
        run,
        first=lambda sizes, notes: make_training(sizes, run, watch).start(notes=notes),
        again=lambda sizes, notes: make_training(sizes, run, watch).go_on(notes),
    )


def resume(config: Config, run: Run, watch: Watch, notes: list[str] | None = None, fresh_lanes: bool = False) -> Result:
    """Go on from the newest whole checkpoint, or from the first step if none was written yet."""

    def again(sizes: Config, more: list[str]) -> Result:
        return make_training(sizes, run, watch).go_on([*(notes or []), *more], fresh_lanes)

    return with_ladder(config, run, first=again, again=again)
