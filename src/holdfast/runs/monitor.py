"""A thread that watches the loop from beside it: heartbeat, resources, stalls and slow steps.

It only reads what the loop leaves in its clock and its pulse, so a loop that hangs is seen to hang. Should even this
thread be kept from running (a foreign library that holds the interpreter), faulthandler's own timer writes the stacks.
"""

from __future__ import annotations

import faulthandler
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.config.sections import MetricsConfig
from holdfast.curriculum.contract import Tell
from holdfast.kit.closing import close_all
from holdfast.kit.disk import writing
from holdfast.kit.errors import HoldfastError
from holdfast.kit.timing import Clock
from holdfast.runs.heartbeat import Heart, Pulse
from holdfast.runs.resources import Resources
from holdfast.runs.slow_steps import SlowSteps
from holdfast.runs.streams import Rotation, Stream, open_inside
from holdfast.runs.traces import traces_folder, write_trace

SLOW_STEPS, SLOW_WINDOW_S = 5, 120.0  # so many slow steps within this time leave a trace of all stacks

TICK_S = 0.5
STEP = "world"  # the clock's name for a step of all lanes
HELD = "held.log"


class Monitor:
    """Started with the run, stopped at its end."""

    def __init__(self, folder: Path, config: MetricsConfig, pulse: Pulse, clock: Clock, event: Tell) -> None:
        self.folder, self.config, self.pulse, self.clock, self.event = folder, config, pulse, clock, event
        self.heart = Heart(config.heartbeat_s, config.stall_s)
        self.slow = SlowSteps(config.slow_step_s, SLOW_STEPS, SLOW_WINDOW_S)
        self.resources = Resources(folder)
        self.caught_since = 0.0  # beginning of the step whose trace was taken while it lasted
        rotation = Rotation(int(config.rotate_mb * 1e6), config.rotate_keep)
        self.streams = {name: Stream(folder / f"{name}.jsonl", rotation) for name in self._due_every()}
        self.due = dict.fromkeys(self.streams, 0.0)
        self._stop = threading.Event()
        self._watched = False  # the thread was started and its timer is open
        self._thread = threading.Thread(target=self._run, name="holdfast-monitor", daemon=True)

    def _due_every(self) -> dict[str, float]:
        every = {"heartbeat": self.config.heartbeat_s, "resources": self.config.monitor_s}
        return {name: seconds for name, seconds in every.items() if seconds > 0.0}

    def start(self) -> None:
        self.clock.observers[STEP] = self.step_took
        if self.streams:
            with writing(self.folder / "traces"):
                self._open_timer()
            self._thread.start()
            self._watched = True

    def stop(self) -> None:
        """The last heartbeat says that the run ended on purpose."""
        self.clock.observers.pop(STEP, None)
        self._stop.set()
        ends: list[Callable[[], object]] = [stream.close for stream in self.streams.values()]
        if self._thread.is_alive() or self._watched:
            self._thread.join()
            if "heartbeat" in self.streams:
                ends.insert(0, lambda: self._beat(time.perf_counter(), "ended"))
            ends.insert(0, self._close_timer)
        self._watched = False
        close_all(ends)

    # --- in the monitor's thread -------------------------------------------------------------------------------------

    def _run(self) -> None:
        tick_s = min(TICK_S, *self._due_every().values())
        while True:
            try:
                self.look(time.perf_counter())
            except Exception as error:  # a thread has no one to raise to, and the run can go on without being watched
                with suppress(OSError, HoldfastError):
                    self.event("monitor failed", error=type(error).__name__, text=str(error))
                return
            if self._stop.wait(tick_s):
                return

    def look(self, now_s: float) -> None:
        """One round: what is due is written, what is wrong is told."""
        for name, every_s in self._due_every().items():
            if now_s >= self.due[name]:
                self.due[name] = now_s + every_s
                self._beat(now_s, self.clock.phase) if name == "heartbeat" else self._sample()
        idle_s = now_s - self.clock.changed
        if "heartbeat" in self.streams:
            faulthandler.dump_traceback_later(self._patience_s(), file=self._held)
            if self.heart.stalled(now_s, idle_s):
                self._trace("stall", f"no sign of life for {idle_s:.0f} s", idle_s=round(idle_s, 1))
        begun = self.clock.changed
        if self.clock.phase == STEP and self.clock.changed == begun:
            self._catch(now_s, begun)

    def _beat(self, now_s: float, phase: str) -> None:
        self.streams["heartbeat"].write(self.heart.beat(now_s, now_s - self.clock.changed, phase, self.pulse))

    def _sample(self) -> None:
        self.streams["resources"].write(self.resources.sample())

    def _catch(self, now_s: float, begun: float) -> None:
        """The step that would bring a trace is traced while it lasts: afterwards its stack is gone."""
        lasting_s = now_s - begun
        if begun != self.caught_since and lasting_s > self.slow.threshold_s and self.slow.is_last_before_trace(now_s):
            self.caught_since = begun
            self._trace("slow_step", f"a step of all lanes has lasted {lasting_s:.1f} s", step_s=round(lasting_s, 3))

    def _trace(self, kind: str, reason: str, **facts: Any) -> None:
        phase = self.clock.phase
        path = write_trace(self.folder, kind, f"{reason} in phase {phase}, iteration {self.pulse.iteration}")
        self.event(kind, phase=phase, trace=f"traces/{path.name}", **facts)

    # --- in the loop's thread ----------------------------------------------------------------------------------------

    def step_took(self, duration_s: float) -> None:
        if not self.slow.is_slow(duration_s):
            return
        caught = abs(self.caught_since - (self.clock.changed - duration_s)) < 1e-6
        self.event("slow step", step_s=round(duration_s, 3), limit_s=round(self.slow.threshold_s, 3))
        if self.slow.note(time.perf_counter()) and not caught:
            self._trace("slow_step", f"{SLOW_STEPS} slow steps, the last of {duration_s:.1f} s")

    # --- a timer for the case that this thread cannot run ------------------------------------------------------------

    def _patience_s(self) -> float:
        return max(self.config.stall_s, 2 * self.config.heartbeat_s)

    def _open_timer(self) -> None:
        self._held = os.fdopen(open_inside(traces_folder(self.folder) / HELD), "w", encoding="utf-8")

    def _close_timer(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        self._held.close()
        path = self.folder / "traces" / HELD
        if path.stat().st_size == 0:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
