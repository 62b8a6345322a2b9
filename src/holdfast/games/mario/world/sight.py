"""What the player sees as numbers: solid tiles, hazards and lifts around Mario, his motion, the nearest objects.

Two forms. Compact (328 numbers): a window of 13 columns and 11 rows around Mario with two planes, 41 numbers of motion
and objects, and his height. Wide (873): 16 columns and all 13 rows with four planes, and the 41 numbers. Tiles lie in
two pages of RAM; columns more than 12 ahead of Mario are not loaded yet and are never looked at.
"""

from __future__ import annotations

import numpy as np

from holdfast.games.mario.world import facts
from holdfast.kit.compiled import inlined, kernel

EMPTY, SOLID, BUMP, COIN, CLIMB, AXE = range(6)


def _tile_classes() -> np.ndarray:
    classes = np.full(256, SOLID, np.uint8)
    classes[[0x00, 0x5F, 0x60]] = EMPTY  # the last two are hidden blocks
    classes[[0x51, 0x52, *range(0x55, 0x5F), 0xC0, 0xC1]] = BUMP
    classes[[0xC2, 0xC3]] = COIN
    classes[[0x24, 0x25, 0x26]] = CLIMB
    classes[0xC5] = AXE
    return classes


def _hostile() -> np.ndarray:
    hostile = np.zeros(256, np.bool_)
    hostile[[*range(0x13), 0x14, 0x15, 0x2D, 0x33]] = True
    return hostile


CLASSES, HOSTILE = _tile_classes(), _hostile()
FLAGPOLE = (0x24, 0x25)
PRIZE_BLOCKS = (0xC0, 0xC1)
BOWSER, POWER_UP, SPRING = 0x2D, 0x2E, 0x32
FIRST_LIFT, LAST_LIFT = 0x24, 0x2C
DEFEATED = 0x20  # bit of a slot's state
FIRE_TILES, HAMMER_TILES = (0x64, 0x65), (0x80, 0x83)
HIDDEN_Y = 0xEF
FIREBALL_STATE, FIREBALL_PAGE, FIREBALL_X, FIREBALL_Y = 0x24, 0x74, 0x8D, 0xD5
OWN_FIRE_PX = 8

COLUMNS, ROWS, LEFT, ABOVE = 13, 11, 3, 4  # the compact window; Mario is in its column LEFT and row ABOVE
WIDE_COLUMNS, WIDE_ROWS, WIDE_LEFT = 16, 13, 4
MOTION, OBJECT_NUMBERS = 16, 5
OWN_NUMBERS = MOTION + facts.SLOTS * OBJECT_NUMBERS
COMPACT_NUMBERS = 2 * COLUMNS * ROWS + OWN_NUMBERS + 1
WIDE_NUMBERS = 4 * WIDE_COLUMNS * WIDE_ROWS + OWN_NUMBERS
BOUND = 4.0


@inlined
def row_of(y):  # type: ignore[no-untyped-def]
    """The row of tiles that a pixel's height lies in; the first begins at 32."""
    return (y - 32) >> 4


@inlined
def tile_at(ram, column, row):  # type: ignore[no-untyped-def]
    """The tile in a column of the room and a row of the picture; 0 outside."""
    if column < 0 or row < 0 or row >= facts.TILE_ROWS:
        return np.int64(0)
    page = (column >> 4) & 1
    return np.int64(ram[facts.TILES + facts.TILE_PAGE_BYTES * page + facts.TILE_COLUMNS * row + (column & 15)])


@inlined
def slot_x(ram, slot):  # type: ignore[no-untyped-def]
    return np.int64(ram[facts.SLOT_X_PAGE + slot]) * 256 + np.int64(ram[facts.SLOT_X + slot])


@inlined
def slot_y(ram, slot):  # type: ignore[no-untyped-def]
    return (np.int64(ram[facts.SLOT_Y_PAGE + slot]) - 1) * 256 + np.int64(ram[facts.SLOT_Y + slot])


@inlined
def is_hazard(ram, slot):  # type: ignore[no-untyped-def]
    defeated = ram[facts.SLOT_STATE + slot] & DEFEATED != 0
    return ram[facts.SLOT_ACTIVE + slot] != 0 and HOSTILE[ram[facts.SLOT_ID + slot]] and not defeated


@inlined
def is_lift(ram, slot):  # type: ignore[no-untyped-def]
    return ram[facts.SLOT_ACTIVE + slot] != 0 and FIRST_LIFT <= ram[facts.SLOT_ID + slot] <= LAST_LIFT


@inlined
def mark(planes, plane, column, row):  # type: ignore[no-untyped-def]
    """Set a cell if it lies in the window; planes is [P, R, C]."""
    if 0 <= column < planes.shape[2] and 0 <= row < planes.shape[1]:
        planes[plane, row, column] = 1.0


@inlined
def mark_slots(ram, planes, hazards, lifts, column, row):  # type: ignore[no-untyped-def]
    """Objects, with the window's first column and row of the room given."""
    for slot in range(facts.SLOTS):
        across = ((slot_x(ram, slot) + 8) >> 4) - column
        down = row_of(slot_y(ram, slot) + 16) - row
        if is_hazard(ram, slot):
            mark(planes, hazards, across, down)
            if ram[facts.SLOT_ID + slot] == BOWSER:
                mark(planes, hazards, across + 1, down)
                mark(planes, hazards, across, down + 1)
                mark(planes, hazards, across + 1, down + 1)
        elif is_lift(ram, slot):
            for part in range(3):
                mark(planes, lifts, across + part, down)
        elif ram[facts.SLOT_ACTIVE + slot] != 0 and ram[facts.SLOT_ID + slot] == SPRING:
            mark(planes, lifts, across, down)


@inlined
def is_own_fire(ram, across, down):  # type: ignore[no-untyped-def]
    """Near one of Mario's own fireballs, in pixels of the picture."""
    for ball in range(2):
        if ram[FIREBALL_STATE + ball] != 0:
            ball_x = np.int64(ram[FIREBALL_PAGE + ball]) * 256 + np.int64(ram[FIREBALL_X + ball])
            gap_x = ball_x - facts.screen_left(ram) - across
            gap_y = np.int64(ram[FIREBALL_Y + ball]) - down
            if abs(gap_x) <= OWN_FIRE_PX and abs(gap_y) <= OWN_FIRE_PX:
                return True
    return False


@inlined
def mark_sprites(ram, planes, hazards, column, row):  # type: ignore[no-untyped-def]
    """Balls of fire bars and hammers have no slot: they are found in the list of sprites."""
    for sprite in range(64):
        at = facts.SPRITES + 4 * sprite
        tile = ram[at + 1]
        if not (FIRE_TILES[0] <= tile <= FIRE_TILES[1] or HAMMER_TILES[0] <= tile <= HAMMER_TILES[1]):
            continue
        down, across = np.int64(ram[at]), np.int64(ram[at + 3])
        if down >= HIDDEN_Y or (tile <= FIRE_TILES[1] and is_own_fire(ram, across, down)):
            continue
        world_x = (facts.screen_left(ram) + across) & 0xFFFF
        mark(planes, hazards, ((world_x + 4) >> 4) - column, row_of(down + 4) - row)


@inlined
def clipped(value):  # type: ignore[no-untyped-def]
    return np.float32(min(max(value, -BOUND), BOUND))


@inlined
def describe_self(ram, out):  # type: ignore[no-untyped-def]
    """Mario's own 16 numbers."""
    air, status = facts.air_state(ram), facts.status(ram)
    out[0] = clipped(np.float64(facts.x_speed(ram)) / 48.0)
    out[1] = clipped(np.float64(facts.y_speed(ram)) / 8.0)
    out[2] = np.float32(np.float64(facts.x(ram) & 15) / 16.0)
    out[3] = np.float32(np.float64(facts.y(ram) & 15) / 16.0)
    out[4] = np.float32(1.0 if ram[facts.Y_PAGE] == 0 else 0.0)
    for state in range(4):
        out[5 + state] = np.float32(1.0 if air == state else 0.0)
    out[9] = np.float32(1.0 if facts.swims(ram) else 0.0)
    out[10] = np.float32(1.0 if status == 0 else 0.0)
    out[11] = np.float32(1.0 if status == 1 else 0.0)
    out[12] = np.float32(1.0 if status >= 2 else 0.0)
    out[13] = np.float32(1.0 if facts.faces_right(ram) else 0.0)
    out[14] = clipped(np.float64(facts.clock(ram)) / 400.0)
    out[15] = np.float32(1.0 if facts.invulnerable(ram) else 0.0)


@inlined
def describe_slot(ram, slot, out, first):  # type: ignore[no-untyped-def]
    """1 for what can hurt, 1/2 for lifts and the rest, then where it is and how it moves."""
    out[first] = np.float32(1.0 if is_hazard(ram, slot) else 0.5)
    out[first + 1] = clipped(np.float64(slot_x(ram, slot) - facts.x(ram)) / 128.0)
    out[first + 2] = clipped(np.float64(slot_y(ram, slot) - facts.y(ram)) / 128.0)
    out[first + 3] = clipped(np.float64(facts.signed(ram[facts.SLOT_VX + slot])) / 48.0)
    out[first + 4] = clipped(np.float64(facts.signed(ram[facts.SLOT_VY + slot])) / 8.0)


@inlined
def describe_slots(ram, out):  # type: ignore[no-untyped-def]
    """Objects in order of their distance along x, equal ones in order of their slots."""
    taken = 0
    for place in range(facts.SLOTS):
        nearest, gap = -1, np.int64(1 << 30)
        for slot in range(facts.SLOTS):
            if ram[facts.SLOT_ACTIVE + slot] != 0 and not taken & (1 << slot):
                distance = abs(slot_x(ram, slot) - facts.x(ram))
                if distance < gap:
                    nearest, gap = slot, distance
        if nearest < 0:
            break
        taken |= 1 << nearest
        describe_slot(ram, nearest, out, MOTION + OBJECT_NUMBERS * place)


@inlined
def describe(ram, out):  # type: ignore[no-untyped-def]
    describe_self(ram, out)
    describe_slots(ram, out)


@kernel
def see_compact(ram, out):  # type: ignore[no-untyped-def]
    """Fill float32 [328]."""
    out[:] = np.float32(0.0)
    planes = out[: 2 * ROWS * COLUMNS].reshape(2, ROWS, COLUMNS)
    column = ((facts.x(ram) + 8) >> 4) - LEFT
    row = row_of(facts.y(ram) + 24) - ABOVE
    for down in range(ROWS):
        for across in range(COLUMNS):
            found = CLASSES[tile_at(ram, column + across, row + down)]
            if found in (SOLID, BUMP):
                planes[0, down, across] = 1.0
    mark_slots(ram, planes, 1, 0, column, row)
    mark_sprites(ram, planes, 1, column, row)
    describe(ram, out[2 * ROWS * COLUMNS :])
    out[COMPACT_NUMBERS - 1] = clipped(np.float64(facts.y(ram)) / 256.0)


@kernel
def see_wide(ram, out):  # type: ignore[no-untyped-def]
    """Fill float32 [873]: planes solid, reward, hazard, lifts."""
    out[:] = np.float32(0.0)
    planes = out[: 4 * WIDE_ROWS * WIDE_COLUMNS].reshape(4, WIDE_ROWS, WIDE_COLUMNS)
    column = ((facts.x(ram) + 8) >> 4) - WIDE_LEFT
    for down in range(WIDE_ROWS):
        for across in range(WIDE_COLUMNS):
            tile = tile_at(ram, column + across, down)
            found = CLASSES[tile]
            if found in (SOLID, BUMP):
                planes[0, down, across] = 1.0
            prize = tile == PRIZE_BLOCKS[0] or tile == PRIZE_BLOCKS[1] or found in (COIN, AXE)
            if prize or tile == FLAGPOLE[0] or tile == FLAGPOLE[1]:
                planes[1, down, across] = 1.0
    for slot in range(facts.SLOTS + 1):  # the sixth holds power-ups
        if ram[facts.SLOT_ACTIVE + slot] != 0 and ram[facts.SLOT_ID + slot] == POWER_UP:
            mark(planes, 1, ((slot_x(ram, slot) + 8) >> 4) - column, row_of(slot_y(ram, slot) + 16))
    mark_slots(ram, planes, 2, 3, column, 0)
    mark_sprites(ram, planes, 2, column, 0)
    describe(ram, out[4 * WIDE_ROWS * WIDE_COLUMNS :])
