"""Corners of the 6502 by name. Each program leaves its findings in zero page and stops in a loop."""

from __future__ import annotations

import pytest
from cartridges import cartridge

from holdfast.nes import Console, load_rom
from holdfast.nes import layout as L

CASES = {
    "zero page indexing wraps": (
        "LDA #7\n STA $05\n LDX #$FF\n LDA $06,X\n STA $10",
        {0x10: 7},
    ),
    "zero page pointers wrap for (zp,X)": (
        "LDA #$34\n STA $FF\n LDA #$03\n STA $00\n LDA #9\n STA $0334\n LDX #$0F\n LDA ($F0,X)\n STA $10",
        {0x10: 9},
    ),
    "zero page pointers wrap for (zp),Y": (
        "LDA #$34\n STA $FF\n LDA #$03\n STA $00\n LDA #9\n STA $0335\n LDY #1\n LDA ($FF),Y\n STA $10",
        {0x10: 9},
    ),
    "JMP ($xxFF) takes its high byte from the same page": (
        "LDA #<there\n STA $02FF\n LDA #>there\n STA $0200\n LDA #$90\n STA $0300\n JMP ($02FF)\n"
        " there: LDA #1\n STA $10",
        {0x10: 1},
    ),
    "the stack wraps": (
        "LDX #0\n TXS\n LDA #5\n PHA\n TSX\n STX $10\n LDA $0100\n STA $11\n PLA\n TSX\n STX $12",
        {0x10: 0xFF, 0x11: 5, 0x12: 0},
    ),
    "JSR pushes the address before the next instruction": (
        "LDX #$FF\n TXS\n JSR sub\n back: JMP end\n sub: LDA $01FF\n STA $11\n LDA $01FE\n STA $10\n"
        " LDA #<back\n SEC\n SBC $10\n STA $12\n RTS\n end: NOP",
        {0x12: 1, 0x11: 0x80},
    ),
    "PHP pushes B and bit 5, PLP ignores them": (
        "LDA #$FF\n PHA\n PLP\n PHP\n PLA\n STA $10\n LDA #0\n PHA\n PLP\n PHP\n PLA\n STA $11\n SEI",
        {0x10: 0xFF, 0x11: 0x30},
    ),
    "BRK pushes B and skips a byte, RTI returns there": (
        "LDX #$FF\n TXS\n LDA #0\n STA $13\n BRK\n .byte $EA\n INC $13\n JMP over\n"
        "irq: PLA\n STA $10\n PHA\n LDA $01FE\n STA $11\n INC $12\n RTI\n over: NOP",
        {0x13: 1, 0x12: 1, 0x10: 0x36},
    ),
    "ADC sets carry and overflow": (
        "CLC\n LDA #$7F\n ADC #1\n PHP\n PLA\n STA $10\n CLC\n LDA #$FF\n ADC #1\n PHP\n PLA\n STA $11",
        {0x10: 0xF4, 0x11: 0x37},
    ),
    "SBC sets borrow and overflow": (
        "SEC\n LDA #$80\n SBC #1\n STA $12\n PHP\n PLA\n STA $10\n SEC\n LDA #0\n SBC #1\n PHP\n PLA\n STA $11",
        {0x12: 0x7F, 0x10: 0x75, 0x11: 0xB4},
    ),
    "decimal mode does nothing": (
        "SED\n CLC\n LDA #$09\n ADC #$01\n STA $10\n CLD",
        {0x10: 0x0A},
    ),
    "CMP compares without borrow": (
        "LDA #$80\n CMP #$7F\n PHP\n PLA\n STA $10\n LDA #$7F\n CMP #$80\n PHP\n PLA\n STA $11",
        {0x10: 0x35, 0x11: 0xB4},
    ),
    "BIT takes N and V from memory, Z from the sum of both": (
        "LDA #$C0\n STA $20\n LDA #$01\n BIT $20\n PHP\n PLA\n STA $10",
        {0x10: 0xF6},
    ),
    "ROL and ROR turn through carry": (
        "SEC\n LDA #$80\n ROL A\n STA $10\n ROR A\n STA $11\n PHP\n PLA\n STA $12",
        {0x10: 0x01, 0x11: 0x80, 0x12: 0xB5},
    ),
    "RAM is mirrored up to $1FFF": (
        "LDA #3\n STA $0810\n LDA #4\n STA $1811\n INC $1011",
        {0x10: 3, 0x11: 5},
    ),
    "open bus answers with the high byte of the address": (
        "LDA $5012\n STA $10\n LDA $4018\n STA $11\n LDA $6000\n STA $12",
        {0x10: 0x50, 0x11: 0x40, 0x12: 0x60},
    ),
    "code in RAM runs": (
        "LDA #$E6\n STA $0300\n LDA #$10\n STA $0301\n LDA #$60\n STA $0302\n JSR $0300\n JSR $0300",
        {0x10: 2},
    ),
    "LAX, SAX, DCP, ISC": (
        "LDA #$5A\n STA $20\n LAX $20\n STX $10\n LDX #$0F\n SAX $11\n DCP $20\n PHP\n PLA\n STA $12\n SEC\n LDA #$60\n"
        " ISC $20\n STA $13",
        {0x10: 0x5A, 0x11: 0x0A, 0x12: 0x35, 0x13: 0x06},
    ),
    "SLO, RLA, SRE, RRA": (
        "LDA #$81\n STA $20\n LDA #1\n SLO $20\n STA $10\n LDA #$0F\n RLA $20\n STA $11\n SRE $20\n STA $12\n RRA $20\n"
        " STA $13",
        {0x10: 0x03, 0x11: 0x05, 0x12: 0x07, 0x13: 0x88},
    ),
    "ANC, ALR, ARR, SBX": (
        "LDA #$F0\n ANC #$80\n PHP\n PLA\n STA $10\n LDA #$03\n ALR #$03\n STA $11\n SEC\n"
        " LDA #$FF\n ARR #$80\n STA $12\n"
        " LDA #$0F\n LDX #$3C\n SBX #$02\n STX $13",
        {0x10: 0xB5, 0x11: 0x01, 0x12: 0xC0, 0x13: 0x0A},
    ),
    "unofficial NOPs skip their operands": (
        ".byte $04, $E6, $0C, $E6, $10, $1C, $E6, $10, $80, $E6, $1A\n INC $10",
        {0x10: 1},
    ),
    "controllers answer with eight buttons, then ones": (
        "LDA #1\n STA $4016\n LDA #0\n STA $4016\n LDX #9\n next: LDA $4016\n LSR A\n ROL $10\n"
        " ROL $11\n DEX\n BNE next\n"
        " LDA $4017\n STA $12\n LDA #1\n STA $4016\n LDA $4016\n STA $13\n LDA $4016\n STA $14",
        {0x10: 0x4B, 0x11: 0x01, 0x12: 0x40, 0x13: 0x41, 0x14: 0x41},
    ),
    "read-modify-write on $2007 touches memory twice": (
        "JSR dark\n LDA #$24\n STA PPUADDR\n LDA #0\n STA PPUADDR\n LDA #5\n STA PPUDATA\n STA PPUDATA\n STA PPUDATA\n"
        " STA PPUDATA\n LDA #$24\n STA PPUADDR\n LDA #0\n STA PPUADDR\n LDA PPUDATA\n INC PPUDATA\n LDA #$24\n"
        " STA PPUADDR\n LDA #2\n STA PPUADDR\n LDA PPUDATA\n LDA PPUDATA\n STA $10\n LDA PPUDATA\n STA $11\n JMP end\n"
        "dark: LDA #0\n STA PPUCTRL\n STA PPUMASK\n RTS\n end: NOP",
        {0x10: 5, 0x11: 6},
    ),
    "palette mirrors at $3F10 and palette reads at once": (
        "LDA #$3F\n STA PPUADDR\n LDA #$10\n STA PPUADDR\n LDA #$2A\n STA PPUDATA\n LDA #$3F\n STA PPUADDR\n LDA #0\n"
        " STA PPUADDR\n LDA PPUDATA\n AND #$3F\n STA $10",
        {0x10: 0x2A},
    ),
    "$2007 steps by 32 when asked": (
        "LDA #4\n STA PPUCTRL\n LDA #$20\n STA PPUADDR\n LDA #0\n STA PPUADDR\n LDA #1\n"
        " STA PPUDATA\n LDA #2\n STA PPUDATA\n"
        " LDA #0\n STA PPUCTRL\n LDA #$20\n STA PPUADDR\n LDA #$20\n STA PPUADDR\n LDA PPUDATA\n LDA PPUDATA\n STA $10",
        {0x10: 2},
    ),
    "sprite memory is written and read through $2004": (
        "LDA #2\n STA OAMADDR\n LDA #$FF\n STA $2004\n STA $2004\n LDA #2\n STA OAMADDR\n"
        " LDA $2004\n STA $10\n LDA #3\n"
        " STA OAMADDR\n LDA $2004\n STA $11",
        {0x10: 0xE3, 0x11: 0xFF},
    ),
    "write-only PPU registers read as the last value on the PPU's bus": (
        "LDA #$5C\n STA OAMADDR\n LDA PPUCTRL\n STA $10",
        {0x10: 0x5C},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_corner(name: str) -> None:
    source, expected = CASES[name]
    console = Console(load_rom(cartridge(f"reset: NOP\n {source}\nstop: JMP stop\n")))
    for _ in range(4):
        console.step(0xA5)
    assert not console.jammed[0]
    assert {address: int(console.ram[0, address]) for address in expected} == expected


TIMES = {  # cycles of a few instructions, with and without crossing a page, from the opcode table's source
    "LDX #$01\n LDA $02FF,X": 2 + 5,
    "LDX #$00\n LDA $02FF,X": 2 + 4,
    "LDY #$01\n STA $02FF,Y": 2 + 5,
    "LDY #$00\n STA $02FF,Y": 2 + 5,
    "LDX #$01\n INC $02FF,X": 2 + 7,
    "LDY #$FF\n LDA ($20),Y": 2 + 5,
    "CLC\n BCC next\n next: NOP": 2 + 3 + 2,
    "SEC\n BCC next\n next: NOP": 2 + 2 + 2,
    "PHA\n PLA\n PHP\n PLP": 3 + 4 + 3 + 4,
    "JSR sub\n JMP on\n sub: RTS\n on: NOP": 6 + 6 + 3 + 2,
    "LDA ($20,X)": 6,
    "SLO ($20),Y": 8,
    "LAX $02FF": 4,
}


@pytest.mark.parametrize("source", TIMES)
def test_cycles(source: str) -> None:
    from holdfast.nes.plain import step

    console = Console(load_rom(cartridge(f"reset: {source}\nstop: JMP stop\n")))
    row, words = console.state[0], console.words[0]
    start, stop = int(words[L.DOT]), None
    for _ in range(20):
        before = int(words[L.PC])
        stop = int(words[L.DOT])
        step(row, words, console.rom)
        if int(words[L.PC]) == before:
            break
    assert stop is not None and (stop - start) // 3 == TIMES[source]


def test_a_branch_into_another_page_costs_four_cycles() -> None:
    from holdfast.nes.plain import step

    console = Console(load_rom(cartridge(".org $80FB\nreset: CLC\n BCC far\n NOP\n NOP\n NOP\nfar: JMP far")))
    row, words = console.state[0], console.words[0]
    start = int(words[L.DOT])
    step(row, words, console.rom)
    step(row, words, console.rom)
    assert int(words[L.PC]) == 0x8101 and (int(words[L.DOT]) - start) // 3 == 2 + 4


def test_a_jam_stops_the_lane_and_keeps_its_picture() -> None:
    console = Console(load_rom(cartridge("reset: INC $10\n .byte $02\n INC $10\nstop: JMP stop")), lanes=2)
    console.step(0, frames=3)
    assert console.jammed.all() and console.ram[0, 0x10] == 1
    assert console.pixels().shape == (2, 240, 256)
    console.reset()
    assert not console.jammed.any()
