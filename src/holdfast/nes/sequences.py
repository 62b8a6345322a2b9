"""Which instructions to join: pairs of handlers that often follow each other are merged again and again.

This is byte-pair encoding over an execution profile. Joined handlers are ordinary handlers made of ordinary bodies;
they save the dispatch in between. Which ones exist is fixed in weights.py, whatever cartridge runs.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from holdfast.nes.cartridge import Cartridge
from holdfast.nes.decode import ENDS_SEQUENCE, FIRST, JOIN, LAST, LONGEST_SEQUENCE, RARE, Decoded, decode_program
from holdfast.nes.opcodes import OPCODES

LEAST_USE = 1.0  # per frame
SKIPPED = ("WAIT", "POLL")  # loops that the machine does not go round


def executions(cartridge: Cartridge, decoded: dict[int, Decoded], per_frame: NDArray[np.float64]) -> dict[int, float]:
    """How often each address is dispatched per frame when waiting loops are skipped."""
    runs = {int(address): float(per_frame[address]) for address in np.nonzero(per_frame)[0] if address >= FIRST}
    for address in list(runs):
        if decoded[address].handler.startswith(SKIPPED):
            runs[address] = min(runs[address], 2.0)
            here = address
            for _ in range(2):  # the rest of the loop
                here += OPCODES[int(cartridge.program[here & 0x7FFF])].length
                runs[here] = min(runs.get(here, 0.0), 2.0)
    return runs


def learn(
    cartridge: Cartridge, per_frame: NDArray[np.float64], merges: int
) -> tuple[tuple[str, ...], dict[str, float]]:
    """Sequences worth a handler, and the weights of all handlers with them."""
    alone = decode_program(cartridge)
    runs = executions(cartridge, alone, per_frame)
    names = {address: alone[address].handler for address in runs}
    behind = {address: address + OPCODES[int(cartridge.program[address & 0x7FFF])].length for address in runs}
    sequences: list[str] = []
    for _ in range(merges):
        gains: Counter[tuple[str, str]] = Counter()
        for address, name in names.items():
            follower = behind[address]
            if _can_join(name, names.get(follower), follower):
                gains[name, names[follower]] += min(runs[address], runs[follower])  # type: ignore[assignment]
        if not gains:
            break
        (first, second), _gain = max(gains.items(), key=lambda item: (item[1], item[0]))
        sequences.append(first + JOIN + second)
        for address in sorted(names):
            follower = behind[address]
            if names[address] == first and names.get(follower) == second and follower > address:
                names[address] = first + JOIN + second
                runs[follower] = max(runs[follower] - runs[address], 0.0)
                behind[address] = behind[follower]
    weights: dict[str, float] = {}
    for address, name in names.items():
        weights[name] = weights.get(name, 0.0) + runs[address]
    worth = (name for name in dict.fromkeys(sequences) if weights.get(name, 0.0) >= LEAST_USE)
    used = tuple(worth)  # the others were only steps on the way to longer ones
    return used, {name: weight for name, weight in weights.items() if JOIN not in name or name in used}


def _can_join(name: str, follower: str | None, address: int) -> bool:
    if follower is None or address > LAST or RARE in (name, follower) or follower.startswith(SKIPPED):
        return False
    parts = name.split(JOIN)
    ends = parts[-1] in ENDS_SEQUENCE or parts[-1].startswith(SKIPPED) or parts[-1].endswith("_bus")
    return not ends and len(parts) + len(follower.split(JOIN)) <= LONGEST_SEQUENCE
