"""Signs of life are written, silence and slowness are noticed, and what they leave behind says where the loop was."""

from __future__ import annotations

import gc
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.reading import load_config
from holdfast.config.sections import MetricsConfig
from holdfast.kit.errors import ConfigError
from holdfast.kit.timing import Clock, heap_at_rest
from holdfast.runs.heartbeat import Heart, Pulse
from holdfast.runs.metrics import HEARTBEATS, RESOURCES
from holdfast.runs.monitor import SLOW_STEPS, Monitor
from holdfast.runs.reading import read_lines
from holdfast.runs.resources import Resources
from holdfast.runs.slow_steps import SlowSteps


def test_rates_are_over_the_last_lines_and_absent_before_there_are_two() -> None:
    heart = Heart(every_s=30, stall_s=300)
    first = heart.beat(0.0, 0.0, "boot", Pulse(0, 0))
    assert "iterations_per_s" not in first
    for beat in range(1, 20):
        line = heart.beat(30.0 * beat, 1.0, "learn", Pulse(beat * beat, 1000 * beat))
    assert line["agent_steps_per_s"] == pytest.approx(1000 / 30, abs=0.1)
    assert line["iterations_per_s"] == pytest.approx((19**2 - 12**2) / (7 * 30), abs=1e-3)
    assert line.keys() == {metric.name for metric in HEARTBEATS}


def test_silence_is_a_stall_once_per_cool_down() -> None:
    heart = Heart(every_s=100, stall_s=300)
    heart.beat(0, 0, "learn", Pulse())
    assert not heart.stalled(400, 400)  # one beat is not enough to tell
    heart.beat(100, 100, "learn", Pulse())
    told = [now for now in range(100, 2000, 10) if heart.stalled(now, idle_s=now)]
    assert told == [300, 700, 1100, 1500, 1900]  # the larger of 300 s and 4 beats apart


def test_slow_steps_by_the_median_and_by_a_limit() -> None:
    by_median = SlowSteps(limit_s=0.0, count=3, window_s=10.0)
    assert not by_median.is_slow(60.0)  # the first step compiles
    assert not any(by_median.is_slow(0.1) for _ in range(50))
    assert by_median.threshold_s == pytest.approx(2.0)
    assert not by_median.is_slow(1.9) and by_median.is_slow(2.1)
    by_limit = SlowSteps(limit_s=0.5, count=3, window_s=10.0)
    assert by_limit.is_slow(0.6) and not by_limit.is_slow(0.4)


def test_enough_slow_steps_within_the_window_ask_for_one_trace() -> None:
    slow = SlowSteps(limit_s=1.0, count=3, window_s=10.0)
    assert [slow.note(now) for now in (0.0, 9.0, 18.0)] == [False, False, False]  # never three within ten seconds
    assert slow.is_last_before_trace(18.5) and not slow.is_last_before_trace(27.9)
    assert [slow.note(now) for now in (18.5, 19.0, 19.5)] == [True, False, False]


def test_resources_are_measured_and_absent_where_they_cannot_be(tmp_path: Path) -> None:
    found = Resources(tmp_path).sample()
    assert found.keys() <= {metric.name.replace("{column}", "0") for metric in RESOURCES}
    assert found["process_memory_mb"] > 1 and 0 < found["system_memory_pct"] <= 100
    assert not any(name.startswith("gpu") and value is None for name, value in found.items())


class Watched:
    """A monitor beside a loop that a test plays."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.clock, self.pulse, self.events = Clock(), Pulse(7, 700), list[dict[str, Any]]()
        self.monitor = Monitor(folder, MetricsConfig(**options), self.pulse, self.clock, self.event)

    def event(self, kind: str, **facts: Any) -> None:
        self.events.append({"event": kind, **facts})

    def kinds(self) -> list[str]:
        return [event["event"] for event in self.events]


def wait_until(done: Any) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def hang_here(clock: Clock, release: threading.Event) -> None:
    with clock("world"):
        release.wait()


def test_a_loop_that_hangs_leaves_the_stacks_of_all_threads(tmp_path: Path) -> None:
    watched = Watched(tmp_path, heartbeat_s=0.02, stall_s=1.0, monitor_s=0.02)
    release = threading.Event()
    loop = threading.Thread(target=hang_here, args=(watched.clock, release))
    loop.start()
    watched.monitor.start()
    wait_until(lambda: "stall" in watched.kinds())
    release.set()
    loop.join()
    watched.monitor.stop()
    (told,) = [event for event in watched.events if event["event"] == "stall"][:1]
    trace = (tmp_path / told["trace"]).read_text()
    assert told["phase"] == "world" and "hang_here" in trace and "iteration 7" in trace
    beats = read_lines(tmp_path / "heartbeat.jsonl")
    assert beats[1]["phase"] == "world" and beats[-1]["phase"] == "ended" and beats[1]["iteration"] == 7
    assert len(read_lines(tmp_path / "resources.jsonl")) > 1


def test_a_step_that_lasts_is_traced_while_it_lasts(tmp_path: Path) -> None:
    watched = Watched(tmp_path, heartbeat_s=0.02, slow_step_s=0.05)
    watched.monitor.start()
    for _ in range(SLOW_STEPS - 1):
        with watched.clock("world"):
            time.sleep(0.06)
    assert watched.kinds() == ["slow step"] * (SLOW_STEPS - 1)
    with watched.clock("world"):
        wait_until(lambda: "slow_step" in watched.kinds())  # before the step has ended
    watched.monitor.stop()
    assert watched.kinds() == [*["slow step"] * (SLOW_STEPS - 1), "slow_step", "slow step"]
    assert "wait_until" in (tmp_path / watched.events[-2]["trace"]).read_text()


def test_a_run_without_trouble_leaves_no_traces(tmp_path: Path) -> None:
    watched = Watched(tmp_path, heartbeat_s=0.02)
    watched.monitor.start()
    for _ in range(20):
        with watched.clock("world"):
            pass
    watched.monitor.stop()
    assert not watched.events and not (tmp_path / "traces").exists()


def test_watching_can_be_turned_off(tmp_path: Path) -> None:
    watched = Watched(tmp_path, heartbeat_s=0.0, monitor_s=0.0)
    watched.monitor.start()
    watched.monitor.stop()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--metrics.stall_s=-1", "metrics.stall_s = -1 must be at least 1"),
        ("--metrics.heartbeat_s=-0.5", "metrics.heartbeat_s = -0.5 must be at least 0"),
        ("--metrics.monitor_s=nan", "must be a finite number"),
        ("--metrics.slow_step_s=-3", "must be at least 0"),
        ("--metrics.rotate_keep=3", "metrics.rotate_keep has no effect while metrics.rotate_mb is 0.0"),
        ("--metrics.hint_cooldown=0", "must be at least 1"),
    ],
)
def test_times_that_cannot_be_are_refused(option: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_config("template", [option])
    assert said in str(refused.value)


def test_an_option_that_needs_another_acts_with_it() -> None:
    config, _ = load_config("template", ["--metrics.rotate_keep=3", "--metrics.rotate_mb=0.5"])
    assert config.metrics.rotate_keep == 3


def test_the_loop_leaves_the_heap_as_it_found_it() -> None:
    with pytest.raises(KeyboardInterrupt), heap_at_rest():
        assert gc.get_freeze_count() > 0
        raise KeyboardInterrupt
    assert gc.get_freeze_count() == 0
