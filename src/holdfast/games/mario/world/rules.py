"""Episodes as kernels: who acts, the frames of a step, pay, ends, and the next episode in the same call."""

from __future__ import annotations

import numpy as np

from holdfast.games.mario.world import facts
from holdfast.games.mario.world.frames import copy_row, play_step, run, skip_waiting
from holdfast.games.mario.world.play import (
    CASTLE,
    FIRST_REASON,
    FIRST_TERM,
    FLAG,
    FORCED,
    FORWARD_LEFT,
    FRAMES,
    GOES_ON,
    GROUND,
    GROUND_PX,
    HELD,
    LANE_STEPS,
    LAST_CLOCK,
    LAST_SCORE,
    LAST_X,
    LOOPS,
    MAX_X,
    MILESTONES,
    NOOPS,
    RAW_TOTAL,
    ROOM_BEST_X,
    ROOMS,
    SCRIPT_AT,
    STAGE,
    STAGE_NUMBER,
    STAGNANT,
    STAGNATION,
    STICKY,
    TIMEOUT,
    TRACKED,
    WORKER,
)
from holdfast.games.mario.world.reward import balance, pay
from holdfast.games.mario.world.sight import see_compact, see_wide
from holdfast.kit.compiled import inlined, kernel, parallel_kernel, prange
from holdfast.kit.rng import integer, uniform
from holdfast.worlds.lanes import next_episode

STAGE_STREAM, NOOP_STREAM, STICKY_STREAM = 1, 2, 3


@kernel
def choose_place(key, level, cumulated):  # type: ignore[no-untyped-def]
    """Which start row: the one a plan names, or a draw by the chances of the stages."""
    if level.shape[0] > STAGE and level[STAGE] >= 1.0:
        return np.int64(level[STAGE]) - 1
    draw = uniform(key, STAGE_STREAM, 0)
    for place in range(cumulated.shape[0] - 1):
        if draw < cumulated[place]:
            return np.int64(place)
    return np.int64(cumulated.shape[0] - 1)


@inlined
def open_accounts(row, track, paid):  # type: ignore[no-untyped-def]
    track[:] = 0
    paid[:] = 0.0
    track[TRACKED] = 1 if facts.in_control(row) else 0
    track[LAST_X] = track[ROOM_BEST_X] = track[MAX_X] = facts.x(row)
    track[LAST_CLOCK] = facts.clock(row)
    track[LAST_SCORE] = facts.score(row)


@inlined
def place_in_script(lane, rules, length):  # type: ignore[no-untyped-def]
    """Where a new episode is in the script: at its beginning, or past its end."""
    if rules.script_every_episode:
        begins = lane[LANE_STEPS] < rules.script_until
    else:
        begins = lane[LANE_STEPS] == 0
    return np.int64(0 if begins else length)


@inlined
def choose_noops(key, level):  # type: ignore[no-untyped-def]
    """Frames without a button, so that no two episodes are quite the same."""
    return integer(key, NOOP_STREAM, 0, level[NOOPS] + 1.0)


@inlined
def open_episode(row, track, paid, lane, fixed, rules, place):  # type: ignore[no-untyped-def]
    """The accounts of an episode whose first frame is in the row."""
    open_accounts(row, track, paid)
    track[STAGE_NUMBER] = fixed.stages[place]
    track[ROOMS] = -1 if rules.from_title else 0  # the first room is loaded then, too
    if rules.milestone_every > 0:
        track[MILESTONES] = track[MAX_X] // rules.milestone_every
    lane[SCRIPT_AT] = place_in_script(lane, rules, fixed.script.shape[0])


@kernel
def begin_lane(row, words, track, paid, lane, fixed, rules, key, level):  # type: ignore[no-untyped-def]
    """The start of a stage, then the frames without a button."""
    place = choose_place(key, level, fixed.cumulated)
    copy_row(fixed.starts[place], row)
    track[STAGE_NUMBER] = fixed.stages[place]
    for _ in range(choose_noops(key, level)):
        run(row, words, track, fixed, rules, np.int64(0))
    open_episode(row, track, paid, lane, fixed, rules, place)


@kernel
def choose_buttons(track, lane, fixed, rules, action, sticky, draw):  # type: ignore[no-untyped-def]
    """Script, then forced forward steps, then the policy; a sticky step repeats what was held before. Returns the
    buttons and whether they were forced."""
    forced = True
    if lane[SCRIPT_AT] < fixed.script.shape[0]:
        pressed = np.int64(fixed.script[lane[SCRIPT_AT]])
        lane[SCRIPT_AT] += 1
    elif lane[FORWARD_LEFT] > 0:
        pressed = np.int64(rules.forward_buttons)
        lane[FORWARD_LEFT] -= 1
    else:
        pressed = np.int64(fixed.buttons[action])
        forced = False
    if draw < sticky:
        pressed = track[HELD]
    track[HELD] = pressed
    return pressed, forced


@inlined
def limit_reached(track, rules, t):  # type: ignore[no-untyped-def]
    """Cuts that the game knows nothing of."""
    if track[STAGNANT] >= rules.stagnation_steps:
        return STAGNATION
    return TIMEOUT if t >= rules.max_steps else GOES_ON


@inlined
def run_lane(row, words, track, fixed, rules, pressed, before):  # type: ignore[no-untyped-def]
    """The game's part of a step: the reason of its end, the game's points, distance to pay."""
    reason, base, distance = play_step(row, words, track, fixed, rules, pressed, before)
    if reason == GOES_ON and rules.skip_busy:
        reason = skip_waiting(row, words, track, fixed, rules, before)
    return reason, base, distance


@inlined
def new_points(row, track):  # type: ignore[no-untyped-def]
    """Points of the game's score since the step before."""
    now = facts.score(row)
    points = max(now - track[LAST_SCORE], 0)
    track[LAST_SCORE] = now
    return points


@kernel
def note_end(row, track, paid, numbers, t, reason):  # type: ignore[no-untyped-def]
    """Keep the numbers of the ended episode, in the order of COLUMNS."""
    numbers[0] = t
    numbers[1] = balance(paid)
    numbers[2] = 1.0 if reason in (FLAG, CASTLE) else 0.0
    numbers[3] = paid[RAW_TOTAL]
    numbers[4] = track[MAX_X]
    numbers[5] = track[FRAMES]
    numbers[6] = track[ROOMS]
    numbers[7] = track[LOOPS]
    numbers[8] = facts.score(row)
    numbers[9] = facts.coins(row)
    numbers[10] = facts.clock(row)
    numbers[11] = track[FORCED]
    numbers[12] = track[ROOM_BEST_X]
    for term in range(RAW_TOTAL):
        numbers[FIRST_TERM + term] = paid[term]
    for place in range(FIRST_REASON, numbers.shape[0]):
        numbers[place] = 1.0 if place - FIRST_REASON == reason - FLAG else 0.0


@inlined
def begin_episode(clock, play, words, fixed, rules, n):  # type: ignore[no-untyped-def]
    next_episode(clock, n)
    track, paid, lane = play.track[n], play.paid[n], play.lane[n]
    begin_lane(play.console[n], words[n], track, paid, lane, fixed, rules, clock.episode_key[n], clock.level[n])


@inlined
def press(clock, play, fixed, rules, player, actions, n):  # type: ignore[no-untyped-def]
    """The first part of a step: the buttons to hold."""
    clock.t[n] += 1
    track = play.track[n]
    sticky = clock.level[n, STICKY]
    draw = uniform(clock.episode_key[n], STICKY_STREAM, clock.t[n]) if sticky > 0.0 else 1.0
    pressed, forced = choose_buttons(track, play.lane[n], fixed, rules, actions[n, 0], sticky, draw)
    player.forced[n, 0] = forced
    track[FORCED] += 1 if forced else 0
    track[STAGNANT] += 1
    track[GROUND] = 0
    return pressed


@inlined
def settle(clock, play, rules, player, reason, base, distance, n):  # type: ignore[no-untyped-def]
    """The last part of a step, after the game's own: limits, pay, and the numbers of an episode that is over."""
    row, track, paid, lane = play.console[n], play.track[n], play.paid[n], play.lane[n]
    if track[GROUND] > 0:
        track[STAGNANT] = 0
    if reason == GOES_ON:
        reason = limit_reached(track, rules, clock.t[n])
    lane[GROUND_PX] += track[GROUND]
    points = new_points(row, track)
    player.reward[n, 0] = pay(
        track, paid, rules, lane[LANE_STEPS], play.distance_weight[n], base, points, distance, reason
    )
    lane[LANE_STEPS] += 1
    cut = reason in (TIMEOUT, WORKER) or (reason == STAGNATION and not rules.stagnation_terminal)
    clock.terminated[n] = reason != GOES_ON and not cut
    clock.truncated[n] = cut
    if reason != GOES_ON:
        clock.ended_key[n] = clock.episode_key[n]
        play.ended_stage[n] = track[STAGE_NUMBER]
        play.ended_reason[n] = reason
        note_end(row, track, paid, clock.ended[n], clock.t[n], reason)


@kernel
def play_lane(clock, play, words, fixed, rules, player, actions, before, n):  # type: ignore[no-untyped-def]
    """Everything of a step but what is seen; the lane's flags say whether its episode is over."""
    pressed = press(clock, play, fixed, rules, player, actions, n)
    track = play.track[n]
    reason, base, distance = run_lane(play.console[n], words[n], track, fixed, rules, pressed, before[n])
    settle(clock, play, rules, player, reason, base, distance, n)


@inlined
def see(row, rules, out):  # type: ignore[no-untyped-def]
    if rules.wide:
        see_wide(row, out)
    else:
        see_compact(row, out)


@kernel  # on one thread: it is rare, and a second parallel kernel would take seconds to compile
def begin(clock, play, words, fixed, rules, player, lanes):  # type: ignore[no-untyped-def]
    for n in lanes:
        begin_episode(clock, play, words, fixed, rules, n)
        player.alive[n, 0] = True
        see(play.console[n], rules, player.obs[n, 0])


@kernel
def play_and_see(clock, play, words, fixed, rules, player, actions, before, n):  # type: ignore[no-untyped-def]
    play_lane(clock, play, words, fixed, rules, player, actions, before, n)
    if clock.terminated[n] or clock.truncated[n]:
        see(play.console[n], rules, player.final_obs[n, 0])
        player.final_alive[n, 0] = True
        begin_episode(clock, play, words, fixed, rules, n)
    see(play.console[n], rules, player.obs[n, 0])


@parallel_kernel
def step(clock, play, words, fixed, rules, player, actions, before):  # type: ignore[no-untyped-def]
    for n in prange(actions.shape[0]):
        play_and_see(clock, play, words, fixed, rules, player, actions, before, np.int64(n))
