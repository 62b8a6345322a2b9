"""Where everything lies in a lane's row: one uint8 row per console, its registers an int64 view of the same bytes.

A row is the whole machine; copying a row copies the console. The work RAM comes first, so `state[:, :2048]` is the
view programs and worlds look at. Boards with PRG-RAM or CHR-RAM have it at the end of the row. The constants in
capitals are byte offsets into the row (RAM, SCREENS, OAM, PALETTE) or word numbers of its int64 view (all others).
"""

from __future__ import annotations

from holdfast.nes.cartridge import CHR_RAM_BYTES, PRG_RAM_BYTES, Cartridge

RAM_BYTES = 2048
SCREENS = 2048  # the two nametables, 2 x 1 KB
OAM = 4096  # sprite memory, 64 x 4 bytes
PALETTE = 4352  # 32 bytes
FIELDS = 4384 // 8

A, X, Y, SP, PC, CARRY, OVERFLOW, DECIMAL, INTERRUPT_DISABLE = range(FIELDS, FIELDS + 9)
ZERO_VALUE = FIELDS + 9  # Z is set when this is 0
NEGATIVE_VALUE = FIELDS + 10  # N is bit 7 of this
JAMMED = FIELDS + 11  # 1: the program ran into an opcode that stops a 6502 for good

DOT = FIELDS + 12  # PPU dots since this frame's vertical blank began
CLOCK = FIELDS + 13  # PPU dots from power-on to the frame's beginning, without the skipped ones
FRAME = FIELDS + 14  # frames since power-on
NMI = FIELDS + 15  # 0 none, 1 due now, 2 due after one more instruction
PICTURE = FIELDS + 16  # 0 before the pre-render line ends, 1 the picture has begun, 2 its first dot is decided

CONTROL, MASK, OAM_ADDRESS, V, T, FINE_X, WRITE_TOGGLE, READ_BUFFER, PPU_BUS = range(FIELDS + 17, FIELDS + 26)
VBLANK = FIELDS + 26  # the flag as $2002 shows it
VBLANK_RACE = FIELDS + 27  # what a $2002 read did to the coming flag: RACE_ constants
V_LINE = FIELDS + 28  # the last picture line whose end V already reflects
SPRITE0_BEFORE = FIELDS + 29  # 0x40 when the last frame's picture had a hit
SPRITE0_AT = FIELDS + 30  # dot of the hit, NEVER, or UNKNOWN until somebody asks
SPRITE0_FROM = FIELDS + 31  # hits before this dot have been ruled out
SPLITS = FIELDS + 32  # entries in the split log

BUTTONS1, BUTTONS2, SHIFT1, SHIFT2, STROBE = range(FIELDS + 33, FIELDS + 38)

APU_FIVE_STEPS, APU_INHIBIT, APU_START, APU_SYNCED, APU_ENABLED = range(FIELDS + 38, FIELDS + 43)
FRAME_IRQ, DMC_IRQ = FIELDS + 43, FIELDS + 44
LENGTH0 = FIELDS + 45  # four length counters
APU_HALTS, DMC_CONTROL, DMC_LENGTH, DMC_END = range(FIELDS + 49, FIELDS + 53)

NOTES = FIELDS + 53  # NOTE_ bits
VERTICAL, CHR_AT, PRG_RAM_AT = range(FIELDS + 54, FIELDS + 57)  # the board's wiring
IRQ_MASKED = FIELDS + 57  # the I flag as the last poll saw it: CLI, SEI and PLP act one instruction late

NMI_LATE = FIELDS + 58  # what a $2000 write around the coming flag did: LATE_ constants

LOG = FIELDS + 64  # split log: one word per change of scroll or picture settings
LOG_ENTRIES = 64
ROW_BYTES = (LOG + LOG_ENTRIES) * 8  # without PRG-RAM and CHR-RAM

NEVER = 1 << 40
UNKNOWN = -1

LATE_NONE, LATE_OFF, LATE_ON = 0, 1, 2
RACE_NONE, RACE_NO_FLAG, RACE_FLAG_READ, RACE_FLAG_READ_NO_NMI = 0, 1, 2, 3

NOTE_SPLITS_LOST = 1  # more changes of scroll in one picture than the log holds
NOTE_MID_LINE = 2  # picture settings changed inside a visible line; drawn from a whole line on
NOTE_PICTURE_MEMORY = 4  # tiles, palette or sprites were written while the picture was being sent
NOTE_DMC = 8  # a sample was started; its memory reads do not stall this CPU

FRAME_DOTS = 341 * 262
FLAGS_CLEAR_DOT = 341 * 20  # pre-render line, dot 1
PICTURE_DOT = 341 * 21 - 3  # pre-render line, dot 338: scroll is set, the odd frame's skipped dot is decided
FIRST_LINE_DOT = 341 * 21 - 1  # line 0, dot 0

TILES_IN_ROM = 32768  # the `rom` array holds the program, then the tiles


def row_bytes(cartridge: Cartridge) -> int:
    """Bytes of one lane with this cartridge."""
    extra = PRG_RAM_BYTES * cartridge.has_prg_ram + CHR_RAM_BYTES * cartridge.has_chr_ram
    return ROW_BYTES + extra
