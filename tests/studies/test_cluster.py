"""Studies on Ray: two nodes on loopback, one of them killed, and the same bytes as on this machine alone."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest

from holdfast.kit.errors import ConfigError, HoldfastError
from holdfast.studies.cluster import HERE, connect, import_ray
from holdfast.studies.engine import Silent
from holdfast.studies.piece import saved_iteration
from holdfast.studies.shipping import digests, in_order, pack, unpack
from holdfast.studies.study import Study
from holdfast.studies.versions import skew, versions
from tests.studies.recorded import write_run
from tests.studies.small import scores, small_study, study_bytes

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray")  # which loads only once it is told how
LONGER = {"run.iterations": 20, "checkpoint.every": 10}


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[Any]:
    """A head with one core and a node with another, on loopback; the driver connected."""
    ray = import_ray(HERE)
    from ray.cluster_utils import Cluster

    small = {
        "num_cpus": 1,
        "object_store_memory": 80_000_000,
        "node_ip_address": "127.0.0.1",
        "include_dashboard": False,
    }
    cluster = Cluster(initialize_head=True, head_node_args=small)
    node = cluster.add_node(**{name: value for name, value in small.items() if name != "include_dashboard"})
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    yield cluster, node
    ray.shutdown()
    cluster.shutdown()


def at_work(node: Any) -> bool:
    """Has a worker of ours begun on this node?"""
    (raylet,) = node.all_processes["raylet"]
    for process in psutil.Process(raylet.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "holdfast.studies.worker" in process.cmdline():
                return True
    return False


class Remembering(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_a_study_that_loses_a_node_ends_with_the_bytes_of_one_on_this_machine(tmp_path: Path, two_nodes: Any) -> None:
    here = small_study(tmp_path / "here", options=LONGER)
    threading.Thread(target=here.run, kwargs={"jobs": 2}).start()
    cluster, node = two_nodes
    study, watch = small_study(tmp_path / "there", options=LONGER), Remembering()

    def lose_a_node() -> None:
        while not all(saved_iteration(study.folder.runs / run) >= 10 for run in ("0001", "0002")):
            time.sleep(0.02)
        while not at_work(node):
            time.sleep(0.02)
        cluster.remove_node(node, allow_graceful=False)

    threading.Thread(target=lose_a_node, daemon=True).start()
    table = study.run(on="auto", watch=watch)
    assert table.exit_status == 0, table.trials
    while here.folder.exists and any(not trial.is_over for trial in here.table().trials):
        time.sleep(0.1)
    assert scores(table.trials) == scores(here.table().trials) and study_bytes(study) == study_bytes(here)
    assert any("was lost with node" in note for note in watch.notes), watch.notes
    assert not (study.folder.runs / "0001/lock").exists() and (study.folder.runs / "0001/result.json").exists()


def test_with_storage_that_all_nodes_see_runs_stay_there(tmp_path: Path, two_nodes: Any) -> None:
    study = small_study(tmp_path, seeds=(1,))
    table = study.run(on="auto", storage=str(tmp_path / "shared"))
    assert table.exit_status == 0 and (tmp_path / "shared/s/runs/0001/result.json").exists()
    assert study.folder.runs.is_symlink() and study.compare().groups[0].n == 1
    with pytest.raises(ConfigError, match=r"are in .* already"):
        Study("s", root=tmp_path).run(on="auto", storage=str(tmp_path / "elsewhere"))
    with pytest.raises(ConfigError, match="--piece has no effect with --storage"):
        Study("s", root=tmp_path).run(on="auto", storage=str(tmp_path / "shared"), piece=3)


def test_another_version_on_a_node_is_told_and_refused_if_strict(
    tmp_path: Path, two_nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = {**versions(), "numpy": "1.0", "cpu": "another"}
    assert skew(theirs, versions()) == [
        f"numpy {versions()['numpy']} (here 1.0)",
        f"cpu {versions()['cpu']} (here another)",
    ]
    monkeypatch.setattr("holdfast.studies.cluster.versions", lambda: theirs)
    with pytest.raises(HoldfastError, match=r"differs: numpy .* \(here 1.0\)"):
        small_study(tmp_path).run(on="auto", strict=True)
    assert not (tmp_path / "s/study.toml").exists()


def test_an_address_that_does_not_answer_is_refused_within_ten_seconds(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and never says a word
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        code = (
            "import sys, time; from holdfast import cli; from holdfast.studies import cluster; join = cluster.connect\n"
            "def timed(ray, on):\n"
            "    begun = time.monotonic()\n"
            "    try: join(ray, on)\n"
            "    finally: print(time.monotonic() - begun, flush=True)\n"
            f"cluster.connect = timed; cli.main(['study', 'template', '--on', {address!r}])"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "no Ray cluster answers" in done.stderr, done.stderr
    assert float(done.stdout) < 10.0 and not (tmp_path / "studies").exists()


@pytest.mark.parametrize(("on", "said"), [("ray://127.0.0.1:1", "no Ray cluster answers"), ("nowhere", "HOST:PORT")])
def test_a_closed_port_and_no_address_are_refused_at_once(on: str, said: str) -> None:
    with pytest.raises(HoldfastError, match=said):
        connect(import_ray(HERE), on)


def test_a_folder_comes_back_as_it_is_there_and_only_what_changed_is_sent(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a/0001", 1, 0.5, curve=(1, 2, 3))
    (run / "checkpoints/000010").mkdir(parents=True)
    (run / "checkpoints/000010/state.safetensors").write_bytes(b"x" * 90_000)
    (run / "lock").write_text("7")
    whole = pack(run)
    unpack(whole, tmp_path / "b/0001")
    there = tmp_path / "b/0001"
    known = digests(there)
    (there / "checkpoints/000020").mkdir()
    (there / "checkpoints/000020/state.safetensors").write_bytes(b"y" * 1000)
    (there / "checkpoints/000010/state.safetensors").unlink()
    (there / "checkpoints/000010").rmdir()
    back = pack(there, known)
    unpack(back, run)
    assert len(back.archive) < len(whole.archive)
    ours, theirs = digests(run), digests(there)
    assert ours.pop("run.json") != theirs.pop("run.json") and ours == theirs  # but for where it is
    assert not (run / "checkpoints/000010").exists() and (run / "lock").read_text() == "7"
    assert in_order(["result.json", "checkpoints/latest", "run.json", "metrics.jsonl", "checkpoints/000001/a"]) == [
        "metrics.jsonl",
        "checkpoints/000001/a",
        "checkpoints/latest",
        "run.json",
        "result.json",
    ]
