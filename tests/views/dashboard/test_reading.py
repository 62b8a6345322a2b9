"""Streams of runs that grow, are torn, cut back, packed away, huge or hostile, read as columns and thinned."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.runs.streams import Rotation, Stream
from holdfast.views.dashboard.columns import FAST_FROM, MOST_COLUMNS, Columns, is_flat, moments, seconds
from holdfast.views.dashboard.curves import Curve, Wanted, curves_of, packed, unpacked
from holdfast.views.dashboard.folder import Folder
from holdfast.views.dashboard.run_data import RunData, Shelf, running
from holdfast.views.dashboard.tail import Tail
from holdfast.views.dashboard.thin import smoothed, thinned
from tests.views.dashboard.made_runs import go_on, make_run

# --- folders ---------------------------------------------------------------------------------------------------------


def test_nothing_but_regular_files_below_the_root_is_read(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "secret"
    (root / "run").mkdir(parents=True)
    outside.mkdir()
    (outside / "passwd").write_text("secret")
    (root / "run" / "link").symlink_to(outside / "passwd")
    (root / "run" / "media").symlink_to(outside)
    os.mkfifo(root / "run" / "pipe")
    folder = Folder(root, ("run",))
    for place in ("link", "media/passwd", "pipe", "../../secret/passwd", "/etc/passwd", "media", "", "a\0b"):
        assert folder.read(place, 1000) is None, place
    assert folder.stamp("link") is None and folder.stamp("pipe") is None
    assert {item.name for item in folder.items()} == {"pipe"}
    assert Folder(root, ("run", "media")).items() == []


def test_a_planted_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "target").write_text("untouched")
    (tmp_path / "run" / "notes.json").symlink_to(tmp_path / "target")
    (tmp_path / "run" / f".{os.getpid()}-other.json").symlink_to(tmp_path / "target")
    folder = Folder(tmp_path, ("run",))
    folder.write("notes.json", b"{}")
    assert (tmp_path / "run" / "notes.json").read_bytes() == b"{}" and not (
        tmp_path / "run" / "notes.json"
    ).is_symlink()
    with pytest.raises(OSError):
        folder.write("other.json", b"{}")
    assert (tmp_path / "target").read_text() == "untouched"


# --- tails -----------------------------------------------------------------------------------------------------------


def lines(*numbers: int) -> bytes:
    return b"".join(json.dumps({"iteration": number}).encode() + b"\n" for number in numbers)


def test_a_tail_reads_each_whole_line_once(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    tail = Tail(Folder(tmp_path), path.name)
    assert tail.look() is None
    path.write_bytes(lines(1, 2) + b'{"iteration": 3')
    news = tail.look()
    assert news is not None and news.anew and news.content == lines(1, 2)
    assert tail.look() is None
    with path.open("ab") as file:
        file.write(b"}\n" + lines(4))
    news = tail.look()
    assert news is not None and not news.anew and news.content == lines(3, 4)


def test_a_stream_that_was_cut_back_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(lines(1, 2, 3, 4))
    tail = Tail(Folder(tmp_path), path.name)
    tail.look()
    path.write_bytes(lines(1, 2, 7, 8, 9))  # same file, longer, other lines
    news = tail.look()
    assert news is not None and news.anew and news.content == lines(1, 2, 7, 8, 9)
    path.unlink()
    news = tail.look()
    assert news is not None and news.anew and news.content == b""


def test_packed_parts_come_first_and_a_rotation_loses_nothing(tmp_path: Path) -> None:
    stream = Stream(tmp_path / "metrics.jsonl", Rotation(limit_bytes=200, keep=100))
    data = RunData(Folder(tmp_path))
    for iteration in range(1, 61):
        stream.write({"iteration": iteration, "x": iteration * 1.5})
        data.look("metrics")
    stream.close()
    assert len(list(tmp_path.glob("*.gz"))) > 3
    assert data.columns["metrics"]["iteration"].tolist() == list(range(1, 61))


def test_a_huge_stream_is_read_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with path.open("wb") as file:  # sparse: 2 GB of nothing, then lines
        file.seek(2_000_000_000)
        file.write(b"\n" + lines(*range(1000)))
    tail = Tail(Folder(tmp_path), path.name, most_bytes=10_000)
    news = tail.look()
    assert news is not None and news.left_out > 1_999_000_000
    assert news.content.endswith(lines(999)) and len(news.content) <= 10_000
    assert all(json.loads(line) for line in news.content.splitlines())


def test_a_packed_part_that_unpacks_without_end_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(lines(2))
    bomb = gzip.compress(b"\n" * 200_000_000, 1)
    (tmp_path / "metrics.jsonl.20260101T000000Z-000000200000000.gz").write_bytes(bomb)
    news = Tail(Folder(tmp_path), "metrics.jsonl").look()
    assert news is not None and news.content == lines(2) and news.left_out == 200_000_000


# --- columns ---------------------------------------------------------------------------------------------------------

numbers = st.one_of(st.integers(-(2**40), 2**40), st.floats(allow_nan=False, allow_infinity=False, width=32))
rows_of_numbers = st.lists(st.dictionaries(st.sampled_from("abcd"), numbers, min_size=1), min_size=1, max_size=30)


@settings(deadline=None, max_examples=50)
@given(rows_of_numbers)
def test_fast_and_plain_parsing_agree(rows: list[dict[str, float]]) -> None:
    content = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    plain, fast = Columns(), Columns()
    plain.add(content)
    assert fast._add_fast(content)
    assert plain.rows == fast.rows == len(rows) and set(plain.names) == set(fast.names)
    for name in plain.names:
        np.testing.assert_array_equal(plain[name], fast[name])


def test_large_pieces_and_small_ones_give_the_same(tmp_path: Path) -> None:
    make_run(tmp_path / "run", rows=300)
    content = (tmp_path / "run" / "metrics.jsonl").read_bytes()
    assert len(content) > FAST_FROM and is_flat(content)
    whole, pieces = Columns(), Columns()
    whole.add(content)
    for line in content.splitlines(keepends=True):
        pieces.add(line)
    assert whole.names and set(whole.names) == set(pieces.names)
    for name in whole.names:
        np.testing.assert_array_equal(whole[name], pieces[name])


def test_hostile_lines_are_counted_and_left_out() -> None:
    columns = Columns()
    deep = b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    columns.add(b'{"a": 1}\nnot json\n[1]\n' + deep + b'{"a": true, "b": "text", "c": NaN, "d": 1e999}\n{"a": 2}\n')
    assert columns.damaged == 3 and columns.rows == 3
    np.testing.assert_array_equal(columns["a"], [1.0, np.nan, 2.0])
    many = b"".join(json.dumps({f"name{i}": 1}).encode() + b"\n" for i in range(3 * MOST_COLUMNS))
    columns.add(many)
    assert len(columns.names) <= MOST_COLUMNS


def test_times_are_seconds() -> None:
    assert seconds("1970-01-02T00:00:00.500Z") == 86400.5
    assert seconds("1970-01-02T02:00:00+0200") == 86400.0
    assert seconds("yesterday") is None and seconds(3) is None
    assert np.isnan(moments(["no", None])).all()


# --- thinning and curves ---------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=400), st.integers(4, 60))
def test_thinning_keeps_ends_extremes_and_order(values: list[float], most: int) -> None:
    x, y = np.arange(len(values)), np.array(values)
    few_x, few_y = thinned(x, y, most)
    assert len(few_x) <= max(most, 4)
    assert few_y.min() == y.min() and few_y.max() == y.max()
    assert few_x[0] == 0 and few_x[-1] == len(values) - 1
    assert (np.diff(few_x) > 0).all()
    np.testing.assert_array_equal(few_y, y[few_x])


def test_a_single_spike_in_a_million_rows_survives() -> None:
    y = np.zeros(1_000_000)
    y[777_777] = 1.0
    assert thinned(np.arange(len(y)), y, 300)[1].max() == 1.0


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.integers(1, 70))
def test_smoothing_is_the_mean_of_neighbours(values: list[float], width: int) -> None:
    y = np.array(values)
    kept = min(width, len(y))
    plain = [y[max(0, i - (kept - 1) // 2) : i + kept // 2 + 1].mean() for i in range(len(y))]
    np.testing.assert_allclose(smoothed(y, width), plain, atol=1e-6)


def test_zooming_in_brings_every_row(tmp_path: Path) -> None:
    folder = Folder(make_run(tmp_path / "run", rows=5000))
    data = RunData(folder)
    (far,) = curves_of(data, Wanted(names=("episode.return",), points=100))
    assert far.rows == 5000 and len(far.x) <= 100
    (near,) = curves_of(data, Wanted(names=("episode.return",), points=1000, begin=2000, end=2300))
    assert near.x.tolist() == list(range(1999, 2302))
    raw = [json.loads(line)["episode.return"] for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert near.y.tolist() == raw[1998:2301]


def test_curves_over_time_and_steps(tmp_path: Path) -> None:
    data = RunData(Folder(make_run(tmp_path / "run", rows=50)))
    (by_time,) = curves_of(data, Wanted(axis="time", names=("episode.return",)))
    np.testing.assert_allclose(by_time.x, 0.16 * np.arange(1, 51))
    (by_steps,) = curves_of(data, Wanted(axis="agent_steps", names=("phase.learn_s",)))
    np.testing.assert_allclose(by_steps.x, 8192 * np.arange(1, 51))
    (machine,) = curves_of(data, Wanted(axis="time", names=("resources.process_cpu_pct",)))
    assert machine.x.tolist() == [0, 10, 20, 30, 40, 50]


def test_time_goes_on_where_a_resumed_process_began_anew() -> None:
    assert running(np.array([1.0, 2.0, 3.0, 0.5, 1.5])).tolist() == [1.0, 2.0, 3.0, 3.5, 4.5]


def test_answers_are_unpacked_as_they_were_packed() -> None:
    curves = [Curve("a", np.arange(3.0), np.array([1.0, 0.1, -5.0]), 7), Curve("é", np.arange(2.0), np.ones(2), 2)]
    head, found = unpacked(packed(curves, {"axis": "time"}))
    assert head["axis"] == "time" and head["curves"][0] == {"name": "a", "n": 3, "rows": 7}
    for curve in curves:
        np.testing.assert_array_equal(found[curve.name][0], curve.x)
        np.testing.assert_array_equal(found[curve.name][1], curve.y)


def test_a_shelf_lets_go_of_the_oldest(tmp_path: Path) -> None:
    shelf = Shelf(most_bytes=1)
    for name in ("a", "b"):
        with shelf.taken(name, Folder(make_run(tmp_path / name, rows=5))) as data:
            data.look("metrics")
    assert list(shelf._held) == ["b"]
    go_on(tmp_path / "b", 6)
    with shelf.taken("b", Folder(tmp_path / "b")) as data:
        data.look("metrics")
        assert data.columns["metrics"]["iteration"][-1] == 6
