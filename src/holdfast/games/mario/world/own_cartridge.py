"""The project's own cartridge: a tiny side-scroller that keeps its state where Super Mario Bros keeps it.

It lets every test and proof run without a ROM of the game: title screen and attract demo, 32 stages, a clock, an enemy,
pits, a pipe to a second room, a warp, a maze, a flag, an axe, pause, three lives. The level repeats every 512 pixels,
so the two pages of tiles never change while a room is played.
"""

from __future__ import annotations

from functools import cache

from holdfast.games.mario.world.stages import STAGES, stage
from holdfast.nes.assembler import assemble, ines_file

FLAG_X, PIPE_X, WARP_X, MAZE_X, PIT_X, ENEMY_X = 1472, 128, 192, 1264, 416, 300
PIPE_WIDTH = 16
BONUS_END_X, BONUS_EXIT_X = 120, 600

SOURCE = """
buttons = $F0
before = $F1
timer = $F3
room = $F4
tick = $F5
speed = $F6
number = $F7

reset:  SEI
        CLD
        LDX #$FF
        TXS
        LDA #0
        STA $2000
        STA $2001
wait1:  BIT $2002
        BPL wait1
wait2:  BIT $2002
        BPL wait2
        LDA #$3F
        STA $2006
        LDA #$00
        STA $2006
        LDX #0
colour: LDA colours,X
        STA $2007
        INX
        CPX #32
        BNE colour
        LDA #0
        STA $2005
        STA $2005
        LDA #1
        STA $0774
        LDA #2
        STA $075A
        LDA #$80
        STA $2000
loop:   JMP loop

nmi:    LDA $2002
        LDA #$00
        STA $2003
        LDA #2
        STA $4014
        LDA #$1E
        STA $2001
        INC $09
        JSR read
        LDA $0770
        BEQ title
        CMP #1
        BEQ play
        RTI
title:  JSR on_title
        RTI
play:   JSR in_play
        JSR show
        RTI

read:   LDA buttons
        STA before
        LDA #1
        STA $4016
        LDA #0
        STA $4016
        LDX #8
bit:    LDA $4016
        LSR A
        ROR buttons
        DEX
        BNE bit
        RTS

; --- the title screen, with a demo that moves x and shows a clock
on_title:
        LDA $0772
        CMP #3
        BEQ titled
        LDA $09
        CMP #24
        BCC leave
        LDA #3
        STA $0772
        LDA #0
        STA $0774
leave:  RTS
titled: LDA buttons
        AND #$08
        BEQ demo
        LDA #1
        STA $0770
        LDA #2
        STA $075A
        JMP load_first
demo:   LDA $09
        CMP #200
        BCC leave
        INC $86
        LDA #8
        STA $0E
        LDA #4
        STA $07F8
        RTS

; --- loading
load_first:
        LDA #0
        STA room
load:   LDA #0
        STA $0772
        STA $0E
        LDA #7
        STA $07A0
        RTS

in_play:
        LDA $0772
        CMP #2
        BEQ waiting
        BCS running_far
        INC $0772
        RTS
running_far:
        JMP running
waiting:
        LDA $07A0
        BEQ loaded
        DEC $07A0
        RTS
loaded: INC $0772
        JMP set_room

set_room:
        LDA $075F
        ASL A
        ASL A
        CLC
        ADC $075C
        STA number
        TAX
        LDA kinds,X
        STA $074E
        TAY
        LDA heights,Y
        STA $CE
        LDA falls,Y
        STA $1D
        LDA #1
        STA $B5
        STA $0754
        STA $33
        LDA #0
        STA $0756
        STA $57
        STA $9F
        STA $0759
        STA $0F
        STA $1E
        STA $79E
        STA $6D
        STA speed
        STA $0704
        CPY #0
        BNE dry
        LDA #1
        STA $0704
dry:    LDA #40
        STA $86
        LDX #{clock_frames}
        STX $0787
        LDX number
        LDA room
        BEQ first
        CMP #2
        BEQ after
        LDA #24
        STA $86
        JMP bricks
after:  LDA #>BONUS_EXIT
        STA $6D
        LDA #<BONUS_EXIT
        STA $86
        JMP bricks
first:  LDA clocks,X
        STA $07F8
        LDA #0
        STA $07F9
        STA $07FA
        LDA #1
        STA $0F
        LDA #6
        STA $16
        LDA #>ENEMY
        STA $6E
        LDA #<ENEMY
        STA $87
        LDA #1
        STA $B6
        LDA #184
        STA $CF
        LDA #$F8
        STA $58
bricks: LDX #0
        LDA #0
empty:  STA $0500,X
        STA $05D0,X
        INX
        CPX #208
        BNE empty
        LDX #176
ground: LDA #$54
        STA $0500,X
        STA $05D0,X
        INX
        CPX #208
        BNE ground
        LDA #0
        LDX #10
hole:   STA $0680,X
        STA $0690,X
        INX
        CPX #13
        BNE hole
        RTS

; --- a frame of play
running:
        LDA buttons
        AND #$08
        BEQ no_start
        LDA before
        AND #$08
        BNE no_start
        LDA $0776
        EOR #1
        STA $0776
no_start:
        LDA $0776
        AND #1
        BEQ going
        RTS
going:  LDA $0E
        CMP #0
        BNE not_new
        LDA #8
        STA $0E
        RTS
not_new:
        CMP #8
        BEQ control
        CMP #3
        BEQ piping
        CMP #11
        BEQ dying
        CMP #6
        BEQ losing
        RTS
piping: LDA $06DE
        BEQ piped
        DEC $06DE
        RTS
piped:  INC room
        JMP load
dying:  DEC timer
        BNE done
        LDA #6
        STA $0E
done:   RTS
losing: DEC $075A
        BMI gone
        JMP load_first
gone:   LDA #3
        STA $0770
        RTS

control:
        JSR count_clock
        JSR move_x
        JSR move_y
        JSR move_enemy
        JSR touch
        JMP places

count_clock:
        DEC $0787
        BNE counted
        LDA #{clock_frames}
        STA $0787
        DEC $07FA
        BPL counted
        LDA #9
        STA $07FA
        DEC $07F9
        BPL counted
        LDA #9
        STA $07F9
        DEC $07F8
        BPL counted
        LDA #0
        STA $07F8
        STA $07F9
        STA $07FA
        LDA #1
        STA $0759
        JMP die
counted:
        RTS

move_x: LDA #0
        STA $57
        LDA $B5
        CMP #2
        BCS counted
        LDA buttons
        AND #$80
        BEQ left
        LDA #1
        STA $33
        LDX #2
        LDA #32
        STA $57
        LDA buttons
        AND #$02
        BEQ walk
        LDA #48
        STA $57
        INX
walk:   TXA
        CLC
        ADC $86
        STA $86
        LDA $6D
        ADC #0
        STA $6D
        RTS
left:   LDA buttons
        AND #$40
        BEQ stay
        LDA #2
        STA $33
        LDA #$E0
        STA $57
        LDA $86
        SEC
        SBC #2
        STA $86
        LDA $6D
        SBC #0
        STA $6D
        BPL stay
        LDA #0
        STA $6D
        STA $86
stay:   RTS

; Falling and jumping; `speed` is in pixels, one more every fourth frame.
move_y: LDA $1D
        BNE flying
        LDA buttons
        AND #$01
        BEQ grounded
        LDA before
        AND #$01
        BNE grounded
        LDA #$FA
        STA speed
        LDA #1
        STA $1D
        BNE flying
grounded:
        JSR over_hole
        BNE stand
        LDA #2
        STA $1D
flying: INC tick
        LDA tick
        AND #3
        BNE same
        INC speed
same:   LDA speed
        STA $9F
        BMI up
        CLC
        ADC $CE
        STA $CE
        LDA $B5
        ADC #0
        STA $B5
        CMP #2
        BCS fallen
        CMP #1
        BNE stay
        LDA $CE
        CMP #176
        BCC stay
        CMP #200
        BCS stay
        JSR over_hole
        BEQ stay
        LDA #176
        STA $CE
stand:  LDA #0
        STA $1D
        STA $9F
        STA speed
        RTS
up:     CLC
        ADC $CE
        STA $CE
        LDA $B5
        SBC #0
        STA $B5
        RTS
fallen: INC timer
        LDA timer
        CMP #60
        BCC stay
        LDA #6
        STA $0E
        RTS

; Zero flag: no ground under the middle of the character.
over_hole:
        LDA room
        CMP #1
        BEQ firm
        LDA $86
        CLC
        ADC #8
        TAX
        LDA $6D
        ADC #0
        AND #1
        BEQ firm
        TXA
        LSR A
        LSR A
        LSR A
        LSR A
        TAX
        LDA $0680,X
        RTS
firm:   LDA #1
        RTS

move_enemy:
        LDA $0F
        BEQ rest
        LDA $1E
        AND #$20
        BNE rest
        LDA $09
        AND #1
        BEQ rest
        LDA $6E
        BNE onward
        LDA $87
        CMP #160
        BCC rest
onward: LDA $87
        BNE low
        DEC $6E
low:    DEC $87
rest:   RTS

touch:  LDA $0F
        BEQ rest
        LDA $1E
        AND #$20
        BNE rest
        LDA $86
        SEC
        SBC $87
        TAX
        LDA $6D
        SBC $6E
        BEQ right_of
        CMP #$FF
        BNE rest
        CPX #$F4
        BCC rest
        BCS near
right_of:
        CPX #12
        BCS rest
near:   LDA $B5
        CMP #1
        BNE rest
        LDA $CE
        CMP #158
        BCC rest
        CMP #176
        BCS hurt
        LDA $9F
        BMI rest
        LDA #$20
        STA $1E
        INC $07E1
        RTS
hurt:   JMP die

die:    LDA #60
        STA timer
        LDA #11
        STA $0E
        RTS

; --- places of the level: pipe, warp, maze, flag or axe, the end of the bonus room
places: LDA $0E
        CMP #8
        BNE out
        LDA room
        CMP #1
        BNE outside
        LDA $86
        CMP #{bonus_end}
        BCC out
        JMP pipe
outside:
        LDA $6D
        BNE maze
        LDA buttons
        AND #$20
        BEQ out
        LDA $1D
        BNE out
        LDA room
        BNE out
        LDA number
        BNE warp
        LDA $86
        CMP #{pipe}
        BCC out
        CMP #{pipe_end}
        BCS out
pipe:   LDA #3
        STA $0E
        LDA #$20
        STA $06DE
out:    RTS
warp:   CMP #1
        BNE out
        LDA $86
        CMP #{warp}
        BCC out
        CMP #{warp_end}
        BCS out
        LDA #3
        STA $075F
        LDA #0
        STA $075C
        STA $0760
        JMP load_first
maze:   LDA number
        CMP #15
        BNE goal
        LDA $1D
        BNE goal
        LDA $6D
        CMP #>MAZE
        BNE goal
        LDA $86
        CMP #<MAZE
        BCC goal
        CMP #<MAZE+4
        BCS goal
        LDA $6D
        SEC
        SBC #4
        STA $6D
        RTS
goal:   LDA $6D
        CMP #>FLAG
        BCC out
        LDA $86
        CMP #<FLAG
        BCC out
        LDA $B5
        CMP #1
        BNE out
        LDA $075C
        CMP #3
        BEQ axe
        LDA #3
        STA $1D
        LDA #$31
        STA $16
        LDA #4
        STA $0E
        RTS
axe:    LDA #2
        STA $0770
        RTS

; --- the picture: two sprites on a plain background
show:   LDX #8
        LDA #$F8
hide:   STA $0200,X
        INX
        BNE hide
        LDA $CE
        STA $0200
        STA $03B8
        LDA #1
        STA $0201
        STA $0205
        LDA #0
        STA $0202
        LDA #1
        STA $0206
        LDA #112
        STA $0203
        STA $03AD
        LDA $86
        SEC
        SBC #112
        STA $071C
        LDA $6D
        SBC #0
        STA $071A
        LDA $CF
        STA $0204
        LDA $87
        SEC
        SBC $071C
        STA $0207
        RTS

BONUS_EXIT = {bonus_exit}
ENEMY = {enemy}
MAZE = {maze}
FLAG = {flag}
colours: .byte $22, $29, $1A, $0F, $22, $36, $17, $0F, $22, $30, $21, $0F, $22, $27, $17, $0F
        .byte $22, $16, $27, $18, $22, $1A, $30, $27, $22, $16, $30, $27, $22, $0F, $36, $17
heights: .byte 50, 176, 51, 80
falls:  .byte 2, 0, 2, 2
clocks: .byte {clocks}
kinds:  .byte {kinds}
"""


@cache
def own_cartridge(clock_frames: int = 20) -> bytes:
    """The cartridge as an iNES file."""
    source = SOURCE.format(
        clock_frames=clock_frames,
        bonus_end=BONUS_END_X,
        bonus_exit=BONUS_EXIT_X,
        pipe=PIPE_X,
        pipe_end=PIPE_X + PIPE_WIDTH,
        warp=WARP_X,
        warp_end=WARP_X + PIPE_WIDTH,
        enemy=ENEMY_X,
        maze=MAZE_X,
        flag=FLAG_X,
        clocks=", ".join(str(stage(number).clock // 100) for number in range(len(STAGES))),
        kinds=", ".join(str(stage(number).area_type) for number in range(len(STAGES))),
    )
    program, _ = assemble(_constants_first(source))
    tiles = bytearray(8192)
    tiles[16:24] = bytes([0x3C, 0x7E, 0xFF, 0xFF, 0xFF, 0xFF, 0x7E, 0x3C])  # a ball, for both sprites
    return ines_file(program, bytes(tiles))


def _constants_first(source: str) -> str:
    """The assembler wants a constant's definition before its use."""
    lines = source.splitlines()
    constants = [line for line in lines if "=" in line.split(";")[0]]
    return "\n".join(constants + [line for line in lines if line not in constants])
