"""ROM-specific handlers: hot traces of one program, found by profiling on the user's machine and compiled into it.

A trace follows the likely way through branches, jumps and calls; its instructions are the ordinary handler bodies with
their operands known, so the compiler folds them into straight code. Before it starts, a trace checks that no event is
due until its last instruction; then nothing inside needs to look at the clock. Traces are kept by the ROM's hash in the
cache folder, never in the repository, and only made when asked for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.compiled import cache_root
from holdfast.worlds.nes.cartridge import Cartridge
from holdfast.worlds.nes.console import Console
from holdfast.worlds.nes.decode import LAST, RARE, Decoded, code_words, decode_program
from holdfast.worlds.nes.frame import count_instructions
from holdfast.worlds.nes.handlers import all_handlers
from holdfast.worlds.nes.layout import BUTTONS1
from holdfast.worlds.nes.machine import Machine, load_machine
from holdfast.worlds.nes.opcodes import BRANCHES, OPCODES
from holdfast.worlds.nes.sequences import SKIPPED, executions
from holdfast.worlds.nes.weights import SEQUENCES

TRACES = 60
LONGEST_TRACE = 10
MOST_CYCLES = 8  # of an instruction that a trace may hold, with its penalties
PROFILE_FRAMES = 4000


@dataclass(frozen=True)
class Trace:
    """Instructions that are executed together, in order, from the first address."""

    addresses: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"TRACE_{self.addresses[0]:04X}"


def random_profile(cartridge: Cartridge, frames: int = PROFILE_FRAMES) -> NDArray[np.float64]:
    """Executions per frame of each address, [65536], under random buttons with Start now and then."""
    console = Console(cartridge)
    counts = np.zeros(0x10000, np.int64)
    random = np.random.default_rng(0)
    for frame in range(frames):
        if frame % 8 == 0:
            buttons = int(random.integers(256)) & 0xF3 | (0x08 if frame % 240 == 64 else 0)
            console.words[0, BUTTONS1] = buttons
        count_instructions(console.state[0], console.words[0], console.rom, counts)
    return counts / frames


def find_traces(cartridge: Cartridge, per_frame: NDArray[np.float64], count: int = TRACES) -> list[Trace]:
    """The traces that save the most dispatches, greedily: what a trace covers no longer counts for the next one."""
    decoded = decode_program(cartridge)
    left = executions(cartridge, decoded, per_frame)
    traces: list[Trace] = []
    taken: set[int] = set()
    for _ in range(count):
        heads = [address for address in left if address not in taken and _can_hold(decoded[address], address)]
        if not heads:
            break
        head = max(heads, key=lambda address: (left[address], -address))
        trace = follow(cartridge, decoded, left, head)
        taken.add(head)
        if len(trace.addresses) < 2:
            left[head] = 0.0
            continue
        runs = left[head]
        for address in trace.addresses:
            left[address] = max(left.get(address, 0.0) - runs, 0.0)
        traces.append(trace)
    return traces


def follow(cartridge: Cartridge, decoded: dict[int, Decoded], runs: dict[int, float], head: int) -> Trace:
    """From an address along the more frequent successors, until something that a trace cannot hold."""
    addresses = [head]
    while len(addresses) < LONGEST_TRACE:
        here = addresses[-1]
        one = decoded[here]
        behind = here + OPCODES[int(cartridge.program[here & 0x7FFF])].length
        if one.handler in BRANCHES:
            following = max((behind, one.operand), key=lambda address: runs.get(address, 0.0))
        elif one.handler in ("JMP", "JSR"):
            following = one.operand
        elif one.handler in ("RTS", "JMP_ind"):
            break
        else:
            following = behind
        if following in addresses or following not in decoded or not _can_hold(decoded[following], following):
            break
        if runs.get(following, 0.0) <= 0.0:
            break
        addresses.append(following)
    return Trace(tuple(addresses))


def _can_hold(one: Decoded, address: int) -> bool:
    """Registers, waiting loops and rare instructions stay outside: they may change what is due next."""
    return address <= LAST and one.handler != RARE and not one.handler.startswith(SKIPPED) and "_bus" not in one.handler


def trace_lines(trace: Trace, decoded: dict[int, Decoded], bodies: dict[str, list[str]]) -> list[str]:
    """A trace as a handler."""
    room = 3 * MOST_CYCLES * (len(trace.addresses) - 1)
    lines = [f"pc = int64({trace.addresses[0]})", *_nested(trace.addresses, decoded, bodies)]
    return [f"if dot < stop - {room}:", *("    " + line for line in lines), "else:", "    slow = True"]


def _nested(addresses: tuple[int, ...], decoded: dict[int, Decoded], bodies: dict[str, list[str]]) -> list[str]:
    one = decoded[addresses[0]]
    body = bodies[one.handler]
    lines = [f"o = int64({one.operand})", f"word = int64({one.extra << 10 | one.operand << 16})", *body]
    if len(addresses) == 1:
        return lines
    rest = _nested(addresses[1:], decoded, bodies)
    conditions = []
    if any("slow = True" in line for line in body):
        conditions.append("not slow")
    if one.handler in BRANCHES:
        conditions.append(f"pc == {addresses[1]}")
    if conditions:
        return [*lines, f"if {' and '.join(conditions)}:", *("    " + line for line in rest)]
    return [*lines, *rest]


def stored_traces(cartridge: Cartridge, per_frame: NDArray[np.float64] | None, count: int) -> list[Trace]:
    """The traces of this ROM from the cache folder, or from a profile, which is then kept."""
    path = cache_root() / "traces" / f"{cartridge.digest}-{count}.json"
    if per_frame is None and path.is_file():
        return [Trace(tuple(addresses)) for addresses in json.loads(path.read_text())]
    profile = random_profile(cartridge) if per_frame is None else per_frame
    traces = find_traces(cartridge, profile, count)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([trace.addresses for trace in traces]))
    return traces


def machine_with_blocks(
    cartridge: Cartridge, per_frame: NDArray[np.float64] | None = None, count: int = TRACES
) -> Machine:
    """A machine for this cartridge only; a profile of real play finds better traces than random buttons."""
    traces = stored_traces(cartridge, per_frame, count)
    alone = decode_program(cartridge)
    bodies = all_handlers()
    blocks = {trace.name: trace_lines(trace, alone, bodies) for trace in traces}
    decoded = decode_program(cartridge, SEQUENCES)
    weights = {trace.name: 200.0 / (rank + 2) + 2.0 for rank, trace in enumerate(traces)}
    module, numbers = load_machine(weights, blocks)
    for trace in traces:  # the operand stays: a joined handler that comes by reads it
        head = trace.addresses[0]
        decoded[head] = alone[head]._replace(handler=trace.name)
    return Machine(module, code_words(decoded, numbers))
