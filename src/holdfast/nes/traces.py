"""Hot traces of one program: instructions that are executed one after the other, found in an execution profile.

A trace follows the likely way through branches, jumps, calls and the returns of its own calls; one that comes back to
its beginning is a loop. Traces are taken greedily, the one that saves most dispatches first, and what it covers no
longer counts for the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.nes.cartridge import Cartridge
from holdfast.nes.decode import LAST, RARE, Decoded, decode_program
from holdfast.nes.opcodes import BRANCHES, OPCODES
from holdfast.nes.profile import Profile
from holdfast.nes.sequences import SKIPPED, executions

LONGEST_TRACE = 24
LEAST_SHARE = 0.3  # a trace ends where fewer than this share of its runs would still be on it
CANDIDATES = 120  # hottest addresses that are tried as the next trace's beginning


@dataclass(frozen=True)
class Trace:
    """Instructions in the order of execution; `loops`: the last one leads back to the first."""

    addresses: tuple[int, ...]
    loops: bool = False

    @property
    def name(self) -> str:
        return f"TRACE_{self.addresses[0]:04X}"


@dataclass(frozen=True)
class Found:
    """A trace with what is expected of it per frame."""

    trace: Trace
    flows: tuple[float, ...]  # how often each of its instructions is executed
    entries: float  # how often it is dispatched

    @property
    def saved(self) -> float:
        """Dispatches that it makes unnecessary."""
        return sum(self.flows) - self.entries


@dataclass(frozen=True)
class Program:
    """A decoded program and how it runs."""

    decoded: dict[int, Decoded]
    lengths: dict[int, int]
    profile: Profile

    def following(self, address: int, calls: list[int]) -> tuple[int, float] | None:
        """The likely next address and its probability; None where a trace ends. `calls` holds open return addresses."""
        one, behind = self.decoded[address], address + self.lengths[address]
        if one.handler in BRANCHES:
            taken = float(self.profile.jumps[address] / max(self.profile.runs[address], 1e-9))
            return (one.operand, taken) if taken > 0.5 else (behind, 1.0 - taken)
        if one.handler == "JSR":
            calls.append(behind)
        if one.handler in ("JMP", "JSR"):
            return one.operand, 1.0
        if one.handler == "RTS":
            return (calls.pop(), 1.0) if calls else None
        return None if one.handler == "JMP_ind" else (behind, 1.0)


def can_hold(one: Decoded, address: int) -> bool:
    """Waiting loops and what the plain interpreter executes stay outside."""
    return address <= LAST and one.handler != RARE and not one.handler.startswith(SKIPPED)


def follow(program: Program, left: dict[int, float], head: int) -> Found:
    """The trace from an address on. `left` is how often addresses are dispatched so far."""
    addresses, flows, calls = [head], [left[head]], list[int]()
    while len(addresses) < LONGEST_TRACE:
        step = program.following(addresses[-1], calls)
        if step is None:
            break
        address, share = step
        flow = flows[-1] * share
        if address == head:
            return Found(Trace(tuple(addresses), loops=True), tuple(flows), flows[0] - flow)
        if address in addresses or left.get(address, 0.0) <= 0.0 or flow < LEAST_SHARE * flows[0]:
            break
        if not can_hold(program.decoded[address], address):
            break
        addresses.append(address)
        flows.append(min(flow, left[address]))
    return Found(Trace(tuple(addresses)), tuple(flows), flows[0])


def find_traces(cartridge: Cartridge, profile: Profile, count: int) -> tuple[list[Found], dict[int, float]]:
    """Traces in the order of what they save, and how often each address is still dispatched on its own."""
    decoded = decode_program(cartridge)
    lengths = {address: OPCODES[int(cartridge.program[address & 0x7FFF])].length for address in decoded}
    program = Program(decoded, lengths, profile)
    left = executions(cartridge, decoded, profile.runs)
    found: list[Found] = []
    heads: set[int] = set()
    while len(found) < count:
        tried = [follow(program, left, head) for head in _hottest(program, left, heads)]
        best = max(tried, key=lambda one: (one.saved, one.trace.addresses), default=None)
        if best is None or best.saved <= 0.0 or len(best.trace.addresses) < 2:
            break
        found.append(best)
        heads.add(best.trace.addresses[0])
        for address, flow in zip(best.trace.addresses, best.flows, strict=True):
            left[address] = max(left[address] - flow, 0.0)
    return found, left


def _hottest(program: Program, left: dict[int, float], heads: set[int]) -> Iterator[int]:
    ranked = sorted(left, key=lambda address: (-left[address], address))
    free = (address for address in ranked if address not in heads and can_hold(program.decoded[address], address))
    for _, address in zip(range(CANDIDATES), free, strict=False):
        yield address
