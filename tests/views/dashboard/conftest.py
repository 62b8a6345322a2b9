"""A dashboard as a user starts it: a process of its own on a free port, asked over a real socket."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra dashboard is not installed")
pytest.importorskip("plotly", reason="the extra dashboard is not installed")


class Served:
    """One dashboard, and how to ask it."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "holdfast", "dashboard", "--port", "0", *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        if "--token" in words:
            self.said += self.process.stdout.readline()
        found = re.search(r":(\d+)/", self.said)
        assert found, self.said + self.process.stdout.read()
        self.port = int(found[1])
        token = re.search(r"token=(\S+)", self.said)
        self.token = token[1] if token else ""
        self.address = f"http://127.0.0.1:{self.port}"

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Status, headers and body; header names are written with underscores."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            told = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.putrequest(method, path, skip_host="host" in {name.lower() for name in told})
            if body is not None and "content-length" not in told:
                connection.putheader("content-length", str(len(body)))
            for name, value in told.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        status, _, body = self.ask(path)
        assert status == 200, body
        return json.loads(body)

    def post(self, path: str, content: Any) -> tuple[int, Any]:
        status, _, body = self.ask(path, "POST", json.dumps(content).encode(), x_holdfast="1")
        return status, json.loads(body)

    def wait(self, path: str, until: Callable[[Any], bool], seconds: float = 30.0) -> Any:
        deadline = time.monotonic() + seconds
        while not until(found := self.get(path)):
            assert time.monotonic() < deadline, found
            time.sleep(0.1)
        return found

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(15)
        finally:
            self.process.kill()
        assert self.process.stdout is not None
        if not self.process.stdout.closed:
            self.said += self.process.stdout.read()
            self.process.stdout.close()
        return self.process.returncode


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    begun: list[Served] = []

    def begin(*words: str | os.PathLike[str]) -> Served:
        begun.append(Served(*map(str, words)))
        return begun[-1]

    yield begin
    for served in begun:
        served.stop()


@pytest.fixture(scope="session")
def fish_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real small run of the fish with a gate that judged four evaluations."""
    from tests.conftest import finished_run

    options = {"world.steps": "20", "evaluation.world": '{"fish": 8, "steps": 20}', "run.iterations": "8",
               "gate.phase_allowance": "1,2,3", "gate.success_early_death": "0.0"}  # fmt: skip
    run, _ = finished_run(tmp_path_factory.mktemp("fish"), "fish", **options)
    return run.folder
