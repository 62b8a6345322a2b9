"""Test cartridges, assembled on the spot. Each writes what it observes into a log of 16-bit entries at $0300-$06FF.

The log only grows, so two machines agree when one log is the beginning of the other, wherever their frames end.
"""

from __future__ import annotations

from holdfast.nes.assembler import assemble, ines_file

LOG_START, LOG_END = 0x0300, 0x0700

# $FE/$FF point to the end of the log; `record` appends A (low) and X (high) and keeps all registers but A.
COMMON = """
PPUCTRL = $2000
PPUMASK = $2001
PPUSTATUS = $2002
OAMADDR = $2003
PPUSCROLL = $2005
PPUADDR = $2006
PPUDATA = $2007
        .org $E000
record: STY $FD
        LDY #0
        STA ($FE),Y
        INY
        TXA
        STA ($FE),Y
        LDA $FE
        CLC
        ADC #2
        STA $FE
        BCC kept
        INC $FF
kept:   LDA $FF
        CMP #7
        BCC room
full:   JMP full
room:   LDY $FD
        RTS
start:  SEI
        CLD
        LDA #$00
        STA PPUCTRL
        STA PPUMASK
        STA $FE
        LDA #$40
        STA $4017
        LDA #$03
        STA $FF
first:  LDA PPUSTATUS
        BPL first
second: LDA PPUSTATUS
        BPL second
        RTS
"""


def cartridge(source: str, tiles: bytes = b"", **wiring: bool) -> bytes:
    """An iNES file of a program with the common routines; `JSR start` first. Execution begins at `reset`."""
    program, _ = assemble(COMMON + "\n.org $8000\n" + source)
    return ines_file(program, tiles, **wiring)


def a_frame_later(source: str) -> str:
    """The same program after one more vertical blank: frames that leave out a dot then have another phase."""
    return source.replace("JSR start\n", "JSR start\nthird:  BIT PPUSTATUS\n        BPL third\n", 1)


# Counts rounds of 17 cycles (not a divisor of the frame) until $2002 shows the flag: read timing, the lost flag when a
# read falls on the dot before it, and the odd frame's skipped dot.
VBLANK_FLAG = """
reset:  JSR start
        LDA #{mask}
        STA PPUMASK
        LDA #0
        TAX
again:  STA $10
        STX $11
round:  INC $10
        BNE low
        INC $11
low:    BIT PPUSTATUS
        BPL round
        LDA $10
        LDX $11
        JSR record
        LDA #0
        TAX
        JMP again
"""

# The interrupted address and a counter at every NMI, with instructions of 2 to 7 cycles to interrupt.
NMI_TIMING = """
reset:  JSR start
        LDA #{mask}
        STA PPUMASK
        LDA #$80
        STA PPUCTRL
        LDX #0
loop:   INC $20
        NOP
        INC $0200,X
        LDA $20
        INX
        BNE loop
        INC $21
        JMP loop
nmi:    PHA
        TXA
        PHA
        TSX
        LDA $0104,X
        PHA
        LDA $20
        TAX
        PLA
        JSR record
        BIT PPUSTATUS
        PLA
        TAX
        PLA
irq:    RTI
"""

# NMIs that begin when $2000 is written while the flag is up, and are lost when it was read before.
NMI_ENABLE = """
reset:  JSR start
        LDX #0
loop:   LDA #0
        STA PPUCTRL
        LDY #{delay}
wait:   DEY
        BNE wait
        INC $30
        LDA #$80
        STA PPUCTRL
        LDA #1
        LDA #2
        LDA #3
        INX
        JMP loop
nmi:    PHA
        TXA
        PHA
        LDX $30
        JSR record
        PLA
        TAX
        PLA
irq:    RTI
"""

# OAM DMA from both kinds of cycle; the stall shows in the counter between two vertical blanks.
OAM_DMA = """
reset:  JSR start
        LDX #0
loop:   INC $10
        BNE low
        INC $11
low:    LDA #2
        STA $4014
        LDA $10
        NOP
{odd}
        BIT PPUSTATUS
        BPL loop
        LDA $10
        LDX $11
        JSR record
        LDA #0
        STA $10
        STA $11
        JMP loop
"""

# Where on the screen sprite 0 meets the background, counted in rounds from the vertical blank.
SPRITE_ZERO = """
reset:  JSR start
        LDA #$00
        STA PPUADDR
        STA PPUADDR
        LDX #16
        LDA #$FF
solid:  STA PPUDATA
        DEX
        BNE solid
        LDA #$20
        STA PPUADDR
        LDA #0
        STA PPUADDR
        LDY #8
        TAX
clear:  STA PPUDATA
        INX
        BNE clear
        DEY
        BNE clear
        LDX #0
        LDA #$F8
hide:   STA $0200,X
        INX
        BNE hide
        LDA #{y}
        STA $0200
        LDA #0
        STA $0201
        STA $0202
        LDA #{x}
        STA $0203
        STA $12
vblank: BIT PPUSTATUS
        BPL vblank
        LDA #2
        STA $4014
        LDA #0
        STA PPUSCROLL
        STA PPUSCROLL
        STA PPUCTRL
        LDA #{mask}
        STA PPUMASK
gone:   BIT PPUSTATUS
        BVS gone
        LDA #0
        TAX
        STA $10
round:  INC $10
        BNE low
        INX
        CPX #8
        BEQ never
low:    BIT PPUSTATUS
        BVC round
never:  LDA $10
        JSR record
        INC $0203
        INC $0200
        JMP vblank
"""

# The frame interrupt: when it comes, what $4015 shows, and that it stops when inhibited.
FRAME_IRQ = """
reset:  JSR start
        LDA #0
        STA $4017
        STA $10
        STA $11
        LDX #0
        CLI
loop:   INC $10
        BNE loop
        INC $11
        JMP loop
irq:    PHA
        TXA
        PHA
        LDA $4015
        STA $12
        LDA $10
        LDX $11
        JSR record
        LDA $12
        LDX #0
        JSR record
        LDA $4015
        LDX #1
        JSR record
        PLA
        TAX
        PLA
        RTI
nmi:    RTI
"""

# A frame interrupt that comes due while it is masked waits for the next CLI, and is taken only around it.
MASKED_IRQ = """
reset:  JSR start
        LDA #0
        STA $4017
        STA $10
loop:   CLI
        INC $10
        SEI
        LDY #{delay}
wait:   DEY
        BNE wait
        JMP loop
irq:    LDA $4015
        TSX
        LDA $0102,X
        PHA
        LDA $10
        TAX
        PLA
        JSR record
        RTI
nmi:    RTI
"""

# Length counters as $4015 shows them, sampled once per frame.
LENGTH_COUNTERS = """
reset:  JSR start
        LDA #{sequence}
        STA $4017
        LDA #$0F
        STA $4015
        LDA #{halt}
        STA $4000
        STA $4004
        STA $4008
        STA $400C
        LDA #{length}
        STA $4003
        STA $4007
        STA $400B
        STA $400F
wait:   BIT PPUSTATUS
        BPL wait
        LDA $4015
        LDX #0
        JSR record
        JMP wait
"""
