"""A series: one run after the other, one policy for each stage of a game, and a table of what came of them.

    holdfast train mario-levels        # again after an interruption: goes on where it stopped

Stages come in the order of `world.stages`. One whose run is over is kept, an interrupted run is resumed. After each
run the stage's weights and the table are written anew. What a round leaves unsolved gets a longer run, with another
seed, in the next one, from the policy it has if that cleared the stage at all; the policy that did best in evaluations
during training is the one that is judged: by its likeliest actions, and beside that by actions drawn as in training.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.config.reading import with_options
from holdfast.config.sections import Config
from holdfast.games.mario.series_options import SeriesConfig
from holdfast.games.mario.views.levels import LevelRow, judge_stage
from holdfast.games.mario.world.stages import STAGES, read_stages
from holdfast.kit.disk import replace_file
from holdfast.kit.errors import RunFolderError
from holdfast.runs.choose import load_checkpoint
from holdfast.runs.folder import RUN_FILE, RunFolder, command_line, create_run
from holdfast.runs.plain_files import read_json
from holdfast.runs.reopen import config_of, load_learners
from holdfast.runs.shelf import ENDING, on_shelf, shelve, take_down
from holdfast.runs.watch import Result, Watch
from holdfast.train import resume, train

TABLE, ROWS = "table.md", "table.json"
HEADINGS = (
    "stage",
    "cleared",
    "95 % interval",
    "with drawn actions",
    "median steps",
    "training steps",
    "CPU minutes",
    "rounds",
    "ends",
)


class Attempt(NamedTuple):
    """One run of a series."""

    stage: str
    round: int  # from 1

    @property
    def name(self) -> str:
        return f"{self.stage}-round{self.round}"


def results_folder(config: Config) -> Path:
    own = Path(config.run.root) / (config.run.name or "series")
    return Path(config.section(SeriesConfig).results) if config.section(SeriesConfig).results else own / "results"


def attempt_config(config: Config, attempt: Attempt, init: str = "") -> Config:
    """The configuration of one run: its own stage, options, seed, length and first weights."""
    config = with_options(
        config, config.section(SeriesConfig).stages.get(attempt.stage, {}), f"series.stages, stage {attempt.stage}"
    )
    before = attempt.round - 1
    run = dataclasses.replace(
        config.run,
        name=attempt.name,
        root=str(Path(config.run.root) / (config.run.name or "series")),
        seed=config.run.seed + before,
        iterations=round(config.run.iterations * config.section(SeriesConfig).growth ** before),
        init=init,
    )
    world = dataclasses.replace(config.world, stages=attempt.stage)
    return dataclasses.replace(config, world=world, run=run).with_section(SeriesConfig())


class Series:
    """The runs of a series and their results so far."""

    def __init__(
        self, config: Config, preset: str, make_watch: Callable[[], Watch], say: Callable[[str], None]
    ) -> None:
        self.config, self.preset, self.make_watch, self.say = config, preset, make_watch, say
        self.results = results_folder(config)
        self.rows = read_rows(self.results)

    def attempts(self) -> Iterator[Attempt]:
        """What is left to do, round by round; looked at anew after each run."""
        for number in range(1, self.config.section(SeriesConfig).rounds + 1):
            for place in read_stages(self.config.world.stages):
                attempt = Attempt(STAGES[place], number)
                row = self.rows.get(attempt.stage)
                if row is None or (row["rate"] < self.config.section(SeriesConfig).goal and row["rounds"] < number):
                    yield attempt

    def go(self) -> int:
        """Work through the stages; the exit status of an interruption, or 0."""
        for attempt in self.attempts():
            self.say(f"stage {attempt.stage}, round {attempt.round}")
            status = self._train(attempt)
            if status:
                return status
            self._judge(attempt)
        return 0

    def _train(self, attempt: Attempt) -> int:
        """Train, resume, or keep what lies there finished."""
        config = attempt_config(self.config, attempt, self._first_weights(attempt.stage))
        folder = Path(config.run.root) / attempt.name
        if _has_ended_well(folder):
            return 0
        if (folder / RUN_FILE).is_file():
            run = RunFolder(folder)
            run.lock()
            return self._finish(run, lambda watch: resume(config_of(run), run, watch))
        run = create_run(config, self.preset, command_line())
        return self._finish(run, lambda watch: train(config, run, watch))

    def _first_weights(self, stage: str) -> str:
        """Of the stage's kept policy, if it ever cleared the stage and is made like the series' policies; else those
        the stage or the series is told to begin with."""
        row, kept = self.rows.get(stage), self._kept(stage)
        known = row is not None and row["rate"] > 0
        if known and kept is not None and take_down(kept).config.policy == self.config.policy:
            return str(kept)
        return str(self.config.section(SeriesConfig).stages.get(stage, {}).get("run.init", self.config.run.init))

    def _kept(self, stage: str) -> Path | None:
        """The file of its policy: beside the table, or where those that came with the game are."""
        beside = self.results / f"{stage}{ENDING}"
        return beside if beside.is_file() else on_shelf(stage)

    def _finish(self, run: RunFolder, go: Callable[[Watch], Result]) -> int:
        try:
            return go(self.make_watch()).exit_status
        finally:
            run.unlock()

    def _judge(self, attempt: Attempt) -> None:
        """Judge the policy as it will lie on the shelf; keep it if it is the stage's best so far."""
        run = RunFolder(Path(attempt_config(self.config, attempt).run.root) / attempt.name)
        row = adopt(self.results, run, attempt.stage, "best", self.config.section(SeriesConfig).episodes, attempt.round)
        self.rows = read_rows(self.results)
        self.say(f"stage {attempt.stage}: {row.clears} of {row.episodes} cleared [{row.low:.2f}, {row.high:.2f}]")


def adopt(
    results: Path,
    run: RunFolder,
    stage: str,
    checkpoint: str,
    episodes: int,
    rounds: int = 1,
    shelf: Path | None = None,
) -> LevelRow:
    """Judge a run's policy as it would lie on the shelf (beside the table unless given), put it there if it is the
    stage's best, write the table."""
    config, rows = config_of(run), read_rows(results)
    learners, saved = load_learners(run, config, checkpoint)
    aside = run.folder / f"policy{ENDING}"
    shelve(aside, config, learners, {"stage": stage, "checkpoint": saved.name, "world": saved.meta.get("world")})
    policy, before = take_down(aside).learners, rows.get(stage)
    row, drawn = (judge_stage(config, policy, stage, episodes, sampled) for sampled in (False, True))
    spent = {**_spent(run, before), "rounds": rounds}
    if before is None or row.rate > before["rate"]:
        replace_file((shelf or results) / f"{stage}{ENDING}", aside.read_bytes())
        rows[stage] = {**row._asdict(), "drawn_rate": drawn.rate, **spent, "preset": run.describe()["preset"]}
    else:
        rows[stage] = {**before, **spent}
    write_rows(results, rows)
    return row


def _spent(run: RunFolder, before: dict[str, Any] | None) -> dict[str, Any]:
    """Steps and CPU minutes of all the stage's runs; checkpoints of older versions do not count the latter."""
    last = load_checkpoint(run, "latest")
    steps, cpu_s = last.facts["counts"]["agent_steps"], last.meta.get("counters", {}).get("cpu_s")
    if before is None:
        return {"steps": steps, "cpu_minutes": None if cpu_s is None else cpu_s / 60}
    known = cpu_s is not None and before["cpu_minutes"] is not None
    return {"steps": steps + before["steps"], "cpu_minutes": before["cpu_minutes"] + cpu_s / 60 if known else None}


def read_rows(folder: Path) -> dict[str, dict[str, Any]]:
    """By stage; nothing if there is no table yet."""
    path = folder / ROWS
    if not path.is_file():
        return {}
    try:
        return {str(row["stage"]): row for row in json.loads(path.read_text(encoding="utf-8"))}
    except (ValueError, KeyError, TypeError) as error:
        raise RunFolderError(f"{path} is no table of a series: {error}") from error


def write_rows(folder: Path, rows: dict[str, dict[str, Any]]) -> None:
    ordered = [rows[stage] for stage in sorted(rows)]
    replace_file(folder / ROWS, (json.dumps(ordered, indent=1) + "\n").encode())
    replace_file(folder / TABLE, table(ordered).encode())


def table(rows: list[dict[str, Any]]) -> str:
    """As Markdown, in the order of the stages."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---" * len(HEADINGS) + "|"]
    for row in rows:
        ends = ", ".join(f"{name} {count}" for name, count in row["ends"].items())
        steps = "–" if row["median_steps"] is None else f"{row['median_steps']:.0f}"
        minutes = "–" if row["cpu_minutes"] is None else f"{row['cpu_minutes']:.1f}"
        drawn = f"{row['drawn_rate']:.2f}" if "drawn_rate" in row else "–"  # tables of older versions have none
        cells = (
            row["stage"],
            f"{row['rate']:.2f}",
            f"{row['low']:.2f}–{row['high']:.2f}",
            drawn,
            steps,
            f"{row['steps']:,}",
            minutes,
            str(row["rounds"]),
            ends,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _has_ended_well(folder: Path) -> bool:
    try:
        found = read_json(folder / "result.json")
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("exit_status") == 0
