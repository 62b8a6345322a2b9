"""Checkpoints are whole or refused by name; the one before a damaged one is used; nothing kept is ever lost."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.config.sections import CheckpointConfig
from holdfast.kit.errors import CheckpointError, WriteFailed
from holdfast.runs.checkpoint import FACTS, MANIFEST, TENSORS, Checkpoints, load, manifest_of

ARRAYS = {
    "weights": np.arange(12, dtype=np.float32).reshape(3, 4),
    "keys": np.array([2**64 - 1, 0], np.uint64),
    "flags": np.array([True, False]),
    "empty": np.zeros((0, 5), np.int16),
}


def checkpoints(folder: Path, **options: float) -> Checkpoints:
    return Checkpoints(folder / "checkpoints", CheckpointConfig(**options))  # type: ignore[arg-type]


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    kept = checkpoints(tmp_path)
    kept.save(3, ARRAYS, {"counts": {"iteration": 3}})
    saved, notes = kept.load_latest()
    assert saved.name == "000003" and saved.facts["counts"] == {"iteration": 3} and notes == []
    assert saved.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert saved.arrays[name].dtype == array.dtype and np.array_equal(saved.arrays[name], array)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([TENSORS, FACTS, MANIFEST]), st.integers(0, 10**6), st.integers(0, 2))
def test_any_damage_is_refused_and_the_one_before_is_used(tmp_path: Path, file: str, place: int, kind: int) -> None:
    kept = checkpoints(tmp_path, keep=9)
    for iteration in (1, 2):
        kept.save(iteration, ARRAYS, {"counts": {"iteration": iteration}})
    path = kept.folder / "000002" / file
    content = bytearray(path.read_bytes())
    place %= len(content)
    if kind == 0:
        content[place] ^= 1 << (place % 8)  # one flipped bit
    elif kind == 1:
        content = content[:place]  # truncated
    else:
        content = bytearray(b"\x80\x04foreign") + content[: place // 2]
    path.write_bytes(content)
    saved, notes = kept.load_latest()
    assert saved.name == "000001"
    assert len(notes) == 1 and "000002" in notes[0]


def test_a_run_without_a_whole_checkpoint_says_why(tmp_path: Path) -> None:
    kept = checkpoints(tmp_path)
    with pytest.raises(CheckpointError, match="before its first checkpoint"):
        kept.load_latest()
    place = kept.save(1, ARRAYS, {})
    (place / TENSORS).unlink()
    with pytest.raises(CheckpointError, match=r"000001 is not complete.*state\.safetensors"):
        kept.load_latest()


def test_a_pickle_in_disguise_runs_no_code(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "exploded",))

    kept = checkpoints(tmp_path)
    place = kept.save(1, ARRAYS, {})
    content = pickle.dumps(Bomb())
    (place / TENSORS).write_bytes(content)
    import hashlib

    sums = json.loads((place / MANIFEST).read_text())
    sums[TENSORS] = hashlib.sha256(content).hexdigest()
    (place / MANIFEST).write_text(json.dumps(sums))
    with pytest.raises(CheckpointError, match="cannot be read"):
        load(place)
    assert not (tmp_path / "exploded").exists()


def test_a_newer_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = checkpoints(tmp_path)
    monkeypatch.setattr("holdfast.runs.checkpoint.FORMAT", 9)
    place = kept.save(1, ARRAYS, {})
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="format 9"):
        load(place)


def test_newest_best_and_milestones_are_kept(tmp_path: Path) -> None:
    kept = checkpoints(tmp_path, keep=2, milestone_every=4)
    for iteration in range(1, 11):
        kept.save(iteration, ARRAYS, {})
        if iteration == 3:
            kept.mark_best(3)
    assert kept.names() == ["000003", "000004", "000008", "000009", "000010"]
    assert kept.pointed("latest") == "000010" and kept.pointed("best") == "000003"


def test_the_disk_budget_spares_the_newest_and_the_best(tmp_path: Path) -> None:
    kept = checkpoints(tmp_path, keep=5, budget_mb=1.0)
    big = {"array": np.zeros(100_000, np.float32)}  # 0.4 MB
    for iteration in range(1, 6):
        kept.save(iteration, big, {})
        if iteration == 1:
            kept.mark_best(1)
    assert kept.names() == ["000001", "000005"]


def test_a_write_that_fails_leaves_no_half_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = checkpoints(tmp_path)
    kept.save(1, ARRAYS, {})

    def refuse(path: Path, content: bytes) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("holdfast.runs.checkpoint.write_synced", refuse)
    with pytest.raises(WriteFailed, match="the device failed; earlier checkpoints are whole"):
        kept.save(2, ARRAYS, {})
    monkeypatch.undo()
    assert sorted(path.name for path in kept.folder.iterdir()) == ["000001", "latest"]
    assert kept.load_latest()[0].name == "000001"


def test_leftovers_of_a_killed_write_are_ignored_and_removed(tmp_path: Path) -> None:
    kept = checkpoints(tmp_path)
    kept.save(1, ARRAYS, {})
    half = kept.folder / ".writing-000002"
    half.mkdir()
    (half / TENSORS).write_bytes(b"half")
    assert kept.load_latest()[0].name == "000001"
    kept.save(2, ARRAYS, {})
    assert not half.exists()


def forged(place: Path, content: bytes) -> Path:
    """A checkpoint whose arrays are these bytes, with checksums that agree."""
    contents = {TENSORS: content, FACTS: (place / FACTS).read_bytes()}
    (place / TENSORS).write_bytes(content)
    (place / MANIFEST).write_bytes(manifest_of(contents))
    return place


@pytest.mark.parametrize(
    "content",
    [
        (2**60).to_bytes(8, "little") + b"{}",  # a header of an exabyte
        (10**8).to_bytes(8, "little") + b"{" * 1000,
        (2).to_bytes(8, "little") + b"{}" + b"more",
        (62).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[9000000000],"data_offsets":[0,4]}}' + bytes(4),
        b"",
    ],
)
def test_headers_that_lie_are_refused(tmp_path: Path, content: bytes) -> None:
    place = checkpoints(tmp_path).save(1, ARRAYS, {})
    with pytest.raises(CheckpointError, match="cannot be read"):
        load(forged(place, content))


@pytest.mark.parametrize("file", [TENSORS, FACTS, MANIFEST])
def test_links_and_pipes_are_not_read(tmp_path: Path, file: str) -> None:
    place = checkpoints(tmp_path).save(1, ARRAYS, {})
    content = (place / file).read_bytes()
    (tmp_path / "elsewhere").write_bytes(content)
    (place / file).unlink()
    (place / file).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match="not complete"):
        load(place)
    (place / file).unlink()
    os.mkfifo(place / file)
    with pytest.raises(CheckpointError, match="not a regular file"):
        load(place)


def test_a_linked_checkpoint_is_neither_used_nor_removed(tmp_path: Path) -> None:
    kept = checkpoints(tmp_path, keep=1)
    (tmp_path / "other").mkdir()
    outside = checkpoints(tmp_path / "other").save(9, ARRAYS, {})
    kept.save(1, ARRAYS, {})
    (kept.folder / "000009").symlink_to(outside)
    kept.save(2, ARRAYS, {})
    assert kept.names() == ["000002"] and (outside / TENSORS).exists()
    (kept.folder / "latest").write_text("../../other/checkpoints/000009\n")
    assert kept.pointed("latest") is None
