"""Predecoding: every program address becomes one uint32 that names a handler and carries its operand.

The choice that costs time at run time is made here once: whether an absolute operand is RAM, ROM or a register, what
a ROM byte's value is, where a branch goes and what it costs, and whether a few instructions are a loop that only
waits. What has no handler (`RARE`) goes to the plain interpreter. Layout: handler in bits 0-9, extra in bits 10-15,
operand in bits 16-31.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.nes.cartridge import Cartridge
from holdfast.nes.opcodes import BRANCHES, OPCODES, Opcode

RARE = "RARE"
FIRST, LAST = 0x8000, 0xFFFC  # an instruction that begins later may take its operand from RAM

FAST_READS = ("LDA", "LDX", "LDY", "ADC", "SBC", "AND", "ORA", "EOR", "CMP", "CPX", "CPY", "BIT")
FAST_WRITES = ("STA", "STX", "STY")
FAST_MODIFIES = ("ASL", "LSR", "ROL", "ROR", "INC", "DEC")
FAST_SIMPLE = ("TAX", "TAY", "TXA", "TYA", "INX", "INY", "DEX", "DEY", "CLC", "SEC", "PHA", "PLA", "RTS", "NOP")


JOIN = "+"  # between the handlers of a sequence that is dispatched once
LONGEST_SEQUENCE = 10
ENDS_SEQUENCE = {RARE, "JMP", "JSR", "RTS", "JMP_ind", "WAIT_forever", "WAIT_DEX", "WAIT_DEY", *BRANCHES}


class Decoded(NamedTuple):
    """One instruction as the machine executes it."""

    handler: str
    operand: int = 0  # 16 bits
    extra: int = 0  # 6 bits


def fetch(program: bytes, address: int) -> tuple[Opcode, int]:
    """The opcode at a program address, and its operand bytes as a number."""
    opcode = OPCODES[program[address & 0x7FFF]]
    operand = 0
    for offset in range(opcode.length - 1):
        operand |= program[(address + 1 + offset) & 0x7FFF] << (8 * offset)
    return opcode, operand


def branch_target(address: int, operand: int) -> tuple[int, int]:
    """Where a taken branch goes, and the cycles it costs beyond 2."""
    behind = (address + 2) & 0xFFFF
    target = (behind + operand - ((operand & 0x80) << 1)) & 0xFFFF
    return target, 2 if (target ^ behind) & 0xFF00 else 1


def decode_one(program: bytes, address: int) -> Decoded:
    """The handler for the instruction at an address."""
    if address > LAST:
        return Decoded(RARE)
    opcode, operand = fetch(program, address)
    if not opcode.official:
        return Decoded(RARE)
    return waiting_loop(program, address, opcode, operand) or _decode_plain(program, address, opcode, operand)


def _decode_plain(program: bytes, address: int, opcode: Opcode, operand: int) -> Decoded:
    name, mode = opcode.mnemonic, opcode.mode
    if name in BRANCHES:
        return Decoded(name, *branch_target(address, operand))
    if name in FAST_SIMPLE:
        return Decoded(name)
    if name in ("JMP", "JSR") and mode == "abs":
        return Decoded(name, operand)
    if name == "JMP":
        return Decoded("JMP_ind", operand) if operand < 0x2000 else Decoded(RARE)
    if name in FAST_READS:
        return _decode_read(program, opcode, operand)
    if name in FAST_WRITES:
        return _decode_write(opcode, operand)
    if name in FAST_MODIFIES:
        return _decode_modify(opcode, operand)
    return Decoded(RARE)


def _decode_read(program: bytes, opcode: Opcode, operand: int) -> Decoded:
    name, mode = opcode.mnemonic, opcode.mode
    if mode in ("imm", "zpg", "zpx", "zpy", "iny"):
        return Decoded(f"{name}_{mode}", operand)
    if mode == "abs" and operand < 0x2000:
        return Decoded(f"{name}_abs_ram", operand & 0x7FF)
    if mode == "abs" and operand >= 0x8000:
        return Decoded(f"{name}_abs_rom", program[operand & 0x7FFF])
    if mode in ("abs", "abx") and name == "LDA" and 0x2000 <= operand < 0x8000:
        return Decoded(f"LDA_{mode}_bus", operand)
    if mode in ("abx", "aby") and operand < 0x1F00:
        return Decoded(f"{name}_{mode}_ram", operand)
    if mode in ("abx", "aby") and 0x8000 <= operand <= 0xFF00:
        return Decoded(f"{name}_{mode}_rom", operand)
    return Decoded(RARE)


def _decode_write(opcode: Opcode, operand: int) -> Decoded:
    name, mode = opcode.mnemonic, opcode.mode
    if mode in ("zpg", "zpx", "zpy", "iny"):
        return Decoded(f"{name}_{mode}", operand)
    if mode == "abs" and operand < 0x2000:
        return Decoded(f"{name}_abs_ram", operand & 0x7FF)
    if mode == "abs" and operand < 0x4020:
        return Decoded(f"{name}_abs_bus", operand)
    if mode in ("abx", "aby") and operand < 0x1F00:
        return Decoded(f"{name}_{mode}_ram", operand)
    return Decoded(RARE)


def _decode_modify(opcode: Opcode, operand: int) -> Decoded:
    name, mode = opcode.mnemonic, opcode.mode
    if mode in ("acc", "zpg", "zpx"):
        return Decoded(f"{name}_{mode}", operand)
    if mode == "abs" and operand < 0x2000:
        return Decoded(f"{name}_abs_ram", operand & 0x7FF)
    if mode == "abx" and operand < 0x1F00:
        return Decoded(f"{name}_abx_ram", operand)
    return Decoded(RARE)


def waiting_loop(program: bytes, address: int, opcode: Opcode, operand: int) -> Decoded | None:
    """Loops that can be skipped exactly because only time or an interrupt ends them."""
    if opcode.mnemonic == "JMP" and opcode.mode == "abs":
        return Decoded("WAIT_forever", operand) if operand == address else None
    second_at = address + opcode.length
    if second_at > LAST:
        return None
    second, second_operand = fetch(program, second_at)
    if opcode.mnemonic in ("DEX", "DEY"):
        if second.mnemonic == "BNE" and branch_target(second_at, second_operand) == (address, 1):
            return Decoded(f"WAIT_{opcode.mnemonic}")
        return None
    if opcode.mode == "abs" and operand & 0xE007 == 0x2002:
        return _status_poll(program, address, opcode, second_at)
    return None


def _status_poll(program: bytes, address: int, opcode: Opcode, second_at: int) -> Decoded | None:
    """LDA or BIT $2002, perhaps AND #mask, and a branch back: stays while the masked bits are (not) zero."""
    second, operand = fetch(program, second_at)
    mask, branch_at = 0, second_at
    if opcode.mnemonic == "LDA" and second.mnemonic == "AND" and second.mode == "imm":
        mask, branch_at = operand, second_at + 2
        if branch_at > LAST:
            return None
        second, operand = fetch(program, branch_at)
        stays = {"BEQ": 0, "BNE": 1}
    elif opcode.mnemonic == "LDA":
        mask, stays = 0x80, {"BPL": 0, "BMI": 1}
    elif opcode.mnemonic == "BIT":
        mask = 0x40 if second.mnemonic in ("BVC", "BVS") else 0x80
        stays = {"BPL": 0, "BMI": 1, "BVC": 0, "BVS": 1}
    else:
        return None
    if second.mnemonic not in stays or branch_target(branch_at, operand) != (address, 1):
        return None
    loop_cycles = 4 + (branch_at - second_at) + 3  # AND # is two bytes and two cycles
    return Decoded(f"POLL_{opcode.mnemonic}", mask | stays[second.mnemonic] << 8, loop_cycles)


def decode_program(cartridge: Cartridge, sequences: tuple[str, ...] = ()) -> dict[int, Decoded]:
    """Every address of the program, decoded as if an instruction began there."""
    program = cartridge.program.tobytes()  # a byte of an array costs ten times as much as one of these
    alone = {address: decode_one(program, address) for address in range(FIRST, 0x10000)}
    known = set(sequences)
    beginnings = {JOIN.join(name.split(JOIN)[:count]) for name in known for count in range(1, LONGEST_SEQUENCE)}
    return {
        address: _joined(program, alone, address, known, beginnings) if one.handler in beginnings else one
        for address, one in alone.items()
    }


def _joined(program: bytes, alone: dict[int, Decoded], address: int, known: set[str], beginnings: set[str]) -> Decoded:
    """The longest known sequence of handlers that begins at an address; its operand is the first instruction's."""
    first = alone[address]
    names, found, here = first.handler, first.handler, address
    while names in beginnings:
        here += OPCODES[program[here & 0x7FFF]].length
        if here > LAST:
            break
        names += JOIN + alone[here].handler
        if names in known:
            found = names
    return Decoded(found, first.operand, first.extra)


def code_words(decoded: dict[int, Decoded], numbers: dict[str, int]) -> NDArray[np.uint32]:
    """The table that the machine runs from, [65536]; addresses outside the program are RARE."""
    words = np.full(0x10000, numbers[RARE], np.uint32)
    for address, (handler, operand, extra) in decoded.items():
        words[address] = numbers[handler] | extra << 10 | operand << 16
    return words
