"""`holdfast study`: what was asked for on the command line, its trials while they go on, and its table at the end."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from holdfast.config.reading import parse_overrides
from holdfast.kit.errors import ConfigError, HoldfastError
from holdfast.studies.executor import How, cores
from holdfast.studies.folder import PAGE, StudyFolder
from holdfast.studies.options import parse_choices, parse_seeds, word
from holdfast.studies.plan import Plan, is_study_file, plan_of, read_plan
from holdfast.studies.study import Study, StudyTable
from holdfast.studies.trials import DONE, FAILED, LOST, OVER, PRUNED, RUNNING, STATES, WAITING, Trial, TrialLog
from holdfast.views.comparison import print_comparison, wide_console
from holdfast.views.report.axes import short

ROWS = 30  # of the table on a terminal while it goes on
STYLES = {DONE: "green", PRUNED: "yellow", FAILED: "red", LOST: "yellow", RUNNING: "bold", WAITING: "dim"}


# --- the command's words ---------------------------------------------------------------------------------------------


def show_study(arguments: argparse.Namespace, options: list[str]) -> int:
    """The verb."""
    study = asked_study(arguments, options)
    how = How(
        jobs=arguments.jobs,
        on=arguments.on,
        storage=arguments.storage,
        piece=arguments.piece,
        strict=arguments.strict,
        retry_failed=arguments.retry_failed,
    )
    stream = sys.stderr if arguments.json else sys.stdout
    view = StudyView(Console(file=stream), study.folder.name, quiet=arguments.quiet)
    with view:
        table = study.drive(how, view)
    page = write_page(study, table)
    if arguments.json:
        print(json.dumps(table.as_json()))
    else:
        print_table(study, table, wide_console())
        if page is not None:
            print(f"page: {page}")
    return table.exit_status


def asked_study(arguments: argparse.Namespace, options: list[str]) -> Study:
    """A new study or one to go on with: of a study file, of presets and worlds, or of its own name alone."""
    targets, root = arguments.targets, arguments.root
    given = _given(arguments, options)
    if len(targets) == 1 and not is_study_file(targets[0]):
        folder = StudyFolder(arguments.name or targets[0], root) if _is_name(arguments.name or targets[0]) else None
        if folder is not None and folder.exists and _goes_on(targets[0], arguments.name, folder.plan()):
            return Study.of_plan(_changed(folder.plan(), given), root)
    files = [target for target in targets if is_study_file(target)]
    if files:
        if len(targets) > 1:
            raise ConfigError([f"{files[0]} is a study file: give it alone"])
        plan = read_plan(Path(files[0]))
    else:
        plan = plan_of({"targets": targets}, "command line", "-".join(map(_stem, targets)))
    plan = dataclasses.replace(plan, name=arguments.name or plan.name)
    return Study.of_plan(_changed(plan, given), root)


def _is_name(text: str) -> bool:
    return not any(mark in text for mark in "/\\:") and text not in ("", ".", "..") and not text.startswith("-")


def _goes_on(target: str, name: str, plan: Plan) -> bool:
    """`study NAME` alone means the study; `study TARGET --name NAME` only if that is its target."""
    return not name or plan.targets == (target,) or target == name


def _stem(target: str) -> str:
    name = Path(target).stem if target.endswith(".toml") else target
    return "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in name)


def _given(arguments: argparse.Namespace, options: list[str]) -> dict[str, Any]:
    """What the command line sets of a plan."""
    texts, problems = parse_overrides(options)
    if problems:
        raise ConfigError(problems)
    return {
        "seeds": parse_seeds(arguments.seeds) if arguments.seeds else None,
        "grid": parse_choices(arguments.grid, "--grid") or None,
        "options": texts or None,
        "search": arguments.search,
        "trials": arguments.trials,
        "goal": arguments.goal,
        "prune": arguments.prune,
        "pbt": arguments.pbt,
        "generation": arguments.generation,
    }


def _changed(plan: Plan, given: dict[str, Any]) -> Plan:
    """A plan under the command line."""
    from holdfast.studies.plan import Goal, PopulationPlan, SearchPlan

    goal = None if given["goal"] is None else Goal.read(given["goal"])
    search, population = plan.search, plan.population
    if any(given[key] is not None for key in ("search", "trials", "prune")):
        wanted = {"sampler": given["search"], "trials": given["trials"], "prune": given["prune"]}
        search = dataclasses.replace(search or SearchPlan(0), **_set(wanted))
    if given["pbt"] is not None or given["generation"] is not None:
        wanted = {"members": given["pbt"], "generation": given["generation"]}
        population = dataclasses.replace(population or PopulationPlan(0, 0), **_set(wanted))
    if goal is not None:
        if search is None and population is None:
            raise ConfigError(["--goal goes with a search or a population: every study's score is max:score"])
        search = search and dataclasses.replace(search, goal=goal)
        population = population and dataclasses.replace(population, goal=goal)
    one = search is not None or population is not None
    seeds = given["seeds"] or ((1,) if one and plan.search is None and plan.population is None else plan.seeds)
    return dataclasses.replace(
        plan,
        seeds=seeds,
        grid=given["grid"] or plan.grid,
        options={**plan.options, **(given["options"] or {})},
        search=search,
        population=population,
    )


def _set(wanted: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in wanted.items() if value is not None}


# --- while it goes on ------------------------------------------------------------------------------------------------


class StudyView:
    """A live table on a terminal, one plain line per change elsewhere."""

    def __init__(self, console: Console, name: str, quiet: bool = False) -> None:
        self.console, self.name, self.quiet = console, name, quiet
        self.begun_s, self.over_before = time.monotonic(), -1
        self.live = Live(console=console, refresh_per_second=2) if console.is_terminal and not quiet else None

    def __enter__(self) -> StudyView:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *details: object) -> None:
        if self.live is not None:
            self.live.stop()

    def note(self, text: str) -> None:
        if self.live is not None:
            self.live.console.print(f"note: {text}", markup=False, highlight=False)
        else:
            print(f"note: {text}", file=sys.stderr, flush=True)

    def changed(self, trial: Trial, log: TrialLog) -> None:
        if self.live is None and not self.quiet:
            self.console.file.write(f"{change_line(trial)}; {self._standing(log)}\n")
            self.console.file.flush()

    def working(self, log: TrialLog, shares: dict[int, float]) -> None:
        if self.live is not None:
            self.live.update(self._picture(log, shares))

    def _standing(self, log: TrialLog) -> str:
        over = sum(trial.is_over for trial in log.trials.values())
        return f"{over} of {log.planned} over{self._eta(log)}"

    def _eta(self, log: TrialLog) -> str:
        """From the pace since this driver began."""
        over = sum(trial.is_over for trial in log.trials.values())
        if self.over_before < 0:
            self.over_before = over
        done, left = over - self.over_before, log.planned - over
        if done < 1 or left < 1:
            return ""
        return f", about {duration((time.monotonic() - self.begun_s) / done * left)} left"

    def _picture(self, log: TrialLog, shares: dict[int, float]) -> RenderableType:
        used = sum(shares.values())
        head = f"study {self.name}: {self._standing(log)}, {used:.1f} of {cores()} cores in use"
        return Group(Text(head), trials_table(log.ordered, shares, ROWS))


def change_line(trial: Trial) -> str:
    """What happened to a trial, in a line."""
    score = "" if trial.score is None else f", score {trial.score:.4g}"
    reason = f": {trial.reason.splitlines()[0]}" if trial.reason else ""
    return f"trial {trial.trial} {trial.state}{score}{reason} ({described(trial)})"


def described(trial: Trial) -> str:
    return " ".join(
        [trial.target, f"seed {trial.seed}", *(f"{name}={word(value)}" for name, value in trial.options.items())]
    )


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def trials_table(trials: list[Trial], shares: dict[int, float], most: int) -> Table:
    """Those at work and failed first where there are too many."""
    table = Table("trial", "target", "options", "seed", "state", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("score", justify="right")
    table.add_column("time", justify="right")
    order = sorted(trials, key=lambda trial: (trial.state not in (RUNNING, FAILED, LOST), -trial.trial))
    shown = {trial.trial for trial in order[:most]}
    for trial in trials:
        if trial.trial in shown:
            options = " ".join(f"{name}={word(value)}" for name, value in trial.options.items())
            cpu = f" {shares[trial.trial]:.1f} cores" if trial.trial in shares else ""
            state = Text(trial.state + cpu, style=STYLES[trial.state])
            score = "" if trial.score is None else short(trial.score)
            spent = duration(trial.elapsed_s) if trial.elapsed_s else ""
            table.add_row(str(trial.trial), trial.target, options, str(trial.seed), state, score, spent)
    if len(trials) > most:
        table.add_row("", f"and {len(trials) - most} more")
    return table


# --- at the end ------------------------------------------------------------------------------------------------------


def print_table(study: Study, table: StudyTable, console: Console) -> None:
    """Counts, failures and the best; for seeds and grids the comparison."""
    counts = ", ".join(f"{table.count(state)} {state}" for state in STATES if table.count(state))
    console.print(f"study {table.name}: {counts}", highlight=False)
    for trial in table.trials:
        if trial.state in (FAILED, PRUNED):
            place = f"; see {table.folder / trial.traceback}" if trial.traceback else ""
            console.print(f"{change_line(trial)}{place}", markup=False, highlight=False)
    plan = study.folder.plan()
    best = table.best
    if best is not None and (plan.search is not None or plan.population is not None):
        console.print(f"best: {change_line(best)}, in {study.folder.runs / best.run}", markup=False, highlight=False)
    if is_comparable(plan, table):
        print_comparison(study.compare(), console)
    if table.exit_status > 2:
        console.print(f"interrupted: go on with holdfast study {table.name}", highlight=False)


def is_comparable(plan: Plan, table: StudyTable) -> bool:
    return plan.search is None and plan.population is None and table.count(DONE) > 0


def write_page(study: Study, table: StudyTable) -> Path | None:
    """`study.html`, once a trial is over; a comparison that cannot be made does not cost the trials their page."""
    if not table.count(*OVER):
        return None
    from holdfast.views.comparison_page import as_page, sections
    from holdfast.views.study_page import trials_section

    content = [trials_section(table)]
    if is_comparable(study.folder.plan(), table):
        try:
            content = [*sections(study.compare()), *content]
        except HoldfastError as error:
            print(f"note: {error}", file=sys.stderr)
    study.folder.write(PAGE, as_page(f"study {table.name}", *content))
    return study.folder.path / PAGE
