"""Repairing step counts in metadata that was written without them, by arithmetic that is written down beside them.

Two kinds are known: `meta.json` of our checkpoints, and single JSON files of other trainers with `global_update`,
`global_step` and `num_envs`. steps = updates x environments x rollout steps.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.kit.errors import CheckpointError, HoldfastError
from holdfast.runs.checkpoint import FACTS, MANIFEST, META, manifest_of, verified, write_synced
from holdfast.runs.checkpoint_tools import Verdict
from holdfast.runs.folder import RUN_FILE, RunFolder
from holdfast.runs.heartbeat import utc
from holdfast.runs.plain_files import read_plain

FORMULA = "updates * environments * rollout_steps"
WEIGHTS = (".pt", ".pth", ".ckpt")
SIZE_LIMIT = 64_000_000  # bytes of a metadata file that is looked into


@dataclass(frozen=True)
class Backfill:
    """What may be assumed and done."""

    rollout_steps: int = 64  # where it is not written
    update_if_lower: bool = False
    backup: bool = True
    dry_run: bool = False

    def below(self, root: Path) -> list[Verdict]:
        """One verdict per file of metadata below a folder."""
        found = []
        for path in _metadata_files(root):
            try:
                own = path.name == META and (path.parent / MANIFEST).exists()
                verdict = self._own(path.parent) if own else self._foreign(path)
            except (OSError, ValueError, RecursionError, HoldfastError) as error:
                verdict = Verdict(str(path), False, f"cannot be read: {error}")
            if verdict is not None:
                found.append(verdict)
        return found

    # --- our checkpoints ---------------------------------------------------------------------------------------------

    def _own(self, place: Path) -> Verdict:
        contents = verified(place)
        facts = json.loads(contents[FACTS])
        meta = json.loads(contents[META]) if META in contents else _reconstructed(place, facts)
        counters = meta.setdefault("counters", {})
        updates, lanes = int(facts["counts"]["iteration"]), int(counters.get("lanes") or 0)
        steps, is_assumed = self._rollout_steps(counters.get("rollout_steps"))
        if lanes < 1:
            raise CheckpointError("it does not say how many lanes there were")
        computed, stored = updates * lanes * steps, int(counters.get("lane_steps") or 0)
        if META in contents and not self._is_wrong(stored, computed):
            return Verdict(str(place / META), True, f"nothing to do: {stored:,} steps")
        if self._is_wrong(stored, computed):
            counters["lane_steps"] = computed
        source = _source(is_assumed, steps, None)
        meta.setdefault("audit", {})["reconstructed_step_source"] = source
        if not self.dry_run:
            self._replace_meta(place, contents, meta)
        return Verdict(str(place / META), True, self._change(stored, counters["lane_steps"], source))

    def _replace_meta(self, place: Path, contents: dict[str, bytes], meta: dict[str, Any]) -> None:
        """In three moves, after each of which the checkpoint is whole: the manifest lets go of the old file first."""
        if META in contents:
            self._keep_backup(place / META)
        rest = {file: content for file, content in contents.items() if file != META}
        text = json.dumps(meta, indent=1).encode()
        replace(place / MANIFEST, manifest_of(rest))
        replace(place / META, text)
        replace(place / MANIFEST, manifest_of({**rest, META: text}))

    # --- files of other trainers -------------------------------------------------------------------------------------

    def _foreign(self, path: Path) -> Verdict | None:
        if path.stat().st_size > SIZE_LIMIT:
            return None
        found = json.loads(read_plain(path))
        if not isinstance(found, dict) or not {"global_step", "global_update"} & found.keys():
            return None
        twin = None if found.get("global_update") else _update_of_twin(path)
        updates, environments = int(twin or found.get("global_update") or 0), int(found.get("num_envs") or 0)
        if environments < 1 or updates < 1:
            missing = "num_envs" if environments < 1 else "global_update, nor does a weights file beside it"
            return Verdict(str(path), False, f"cannot be repaired: it does not say {missing}")
        steps, is_assumed = self._rollout_steps(found.get("rollout_steps"))
        computed, stored = updates * environments * steps, int(found.get("global_step") or 0)
        if not self._is_wrong(stored, computed):
            return Verdict(str(path), True, f"nothing to do: {stored:,} steps")
        source = _source(is_assumed, steps, twin)
        repaired = {**found, "global_update": updates, "global_step": computed, "reconstructed_step_source": source}
        if not self.dry_run:
            self._keep_backup(path)
            replace(path, json.dumps(repaired, indent=2).encode())
        return Verdict(str(path), True, self._change(stored, computed, source))

    # --- both --------------------------------------------------------------------------------------------------------

    def _rollout_steps(self, stored: Any) -> tuple[int, bool]:
        return (int(stored), False) if stored else (self.rollout_steps, True)

    def _is_wrong(self, stored: int, computed: int) -> bool:
        return stored == 0 or (self.update_if_lower and stored < computed)

    def _change(self, before: int, after: int, source: dict[str, Any]) -> str:
        verb = "would change" if self.dry_run else "changed"
        return f"{verb}: {before:,} -> {after:,} steps ({source['method']}, {source['rollout_steps']} per rollout)"

    def _keep_backup(self, path: Path) -> None:
        """Once: the first state is the one worth keeping."""
        kept = path.with_name(f"{path.name}.bak")
        if self.backup and not kept.exists() and not kept.is_symlink():
            shutil.copy2(path, kept)


def replace(path: Path, content: bytes) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    write_synced(aside, content)
    os.replace(aside, path)


def _metadata_files(root: Path) -> Iterator[Path]:
    """JSON files at any depth, never through links; a checkpoint without metadata gives the place they belong to."""
    for place, folders, files in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if MANIFEST in files and FACTS in files:
            yield Path(place) / META
            continue
        for name in sorted(files):
            path = Path(place) / name
            if name.endswith(".json") and not name.startswith(".") and not path.is_symlink():
                yield path


def _source(is_assumed: bool, steps: int, twin: int | None) -> dict[str, Any]:
    source: dict[str, Any] = {
        "method": "assumed_rollout_steps" if is_assumed else "checkpoint_plus_rollout",
        "rollout_steps": steps,
        "formula": FORMULA,
        "computed_at": utc(),
    }
    return source if twin is None else {**source, "checkpoint_global_update": twin}


def _update_of_twin(path: Path) -> int | None:
    """The update count in a weights file of the same name. Read by torch's restricted reader, which runs no code."""
    import pickle

    import torch

    for twin in (path.with_suffix(suffix) for suffix in WEIGHTS):
        if twin.is_file() and not twin.is_symlink():
            try:
                found = torch.load(twin, map_location="cpu", weights_only=True)
            except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                raise CheckpointError(f"{twin.name} is not a plain weights file and was not read: {reason}") from None
            count = found.get("global_update") if isinstance(found, dict) else None
            return int(count) if isinstance(count, (int, float)) else None
    return None


def _reconstructed(place: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Metadata for a checkpoint of a version that wrote none, from the run it lies in."""
    run = RunFolder(place.parent.parent)
    if not (run.folder / RUN_FILE).is_file():
        raise CheckpointError("it has no metadata, and lies in no run that could tell")
    description = run.describe()
    config, counts = description["config"], facts["counts"]
    return {
        "identity": {
            "schema": 1,
            "created": None,
            "reason": None,
            "run": run.name,
            "preset": description.get("preset"),
        },
        "counters": {
            "iteration": counts["iteration"],
            "agent_steps": counts["agent_steps"],
            "episodes": counts["episodes"],
            "lane_steps": 0,
            "rollout_steps": config["rollout"]["steps"],
            "lanes": config["rollout"]["lanes"],
        },
        "world": {"name": config["world"]["name"], "settings": config["world"], "seed": config["run"]["seed"]},
        "learner": config["learner"],
        "software": {"holdfast": description.get("holdfast"), **description.get("versions", {})},
    }
