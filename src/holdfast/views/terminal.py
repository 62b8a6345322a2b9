"""What a person sees while a run goes on: a live table on a terminal, plain flushed lines elsewhere, or nothing."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from holdfast.config.sections import Config
from holdfast.rollout.evaluate import Summary
from holdfast.runs.folder import RunFolder
from holdfast.runs.watch import DuelProgress, Result
from holdfast.runs.watch import Progress as LoopProgress
from holdfast.state import State
from holdfast.views.certificate import print_response
from holdfast.views.words import duel_line, key_numbers, shares_line, visible, wins_of


def make_watch(quiet: bool, stream: Any = None) -> Quiet | Plain | LiveView:
    stream = stream or sys.stdout
    if quiet:
        return Quiet()
    return LiveView(Console(file=stream)) if stream.isatty() else Plain(stream)


class Quiet:
    """Says nothing while the run goes on."""

    def started(self, config: Config, run: RunFolder, state: State, notes: list[str]) -> None:
        for note in notes:
            print(f"note: {note}", file=sys.stderr, flush=True)

    def iteration(self, progress: LoopProgress) -> None: ...
    def evaluated(self, iteration: int, scores: dict[str, Summary]) -> None: ...
    def decided(self, kind: str, iteration: int, facts: Mapping[str, Any]) -> None: ...
    def finished(self, run: RunFolder, result: Result) -> None: ...


def opening(config: Config, run: RunFolder, state: State) -> list[str]:
    parameters = {role: sum(p.numel() for p in one.policy.parameters()) for role, one in state.learners.items()}
    sizes = ", ".join(f"{role} {count:,} parameters" for role, count in parameters.items())
    begun = state.counts.iteration
    return [
        f"run {run.name} in {run.folder}",
        f"world {config.world_name}, {config.rollout.lanes} lanes x {config.rollout.steps} steps, {sizes}, "
        f"{config.rollout.threads} threads (kernels and torch)",
        f"iteration {begun} of {config.run.iterations}" + (" (resumed)" if begun else ""),
    ]


def score_line(iteration: int, scores: dict[str, Summary]) -> str:
    found = scores["learned"]
    others = ", ".join(f"{name} {other.mean:.3f}" for name, other in scores.items() if name != "learned")
    beside = f" | {others}" if others else ""
    return (
        f"evaluation {iteration}: {found.mean:.3f} [{found.low:.3f}, {found.high:.3f}] worst {found.worst:.3f}{beside}"
    )


LASTING = ("phase", "deck_warning", "promotion")  # decisions that stay on the screen


def decision_line(kind: str, iteration: int, facts: Mapping[str, Any]) -> str:
    """What a curriculum decided, in a line."""
    if kind == "gate":
        decision = facts["decision"]
        return f"gate {iteration}: {decision['event']}, level {decision['level']['after']}; {decision['because']}"
    if kind == "phase":
        before, after = facts["before"], facts["after"]
        changed = [f"{name} {before[name]:g} -> {after[name]:g}" for name in after if after[name] != before.get(name)]
        return f"phase {after['phase']} from iteration {iteration + 1}: {', '.join(changed)}"
    return f"{kind} {iteration}: " + ", ".join(f"{name} {value}" for name, value in facts.items() if value is not None)


def gate_line(outcome: Mapping[str, Any]) -> str:
    """How far the gate opened, and how the final evaluation stands against what was possible."""
    parts = []
    gate, final = outcome.get("gate"), outcome.get("final")
    if gate:
        parts.append(f"gate at level {gate['level']} of {gate['max_level']}")
    if final:
        parts.append(f"ceiling {final['ceiling_avg']:.4g} mean, {final['ceiling_min']:.4g} worst")
        parts.append(f"no episode more than {final['worst_gap']:.3g} below its own ceiling")
    return "; ".join(parts)


def silence(stream: Any) -> None:
    """What is written to this stream from now on goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class Plain:
    """One flushed line per event; iterations at most every few seconds."""

    EVERY_S = 2.0

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.last_s = -self.EVERY_S
        self.total = 0

    def say(self, text: str) -> None:
        self.write("\n".join(visible(line) for line in text.split("\n")) + "\n")

    def write(self, text: str) -> None:
        """A reader that goes away, such as `head`, or a log that cannot grow does not end a run."""
        try:
            print(text, end="", file=self.stream, flush=True)
        except OSError:
            silence(self.stream)

    def started(self, config: Config, run: RunFolder, state: State, notes: list[str]) -> None:
        self.total = config.run.iterations
        for line in [*opening(config, run, state), *(f"note: {note}" for note in notes)]:
            self.say(line)

    def iteration(self, progress: LoopProgress) -> None:
        elapsed = progress.clock.elapsed_s
        for hint in progress.hints:
            self.say(f"hint: {hint.text}")
        if elapsed - self.last_s >= self.EVERY_S or progress.counts.iteration == self.total:
            self.last_s = elapsed
            self.say(
                f"[{elapsed:6.1f} s] iteration {progress.counts.iteration}/{self.total}, "
                f"{progress.counts.agent_steps:,} agent-steps, {progress.agent_steps_per_s:,.0f}/s, "
                + (duel_line(progress.duel) if progress.duel else key_numbers(progress.metrics))
            )

    def evaluated(self, iteration: int, scores: dict[str, Summary]) -> None:
        self.say(score_line(iteration, scores))

    def decided(self, kind: str, iteration: int, facts: Mapping[str, Any]) -> None:
        self.total = facts["until"] if kind == "round" else self.total
        self.say(decision_line(kind, iteration, facts))

    def finished(self, run: RunFolder, result: Result) -> None:
        page = io.StringIO()
        print_result(run, result, Console(file=page, width=100))
        self.write(page.getvalue())


class LiveView:
    """A progress bar with ETA, rates, where the time goes and the last evaluation, redrawn in place."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.completed}/{task.total}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            expand=True,
        )
        self.live = Live(console=console, refresh_per_second=8, transient=True)
        self.last_evaluation = "no evaluation yet"
        self.last_decision = ""
        self.last_hint = ""

    def started(self, config: Config, run: RunFolder, state: State, notes: list[str]) -> None:
        for line in opening(config, run, state):
            self.console.print(line, highlight=False)
        for note in notes:
            self.console.print(f"[yellow]note:[/] {note}", highlight=False)
        self.task = self.bar.add_task(run.name, total=config.run.iterations, completed=state.counts.iteration)
        self.live.update(self.bar)
        self.live.start()

    def iteration(self, progress: LoopProgress) -> None:
        self.bar.update(self.task, completed=progress.counts.iteration)
        table = Table.grid(padding=(0, 2))
        table.add_row("agent-steps", f"{progress.counts.agent_steps:,}  ({progress.agent_steps_per_s:,.0f}/s)")
        if progress.duel:
            table.add_row("turn", f"{progress.duel.turn} ({progress.duel.stage}), level {progress.duel.level}")
            table.add_row("roles", roles_table(progress.duel))
        else:
            table.add_row("training", key_numbers(progress.metrics))
        table.add_row("time goes to", shares_line(progress.clock.shares()))
        table.add_row("last evaluation", self.last_evaluation)
        if self.last_decision:
            table.add_row("last decision", self.last_decision)
        for hint in progress.hints:
            self.last_hint = f"iteration {progress.counts.iteration}: {hint.text}"
        if self.last_hint:
            table.add_row("last hint", self.last_hint, style="yellow")
        self.live.update(Group(self.bar, table))

    def evaluated(self, iteration: int, scores: dict[str, Summary]) -> None:
        self.last_evaluation = score_line(iteration, scores)

    def decided(self, kind: str, iteration: int, facts: Mapping[str, Any]) -> None:
        self.last_decision = decision_line(kind, iteration, facts)
        if kind == "round":
            self.bar.update(self.task, total=facts["until"])
        if kind in LASTING:
            self.console.print(self.last_decision, highlight=False)

    def finished(self, run: RunFolder, result: Result) -> None:
        self.live.stop()
        print_result(run, result, self.console)

    def close(self) -> None:
        self.live.stop()


def roles_table(duel: DuelProgress) -> Table:
    """Both roles of self-play; a star marks who learns."""
    table = Table("role", "wins, 95 % interval", "steps learned", "pool", "rollbacks", "health", box=None)
    for role in duel.roles:
        name = f"{role.name}{' *' if role.learns else ''}"
        table.add_row(name, wins_of(role), f"{role.steps:,}", str(role.pool), str(role.rollbacks), role.condition)
    return table


def scores_table(scores: dict[str, Summary], score_name: str) -> Table:
    table = Table("policy", f"{score_name}, mean", "95 % interval", "worst episode", "episodes")
    ordered = sorted(scores.items(), key=lambda item: -item[1].mean)
    for name, found in ordered:
        style = "bold" if name == "learned" else ""
        interval = f"{found.low:.4g} to {found.high:.4g}"
        table.add_row(name, f"{found.mean:.4g}", interval, f"{found.worst:.4g}", str(found.episodes), style=style)
    return table


def print_result(run: RunFolder, result: Result, console: Console) -> None:
    counts = result.counts
    console.print(
        f"{result.outcome} after {counts.iteration} iterations, {counts.agent_steps:,} agent-steps, "
        f"{result.elapsed_s:.1f} s; {result.agent_steps_per_s:,.0f} agent-steps/s; "
        f"peak memory {result.peak_memory_mb:,.0f} MB",
        highlight=False,
    )
    console.print(f"time went to {shares_line(result.phases)}", highlight=False)
    if result.scores:
        console.print(scores_table(result.scores, result.score_name))
    if result.curriculum:
        console.print(gate_line(result.curriculum), highlight=False)
    if result.certificate:
        print_response(result.certificate, console)
    if result.outcome == "interrupted":
        console.print(f"saved; continue with: holdfast resume {run.name}", highlight=False)
