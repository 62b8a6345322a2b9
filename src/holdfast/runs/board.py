"""TensorBoard files: every metric of an iteration in one event, tagged group/name, over agent-steps."""

from __future__ import annotations

import time
from pathlib import Path


class Board:
    """Writes with TensorBoard's own writer, which has a thread of its own."""

    def __init__(self, folder: Path, first_step: int) -> None:
        """`first_step`: where this process begins; later steps of an earlier life of the run are not shown again."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._event, self._summary = Event, Summary
        self._writer = EventFileWriter(str(folder))
        begun = SessionLog(status=SessionLog.START)
        self._writer.add_event(Event(wall_time=time.time(), step=first_step, session_log=begun))

    def write(self, record: dict[str, float | int]) -> None:
        values = [
            self._summary.Value(tag=tag_of(name), simple_value=value)
            for name, value in record.items()
            if name != "agent_steps"
        ]
        event = self._event(wall_time=time.time(), step=int(record["agent_steps"]), summary=self._summary(value=values))
        self._writer.add_event(event)

    def close(self) -> None:
        self._writer.close()


def tag_of(name: str) -> str:
    """The part before the first dot is TensorBoard's group."""
    return name.replace(".", "/") if "." in name else f"run/{name}"
