"""Streams: nothing written is lost or doubled by packing, killing or cutting back, and readers may look at any time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.kit.errors import RunFolderError
from holdfast.runs.reading import Follower, in_short, read_lines, read_stream
from holdfast.runs.streams import Rotation, Stream, cut_back, parts_of

SMALL = Rotation(limit_bytes=200, keep=3)


def numbers(path: Path) -> list[int]:
    return [record["n"] for record in read_lines(path)]


def filled(path: Path, first: int, last: int, rotation: Rotation = SMALL, resumable: bool = False) -> Stream:
    stream = Stream(path, rotation, resumable)
    for n in range(first, last):
        stream.write({"n": n, "pad": "x" * 30})
    return stream


def test_packed_parts_read_as_one_stream(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    filled(path, 0, 22).close()
    parts = parts_of(path)
    assert [part.packed for part in parts] == [True] * 3  # more were packed, 3 are kept
    found = numbers(path)
    assert 10 < len(found) < 22 and found == list(range(22))[-len(found) :]


def test_a_part_that_a_checkpoint_needs_is_not_thrown_away(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    stream = filled(path, 0, 1, resumable=True)
    position = stream.position()
    for n in range(1, 60):
        stream.write({"n": n, "pad": "x" * 30})
    stream.close()
    cut_back(path, position)
    assert numbers(path) == [0]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from([0, 100, 333]))
def test_cut_back_and_written_again_is_as_never_cut(tmp_path: Path, kept: int, lost: int, limit: int) -> None:
    path = tmp_path / "s.jsonl"
    for old in tmp_path.iterdir():
        old.unlink()
    rotation = Rotation(limit, keep=100)
    stream = filled(path, 0, kept, rotation)
    position = stream.position()
    for n in range(kept, kept + lost):
        stream.write({"n": n, "pad": "x" * 30})
    stream.close()
    assert cut_back(path, position) == []
    assert numbers(path) == list(range(kept))
    again = filled(path, kept, kept + lost, rotation)
    assert again.position() == position + sum(
        len(json.dumps({"n": n, "pad": "x" * 30})) + 1 for n in range(kept, kept + lost)
    )
    again.close()
    assert numbers(path) == list(range(kept + lost))


def test_lines_that_are_missing_at_resume_are_told(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    filled(path, 0, 2, Rotation()).close()
    assert cut_back(path, path.stat().st_size + 7) == ["s.jsonl lacks 7 bytes that it had at the checkpoint"]


def test_a_torn_last_line_is_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    filled(path, 0, 3, Rotation()).close()
    with path.open("ab") as file:
        file.write(b'{"n": 3, "pa')
    found = read_stream(path)
    assert [record["n"] for record in found.records] == [0, 1, 2]
    assert (found.torn_last, found.damaged) == (1, [])
    filled(path, 3, 4, Rotation()).close()  # the next writer does not glue its first line to the torn one
    assert numbers(path) == [0, 1, 2, 3] and read_stream(path).torn_last == 0


@pytest.mark.parametrize("bad", [b'{"n": 1', b"[1]", b"\xff\xfe", b"7", b"[" * 100_000, b""])
def test_damage_in_the_middle_is_told_by_file_and_line(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"n": 0}\n' + bad + b'\n{"n": 2}\n')
    found = read_stream(path)
    assert [record["n"] for record in found.records] == [0, 2]
    assert (found.torn_last, found.damaged) == (0, ["s.jsonl line 2"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_foreign_bytes_are_never_an_exception(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    (tmp_path / "s.jsonl.20260101T000000Z-000000000000010.gz").write_bytes(content)
    found = read_stream(path)
    assert all(isinstance(record, dict) for record in found.records)
    assert found.damaged or not content  # nothing packs to nothing


def test_a_stream_is_never_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious\n")
    (tmp_path / "s.jsonl").symlink_to(outside)
    with pytest.raises(RunFolderError, match="is a link"):
        Stream(tmp_path / "s.jsonl")
    with pytest.raises(RunFolderError, match="is a link"):
        cut_back(tmp_path / "s.jsonl", 0)
    assert outside.read_text() == "precious\n"


def test_a_pipe_in_a_streams_place_does_not_stop_readers(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.jsonl")
    assert read_lines(tmp_path / "s.jsonl") == []
    assert Follower(tmp_path / "s.jsonl").look().records == []


def test_a_follower_sees_every_line_once_through_packing_and_cutting(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    follower = Follower(path)
    assert follower.look().records == []
    stream = filled(path, 0, 3, Rotation(200, keep=100))
    position = stream.position()
    seen = []
    for n in range(3, 30):
        stream.write({"n": n, "pad": "x" * 30})
        seen.append([record["n"] for record in follower.look().records])
    assert seen == [list(range(n + 1)) for n in range(3, 30)]
    stream.close()
    cut_back(path, position)
    filled(path, 100, 103, Rotation()).close()  # as long as before, so only the content tells
    assert [record["n"] for record in follower.look().records] == [0, 1, 2, 100, 101, 102]


def test_a_follower_counts_a_torn_line_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    follower = Follower(path)
    path.write_bytes(b'{"n": 0}\n{"n"')
    found = follower.look()
    assert len(found.records) == 1 and found.torn_last == 1
    with path.open("ab") as file:
        file.write(b': 1}\nbroken\n{"n": 2}\n')
    found = follower.look()
    assert [record["n"] for record in found.records] == [0, 1, 2]
    assert found.torn_last == 0 and found.damaged == ["s.jsonl line 3"]


def test_two_threads_write_whole_lines(tmp_path: Path) -> None:
    stream = Stream(tmp_path / "s.jsonl", Rotation(2000, keep=1000))
    threads = [threading.Thread(target=lambda: [stream.write({"n": n}) for n in range(300)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream.close()
    found = read_stream(tmp_path / "s.jsonl")
    assert sorted(record["n"] for record in found.records) == sorted([*range(300)] * 2) and not found.damaged


WRITER = """
import sys
from pathlib import Path
from holdfast.runs.streams import Rotation, Stream
stream = Stream(Path(sys.argv[1]), Rotation(5000, keep=100000))
n = 0
print("ready", flush=True)
while True:
    stream.write({"n": n, "pad": "x" * 200})
    n += 1
"""


def test_a_reader_beside_a_writer_and_after_its_death_sees_whole_lines_in_order(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.readline()
    while len(parts_of(path)) < 3:  # it is writing and packing
        found = read_stream(path)
        assert not found.damaged
    writer.kill()
    writer.wait()
    found = read_stream(path)
    assert not found.damaged
    assert [record["n"] for record in found.records] == list(range(len(found.records)))


def test_damage_of_a_foreign_file_is_told_in_short() -> None:
    places = [f"metrics.jsonl line {number}" for number in range(1, 26)]
    assert in_short(places) == "metrics.jsonl line 1, metrics.jsonl line 2, metrics.jsonl line 3 and 22 more"
    assert in_short(places[:2]) == "metrics.jsonl line 1, metrics.jsonl line 2"
