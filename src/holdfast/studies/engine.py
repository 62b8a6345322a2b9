"""Works through pieces: keeps all slots busy, goes on with what was lost, and writes down every change.

It knows neither grids nor searches nor where processes run; it starts pieces, and believes what their folders say.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

from holdfast.studies.executor import Ended, Executor
from holdfast.studies.piece import (
    REACHED,
    Piece,
    Standing,
    curve_of,
    final_score,
    pruned_score,
    saved_iteration,
    standing,
)
from holdfast.studies.trials import DONE, FAILED, LOST, PRUNED, RUNNING, WAITING, Trial, TrialLog

LOOK_S = 0.05
SHOW_S = 1.0
MOST_LOSSES = 3  # in a row without a newer checkpoint
INTERRUPTED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
LONGEST_REASON = 2000


class StudyWatch(Protocol):
    """What a view of a study answers to."""

    def note(self, text: str) -> None: ...
    def changed(self, trial: Trial, log: TrialLog) -> None: ...
    def working(self, log: TrialLog, shares: dict[int, float]) -> None: ...


class Silent:
    """Says nothing but notes."""

    def note(self, text: str) -> None:
        print(f"note: {text}", file=sys.stderr, flush=True)

    def changed(self, trial: Trial, log: TrialLog) -> None: ...
    def working(self, log: TrialLog, shares: dict[int, float]) -> None: ...


class Interrupted(Exception):
    """The driver was asked to stop; all its workers have saved."""

    def __init__(self, number: int) -> None:
        self.exit_status = 128 + number


class Stop:
    """While open, SIGINT and SIGTERM are only remembered; the engine passes them on to the workers."""

    def __init__(self) -> None:
        self.received: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stop:
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                self._before[number] = signal.signal(number, self._handle)
            except ValueError:  # not in the main thread: whoever runs the study there stops it
                break
        return self

    def __exit__(self, *details: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.received.append(number)
        os.write(sys.stderr.fileno(), b"\nall runs save and stop; once more to stop at once\n")


@dataclass
class Engine:
    """The loop over processes."""

    executor: Executor
    log: TrialLog
    watch: StudyWatch
    stop: Stop
    measure: str
    warm: bool  # kernels are compiled: all slots may start at once
    losses: dict[int, tuple[int, int]] = field(default_factory=dict)  # trial -> (how often, at which iteration)
    passed_on: int = 0  # signals

    def drive(self, pieces: Sequence[Piece]) -> None:
        """Until all are over, failed ones too; Interrupted once all workers have saved, if a signal came."""
        waiting = deque(self._unfinished(pieces))
        running: dict[int, Piece] = {}
        shown_s = 0.0
        while waiting or running:
            while waiting and self._may_start(running):
                self._start(waiting.popleft(), running)
            for ended in self.executor.ended():
                piece = running.pop(ended.trial)
                if not self._settle(piece, ended):
                    waiting.appendleft(piece)
            self._pass_signals_on()
            if self.stop.received and not running:
                raise Interrupted(self.stop.received[0])
            if time.monotonic() - shown_s > SHOW_S:
                shown_s = time.monotonic()
                self.watch.working(self.log, self.executor.cpu_shares())
            if running:
                time.sleep(LOOK_S)

    def _unfinished(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Those that are not over; what ended without its driver is written down."""
        left = []
        for piece in pieces:
            found = standing(piece)
            if found.state is None:
                left.append(piece)
            elif found.state not in (REACHED, self.log.trials[piece.trial].state):
                self._write(piece, found)
        return left

    def _may_start(self, running: dict[int, Piece]) -> bool:
        """One alone until its kernels are compiled: the others would wait for it, or compile the same beside it."""
        if self.stop.received or len(running) >= self.executor.slots:
            return False
        if self.warm or not running or not self.executor.compiles_here:
            return True
        self.warm = any((piece.folder / "metrics.jsonl").is_file() for piece in running.values()) and any(
            (piece.folder / "metrics.jsonl").stat().st_size for piece in running.values()
        )
        return self.warm

    def _start(self, piece: Piece, running: dict[int, Piece]) -> None:
        trial = self.log.trials[piece.trial]
        self._change(trial.now(RUNNING, run=piece.run, tries=trial.tries + 1, reason="", traceback=""))
        note = self.executor.start(piece)
        if note:
            self.watch.note(note)
        running[piece.trial] = piece

    def _settle(self, piece: Piece, ended: Ended) -> bool:
        """Is the piece over? If not, its run goes on in another process."""
        for note in ended.notes:
            self.watch.note(note)
        trial = self.log.trials[piece.trial]
        self.log.trials[piece.trial] = trial.now(trial.state, elapsed_s=round(trial.elapsed_s + ended.elapsed_s, 3))
        found = standing(piece)
        if found.state is not None:
            self._write(piece, found)
            return True
        if self.stop.received:
            self._change(self.log.trials[piece.trial].now(WAITING))
            return True
        if ended.status is None or ended.status < 0 or ended.status in INTERRUPTED:
            return self._lost(piece, ended)
        self._failed(piece, ended, reason_of(ended.last_words) or f"exit status {ended.status}")
        return True

    def _lost(self, piece: Piece, ended: Ended) -> bool:
        """Goes on, unless it was lost again and again without getting any further."""
        saved = saved_iteration(piece.folder)
        often, at = self.losses.get(piece.trial, (0, saved))
        often = often + 1 if at == saved else 1
        self.losses[piece.trial] = (often, saved)
        how = "its process ended" if ended.status is None else f"ended by signal {abs(ended.status) % 128}"
        if often >= MOST_LOSSES:
            self._failed(piece, ended, f"lost {often} times without getting beyond iteration {saved}: {how}")
            return True
        self._change(self.log.trials[piece.trial].now(LOST, reason=how))
        return False

    def _failed(self, piece: Piece, ended: Ended, reason: str) -> None:
        self._change(self.log.trials[piece.trial].now(FAILED, reason=reason, traceback=ended.log))

    def _write(self, piece: Piece, found: Standing) -> None:
        trial = self.log.trials[piece.trial]
        if found.state == DONE:
            score = round_trip(final_score(piece.folder, self.measure))
            self._change(trial.now(DONE, run=piece.run, score=score, outcome=found.outcome, reason=""))
        elif found.state == PRUNED:
            self._change(
                trial.now(PRUNED, run=piece.run, score=pruned_score(piece.folder), outcome=PRUNED, reason=found.reason)
            )
        elif found.state == REACHED:
            at_its_end = curve_of(piece.folder, self.measure).get(piece.until or 0)
            self._change(trial.now(WAITING, run=piece.run, score=at_its_end))
        else:
            self._change(trial.now(FAILED, run=piece.run, outcome=found.outcome, reason=found.reason))

    def _change(self, trial: Trial) -> None:
        self.log.write([trial])
        self.watch.changed(trial, self.log)

    def _pass_signals_on(self) -> None:
        while self.passed_on < len(self.stop.received):
            self.executor.interrupt(self.stop.received[self.passed_on])
            self.passed_on += 1


def round_trip(value: float) -> float:
    """As JSON reads it back."""
    return float(repr(float(value)))


def reason_of(words: str) -> str:
    """What a worker said last: the text of an error of ours, or the last line of a traceback."""
    _, mark, told = words.rpartition("holdfast: error: ")
    text = told if mark else next((line for line in reversed(words.splitlines()) if line.strip()), "")
    return text.strip()[:LONGEST_REASON]
