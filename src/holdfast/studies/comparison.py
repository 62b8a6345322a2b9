"""`compare`: groups of runs under one measure, with intervals, differences between groups, profiles and curves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.kit.errors import ConfigError
from holdfast.studies import statistics
from holdfast.studies.groups import Group, as_strata, differences, group_runs, values_of
from holdfast.studies.recorded import SCORE, Recorded, read_run, run_folders
from holdfast.studies.statistics import RELIABLE, Band, Estimate, Reached

ALL_WITH_ALL = 6  # groups; of more, each is compared with the first
SIGNIFICANT = 0.05
PROFILE_POINTS = 101


class GroupResult(NamedTuple):
    """One group under the measure."""

    label: str
    n: int
    seeds: list[int]
    values: list[float]
    mean: Estimate
    median: Estimate
    iqm: Estimate
    reliable: bool  # enough seeds for the intervals to mean something
    tasks: int  # configurations that are pooled, with `by`


class PairResult(NamedTuple):
    """Two groups against each other."""

    first: str
    second: str
    improvement: Estimate  # P(a run of the first > a run of the second)
    pairs: int  # seeds that both ran
    difference: float  # mean over pairs; without pairs, of the means
    p: float | None  # sign flips over pairs; None without
    p_corrected: float | None  # Holm, over all comparisons shown
    detectable: float | None  # smallest true difference found in four of five such comparisons, where none is shown

    @property
    def significant(self) -> bool:
        return self.p_corrected is not None and self.p_corrected < SIGNIFICANT


class ThresholdResult(NamedTuple):
    """When the runs of a group reached the threshold."""

    label: str
    iterations: Reached
    agent_steps: Reached
    seconds: Reached


@dataclass(frozen=True)
class Comparison:
    """Everything `holdfast compare` says."""

    measure: str
    by: list[str]
    groups: list[GroupResult]
    pairs: list[PairResult]
    differences: dict[str, list[Any]]  # option -> its value in each group
    profiles: list[Band]
    curves: list[Band | None]  # over agent_steps
    threshold: float | None
    reached: list[ThresholdResult]
    notes: list[str]

    def as_json(self) -> dict[str, Any]:
        """Plain tables, lists and numbers."""
        return {
            "measure": self.measure,
            "by": self.by,
            "groups": [
                {**group._asdict(), **{name: getattr(group, name)._asdict() for name in ("mean", "median", "iqm")}}
                for group in self.groups
            ],
            "pairs": [{**pair._asdict(), "improvement": pair.improvement._asdict()} for pair in self.pairs],
            "differences": self.differences,
            "profiles": [_plain(band) for band in self.profiles],
            "curves": [band and _plain(band) for band in self.curves],
            "threshold": self.threshold,
            "reached": [
                {"label": one.label, **{name: getattr(one, name)._asdict() for name in one._fields[1:]}}
                for one in self.reached
            ],
            "notes": self.notes,
        }


def _plain(band: Band) -> dict[str, list[float]]:
    return {name: values.tolist() for name, values in band._asdict().items()}


def compare(
    paths: Iterable[str | Path],
    by: str | Sequence[str] = (),
    measure: str = SCORE,
    threshold: float | None = None,
) -> Comparison:
    """Compare the finished runs of studies and run folders, given by name or path.

    Runs are grouped by their configuration without seed and names, or by the options in `by` alone; then seeds are
    resampled within each of the configurations that a group pools. `threshold`: also say when runs reached it.
    """
    folders = run_folders([str(path) for path in paths])
    read = {folder: read_run(folder) for folder in folders}
    runs = [run for run in read.values() if isinstance(run, Recorded)]
    notes = _left_out({folder: run for folder, run in read.items() if isinstance(run, str)})
    if not runs:
        raise ConfigError(["no run to compare has come to its end", *notes])
    names = [name for name in ([by] if isinstance(by, str) else by) if name]
    groups, twins = group_runs(runs, list(names))
    return compare_groups(groups, list(names), measure, threshold, notes + twins)


def _left_out(reasons: dict[Path, str]) -> list[str]:
    return [
        f"{sum(reason == other for other in reasons.values())} left out, {reason}: "
        + ", ".join(folder.name for folder, other in reasons.items() if other == reason)
        for reason in dict.fromkeys(reasons.values())
    ]


def compare_groups(
    groups: list[Group], by: list[str], measure: str, threshold: float | None = None, notes: Sequence[str] = ()
) -> Comparison:
    """The comparison of groups that are read already."""
    values = [values_of(group, measure) for group in groups]
    chosen = statistics.all_pairs(len(groups), ALL_WITH_ALL)
    pairs = corrected([_pair(groups[a], groups[b], values[a], values[b]) for a, b in chosen])
    thresholds = _profile_points([value for table in values for part in as_strata(table) for value in part])
    curves = [[run.curve(measure) for run in group.runs] for group in groups]
    return Comparison(
        measure=groups[0].runs[0].score_name if measure == SCORE else measure,
        by=by,
        groups=[_group(group, table) for group, table in zip(groups, values, strict=True)],
        pairs=pairs,
        differences=differences(groups),
        profiles=[statistics.performance_profile(np.concatenate(as_strata(one)), thresholds) for one in values],
        curves=[_curve([(one.agent_steps, one.values) for one in some]) for some in curves],
        threshold=threshold,
        reached=[] if threshold is None else [_reached(group, measure, threshold) for group in groups],
        notes=[*notes, *_warnings(groups, chosen)],
    )


def _group(group: Group, values: dict[str, dict[int, float]]) -> GroupResult:
    strata = as_strata(values)
    estimates = {name: statistics.estimate(strata, statistic) for name, statistic in statistics.STATISTICS.items()}
    flat = [(seed, value) for by_seed in values.values() for seed, value in by_seed.items()]
    return GroupResult(
        label=group.label,
        n=len(flat),
        seeds=[seed for seed, _ in flat],
        values=[value for _, value in flat],
        reliable=min(map(len, strata)) >= RELIABLE,
        tasks=len(strata),
        **estimates,
    )


def _pair(a: Group, b: Group, ours: dict[str, dict[int, float]], theirs: dict[str, dict[int, float]]) -> PairResult:
    """Over the configurations that both groups have; pairs are the same seed of the same one."""
    shared = [key for key in ours if key in theirs]
    paired = bool(shared)
    if not paired:  # different configurations: all of ours with all of theirs
        ours, theirs, shared = {"": _pooled(ours)}, {"": _pooled(theirs)}, [""]
    first, second = [as_strata({key: table[key] for key in shared}) for table in (ours, theirs)]
    differences = np.array(
        [ours[key][seed] - theirs[key][seed] for key in shared for seed in ours[key] if paired and seed in theirs[key]]
    )
    pairs = len(differences)
    x, y = np.concatenate(first), np.concatenate(second)
    return PairResult(
        first=a.label,
        second=b.label,
        improvement=statistics.probability_of_improvement(first, second),
        pairs=pairs,
        difference=float(differences.mean()) if pairs else float(x.mean() - y.mean()),
        p=statistics.sign_flip(differences) if pairs else None,
        p_corrected=None,
        detectable=statistics.detectable_paired(differences) if pairs else statistics.detectable_unpaired(x, y),
    )


def _pooled(table: dict[str, dict[int, float]]) -> dict[int, float]:
    """Values of different configurations under running numbers."""
    values = [value for by_seed in table.values() for value in by_seed.values()]
    return dict(enumerate(values))


def corrected(pairs: list[PairResult]) -> list[PairResult]:
    """With Holm's correction; a difference that is shown needs no detectable one beside it."""
    known = [pair.p for pair in pairs if pair.p is not None]
    after = iter(statistics.holm(known))
    found = [pair if pair.p is None else pair._replace(p_corrected=next(after)) for pair in pairs]
    return [pair._replace(detectable=None) if pair.significant else pair for pair in found]


def _profile_points(values: list[float]) -> np.ndarray:
    low, high = min(values), max(values)
    room = 0.02 * (high - low) or 0.5
    return np.linspace(low - room, high + room, PROFILE_POINTS)


def _curve(curves: list[tuple[np.ndarray, np.ndarray]]) -> Band | None:
    """None where a run was never evaluated, or where runs have no moment in common."""
    if not curves or any(len(x) == 0 for x, _ in curves):
        return None
    x, rows = statistics.same_points(curves)
    return statistics.learning_curve(rows, x) if len(x) else None


def _reached(group: Group, measure: str, threshold: float) -> ThresholdResult:
    """The first evaluation at or above the threshold, or the last evaluation of a run that never was."""
    iterations, steps, seconds, reached = [], [], [], []
    for run in group.runs:
        curve = run.curve(measure)
        if not len(curve.values):
            raise ConfigError(
                [f"{run.name} was never evaluated during training: no moment at which it reached {measure}"]
            )
        above = np.flatnonzero(curve.values >= threshold)
        at = int(above[0]) if len(above) else -1
        reached.append(len(above) > 0)
        iterations.append(curve.iterations[at])
        steps.append(curve.agent_steps[at])
        seconds.append(float(np.interp(curve.iterations[at], *run.seconds())))
    found = np.array(reached)
    spent = [statistics.until_threshold(np.array(one, np.float64), found) for one in (iterations, steps, seconds)]
    return ThresholdResult(group.label, *spent)


def _warnings(groups: list[Group], chosen: list[tuple[int, int]]) -> list[str]:
    notes = []
    few = [group.label for group in groups if min(len(runs) for runs in group.strata.values()) < RELIABLE]
    if few:
        notes.append(f"* fewer than {RELIABLE} seeds: the interval is unreliable")
    if len(groups) > ALL_WITH_ALL:
        notes.append(f"{len(groups)} groups: each is compared with the first, {groups[0].label}")
    pooled = [group.label for group in groups if len(group.strata) > 1]
    if pooled:
        notes.append(
            f"pooled over {max(len(group.strata) for group in groups)} configurations; seeds are resampled in each"
        )
    shared = [(a, b) for a, b in chosen if not groups[a].strata.keys() & groups[b].strata.keys()]
    if shared:
        notes.append("groups that share no configuration beside the option are compared as they are, without pairs")
    return notes
