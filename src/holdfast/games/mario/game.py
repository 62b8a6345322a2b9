"""What Super Mario Bros brings beside its world."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from holdfast.games.mario.bootstrap import BUNDLE, BootstrapRules
from holdfast.games.mario.series_options import SeriesConfig
from holdfast.worlds.game import Game, Metric

METRICS = (
    Metric("progress.distance_px", "px", "new ground of all lanes in this iteration"),
    Metric("progress.positive_share", "share", "of lanes that made new ground in this iteration"),
    Metric("progress.best_x", "px", "furthest point of the run"),
    Metric("bootstrap.forced_left", "steps", "in which lanes will still be forced forward, of all lanes together"),
    Metric("adaptive.average", "share", "of lanes with new ground, over the window: what decides"),
    Metric("adaptive.ema", "share", "the same as a moving average that decides nothing"),
    Metric("adaptive.guessed", "0 or 1", "whether the share had to be guessed from the distance"),
    Metric("adaptive.distance_weight", "1", "pay for a pixel, as it lies in the world's lanes"),
    Metric("adaptive.entropy", "1", "reward for undecided policies, as the update used it"),
    Metric("adaptive.lr_scale", "1", "factor on the scheduled learning rate, as the optimiser used it"),
    Metric("starts.share", "share", "of new episodes that begin along the level, not at its start"),
    Metric("starts.clear_rate", "share", "cleared of the last fifty or so training episodes from the level's start"),
    Metric("starts.moments", "count", "kept moments that episodes may begin from"),
    Metric("starts.bins", "count", "bins of the level that hold a moment"),
    Metric("starts.way_left", "share", "of the explored way that no episode has begun from (backward starts)"),
    Metric("starts.agreement", "share", "chance of pressing what was pressed on the way around the frontier"),
    Metric("starts.dealt", "count", "episodes begun along the level so far"),
)


def check(config: Any, explicit: frozenset[str]) -> list[str]:
    from holdfast.games.mario.checks import stage_problems

    return stage_problems(config, explicit)


def curriculum(run: Any, state: Any) -> Any:
    from holdfast.curriculum.judge import EpisodeJudge
    from holdfast.games.mario.stages import StageCurriculum

    return StageCurriculum(run, state), EpisodeJudge()


def hints() -> tuple[Any, ...]:
    from holdfast.games.mario.hints import RULES

    return RULES


def rehearsal() -> Any:
    from holdfast.games.mario.rehearsal import stage_company

    return stage_company()


def campaign(config: Any) -> Callable[[argparse.Namespace], int] | None:
    if not config.section(SeriesConfig).enabled:
        return None
    from holdfast.games.mario.views.series import show_series

    return lambda arguments: show_series(config, arguments)


def report(record: Any) -> Any:
    from holdfast.games.mario.views.report import stage_sections

    return stage_sections(record)


def one_stage(settings: Any, stage: str) -> Any:
    return replace(settings, stages=stage)


def stage_rows(kept: Any, checkpoint: str, episodes: int, sampled: bool) -> Any:
    from holdfast.games.mario.views.levels import judge_levels

    return judge_levels(kept, checkpoint, episodes, sampled)


def stage_table(rows: Any) -> Any:
    from holdfast.games.mario.views.levels import levels_table

    return levels_table(rows)


def proofs(rom: str) -> Iterable[Any]:
    """The game on the real console; on the project's own cartridge where no ROM is found."""
    from holdfast.games.mario.world.doctor import doctor_or_own

    return doctor_or_own(rom)


def pools() -> Any:
    from holdfast.games.mario.backends.pools import POOLS

    return POOLS


def bench(rom: str, repeats: int, blocks: bool) -> dict[str, Any]:
    from holdfast.games.mario.bench import bench_mario

    return bench_mario(rom, repeats, blocks)


GAME = Game(
    sections={"bootstrap": BootstrapRules, "series": SeriesConfig},
    implied={"bootstrap.enabled": BUNDLE},
    uses=frozenset({"starts", "adaptive"}),
    check=check,
    curriculum=curriculum,
    metrics=METRICS,
    hints=hints,
    rehearsal=rehearsal,
    campaign=campaign,
    report=report,
    one_stage=one_stage,
    stage_rows=stage_rows,
    stage_table=stage_table,
    in_workers="holdfast.games.mario.world.emulated:EmulatedMario",
    proof_options=("--world.rom", "own"),  # needs no ROM, and plain Python runs it fast
    proofs=proofs,
    pools=pools,
    bench=bench,
)
