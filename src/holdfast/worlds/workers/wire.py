"""What a worker and its supervisor say to each other: single bytes while playing, JSON for everything rare.

The channel keeps message boundaries (SOCK_SEQPACKET). Actions, observations and rewards do not travel here but lie in
memory that both map (`block.py`).
"""

from __future__ import annotations

import json
from typing import Any

GO, RESET, STEP, DRAW, CLOSE = b"g", b"r", b"s", b"d", b"c"  # to the worker; RESET is followed by the seed, 8 bytes
DONE = b"k"  # from the worker: the call is finished
LONGEST = 60_000  # bytes of a message; a traceback is cut to fit
LONGEST_TEXT = 8_000

# What a worker passes on its way, written to workers.jsonl.
MARKERS = (
    "spawned",
    "respawned",
    "baton_wait",
    "baton_got",
    "patch",
    "import",
    "rom",
    "lock",
    "build",
    "reset",
    "ready",
    "baton_back",
    "error",
    "killed",
    "closed",
)
OWN = ("time", "worker", "pid", "attempt")  # the supervisor says these itself
# What a marker must come with beside it, of which type; what is missing is told as empty.
NEEDED: dict[str, dict[str, type]] = {
    **{marker: {} for marker in MARKERS},
    "picture": {},
    "error": {"kind": str, "text": str, "traceback": str, "phase": str},
}


def packed(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode()


def unpacked(content: bytes) -> dict[str, Any]:
    message = json.loads(content)
    assert isinstance(message, dict)
    return message


def heard(content: bytes) -> dict[str, Any] | None:
    """A worker's message; None for what no worker says, as when a library wrote into its channel."""
    try:
        message = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("marker") not in NEEDED:
        return None
    needed = NEEDED[message["marker"]]
    if not all(isinstance(message.get(name, ""), kind) for name, kind in needed.items()):
        return None
    return {name: value for name, value in message.items() if name not in OWN}


def reset_call(seed: int) -> bytes:
    return RESET + seed.to_bytes(8, "little")


def seed_of(call: bytes) -> int:
    return int.from_bytes(call[1:9], "little")
