"""The workers of one world: started in order, called together, waited for with hard limits, replaced when they fail."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable
from typing import Any

from holdfast.kit import errors
from holdfast.kit.errors import HoldfastError, WorkerFailed
from holdfast.worlds.workers import wire
from holdfast.worlds.workers.block import Layout, is_picture_size, layout_from
from holdfast.worlds.workers.markers import cut_log, log_tail
from holdfast.worlds.workers.supervisor import Supervisor
from holdfast.worlds.workers.worker import Job, Worker, end, job_message

LOOK_S = 1.0  # how often a long wait looks at the size of the logs, and for the baton of another crew
# Phases a worker enters by itself while it starts.
RUBBISH = "it sent what no worker says"
STARTING = ("import", "lock", "build", "reset")


class Crew:
    """Workers by lane. Used by one thread at a time."""

    def __init__(self, supervisor: Supervisor, job: Job) -> None:
        self.supervisor, self.settings, self.job = supervisor, supervisor.settings, job
        self.workers: list[Worker] = []
        self.whole = True  # false: a call was left half done, so that nobody knows what the workers are at
        self.failures: dict[int, str] = {}  # lane: why its worker failed in the last call
        self._gone: set[int] = set()  # lanes whose worker ended while others were waited for
        self._places: dict[int, int] = {}  # file number: lane
        self._poll = select.epoll()
        self._looked = time.monotonic()

    # --- beginning and end ---

    def start(self, lanes: int) -> None:
        """One ready worker for every lane: idle ones first, then new ones."""
        try:
            if self.settings.prewarm and self.job not in self.supervisor.layouts:
                self._prewarm()
            self.adopt(self.supervisor.take_idle(self.job, lanes))
            first, missing = len(self.workers), lanes - len(self.workers)
            numbers = [self.supervisor.new_number() for _ in range(missing)]
            for index, number in enumerate(numbers):
                self._add(number, first + index, delay_s=index * self.settings.start_delay_s)
            self._until_ready(range(first, lanes))
        except BaseException:
            self.kill()
            raise

    def _prewarm(self) -> None:
        """One worker lives a whole life before the others begin; what is wrong with the environment shows here."""
        self._add(self.supervisor.new_number(), 0, delay_s=0.0)
        self._until_ready([0])
        for call, phase in ((wire.reset_call(0), "reset"), (wire.STEP, "step")):
            while self.call([0], lambda lane, call=call: call, phase):  # type: ignore[misc]
                self.replace([0])
        self.close()

    @property
    def layout(self) -> Layout:
        return self.supervisor.layouts[self.job]

    def adopt(self, workers: list[Worker]) -> None:
        for worker in workers:
            self.workers.append(worker)
            self._watch(worker, len(self.workers) - 1)

    def _add(self, number: int, lane: int, delay_s: float, attempt: int = 1) -> None:
        worker = self.supervisor.spawn(number, attempt)
        if lane < len(self.workers):
            self.workers[lane] = worker
        else:
            self.workers.append(worker)
        self._watch(worker, lane)
        worker.send(wire.packed(job_message(self.job, delay_s, self.settings.lock_file)))
        self._enter(worker, "spawn", delay_s)

    def _enter(self, worker: Worker, phase: str, extra_s: float = 0.0) -> None:
        worker.phase = phase
        worker.deadline = time.monotonic() + self.settings.limit_s(phase) + extra_s

    def _watch(self, worker: Worker, lane: int) -> None:
        for file in (worker.channel.fileno(), worker.pidfd):
            self._poll.register(file, select.EPOLLIN)
            self._places[file] = lane

    def _unwatch(self, worker: Worker) -> None:
        for file in (worker.channel.fileno(), worker.pidfd):
            if self._places.pop(file, None) is not None:
                self._poll.unregister(file)

    def leave(self) -> None:
        """Give the workers back to the supervisor, ready for another world."""
        if not self.whole:
            self.kill()
        for worker in self.workers:
            self._unwatch(worker)
        self.supervisor.keep_idle(self.job, self.workers)
        self.workers = []
        self._poll.close()

    def close(self) -> None:
        """Let every environment close; end those that do not."""
        if not self.whole:
            self.kill()
        slow = self.call(range(len(self.workers)), lambda lane: wire.CLOSE, "close")
        closed = [worker for lane, worker in enumerate(self.workers) if lane not in slow]
        end(closed, grace_s=self.settings.close_s)
        for worker in closed:
            self._drop(worker)
        self.workers = []

    def kill(self) -> None:
        """End all at once, without asking."""
        alive = [worker for worker in self.workers if not worker.released]
        end(alive)
        for worker in alive:
            self.supervisor.mark(worker, "killed", reason="the crew was given up")
            self._drop(worker)
        self.workers = []

    def _drop(self, worker: Worker) -> None:
        self.supervisor.baton.give_back(worker)
        self._unwatch(worker)
        worker.release()

    # --- calls ---

    def call(self, lanes: Iterable[int], message: Callable[[int], bytes], phase: str) -> list[int]:
        """Ask these lanes' workers for one thing and wait for all; the lanes whose worker failed and is no more."""
        self.whole = False
        waiting = set(lanes)
        self.failures = {lane: _end_of(self.workers[lane]) for lane in self._gone & waiting}
        self._gone -= waiting
        deadline = time.monotonic() + self.settings.limit_s(phase)
        for lane in waiting:
            worker = self.workers[lane]
            worker.phase, worker.deadline = phase, deadline
            worker.send(message(lane))
        waiting -= self.failures.keys()
        while waiting:
            for file, _ in self._poll.poll(min(LOOK_S, max(0.0, deadline - time.monotonic()))):
                if file in self._places:
                    self._answer(self._places[file], waiting)
            waiting -= self.failures.keys()
            if waiting and time.monotonic() >= min(deadline, self._looked + LOOK_S):
                self._look(waiting)
                waiting -= self.failures.keys()
        self._end_failed()
        self.whole = not self.failures
        return sorted(self.failures)

    def _answer(self, lane: int, waiting: set[int]) -> None:
        """One message of a worker that was called, or its end."""
        worker = self.workers[lane]
        content = worker.receive()
        if content == wire.DONE:
            waiting.discard(lane)
        elif content:
            self._said(lane, content, waiting)
        elif content == b"" or worker.status() is not None:
            self._ended(lane, waiting)

    def _said(self, lane: int, content: bytes, waiting: set[int]) -> None:
        message = wire.heard(content)
        if message is None:
            return self._failed(lane, RUBBISH)
        worker, marker = self.workers[lane], str(message.pop("marker"))
        if marker == "picture":
            size: Any = message.get("size")
            if size is not None and not is_picture_size(size):
                return self._failed(lane, RUBBISH)
            worker.picture_size = size
            waiting.discard(lane)
            return None
        self.supervisor.mark(worker, marker, **message)
        if marker == "error":
            self._failed(lane, f"{message.get('kind', '')}: {message.get('text', '')}")
        elif marker == "closed":
            waiting.discard(lane)
        return None

    def _look(self, waiting: Iterable[int]) -> None:
        """Time-outs, and now and then the logs."""
        now = time.monotonic()
        for lane in waiting:
            worker = self.workers[lane]
            if now >= worker.deadline and lane not in self.failures:
                self._failed(lane, f"hung in {worker.phase} for {self.settings.limit_s(worker.phase):g} s")
        if now - self._looked > LOOK_S:
            self._looked = now
            for worker in self.workers:
                cut_log(worker.log)

    def _failed(self, lane: int, reason: str) -> None:
        self.failures.setdefault(lane, reason)
        self._unwatch(self.workers[lane])

    def _end_failed(self) -> None:
        failed = [self.workers[lane] for lane in self.failures]
        if not failed:
            return
        end(failed)
        for lane, reason in self.failures.items():
            worker = self.workers[lane]
            self.supervisor.mark(worker, "killed", reason=reason, phase=worker.phase)
            if self.supervisor.baton.give_back(worker):
                self.supervisor.mark(worker, "baton_back", reason="taken back from a lost worker")
            self._drop(worker)

    # --- starting and replacing ---

    def replace(self, lanes: list[int]) -> None:
        """New workers for lanes whose worker failed; an error once one of them has failed too often."""
        for lane in lanes:
            self._respawn(lane)
        self._until_ready(lanes)
        self.whole = True

    def _respawn(self, lane: int) -> None:
        lost = self.workers[lane]
        if not self.supervisor.budget.allows(lost.number):
            raise self._given_up(lost, self.failures.get(lane, "failed"))
        self.supervisor.replaced += 1
        self._add(lost.number, lane, delay_s=0.0, attempt=lost.attempt + 1)

    def _given_up(self, worker: Worker, reason: str) -> WorkerFailed:
        tail = log_tail(worker.log)
        said = f"\nthe end of its log:\n{tail}" if tail else ""
        return WorkerFailed(
            f"{self.job.name}: worker {worker.number} {reason}; it was replaced "
            f"workers.respawns = {self.settings.respawns} times within 600 s already. Its last markers "
            f"(all are in {self.supervisor.markers.folder / 'workers.jsonl'}):\n"
            f"{self.supervisor.markers.story(worker.number)}{said}"
        )

    def _until_ready(self, lanes: Iterable[int]) -> None:
        """Hand the baton round until all of these workers have built their environment."""
        waiting = set(lanes)
        asking: list[int] = []  # for the baton, first come first served
        self.failures = {}
        while waiting:
            while asking and self.supervisor.baton.take(self.workers[asking[0]]):
                worker = self.workers[asking.pop(0)]
                self._enter(worker, "import")
                worker.send(wire.GO)
            nearest = min(self.workers[lane].deadline for lane in waiting)
            for file, _ in self._poll.poll(min(LOOK_S, max(0.0, nearest - time.monotonic()))):
                if file in self._places:
                    self._hear(self._places[file], waiting, asking)
            self._look(waiting)
            if self.failures:
                asking = [lane for lane in asking if lane not in self.failures]
                self._start_again()

    def _start_again(self) -> None:
        self._end_failed()
        for lane in sorted(self.failures):
            self._respawn(lane)
        self.failures = {}

    def _hear(self, lane: int, waiting: set[int], asking: list[int]) -> None:
        """One message of a worker that starts, or its end."""
        worker = self.workers[lane]
        content = worker.receive()
        if not content:
            if content == b"" or worker.status() is not None:
                self._ended(lane, waiting)
            return None
        message = wire.heard(content)
        try:
            layout = None if message is None or "layout" not in message else layout_from(message.pop("layout"))
        except (KeyError, TypeError, ValueError):
            message = None
        if message is None:
            return self._failed(lane, RUBBISH)
        marker = str(message.pop("marker"))
        self.supervisor.mark(worker, marker, **message)
        if marker == "baton_wait":
            asking.append(lane)
            self._enter(worker, "baton")
        elif marker in STARTING:
            self._enter(worker, marker)
        elif marker == "ready" and layout is not None:
            self._ready(worker, layout)
        elif marker == "baton_back":
            self.supervisor.baton.give_back(worker)
            if worker.block is not None:
                waiting.discard(lane)
        elif marker == "error":
            self._cannot_start(lane, {"kind": "", "text": "", "phase": "", "traceback": "", **message})
        return None

    def _ended(self, lane: int, waiting: set[int]) -> None:
        """A worker that is waited for has failed; one that was not is found lost by the next call."""
        if lane in waiting:
            self._failed(lane, _end_of(self.workers[lane]))
        else:
            self._unwatch(self.workers[lane])
            self._gone.add(lane)

    def _ready(self, worker: Worker, layout: Layout) -> None:
        known = self.supervisor.layouts.setdefault(self.job, layout)
        if layout != known:
            raise WorkerFailed(f"{self.job.name}: worker {worker.number} has other spaces than the ones before it")
        worker.map_block(layout)
        self._enter(worker, "ready")

    def _cannot_start(self, lane: int, message: dict[str, object]) -> None:
        """An environment that never worked is the user's to mend; one that did is given another worker."""
        worker = self.workers[lane]
        if self.job not in self.supervisor.layouts:
            kind, text = str(message["kind"]), str(message["text"])
            known = getattr(errors, kind, None)
            if isinstance(known, type) and issubclass(known, HoldfastError):
                raise known(text)
            raise WorkerFailed(f"{self.job.name}: {message['phase']} raised {kind}: {text}\n{message['traceback']}")
        self._failed(lane, f"{message['kind']}: {message['text']}")
        worker.phase = str(message["phase"])


def _end_of(worker: Worker) -> str:
    return f"{worker.how_it_ended()} in {worker.phase}"
