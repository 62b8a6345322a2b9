"""The process that works on a piece of a trial: it begins the run, or goes on with it from its last whole checkpoint.

    python -m holdfast.studies.worker PIECE

Exit status: 0 the run is at its end, 10 it reached the end of the piece, 11 it was pruned, else as the command's.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
import traceback
from typing import Any

from holdfast.kit.errors import HoldfastError, RunFolderError
from holdfast.runs.watch import Progress, Result
from holdfast.studies.piece import (
    EXIT_PRUNED,
    EXIT_REACHED,
    PRUNED_FILE,
    REACHED,
    Bounds,
    Piece,
    curve_of,
    exists,
    saved_iteration,
    standing,
)
from holdfast.studies.trials import DONE, FAILED, PRUNED
from holdfast.views.terminal import Quiet

DIES_WITH = "HOLDFAST_DIES_WITH"  # process whose death is this one's, on a cluster's nodes
PR_SET_PDEATHSIG = 1
STATUS = {DONE: 0, REACHED: EXIT_REACHED, PRUNED: EXIT_PRUNED, FAILED: 3}


class Until(Quiet):
    """Asks the loop to save and stop after an iteration, or at an evaluation that is not good enough."""

    def __init__(self, until: int | None, bounds: Bounds | None, curve: dict[int, float]) -> None:
        self.until, self.bounds, self.curve = until, bounds, curve
        self.ended: dict[str, Any] | None = None

    def iteration(self, progress: Progress) -> None:
        now = progress.counts.iteration
        if self.bounds is not None and self.bounds.column in progress.metrics and not progress.counts.solved:
            self.curve[now] = float(progress.metrics[self.bounds.column])
            self.ended = self.bounds.verdict(self.curve)
        if self.ended is not None or now == self.until:
            signal.raise_signal(signal.SIGINT)  # as a user stops a run: the loop saves this iteration and ends


def main(word: str) -> int:
    piece = Piece.from_word(word)
    before = standing(piece).state
    if before is not None:
        return STATUS[before]
    watch = Until(piece.until, piece.bounds, {})
    result = _resume(piece, watch) if exists(piece.folder) else _begin(piece, watch)
    if watch.ended is not None:
        _keep_verdict(piece, watch.ended)
        return EXIT_PRUNED
    after = standing(piece).state
    return STATUS[after] if after is not None else (1 if result is None else result.exit_status)


def _begin(piece: Piece, watch: Until) -> Result:
    """As `holdfast train` does; the run remembers the command that makes it."""
    from holdfast.config.checks import check_against_world
    from holdfast.config.reading import load_config
    from holdfast.curriculum.feasible import check_run, refuse_infeasible
    from holdfast.runs.first_weights import check_first_weights
    from holdfast.runs.folder import create_run
    from holdfast.train import train
    from holdfast.views.dry_run import spec_of

    shutil.rmtree(piece.folder, ignore_errors=True)  # of a process that died before it wrote run.json
    words = piece.words()
    config, explicit = load_config(piece.target, words)
    spec = spec_of(config)
    check_against_world(config, explicit, spec)
    check_first_weights(config, spec)
    report = check_run(config)
    refuse_infeasible(config, report)
    run = create_run(config, piece.target, ["holdfast", "train", piece.target, *words])
    try:
        if report is not None:
            run.write_json("feasibility.json", {**report.to_json(), "accepted": not report.feasible})
        return train(config, run, watch)
    finally:
        run.unlock()


def _resume(piece: Piece, watch: Until) -> Result | None:
    from holdfast.runs.folder import RunFolder
    from holdfast.runs.reopen import config_of
    from holdfast.train import resume

    run = RunFolder(piece.folder)
    run.lock()
    try:
        config = config_of(run)
        _refuse_other(piece, config)
        saved = saved_iteration(piece.folder)
        if piece.bounds is not None:
            curve = curve_of(piece.folder, piece.bounds.measure)
            watch.curve = {at: value for at, value in curve.items() if at <= saved}
            watch.ended = piece.bounds.verdict(watch.curve)
            if watch.ended is not None:  # the process died after saving and before saying so
                return None
        return resume(config, run, watch)
    finally:
        run.unlock()


def _refuse_other(piece: Piece, config: Any) -> None:
    """A folder that holds another run is not touched."""
    from holdfast.config.sections import flat
    from holdfast.studies.options import plain

    wanted = {**piece.options, "run.seed": piece.seed}
    found = flat(config)
    other = [
        f"{name} is {found.get(name)}, not {value}" for name, value in wanted.items() if plain(found.get(name)) != value
    ]
    if other:
        raise RunFolderError(f"{piece.folder} is the folder of another run: {'; '.join(other)}. Move it away")


def _keep_verdict(piece: Piece, ended: dict[str, Any]) -> None:
    from holdfast.runs.folder import RunFolder

    RunFolder(piece.folder).write_json(PRUNED_FILE, ended)


def die_with(parent: str | None) -> None:
    """The system kills this process when its parent is gone, however that ended."""
    if parent is None:
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it was gone before this was said
        sys.exit(1)


if __name__ == "__main__":
    signal.pthread_sigmask(
        signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM)
    )  # Ray's processes hand on that they block
    die_with(os.environ.pop(DIES_WITH, None))
    try:
        status = main(sys.argv[1])
    except HoldfastError as error:
        print(f"holdfast: error: {error}", file=sys.stderr)
        status = error.exit_status
    except Exception:
        traceback.print_exc()
        status = 1
    sys.exit(status)
