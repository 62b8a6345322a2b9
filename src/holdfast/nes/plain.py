"""The plain interpreter: one instruction at a time from the opcode table, no predecoding, no skipping, no tricks.

It is the twin that tests hold against the fast machine, and the machine's own fallback for what is too rare to be
fast (code in RAM, unofficial opcodes, odd corners of the address space). `step` is complete on its own.
"""

# ruff: noqa: SIM109 - `in` a tuple compiles to a loop, `or` to a comparison
from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.kit.compiled import kernel
from holdfast.nes.bus import read_bus, write_bus
from holdfast.nes.inner import inner
from holdfast.nes.layout import (
    CARRY,
    DECIMAL,
    DOT,
    INTERRUPT_DISABLE,
    IRQ_MASKED,
    JAMMED,
    NEGATIVE_VALUE,
    OVERFLOW,
    PC,
    SP,
    ZERO_VALUE,
    A,
    X,
    Y,
)
from holdfast.nes.opcodes import (
    CYCLES,
    LENGTH,
    MNEMONICS,
    MODE,
    MODES,
    MODIFIES,
    OPERATION,
    PAGE_PENALTY,
    READS,
    WRITES,
)

int64: Any = np.int64
Array = Any

IMP, ACC, IMM, ZPG, ZPX, ZPY, ABS, ABX, ABY, IND, INX, INY, REL = range(len(MODES))


def numbers(names: str) -> list[int]:
    """The OPERATION numbers of some mnemonics."""
    return [MNEMONICS.index(name) for name in names.split()]


ADC, ALR, ANC, AND, ANE, ARR, ASL, BCC, BCS, BEQ, BIT, BMI, BNE, BPL, BRK, BVC, BVS, CLC, CLD, CLI, CLV, CMP = numbers(
    "ADC ALR ANC AND ANE ARR ASL BCC BCS BEQ BIT BMI BNE BPL BRK BVC BVS CLC CLD CLI CLV CMP"
)
CPX, CPY, DCP, DEC, DEX, DEY, EOR, INC, INX_OP, INY_OP, ISC, JAM, JMP, JSR = numbers(
    "CPX CPY DCP DEC DEX DEY EOR INC INX INY ISC JAM JMP JSR"
)
LAS, LAX, LDA, LDX, LDY, LSR, LXA, ORA = numbers("LAS LAX LDA LDX LDY LSR LXA ORA")
PHA, PHP, PLA, PLP, RLA, ROL, ROR, RRA, RTI, RTS, SAX, SBC, SBX, SEC, SED, SEI, SHA, SHX, SHY = numbers(
    "PHA PHP PLA PLP RLA ROL ROR RRA RTI RTS SAX SBC SBX SEC SED SEI SHA SHX SHY"
)
SLO, SRE, STA, STX, STY, TAS, TAX, TAY, TSX, TXA, TXS, TYA = numbers("SLO SRE STA STX STY TAS TAX TAY TSX TXA TXS TYA")

IS_READ = np.array([name in READS for name in MNEMONICS], np.int64)
IS_WRITE = np.array([name in WRITES for name in MNEMONICS], np.int64)
IS_MODIFY = np.array([name in MODIFIES for name in MNEMONICS], np.int64)

ANE_MAGIC = 0xEE  # the constant of ANE and LXA differs between chips; this is a common one


@inner
def set_nz(words: Array, value: int) -> None:
    words[ZERO_VALUE] = value
    words[NEGATIVE_VALUE] = value


@inner
def pack_flags(words: Array) -> int:
    """P as pushed by an interrupt: bit 5 set, B clear."""
    flags = 0x20 | words[CARRY] | words[INTERRUPT_DISABLE] << 2 | words[DECIMAL] << 3 | words[OVERFLOW] << 6
    return flags | (0x02 if words[ZERO_VALUE] == 0 else 0) | (words[NEGATIVE_VALUE] & 0x80)


@inner
def unpack_flags(words: Array, flags: int) -> None:
    words[CARRY] = flags & 1
    words[ZERO_VALUE] = 0 if flags & 2 else 1
    words[INTERRUPT_DISABLE] = (flags >> 2) & 1
    words[DECIMAL] = (flags >> 3) & 1
    words[OVERFLOW] = (flags >> 6) & 1
    words[NEGATIVE_VALUE] = flags & 0x80


@inner
def push(row: Array, words: Array, value: int) -> None:
    row[0x100 + words[SP]] = value
    words[SP] = (words[SP] - 1) & 0xFF


@inner
def pull(row: Array, words: Array) -> int:
    words[SP] = (words[SP] + 1) & 0xFF
    return int64(row[0x100 + words[SP]])


@inner
def interrupt(row: Array, words: Array, rom: Array, vector: int, flags: int) -> None:
    """Push PC and flags, go through a vector. The caller counts the seven cycles."""
    push(row, words, words[PC] >> 8)
    push(row, words, words[PC] & 0xFF)
    push(row, words, flags)
    words[INTERRUPT_DISABLE] = 1
    words[PC] = int64(rom[vector & 0x7FFF]) | int64(rom[(vector + 1) & 0x7FFF]) << 8


@inner
def add(words: Array, value: int) -> None:
    total = words[A] + value + words[CARRY]
    words[OVERFLOW] = ((~(words[A] ^ value) & (words[A] ^ total)) >> 7) & 1
    words[CARRY] = total >> 8
    words[A] = total & 0xFF
    set_nz(words, words[A])


@inner
def compare(words: Array, register: int, value: int) -> None:
    words[CARRY] = 1 if register >= value else 0
    set_nz(words, (register - value) & 0xFF)


@inner
def modify(words: Array, operation: int, value: int) -> int:
    """The arithmetic of ASL, LSR, ROL, ROR, INC and DEC, also inside their unofficial relatives."""
    if operation == ASL or operation == SLO:
        words[CARRY] = value >> 7
        result = (value << 1) & 0xFF
    elif operation == LSR or operation == SRE:
        words[CARRY] = value & 1
        result = value >> 1
    elif operation == ROL or operation == RLA:
        result = ((value << 1) | words[CARRY]) & 0xFF
        words[CARRY] = value >> 7
    elif operation == ROR or operation == RRA:
        result = (value >> 1) | words[CARRY] << 7
        words[CARRY] = value & 1
    elif operation == INC or operation == ISC:
        result = (value + 1) & 0xFF
    else:  # DEC, DCP
        result = (value - 1) & 0xFF
    set_nz(words, result)
    return result


@inner
def after_modify(words: Array, operation: int, value: int) -> None:
    """What the unofficial read-modify-write opcodes do with the accumulator afterwards."""
    if operation == SLO:
        words[A] |= value
        set_nz(words, words[A])
    elif operation == RLA:
        words[A] &= value
        set_nz(words, words[A])
    elif operation == SRE:
        words[A] ^= value
        set_nz(words, words[A])
    elif operation == RRA:
        add(words, value)
    elif operation == ISC:
        add(words, value ^ 0xFF)
    elif operation == DCP:
        compare(words, words[A], value)


@inner
def use_operand(words: Array, operation: int, value: int) -> None:
    """Everything an instruction does with a value it has read."""
    if operation == LDA:
        words[A] = value
        set_nz(words, value)
    elif operation == LDX:
        words[X] = value
        set_nz(words, value)
    elif operation == LDY:
        words[Y] = value
        set_nz(words, value)
    elif operation == LAX:
        words[A] = value
        words[X] = value
        set_nz(words, value)
    elif operation == ADC:
        add(words, value)
    elif operation == SBC:
        add(words, value ^ 0xFF)
    elif operation == CMP:
        compare(words, words[A], value)
    elif operation == CPX:
        compare(words, words[X], value)
    elif operation == CPY:
        compare(words, words[Y], value)
    elif operation == BIT:
        words[ZERO_VALUE] = words[A] & value
        words[NEGATIVE_VALUE] = value
        words[OVERFLOW] = (value >> 6) & 1
    elif operation == AND or operation == ANC or operation == ALR or operation == ARR:
        words[A] &= value
        if operation == ANC:
            words[CARRY] = words[A] >> 7
        elif operation == ALR:
            words[A] = modify(words, LSR, words[A])
        elif operation == ARR:
            words[A] = words[A] >> 1 | words[CARRY] << 7
            words[CARRY] = (words[A] >> 6) & 1
            words[OVERFLOW] = ((words[A] >> 6) ^ (words[A] >> 5)) & 1
        set_nz(words, words[A])
    elif operation == ORA:
        words[A] |= value
        set_nz(words, words[A])
    elif operation == EOR:
        words[A] ^= value
        set_nz(words, words[A])
    elif operation == SBX:
        both = words[A] & words[X]
        words[CARRY] = 1 if both >= value else 0
        words[X] = (both - value) & 0xFF
        set_nz(words, words[X])
    elif operation == ANE:
        words[A] = (words[A] | ANE_MAGIC) & words[X] & value
        set_nz(words, words[A])
    elif operation == LXA:
        words[A] = (words[A] | ANE_MAGIC) & value
        words[X] = words[A]
        set_nz(words, words[A])
    elif operation == LAS:
        words[SP] &= value
        words[A] = words[SP]
        words[X] = words[SP]
        set_nz(words, words[SP])


@inner
def stored_value(words: Array, operation: int, address_high: int) -> int:
    if operation == STA:
        return words[A]
    if operation == STX:
        return words[X]
    if operation == STY:
        return words[Y]
    if operation == SAX:
        return words[A] & words[X]
    if operation == SHX:
        return words[X] & ((address_high + 1) & 0xFF)
    if operation == SHY:
        return words[Y] & ((address_high + 1) & 0xFF)
    if operation == TAS:
        words[SP] = words[A] & words[X]
    return words[A] & words[X] & ((address_high + 1) & 0xFF)


@inner
def branch_taken(words: Array, operation: int) -> bool:
    if operation == BPL:
        return words[NEGATIVE_VALUE] & 0x80 == 0
    if operation == BMI:
        return words[NEGATIVE_VALUE] & 0x80 != 0
    if operation == BVC:
        return words[OVERFLOW] == 0
    if operation == BVS:
        return words[OVERFLOW] != 0
    if operation == BCC:
        return words[CARRY] == 0
    if operation == BCS:
        return words[CARRY] != 0
    if operation == BNE:
        return words[ZERO_VALUE] != 0
    return words[ZERO_VALUE] == 0


@inner
def simple(row: Array, words: Array, rom: Array, operation: int) -> None:
    """The instructions without an operand. PC already points behind the opcode."""
    if operation == TAX:
        words[X] = words[A]
        set_nz(words, words[X])
    elif operation == TAY:
        words[Y] = words[A]
        set_nz(words, words[Y])
    elif operation == TXA:
        words[A] = words[X]
        set_nz(words, words[A])
    elif operation == TYA:
        words[A] = words[Y]
        set_nz(words, words[A])
    elif operation == TSX:
        words[X] = words[SP]
        set_nz(words, words[X])
    elif operation == TXS:
        words[SP] = words[X]
    elif operation == INX_OP:
        words[X] = (words[X] + 1) & 0xFF
        set_nz(words, words[X])
    elif operation == INY_OP:
        words[Y] = (words[Y] + 1) & 0xFF
        set_nz(words, words[Y])
    elif operation == DEX:
        words[X] = (words[X] - 1) & 0xFF
        set_nz(words, words[X])
    elif operation == DEY:
        words[Y] = (words[Y] - 1) & 0xFF
        set_nz(words, words[Y])
    elif operation == CLC:
        words[CARRY] = 0
    elif operation == SEC:
        words[CARRY] = 1
    elif operation == CLI:
        words[INTERRUPT_DISABLE] = 0
    elif operation == SEI:
        words[INTERRUPT_DISABLE] = 1
    elif operation == CLD:
        words[DECIMAL] = 0
    elif operation == SED:
        words[DECIMAL] = 1
    elif operation == CLV:
        words[OVERFLOW] = 0
    elif operation == PHA:
        push(row, words, words[A])
    elif operation == PLA:
        words[A] = pull(row, words)
        set_nz(words, words[A])
    elif operation == PHP:
        push(row, words, pack_flags(words) | 0x10)
    elif operation == PLP:
        unpack_flags(words, pull(row, words))
    elif operation == RTS:
        low = pull(row, words)
        words[PC] = ((low | pull(row, words) << 8) + 1) & 0xFFFF
    elif operation == RTI:
        unpack_flags(words, pull(row, words))
        low = pull(row, words)
        words[PC] = low | pull(row, words) << 8
    elif operation == BRK:
        words[PC] = (words[PC] + 1) & 0xFFFF
        interrupt(row, words, rom, 0xFFFE, pack_flags(words) | 0x10)
    elif operation == JAM:
        words[PC] = (words[PC] - 1) & 0xFFFF
        words[JAMMED] = 1


@inner
def zero_page_pointer(row: Array, at: int) -> int:
    return int64(row[at & 0xFF]) | int64(row[(at + 1) & 0xFF]) << 8


@kernel
def step(row: Array, words: Array, rom: Array) -> None:
    """Execute one instruction: registers, flags, memory and DOT."""
    pc, dot = words[PC], words[DOT]
    words[IRQ_MASKED] = words[INTERRUPT_DISABLE]
    opcode = read_bus(row, words, rom, pc, dot)
    mode, operation, cycles = MODE[opcode], OPERATION[opcode], CYCLES[opcode]
    operand = int64(0)
    if LENGTH[opcode] > 1:
        operand = read_bus(row, words, rom, (pc + 1) & 0xFFFF, dot + 3)
    if LENGTH[opcode] > 2:
        operand |= read_bus(row, words, rom, (pc + 2) & 0xFFFF, dot + 6) << 8
    words[PC] = (pc + LENGTH[opcode]) & 0xFFFF

    if mode == IMP:
        simple(row, words, rom, operation)
    elif mode == ACC:
        words[A] = modify(words, operation, words[A])
    elif mode == IMM:
        use_operand(words, operation, operand)
    elif mode == REL:
        if branch_taken(words, operation):
            target = (words[PC] + operand - ((operand & 0x80) << 1)) & 0xFFFF
            cycles += 2 if (target ^ words[PC]) & 0xFF00 else 1
            words[PC] = target
    elif operation == JMP and mode == ABS:
        words[PC] = operand
    elif operation == JMP:  # the pointer's high byte is fetched from the same page
        low = read_bus(row, words, rom, operand, dot + 9)
        high = read_bus(row, words, rom, (operand & 0xFF00) | ((operand + 1) & 0xFF), dot + 12)
        words[PC] = low | high << 8
    elif operation == JSR:
        push(row, words, ((words[PC] - 1) & 0xFFFF) >> 8)
        push(row, words, (words[PC] - 1) & 0xFF)
        words[PC] = operand
    else:
        memory_instruction(row, words, rom, opcode, operand)
        return
    words[DOT] = dot + 3 * cycles
    if operation != CLI and operation != SEI and operation != PLP:
        words[IRQ_MASKED] = words[INTERRUPT_DISABLE]


@inner
def memory_instruction(row: Array, words: Array, rom: Array, opcode: int, operand: int) -> None:
    """Instructions that read, write or modify a byte of memory. Indexing across a page first reads the wrong page."""
    mode, operation, cycles, dot = MODE[opcode], OPERATION[opcode], CYCLES[opcode], words[DOT]
    address = operand
    unindexed = operand
    if mode == ZPX:
        address = (operand + words[X]) & 0xFF
        unindexed = address
    elif mode == ZPY:
        address = (operand + words[Y]) & 0xFF
        unindexed = address
    elif mode == INX:
        address = zero_page_pointer(row, operand + words[X])
        unindexed = address
    elif mode == ABX:
        address = (operand + words[X]) & 0xFFFF
    elif mode == ABY:
        address = (operand + words[Y]) & 0xFFFF
    elif mode == INY:
        unindexed = zero_page_pointer(row, operand)
        address = (unindexed + words[Y]) & 0xFFFF
    crossed = (address ^ unindexed) & 0xFF00 != 0
    if crossed and PAGE_PENALTY[opcode]:
        cycles += 1
    last = dot + 3 * (cycles - 1)
    if (mode == ABX or mode == ABY or mode == INY) and (crossed or not IS_READ[operation]):
        wrong = (unindexed & 0xFF00) | (address & 0xFF)
        if wrong >= 0x2000 and wrong < 0x4020:
            read_bus(row, words, rom, wrong, last - (9 if IS_MODIFY[operation] else 3))

    if IS_READ[operation]:
        use_operand(words, operation, read_bus(row, words, rom, address, last))
        words[DOT] = dot + 3 * cycles
    elif IS_WRITE[operation]:
        value = stored_value(words, operation, unindexed >> 8)
        if crossed and (operation == SHA or operation == SHX or operation == SHY or operation == TAS):
            address = (value << 8) | (address & 0xFF)
        words[DOT] = dot + 3 * cycles + write_bus(row, words, rom, address, value, last)
    else:
        value = read_bus(row, words, rom, address, last - 6)
        stall = write_bus(row, words, rom, address, value, last - 3)
        result = modify(words, operation, value)
        after_modify(words, operation, result)
        stall += write_bus(row, words, rom, address, result, last + stall)
        words[DOT] = dot + 3 * cycles + stall
