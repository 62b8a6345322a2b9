"""Looking at checkpoints and tidying them: what is in one, whether all are whole, what a smaller budget would keep."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from holdfast.config.sections import CheckpointConfig
from holdfast.kit.errors import CheckpointError
from holdfast.runs.checkpoint import BEST, BEST_WORST, Checkpoints, folder_bytes, verified
from holdfast.runs.choose import load_checkpoint
from holdfast.runs.folder import RunFolder
from holdfast.runs.reading import in_short, read_stream

STREAMS = ("metrics", "timing", "episodes", "events", "heartbeat", "resources", "workers")


class Verdict(NamedTuple):
    """One thing that was looked at or changed."""

    name: str
    good: bool
    text: str


def inspect(run: RunFolder, which: str) -> dict[str, Any]:
    """Everything about one checkpoint but the numbers in its arrays."""
    saved = load_checkpoint(run, which)
    arrays = {
        name: {"dtype": str(array.dtype), "shape": list(array.shape), "bytes": array.nbytes}
        for name, array in sorted(saved.arrays.items())
    }
    place = run.folder / "checkpoints" / saved.name
    return {
        "checkpoint": str(place),
        "bytes": folder_bytes(place),
        "meta": saved.meta,
        "facts": saved.facts,
        "arrays": arrays,
    }


def verify(run: RunFolder) -> list[Verdict]:
    """Every checkpoint against its checksums, the pointers, and the streams."""
    checkpoints = Checkpoints(run.folder / "checkpoints", CheckpointConfig())
    found = [_whole(checkpoints, name) for name in checkpoints.names()]
    for pointer in ("latest", BEST, BEST_WORST):
        if (checkpoints.folder / pointer).exists() and checkpoints.pointed(pointer) is None:
            found.append(Verdict(pointer, False, "names a checkpoint that is not there"))
    return found + [_stream_verdict(run, name) for name in STREAMS if (run.folder / f"{name}.jsonl").exists()]


def _whole(checkpoints: Checkpoints, name: str) -> Verdict:
    try:
        contents = verified(checkpoints.folder / name)
    except CheckpointError as error:
        return Verdict(name, False, str(error))
    return Verdict(name, True, f"{sum(map(len, contents.values())):,} bytes in {len(contents)} files, as written")


def _stream_verdict(run: RunFolder, name: str) -> Verdict:
    found = read_stream(run.folder / f"{name}.jsonl")
    torn = ", the last one torn" if found.torn_last else ""
    if found.damaged:
        return Verdict(f"{name}.jsonl", False, f"damaged: {in_short(found.damaged)}; {len(found.records)} lines whole")
    return Verdict(f"{name}.jsonl", True, f"{len(found.records)} lines{torn}")


def prune(run: RunFolder, keep: int | None, budget_mb: float | None, dry_run: bool) -> list[Verdict]:
    """Remove what the configured (or given) limits do not keep; the newest and the best always stay."""
    limits = _limits(run)
    config = dataclasses.replace(
        limits,
        keep=limits.keep if keep is None else keep,
        budget_mb=limits.budget_mb if budget_mb is None else budget_mb,
    )
    checkpoints = Checkpoints(run.folder / "checkpoints", config)
    doomed = checkpoints.doomed()
    sizes = {name: folder_bytes(checkpoints.folder / name) / 1e6 for name in checkpoints.names()}
    if not dry_run:
        checkpoints.prune()
    gone = "would be removed" if dry_run else "removed"
    return [Verdict(name, True, f"{size:.2f} MB, {gone if name in doomed else 'kept'}") for name, size in sizes.items()]


def _limits(run: RunFolder) -> CheckpointConfig:
    """As the run was configured, without opening its world."""
    section = run.describe()["config"].get("checkpoint", {})
    known = {item.name for item in dataclasses.fields(CheckpointConfig)}
    return CheckpointConfig(**{name: value for name, value in section.items() if name in known})
