"""What the dashboard costs and how fast it shows: run folders are made, a dashboard is started, a real Chromium looks.

    python benchmarks/dashboard.py [--runs 1000] [--live 20] [--rows 100000] [--idle 20] [--output FILE]

Each figure is a row of the output with machine, load, commit and versions. `first_table_s` counts from the start of the
process to the drawn table; `run_page_s` from the click to all curves in sight, the run's streams never read before.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from tests.views.dashboard.made_runs import description, go_on, make_run  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
         "--disable-component-update")  # fmt: skip
UPDATES, POLL_MS = 15, 5
GOALS = {
    "first_table_s": 2.0, "first_table_server_s": 2.0, "update_s": 0.3, "idle_core_share": 0.03, "run_page_s": 1.5,
    "run_curves_cold_s": 1.5, "watched_share": 0.005,
}  # fmt: skip


def make_runs(root: Path, finished: int, live: int, rows: int) -> None:
    facts = description()
    for number in range(finished):
        make_run(root / f"run-{number:04d}", rows=60, seed=number, score=0.5 + 0.4 * (number % 10) / 10, facts=facts)
    for number in range(live):
        make_run(root / f"live-{number:02d}", rows=60, planned=100_000, live=True, seed=number, facts=facts)
    make_run(root / "long", rows=rows, every=200, facts=facts)


@contextmanager
def served(root: Path) -> Iterator[tuple[str, psutil.Process, float]]:
    """Its address, its process, and when it was started."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "holdfast", "dashboard", "--root", str(root), "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        address = re.search(r"http://[\d.:]+", process.stdout.readline())
        assert address is not None
        yield address[0], psutil.Process(process.pid), begun
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield opened
        opened.close()


def measure(root: Path, idle_s: float) -> dict[str, float]:
    found: dict[str, float] = {}
    with browser() as opened:
        page = opened.new_page(viewport={"width": 1400, "height": 900})
        with served(root) as (address, process, begun):
            page.goto(address)
            page.wait_for_selector("tr[data-id]")
            found["first_table_s"] = time.perf_counter() - begun
            page.wait_for_selector(".live.on")
            found["update_s"] = statistics.median(updates(root, page))
            time.sleep(2.0)
            found["idle_core_share"] = share_of_core(process, idle_s)
            found |= run_page(page, address)
            found["memory_mb"] = process.memory_info().rss / 1e6
        found |= by_server_alone(root)
        found["watched_share"] = watched(root, page, idle_s)
    return found


def updates(root: Path, page: Any) -> list[float]:
    """From a line written to the row shown, several times."""
    taken = []
    for number in range(UPDATES):
        time.sleep(0.9)  # longer than a run that writes all the time is held back
        iteration = 61 + number
        shown = (
            f"() => document.querySelector('tr[data-id=\"live-00\"] .progress').title.startsWith('{iteration:,} of')"
        )
        begun = time.perf_counter()
        go_on(root / "live-00", iteration, rows=100_000)
        page.wait_for_function(shown, polling=POLL_MS)
        taken.append(time.perf_counter() - begun)
    return taken


def share_of_core(process: psutil.Process, seconds: float) -> float:
    """Processor time of the server over clock time, while nothing changes and one page is open."""
    before = sum(process.cpu_times()[:2])
    time.sleep(seconds)
    return (sum(process.cpu_times()[:2]) - before) / seconds


def run_page(page: Any, address: str) -> dict[str, float]:
    """A long run whose streams have not been read yet, with an empty cache of the browser."""
    drawn = """() => { const all = [...document.querySelectorAll('.plot')];
      const seen = all.filter((one) => one.getBoundingClientRect().top < innerHeight);
      return all.length > 10 && seen.length > 0 && seen.every((one) => one.dataset.drawn); }"""
    begun = time.perf_counter()
    page.goto(f"{address}/run?id=long")
    page.wait_for_function(drawn, polling=POLL_MS)
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    page.reload()
    page.wait_for_function(drawn, polling=POLL_MS)
    return {"run_page_s": first, "run_page_again_s": time.perf_counter() - begun}


def by_server_alone(root: Path) -> dict[str, float]:
    """The same without a browser: from the start of the process to the rows, and the curves of the long run, unread."""
    from urllib.request import urlopen

    with served(root) as (address, process, begun):
        with urlopen(f"{address}/api/runs") as answer:
            answer.read()
        table_s, table_cpu_s = time.perf_counter() - begun, sum(process.cpu_times()[:2])
        time.sleep(2.0)
        begun, before = time.perf_counter(), sum(process.cpu_times()[:2])
        with urlopen(f"{address}/api/run/curves?id=long&points=500") as answer:
            answer.read()
        curves_s, spent_s = time.perf_counter() - begun, sum(process.cpu_times()[:2]) - before
    return {
        "first_table_server_s": table_s,
        "first_table_cpu_s": table_cpu_s,
        "run_curves_cold_s": curves_s,
        "run_curves_cold_cpu_s": spent_s,
    }


def watched(root: Path, page: Any, seconds: float) -> float:
    """Processor time that the server takes for one run that writes ten rows a second while its table is open."""
    with served(root) as (address, process, _):
        page.goto(address)
        page.wait_for_selector(".live.on")
        time.sleep(2.0)
        quiet = share_of_core(process, seconds / 2)
        before, begun, number = sum(process.cpu_times()[:2]), time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            number += 1
            go_on(root / "live-01", 61 + number, rows=100_000)
            time.sleep(0.1)
        return max(0.0, (sum(process.cpu_times()[:2]) - before) / (time.perf_counter() - begun) - quiet)


def facts() -> dict[str, Any]:
    """Where and with what it was measured."""
    call: Callable[..., str] = lambda *words: subprocess.run(  # noqa: E731
        words, cwd=REPOSITORY, capture_output=True, text=True, check=False
    ).stdout.strip()
    packages = ("starlette", "uvicorn", "plotly", "playwright", "pyarrow", "numpy")
    return {
        "commit": call("git", "describe", "--always", "--dirty", "--abbrev=12"),
        "machine": f"{platform.machine()}, {psutil.cpu_count()} cores, {psutil.virtual_memory().total / 1e9:.0f} GB",
        "load_before": round(os.getloadavg()[0], 2),
        "nice": os.nice(0),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
        "chromium": call(CHROMIUM, "--version", "--no-sandbox").partition(" built")[0],
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="speed and cost of the dashboard")
    parser.add_argument("--runs", type=int, default=1000, help="finished runs")
    parser.add_argument("--live", type=int, default=20, help="runs that are going on")
    parser.add_argument("--rows", type=int, default=100_000, help="of the long run")
    parser.add_argument("--idle", type=float, default=20.0, help="seconds over which the idle server is measured")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "benchmarks/results/dashboard.jsonl")
    asked = parser.parse_args()
    where = facts()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "runs"
        make_runs(root, asked.runs, asked.live, asked.rows)
        found = measure(root, asked.idle)
    sizes = {"runs": asked.runs, "live": asked.live, "rows": asked.rows, "load_after": round(os.getloadavg()[0], 2)}
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    with asked.output.open("a") as file:
        for name, value in found.items():
            goal = GOALS.get(name)
            print(f"{name:24} {value:9.4f}" + (f"   goal < {goal:g}" if goal else ""))
            file.write(json.dumps({"figure": name, "value": round(value, 5), "goal": goal, **sizes, **where}) + "\n")


if __name__ == "__main__":
    main()
