"""The game's facts, one function each, read from a lane's 2,048 bytes of RAM; all arithmetic in int64.

Addresses: the RAM maps of Data Crystal and of gym-super-mario-bros, and the game's public disassembly; tests hold
each of them against recorded RAM. Facts mean something only in mode 1: the attract demo also moves x and the clock.
"""

from __future__ import annotations

import numpy as np

from holdfast.kit.compiled import inlined

MODE, TASK, SCREEN_OFF, ROUTINE = 0x0770, 0x0772, 0x0774, 0x000E
X_PAGE, X_PIXEL, SCREEN_PAGE, SCREEN_PIXEL, SCREEN_X = 0x006D, 0x0086, 0x071A, 0x071C, 0x03AD
Y_PAGE, Y_PIXEL, Y_SHOWN = 0x00B5, 0x00CE, 0x03B8
X_SPEED, Y_SPEED, AIR_STATE, FACING, SWIMMING = 0x0057, 0x009F, 0x001D, 0x0033, 0x0704
STATUS, SIZE, HURT_TIMER, STAR_TIMER = 0x0756, 0x0754, 0x079E, 0x079F
SCORE_DIGITS, COIN_DIGITS, CLOCK_DIGITS, CLOCK_EXPIRED = 0x07DD, 0x07ED, 0x07F8, 0x0759
CASTLE_AREA = 3  # an area type
LIVES, WORLD, LEVEL, AREA, AREA_TYPE, HALFWAY = 0x075A, 0x075F, 0x075C, 0x0760, 0x074E, 0x075B
PAUSE, CLOUD_ROOM = 0x0776, 0x0743
INTRO_TIMER, PIPE_TIMER = 0x07A0, 0x06DE
SLOT_ACTIVE, SLOT_ID, SLOT_STATE = 0x000F, 0x0016, 0x001E
SLOT_X_PAGE, SLOT_X, SLOT_Y_PAGE, SLOT_Y, SLOT_VX, SLOT_VY = 0x006E, 0x0087, 0x00B6, 0x00CF, 0x0058, 0x00A0
SLOTS = 5
TILES, TILE_PAGE_BYTES, TILE_ROWS, TILE_COLUMNS = 0x0500, 208, 13, 16
EMPTIED_BLOCK = 0xC4  # a tile
SPRITES = 0x0200

TITLE, PLAY, CASTLE_WON, GAME_OVER = 0, 1, 2, 3
RUNNING = 3  # the task of a level that is on the screen
SETTING_UP, CLIMBING, SIDE_PIPE, PIPE, SLIDING, WALKING_OFF, LOSING, ENTERING, CONTROL = range(9)
GROWING, HURT, DYING, FLOWERING = 9, 10, 11, 12
NO_LIVES = 0xFF
LOOP_PX, LOOP_SLACK_PX = 1024, 16
TURNS_RIGHT, TURNS_TAKEN = 0x06D9, 0x06DA


@inlined
def signed(byte):  # type: ignore[no-untyped-def]
    value = np.int64(byte)
    return value - 256 if value > 127 else value


@inlined
def mode(ram):  # type: ignore[no-untyped-def]
    """0 title or attract demo, 1 play, 2 castle won, 3 game over."""
    return np.int64(ram[MODE])


@inlined
def routine(ram):  # type: ignore[no-untyped-def]
    """What the player's character is doing; 8: it obeys the controller."""
    return np.int64(ram[ROUTINE])


@inlined
def paused(ram):  # type: ignore[no-untyped-def]
    return ram[PAUSE] & 1 == 1


@inlined
def in_play(ram):  # type: ignore[no-untyped-def]
    return ram[MODE] == PLAY and ram[TASK] == RUNNING and not paused(ram)


@inlined
def in_control(ram):  # type: ignore[no-untyped-def]
    """The player moves the character, or it changes its size for a moment."""
    doing = routine(ram)
    return in_play(ram) and (doing in (CONTROL, GROWING, HURT, FLOWERING))


@inlined
def busy(ram):  # type: ignore[no-untyped-def]
    """The game shows something nobody can influence: a room loads, a pipe is passed, a vine is climbed."""
    return ram[MODE] == PLAY and (ram[TASK] != RUNNING or routine(ram) <= PIPE or routine(ram) == ENTERING)


@inlined
def x(ram):  # type: ignore[no-untyped-def]
    """Pixels from the left edge of the room."""
    return np.int64(ram[X_PAGE]) * 256 + np.int64(ram[X_PIXEL])


@inlined
def screen_left(ram):  # type: ignore[no-untyped-def]
    return np.int64(ram[SCREEN_PAGE]) * 256 + np.int64(ram[SCREEN_PIXEL])


@inlined
def y(ram):  # type: ignore[no-untyped-def]
    """Pixels from the top of the picture to the top of the character's 32-pixel box; may be above or below it."""
    return (np.int64(ram[Y_PAGE]) - 1) * 256 + np.int64(ram[Y_PIXEL])


@inlined
def y_up(ram):  # type: ignore[no-untyped-def]
    """Height as gym-super-mario-bros tells it."""
    above = 255 if ram[Y_PAGE] < 1 else 0
    return 255 - np.int64(ram[Y_SHOWN]) + above


@inlined
def x_speed(ram):  # type: ignore[no-untyped-def]
    """Sixteenths of a pixel per frame, positive to the right."""
    return signed(ram[X_SPEED])


@inlined
def y_speed(ram):  # type: ignore[no-untyped-def]
    """Pixels per frame, negative upwards."""
    return signed(ram[Y_SPEED])


@inlined
def air_state(ram):  # type: ignore[no-untyped-def]
    """0 on the ground, 1 jumping or swimming, 2 falling, 3 on a vine or a flagpole."""
    return np.int64(ram[AIR_STATE])


@inlined
def faces_right(ram):  # type: ignore[no-untyped-def]
    return ram[FACING] == 1


@inlined
def swims(ram):  # type: ignore[no-untyped-def]
    return ram[SWIMMING] == 1


@inlined
def status(ram):  # type: ignore[no-untyped-def]
    """0 small, 1 tall, 2 or more: throws fire."""
    return np.int64(ram[STATUS])


@inlined
def is_small(ram):  # type: ignore[no-untyped-def]
    return ram[SIZE] == 1


@inlined
def invulnerable(ram):  # type: ignore[no-untyped-def]
    return ram[HURT_TIMER] > 0 or ram[STAR_TIMER] > 0


@inlined
def score(ram):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    for digit in range(6):
        total = total * 10 + np.int64(ram[SCORE_DIGITS + digit])
    return total * 10


@inlined
def coins(ram):  # type: ignore[no-untyped-def]
    return np.int64(ram[COIN_DIGITS]) * 10 + np.int64(ram[COIN_DIGITS + 1])


@inlined
def clock(ram):  # type: ignore[no-untyped-def]
    return np.int64(ram[CLOCK_DIGITS]) * 100 + np.int64(ram[CLOCK_DIGITS + 1]) * 10 + np.int64(ram[CLOCK_DIGITS + 2])


@inlined
def clock_expired(ram):  # type: ignore[no-untyped-def]
    """The clock has killed the player. A clock at 0 alone has not: it also runs down after the flag."""
    return ram[CLOCK_EXPIRED] == 1


@inlined
def lives(ram):  # type: ignore[no-untyped-def]
    """Lives left after this one; -1 when the game is over."""
    return np.int64(-1) if ram[LIVES] == NO_LIVES else np.int64(ram[LIVES])


@inlined
def stage_number(ram):  # type: ignore[no-untyped-def]
    """0 for 1-1 to 31 for 8-4."""
    return np.int64(ram[WORLD]) * 4 + np.int64(ram[LEVEL])


@inlined
def area_type(ram):  # type: ignore[no-untyped-def]
    """0 water, 1 ground, 2 underground, 3 castle."""
    return np.int64(ram[AREA_TYPE])


@inlined
def dying(ram):  # type: ignore[no-untyped-def]
    return ram[MODE] == PLAY and routine(ram) == DYING


@inlined
def lost_life(ram):  # type: ignore[no-untyped-def]
    return ram[MODE] == PLAY and routine(ram) == LOSING


@inlined
def below_screen(ram):  # type: ignore[no-untyped-def]
    return ram[Y_PAGE] >= 2


@inlined
def in_pit(ram):  # type: ignore[no-untyped-def]
    """Fallen out of the picture. Rooms in the clouds are left that way alive."""
    return in_play(ram) and below_screen(ram) and ram[CLOUD_ROOM] == 0


@inlined
def flag_reached(ram):  # type: ignore[no-untyped-def]
    return ram[MODE] == PLAY and (routine(ram) == SLIDING or routine(ram) == WALKING_OFF)


@inlined
def castle_cleared(ram):  # type: ignore[no-untyped-def]
    return ram[MODE] == CASTLE_WON


@inlined
def game_over(ram):  # type: ignore[no-untyped-def]
    return ram[MODE] == GAME_OVER or ram[LIVES] == NO_LIVES


@inlined
def looped(before, after):  # type: ignore[no-untyped-def]
    """Two x of one room, a frame apart: a maze has sent the player back, maybe to left of the room's edge (65535)."""
    return LOOP_PX - LOOP_SLACK_PX <= (before - after) & 0xFFFF <= LOOP_PX + LOOP_SLACK_PX


@inlined
def wrong_turn(ram):  # type: ignore[no-untyped-def]
    """A maze of three turns (7-4) has seen a wrong one: it will send the player back after the third."""
    return ram[TURNS_TAKEN] > ram[TURNS_RIGHT]


@inlined
def sent_back(furthest, entered):  # type: ignore[no-untyped-def]
    """Two x of a castle: how far the player had come, and where a pipe let him out."""
    return entered < furthest - LOOP_SLACK_PX


@inlined
def in_castle(ram):  # type: ignore[no-untyped-def]
    return ram[AREA_TYPE] == CASTLE_AREA


@inlined
def shorten_waits(ram):  # type: ignore[no-untyped-def]
    """Skip the black screen before a level, and what is left of a pipe's wait."""
    ram[INTRO_TIMER] = 0
    if 1 < ram[PIPE_TIMER] < 255:
        ram[PIPE_TIMER] = 1
