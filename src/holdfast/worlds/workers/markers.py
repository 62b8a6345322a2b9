"""`workers.jsonl`: what every worker passed on its way, one line each, and the last of them kept for error messages."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from holdfast.worlds.workers.wire import MARKERS

KEPT = 400
SHOWN = 12
LOG_TAIL = 1200  # characters of a worker's log that an error message shows
LONGEST_LOG = 16_000_000  # bytes; an environment that floods its output must not fill the disk


class Markers:
    """Appends markers; may be used from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = (folder / "workers.jsonl").open("a", encoding="utf-8")
        self._lock = threading.Lock()
        self._last: deque[dict[str, Any]] = deque(maxlen=KEPT)

    def write(self, worker: int, pid: int, attempt: int, marker: str, **facts: Any) -> None:
        assert marker in MARKERS, marker
        line = {
            "time": round(time.time(), 4),
            "worker": worker,
            "pid": pid,
            "attempt": attempt,
            "marker": marker,
            **facts,
        }
        with self._lock:
            self._last.append(line)
            if not self._file.closed:
                self._file.write(json.dumps(line) + "\n")
                self._file.flush()

    def story(self, worker: int) -> str:
        """The last markers of one worker, for people."""
        mine = [line for line in self._last if line["worker"] == worker][-SHOWN:]
        return "\n".join(f"  {_sentence(line)}" for line in mine)

    def since(self, moment: float) -> list[dict[str, Any]]:
        return [line for line in self._last if line["time"] >= moment]

    def close(self) -> None:
        with self._lock:
            self._file.close()


def _sentence(line: dict[str, Any]) -> str:
    clock = time.strftime("%H:%M:%S", time.localtime(line["time"]))
    facts = [str(line[key]) for key in ("phase", "reason", "kind", "text", "path") if key in line]
    return f"{clock} worker {line['worker']} attempt {line['attempt']} {line['marker']} {' '.join(facts)}".rstrip()


def log_path(folder: Path, worker: int) -> Path:
    return folder / "workers" / f"{worker:03d}.log"


def log_tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOG_TAIL))
            return file.read().decode(errors="replace").strip()
    except OSError:
        return ""


def cut_log(path: Path) -> None:
    """Empty a log that has grown too long; workers append, so they go on writing at its new end."""
    try:
        if path.stat().st_size > LONGEST_LOG:
            with path.open("r+b") as file:
                file.truncate(0)
                file.write(b"(the log was emptied because it had grown too long)\n")
    except OSError:
        return
