"""One metric of many runs in one picture: each run's curve, or each group's middle with its interval over the seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.views.dashboard.curves import Curve, Wanted, curves_of
from holdfast.views.dashboard.folds import SEED, iqm
from holdfast.views.dashboard.index import Entry
from holdfast.views.dashboard.run_data import Shelf

GRID, RESAMPLES = 200, 400
RAW_POINTS = 4000  # of each run, before they are laid on the grid


def run_curves(shelf: Shelf, entries: Sequence[Entry], wanted: Wanted) -> list[Curve]:
    """The metric of every run that has it, named by the run."""
    found = []
    for entry in entries:
        with shelf.taken(entry.id, entry.folder) as data:
            found += [curve._replace(name=entry.id) for curve in curves_of(data, wanted)[:1]]
    return found


def group_curves(shelf: Shelf, groups: Sequence[tuple[str, Sequence[Entry]]], wanted: Wanted) -> list[Curve]:
    """Three curves per group: KEY, KEY|low and KEY|high."""
    found = []
    for key, members in groups:
        curves = run_curves(shelf, members, wanted._replace(points=RAW_POINTS))
        found += folded(key, [curve for curve in curves if len(curve.x)])
    return found


def folded(key: str, curves: Sequence[Curve]) -> list[Curve]:
    """Interquartile mean over the runs where all of them are known; what only some have reached is left out."""
    if not curves:
        return []
    begin, end = max(curve.x[0] for curve in curves), min(curve.x[-1] for curve in curves)
    if end < begin:
        return []
    rows = min(len(curve.x) for curve in curves)
    grid = np.linspace(begin, end, max(1, min(GRID, rows)))
    values = np.array([np.interp(grid, curve.x, curve.y) for curve in curves])  # [runs, grid]
    draws = np.random.default_rng(SEED).integers(0, len(curves), (RESAMPLES, len(curves)))
    resampled = iqm(np.moveaxis(values[draws], 1, -1))  # [resamples, grid]
    low, high = np.percentile(resampled, (2.5, 97.5), axis=0)
    middle = iqm(values.T)
    return [Curve(name, grid, line, rows) for name, line in ((key, middle), (f"{key}|low", low), (f"{key}|high", high))]
