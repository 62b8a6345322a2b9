"""One frame at a time: press, run, read the facts, and say whether the episode is over."""

from __future__ import annotations

import numpy as np

from holdfast.games.mario.world import facts
from holdfast.games.mario.world.play import (
    BEST,
    CASTLE,
    CASTLE_X,
    CAUSE,
    CLOCK,
    DEAD,
    DEATH,
    FLAG,
    FRAMES,
    GOES_ON,
    GROUND,
    LAST_CLOCK,
    LAST_X,
    LOADING,
    LOOPED,
    LOOPS,
    MAX_X,
    MAZE,
    PIT,
    POSITIVE,
    ROOM_BEST_X,
    ROOMS,
    STAGE_NUMBER,
    STAGNANT,
    TRACKED,
    WARP,
)
from holdfast.games.mario.world.reward import FASTEST_PX, frame_points
from holdfast.kit.compiled import inlined, kernel
from holdfast.nes.by_address import run_frame_at
from holdfast.nes.layout import BUTTONS1, BUTTONS2

LONGEST_WAIT = 600  # frames that are skipped while nobody has control
MENU = 0x0C  # START and SELECT
LARGEST_X = 0x7FFF  # a loop may lead to left of the room's edge, which reads as 65535


@inlined
def copy_row(source, target):  # type: ignore[no-untyped-def]
    """Byte by byte: an assignment of slices brings the text of its error message along, seconds of compiling."""
    for at in range(target.shape[0]):
        target[at] = source[at]


@inlined
def run(row, words, track, fixed, rules, pressed):  # type: ignore[no-untyped-def]
    """One frame of the console. In play, START would freeze the game: it is never delivered."""
    if row[facts.MODE] == facts.PLAY:
        pressed &= ~MENU
    elif rules.from_title and row[facts.MODE] == facts.TITLE:
        stage = track[STAGE_NUMBER]
        row[facts.WORLD] = stage // 4
        row[facts.LEVEL] = stage % 4
        row[facts.AREA] = fixed.areas[stage]
    words[BUTTONS1] = pressed
    words[BUTTONS2] = 0
    run_frame_at(rules.frame_address, row, words, fixed.rom, fixed.code)


@inlined
def lost(row):  # type: ignore[no-untyped-def]
    """Why a life was lost, or GOES_ON."""
    if facts.in_pit(row):
        return PIT
    if facts.dying(row):
        return CLOCK if facts.clock_expired(row) else DEATH
    return DEATH if facts.lost_life(row) else GOES_ON


@inlined
def over(row, track, rules, astray):  # type: ignore[no-untyped-def]
    """Why the episode is over, or GOES_ON; the first that holds."""
    if facts.flag_reached(row):
        return np.int64(FLAG)
    if facts.castle_cleared(row):
        return np.int64(CASTLE)
    if track[DEAD] and (not rules.whole_game or facts.game_over(row)):
        return track[CAUSE]
    if astray:
        return np.int64(MAZE)
    if row[facts.MODE] == facts.PLAY and facts.stage_number(row) != track[STAGE_NUMBER]:
        return np.int64(WARP)
    return np.int64(GOES_ON)


@inlined
def enter_room(track, now, castle):  # type: ignore[no-untyped-def]
    """The first frame in control in a room: nothing is paid for how the player came here, nor for ground that a wrong
    pipe leads back to."""
    back = castle and facts.sent_back(track[CASTLE_X], now)
    track[LOADING] = 0
    track[ROOM_BEST_X] = track[CASTLE_X] if back else now
    if not back:
        track[ROOMS] += 1
        track[LOOPED] = 0
        track[STAGNANT] = 0
    return back


@inlined
def go_round(track):  # type: ignore[no-untyped-def]
    """The same ground again, and maybe the way on (in 8-4 the pipe behind the loop); True the second time."""
    again = track[LOOPED] == 1
    if not again:
        track[ROOMS] += 1
        track[STAGNANT] = 0
        track[LOOPED] = 1
    return again


@inlined
def note_death(row, track):  # type: ignore[no-untyped-def]
    """True in the first frame of a lost life."""
    why = lost(row)
    if why == GOES_ON or track[DEAD]:
        return False
    track[DEAD] = 1
    track[CAUSE] = why
    track[CASTLE_X] = 0
    return True


@kernel
def watch(row, track, rules):  # type: ignore[no-untyped-def]
    """Take a frame into the lane's accounts; returns the reason of an end, the game's points, and distance to pay."""
    track[FRAMES] += 1
    died = note_death(row, track)
    if row[facts.MODE] == facts.PLAY and row[facts.TASK] != facts.RUNNING:
        track[LOADING] = 1
    dx, clock_change, ground, looped, astray = np.int64(0), np.int64(0), np.int64(0), False, False
    controlled = facts.in_control(row) and not facts.below_screen(row)
    if controlled:
        now, ticks = facts.x(row), facts.clock(row)
        track[DEAD] = 0
        castle = facts.in_castle(row)
        if track[LOADING]:
            looped = astray = enter_room(track, now, castle)
        elif track[TRACKED]:
            dx, clock_change = now - track[LAST_X], ticks - track[LAST_CLOCK]
            looped = facts.looped(track[LAST_X], now)
            if rules.maze_ends:
                looped = astray = looped or facts.wrong_turn(row)
            elif looped:
                astray = go_round(track)
        ground = max(now - track[ROOM_BEST_X], 0) if now <= LARGEST_X else np.int64(0)
        track[ROOM_BEST_X] += ground
        if abs(dx) > FASTEST_PX:  # moved by the game
            dx, ground = np.int64(0), np.int64(0)
        track[LOOPS] += 1 if looped else 0
        if now <= LARGEST_X:
            track[MAX_X] = max(track[MAX_X], now)
            track[CASTLE_X] = max(track[CASTLE_X], now) if castle else track[CASTLE_X]
        track[LAST_X], track[LAST_CLOCK] = now, ticks
    track[TRACKED] = 1 if controlled else 0
    track[GROUND] += ground
    distance = ground if rules.distance_mode == BEST else max(dx, 0) if rules.distance_mode == POSITIVE else dx
    return over(row, track, rules, astray), frame_points(dx, clock_change, died), distance


@kernel
def play_step(row, words, track, fixed, rules, pressed, before):  # type: ignore[no-untyped-def]
    """The frames of one step, up to the first end. `before` takes the console as it was before the last frame, for
    pictures of both; it is empty where nobody looks."""
    base, distance, reason = 0.0, np.int64(0), np.int64(GOES_ON)
    for _ in range(rules.frame_skip):
        copy_row(row, before)
        run(row, words, track, fixed, rules, pressed)
        reason, points, pixels = watch(row, track, rules)
        base += points
        distance += pixels
        if reason != GOES_ON:
            break
    return reason, base, distance


@kernel
def skip_waiting(row, words, track, fixed, rules, before):  # type: ignore[no-untyped-def]
    """Let the game load a room or pass a pipe, as fast as it can; returns the reason of an end met on the way."""
    for _ in range(LONGEST_WAIT):
        if not facts.busy(row):
            break
        facts.shorten_waits(row)
        copy_row(row, before)
        run(row, words, track, fixed, rules, np.int64(0))
        reason, _, _ = watch(row, track, rules)
        if reason != GOES_ON:
            return reason
    return np.int64(GOES_ON)
