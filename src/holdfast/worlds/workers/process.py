"""The program of one worker: `python -m holdfast.worlds.workers.process CHANNEL LIFELINE MEMORY` (file numbers).

It asks for the baton, imports and builds its environment, and then does what it is told until it is told to close.
Whatever goes wrong is said once, with its traceback, before the process ends; a new one takes its place.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any

from holdfast.worlds.trust import name_world
from holdfast.worlds.workers import wire

SET_SIGNAL = getattr(fcntl, "F_SETSIG", 10)  # Linux: which signal tells of input on a file; Python 3.11 has no name


def die_with_parent(lifeline: int) -> None:
    """Have the kernel kill this process and its children once the parent's end of the pipe closes, whatever runs here.

    A thread that waits for the end would not do: an emulator that hangs may hold the interpreter's lock. Nor would
    PR_SET_PDEATHSIG, which follows the thread that started the process and not the parent.
    """
    fcntl.fcntl(lifeline, SET_SIGNAL, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgid(0))
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    gone = select.poll()
    gone.register(lifeline, select.POLLIN)
    if gone.poll(0):  # it ended before the kernel was told
        os._exit(1)


@contextlib.contextmanager
def build_lock(path: str, wait_s: float) -> Iterator[None]:
    """Hold the file's lock; an error if another process keeps it for longer than `wait_s`."""
    from holdfast.kit.errors import WorkerFailed

    with open(path, "a") as file:
        give_up = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > give_up:
                    raise WorkerFailed(
                        f"workers.lock_file {path}: another process has held the lock for {wait_s:g} s"
                    ) from None
                time.sleep(0.05)
        yield


class Worker:
    """The worker's side of the conversation."""

    def __init__(self, channel: socket.socket, memory: int) -> None:
        self.channel, self.memory = channel, memory
        self.job: dict[str, Any] = wire.unpacked(channel.recv(wire.LONGEST))
        self.phase = "spawn"

    def say(self, marker: str, **facts: Any) -> None:
        self.channel.send(wire.packed({"marker": marker, **facts}))

    def enter(self, phase: str, **facts: Any) -> None:
        self.phase = phase
        self.say(phase, **facts)

    def start(self) -> None:
        """Everything up to the first observation, under the baton."""
        from holdfast.worlds.workers import corrections  # noqa: F401
        from holdfast.worlds.workers.host import Host  # numpy and gymnasium: the same for all, so before the baton

        time.sleep(self.job["delay_s"])
        self.say("baton_wait")
        if self.channel.recv(1) != wire.GO:
            sys.exit(1)  # the parent is gone
        name_world(self.job["name"])  # it was admitted where the job comes from
        self.say("baton_got")
        self.host = Host(self.job)
        try:
            self._build()
        except Exception as error:
            self.report(error)
            sys.exit(1)
        finally:
            self.say("baton_back")

    def _build(self) -> None:
        from holdfast.worlds.workers.block import Block
        from holdfast.worlds.workers.corrections import apply_corrections

        self.enter("import", name=self.host.name)
        self.host.import_it()
        for correction in apply_corrections():
            self.say("patch", text=correction)
        with self._lock():
            self.enter("build")
            layout = self.host.build()
        rom = getattr(self.host.environment, "_rom_path", None)
        if rom is not None:
            self.say("rom", path=str(rom))
        self.host.block = Block(self.memory, layout)
        self.enter("reset")
        self.host.reset(self.job["seed"])
        self.say("ready", layout=layout.as_json())

    def _lock(self) -> contextlib.AbstractContextManager[None]:
        from holdfast.worlds.workers.settings import LOCK_WAIT_S

        if not self.job["lock_file"]:
            return contextlib.nullcontext()
        self.enter("lock", path=self.job["lock_file"])
        return build_lock(self.job["lock_file"], LOCK_WAIT_S)

    def report(self, error: Exception) -> None:
        text = "".join(traceback.format_exception(error))[-wire.LONGEST_TEXT :]
        self.say(
            "error", phase=self.phase, kind=type(error).__name__, text=str(error)[: wire.LONGEST_TEXT], traceback=text
        )

    def serve(self) -> None:
        """Answer calls until told to close."""
        channel, host = self.channel, self.host
        while True:
            call = channel.recv(64)
            if call == wire.STEP:
                self.phase = "step"
                host.step()
            elif call[:1] == wire.RESET:
                self.phase = "reset"
                host.reset(wire.seed_of(call))
            elif call == wire.DRAW:
                self.phase = "draw"
                self._draw()
                continue
            elif call == wire.CLOSE:
                self.phase = "close"
                host.close()
                self.say("closed")
                return
            else:
                return  # the parent is gone
            channel.send(wire.DONE)

    def _draw(self) -> None:
        from holdfast.worlds.workers.block import write_picture

        picture = self.host.picture()
        assert self.host.block is not None
        if picture is None:
            self.say("picture", size=None)
            return
        write_picture(self.memory, self.host.block, picture)
        self.say("picture", size=list(picture.shape[:2]))


def main() -> None:
    channel, lifeline, memory = (int(word) for word in sys.argv[1:4])
    die_with_parent(lifeline)
    for file in (channel, lifeline, memory):
        os.set_inheritable(file, False)
    worker = Worker(socket.socket(fileno=channel), memory)
    worker.start()
    try:
        worker.serve()
    except Exception as error:  # the edge of the process: told with its traceback, and the process ends
        worker.report(error)
        sys.exit(1)


if __name__ == "__main__":
    main()
