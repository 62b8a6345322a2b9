"""Which checkpoint of a run is meant: the latest, the best, or that of an iteration."""

from __future__ import annotations

from holdfast.config.sections import CheckpointConfig
from holdfast.kit.errors import CheckpointError, UnknownName, nearest
from holdfast.runs.checkpoint import BEST, BEST_WORST, Checkpoints, Saved
from holdfast.runs.folder import RunFolder


def load_checkpoint(run: RunFolder, which: str) -> Saved:
    """`latest`, `best`, `best-worst`, or an iteration's number."""
    checkpoints = Checkpoints(run.folder / "checkpoints", CheckpointConfig())
    if which == "latest":
        return checkpoints.load_latest()[0]
    name = checkpoints.pointed(which) if which in (BEST, BEST_WORST) else which.zfill(6)
    if name is None:
        raise CheckpointError(f"run {run.name} has no {which} checkpoint yet: it was never evaluated")
    if name not in checkpoints.names():
        known = checkpoints.names()
        raise UnknownName(
            f"run {run.name} has no checkpoint {which!r}{nearest(name, known)}; there are {', '.join(known)}"
        )
    return checkpoints.load(name)
