"""TensorBoard files: what TensorBoard's own reader finds in them, and checksums by its own code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.kit.errors import RunFolderError
from holdfast.runs.board import Board, checksum, tag_of


def test_its_reader_finds_every_value(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = Board(tmp_path / "tensorboard", 1)
    for step in range(5):
        board.write({"agent_steps": 100 * step, "iteration": step, "episode.return": 0.5 * step})
    found = EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()  # while it is still open for writing
    assert found.Tags()["scalars"] == ["run/iteration", "episode/return"]
    assert [(one.step, one.value) for one in found.Scalars("episode/return")] == [(100 * n, 0.5 * n) for n in range(5)]
    board.close()


def test_a_second_life_of_a_run_hides_what_it_does_anew(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for first_step, value in ((1, 1.0), (201, 2.0)):
        board = Board(tmp_path, first_step)
        for step in (100, 200, 300) if value == 1.0 else (300, 400):
            board.write({"agent_steps": step, "x": value})
        board.close()
    found = EventAccumulator(str(tmp_path))
    found.Reload()
    assert [(one.step, one.value) for one in found.Scalars("run/x")] == [(100, 1), (200, 1), (300, 2), (400, 2)]


def test_checksums_are_those_of_tensorboard() -> None:
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    for length in (0, 1, 8, 9, 1000):
        content = os.urandom(length)
        assert checksum(content) == masked_crc32c(content)


def test_a_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.runs.board.time.time_ns", lambda: 7)
    (tmp_path / f"events.out.tfevents.7.holdfast.{os.getpid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunFolderError, match="is a link"):
        Board(tmp_path, 1)
    assert not (tmp_path / "elsewhere").exists()


def test_tags_are_grouped_by_the_first_part_of_a_name() -> None:
    assert tag_of("learner.player.lr") == "learner/player/lr" and tag_of("iteration") == "run/iteration"
