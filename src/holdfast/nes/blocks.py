"""ROM-specific handlers: hot traces of one program, found by profiling on the user's machine and compiled into it.

A trace becomes straight code: the ordinary handler bodies with their operands known, PC and clock added up while the
text is written, and a way out wherever the program may leave. Before it starts, a trace checks that no event is due
until its last instruction; then nothing inside needs to look at the clock, except behind a write to a register. Traces
are kept by the ROM's hash in the cache folder, never in the repository, and only made when asked for.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from holdfast.nes import kept
from holdfast.nes.cartridge import Cartridge
from holdfast.nes.decode import JOIN, Decoded, decode_program
from holdfast.nes.handlers import CYCLES, READ_BODIES, REGISTER, TAKEN, all_handlers, split
from holdfast.nes.machine import Machine, load_machine
from holdfast.nes.opcodes import BRANCHES, OPCODES
from holdfast.nes.profile import Profile, play_profile
from holdfast.nes.traces import Found, Trace, find_traces
from holdfast.nes.weights import SEQUENCES

TRACES = 100
MOST_CYCLES = 8  # of an instruction, with its penalties
MOVED = re.compile(r"pc \+= \d+; dot \+= (\d+)")


@dataclass
class Writer:
    """The text of one trace. `dots` are those of the instructions since the clock was last written down."""

    trace: Trace
    decoded: dict[int, Decoded]
    bodies: dict[str, list[str]]
    lines: list[str]
    dots: int = 0

    @property
    def room(self) -> int:
        return 3 * MOST_CYCLES * (len(self.trace.addresses) - 1)

    def leave(self, condition: str, pc: int | str, dots: int, also: str = "") -> None:
        """A way out of the trace; the instruction that leads out took `dots`."""
        self.lines.append(f"if {condition}:")
        self.lines.extend(f"    {line}" for line in (f"pc = int64({pc})", f"dot += {self.dots + dots}", also) if line)
        self.lines.append("    break")

    def settle(self) -> None:
        """Write the clock down, for whoever looks at it next."""
        if self.dots:
            self.lines.append(f"dot += {self.dots}")
        self.dots = 0

    def instruction(self, address: int, following: int | None, behind: int) -> None:
        one = self.decoded[address]
        name, _, way = one.handler.partition("_")
        if name in BRANCHES:
            self.branch(one, following, behind)
        elif one.handler == "JSR":
            self.call(one, behind - 1)
        elif one.handler in ("RTS", "JMP_ind"):
            self.dynamic(one, following)
        elif one.handler == "JMP":
            self.dots += 9
        elif way == "iny" or way.endswith("_bus"):
            self.by_address(one, name, way, address, behind)
        else:
            self.straight(one)

    def straight(self, one: Decoded) -> None:
        """A handler's body with its operand in place; the page penalty goes where an index cannot cross one."""
        for line in self.bodies[one.handler]:
            moved = MOVED.fullmatch(line)
            if moved:
                self.dots += int(moved[1])
            elif not (line.startswith("dot += 3 * (((o & 0xFF)") and one.operand & 0xFF == 0):
                self.lines.append(re.sub(r"\bo\b", str(one.operand), line))

    def branch(self, one: Decoded, following: int | None, behind: int) -> None:
        taken, straight_on = 6 + 3 * one.extra, 6
        if following == one.operand:
            self.leave(TAKEN[BRANCHES[one.handler].swapcase()], behind, straight_on)
            self.dots += taken
        else:  # also the last one of a trace, for which the end gives PC
            self.leave(TAKEN[BRANCHES[one.handler]], one.operand, taken)
            self.dots += straight_on

    def call(self, one: Decoded, back: int) -> None:
        self.lines += [
            f"row[0x100 + (sp & 0xFF)] = {back >> 8}",
            f"row[0x100 + ((sp - 1) & 0xFF)] = {back & 0xFF}",
            "sp = (sp - 2) & 0xFF",
        ]
        self.dots += 18

    def dynamic(self, one: Decoded, following: int | None) -> None:
        """Where RTS or JMP () goes is known only when it runs."""
        lines = [re.sub(r"\bo\b", str(one.operand), line) for line in self.bodies[one.handler]]
        self.lines += lines[:-1]
        self.dots += int(lines[-1].removeprefix("dot += "))
        if following is not None:
            self.leave(f"pc != {following}", "pc", 0)

    def by_address(self, one: Decoded, name: str, way: str, address: int, behind: int) -> None:
        """Operands that may be a register of the console: those of (zp),Y that turn out to be one are left to the
        plain interpreter; the others are read or written at their moment."""
        o, cycles = one.operand, 3 * CYCLES[name, way[:3]]
        if way == "iny":
            self.lines.append(f"base = int64(row[{o & 0xFF}]) | int64(row[{(o + 1) & 0xFF}]) << 8")
            self.lines.append("address = base + y")
            if name in REGISTER:
                self.leave("address >= 0x2000", address, 0, "slow = True")
                self.lines.append(f"row[address & 0x7FF] = {REGISTER[name]}")
            else:
                outside = "address >= 0x10000 or (base < 0x8000 and address >= 0x2000)"
                self.leave(outside, address, 0, "slow = True")
                self.lines.append("value = int64(rom[address & 0x7FFF] if base >= 0x8000 else row[address & 0x7FF])")
                self.lines += [*split(READ_BODIES[name]), "dot += 3 * (((base & 0xFF) + y) >> 8)"]
            self.dots += cycles
            return
        self.settle()
        if name in REGISTER:
            self.lines.append(f"dot += write_bus(row, words, rom, {o}, {REGISTER[name]}, dot + {cycles - 3})")
            self.dots += cycles
            self.lines += ["if words[NMI] != 0 or words[INTERRUPT_DISABLE] == 0:", "    stop = int64(0)"]
            self.leave(f"dot >= stop - {self.room + cycles}", behind, 0)
        else:
            index = " + x" if way == "abx_bus" else ""
            if index:
                self.leave(f"{o & 0xFF} + x >= 0x100", address, 0, "slow = True")
            self.lines.append(f"value = int64(read_bus(row, words, rom, {o}{index}, dot + {cycles - 3}))")
            self.lines += split(READ_BODIES[name])
            self.dots += cycles

    def written(self, lengths: dict[int, int]) -> list[str]:
        """The trace as a handler."""
        addresses = self.trace.addresses
        for here, following in zip(
            addresses, [*addresses[1:], addresses[0] if self.trace.loops else None], strict=True
        ):
            self.instruction(here, following, here + lengths[here])
        last = self.decoded[addresses[-1]]
        self.settle()
        if self.trace.loops:
            self.lines += [f"if dot >= stop - {self.room}:", f"    pc = int64({addresses[0]})", "    break"]
        else:
            if last.handler not in ("RTS", "JMP_ind"):
                onward = last.operand if last.handler in ("JMP", "JSR") else addresses[-1] + lengths[addresses[-1]]
                self.lines.append(f"pc = int64({onward})")
            self.lines.append("break")
        body = ["while True:", *("    " + line for line in self.lines)]
        return [f"if dot < stop - {self.room}:", *("    " + line for line in body), "else:", "    slow = True"]


def stored_traces(cartridge: Cartridge, profile: Profile | None, count: int) -> tuple[list[Found], dict[int, float]]:
    """The traces of this ROM from the cache folder, or from a profile, which is then kept."""
    root = kept.folder("traces")
    path = root / f"{cartridge.digest}-{count}.json"
    if profile is None and path.is_file():
        kept.used(path, root)
        stored = json.loads(path.read_text(encoding="utf-8"))
        found = [Found(Trace(tuple(a), loops), tuple(flows), entries) for a, loops, flows, entries in stored["traces"]]
        return found, {int(address): runs for address, runs in stored["left"].items()}
    found, left = find_traces(cartridge, play_profile(cartridge) if profile is None else profile, count)
    rows = [(one.trace.addresses, one.trace.loops, one.flows, one.entries) for one in found]
    kept.write(path, json.dumps({"traces": rows, "left": left}))
    kept.used(path, root)
    return found, left


def handler_weights(
    cartridge: Cartridge, decoded: dict[int, Decoded], found: list[Found], left: dict[int, float]
) -> dict[str, float]:
    """Dispatches per frame of every handler, when the traces have taken their part."""
    weights = {one.trace.name: one.entries for one in found}
    left = dict(left)
    for address in sorted(left):
        handler = decoded[address].handler
        weights[handler] = weights.get(handler, 0.0) + left[address]
        here = address
        for _ in handler.split(JOIN)[1:]:  # what a joined handler executes is not dispatched
            here += OPCODES[int(cartridge.program[here & 0x7FFF])].length
            left[here] = max(left.get(here, 0.0) - left[address], 0.0)
    return weights


def machine_with_blocks(cartridge: Cartridge, profile: Profile | None = None, count: int = TRACES) -> Machine:
    """A machine for this cartridge only."""
    found, left = stored_traces(cartridge, profile, count)
    alone, bodies = decode_program(cartridge), all_handlers()
    lengths = {address: OPCODES[int(cartridge.program[address & 0x7FFF])].length for address in alone}
    blocks = {one.trace.name: Writer(one.trace, alone, bodies, []).written(lengths) for one in found}
    decoded = decode_program(cartridge, SEQUENCES)
    weights = handler_weights(cartridge, decoded, found, left)
    for one in found:  # the operand stays: a joined handler that comes by reads it
        head = one.trace.addresses[0]
        decoded[head] = alone[head]._replace(handler=one.trace.name)
    return load_machine(decoded, weights, blocks)
