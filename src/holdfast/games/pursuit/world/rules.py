"""The rules of a duel as kernels: one lane at a time, then all lanes over threads.

The order of a step: intentions, the filter, motors, both robots from their old places, walls and circles, the clock,
capture or timeout, rewards, sight. `hold` steps make one decision; rewards and sight are those of the decision.
"""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.pursuit.world.constants import ALL_ROUND, NO_TASK
from holdfast.games.pursuit.world.duel import CIRCLE, EVADER, MAX_STEPS, PURSUER, WALL
from holdfast.games.pursuit.world.ending import keep_sight, write_numbers
from holdfast.games.pursuit.world.motion import count_speed, drive, intended, measure_distance, through_motors
from holdfast.games.pursuit.world.opening import begin_lane, leave_tracks, look, measure_circles, observe_both
from holdfast.games.pursuit.world.rewards import Before, Guard, reward_both
from holdfast.games.pursuit.world.safety import filtered
from holdfast.games.pursuit.world.sight import sees
from holdfast.games.pursuit.world.task import GOALS, opponent_command, place_goal, task_reward
from holdfast.kit.compiled import inlined, kernel, parallel_kernel, prange


@inlined
def decided(duel, rules, actions, c, s, side):  # type: ignore[no-untyped-def]
    """Speed and turn rate one robot with heading (c, s) will drive with, and what the filter met on the way."""
    if rules.task_side == 1 - side:
        v, omega = opponent_command(duel, rules)
    else:
        v, omega = intended(duel, rules, actions, side)
    least = 0.0
    slack = 0.0
    change = 0.0
    if rules.filters_p if side == PURSUER else rules.filters_e:
        safe_v, safe_omega, least, slack = filtered(duel, rules, v, omega, c, s, side)
        change = (safe_v - v) ** 2 + (safe_omega - omega) ** 2
        v = safe_v
        omega = safe_omega
    v, omega = through_motors(duel, rules, v, omega, side)
    count_speed(duel, v, side)
    return v, omega, Guard(least, slack, change)


@inlined
def world_step(duel, rules, actions_p, actions_e):  # type: ignore[no-untyped-def]
    c_p = math.cos(duel.pose[PURSUER, 2])  # a robot's heading serves its filter and its motion
    s_p = math.sin(duel.pose[PURSUER, 2])
    c_e = math.cos(duel.pose[EVADER, 2])
    s_e = math.sin(duel.pose[EVADER, 2])
    v_p, omega_p, guard_p = decided(duel, rules, actions_p, c_p, s_p, PURSUER)
    v_e, omega_e, guard_e = decided(duel, rules, actions_e, c_e, s_e, EVADER)
    drive(duel, rules, v_p, omega_p, c_p, s_p, PURSUER)
    drive(duel, rules, v_e, omega_e, c_e, s_e, EVADER)
    duel.step += 1
    duel.distance = measure_distance(duel)
    duel.least_distance = min(duel.least_distance, duel.distance)
    return guard_p, guard_e


@inlined
def is_captured(duel, rules):  # type: ignore[no-untyped-def]
    """Goals of the navigation task are not captured."""
    return duel.distance <= rules.capture_radius and (rules.task_side == NO_TASK or duel.fleeing)


@inlined
def step_task(duel, rules, key, captured, done):  # type: ignore[no-untyped-def]
    """Rewards of the lesson, and whether it is over; a goal that was reached moves on."""
    reached = duel.goals
    amount = task_reward(duel, rules, captured)
    done = done or duel.goals >= GOALS
    if duel.goals > reached and not done:
        place_goal(duel, rules, key)
        duel.distance = measure_distance(duel)
        look(duel, rules, key)
    if rules.task_side == PURSUER:
        return amount, 0.0, done
    return 0.0, amount, done


@kernel
def play(duel, rules, key, actions_p, actions_e):  # type: ignore[no-untyped-def]
    """One decision: (pursuer's reward, evader's reward, captured, time is up, over)."""
    before = Before(
        duel.distance,
        duel.circle_distance,
        duel.tally[PURSUER, WALL],
        duel.tally[EVADER, WALL],
        duel.tally[PURSUER, CIRCLE],
        duel.tally[EVADER, CIRCLE],
    )
    captured = False
    escaped = False
    guard_p = Guard(0.0, 0.0, 0.0)
    guard_e = Guard(0.0, 0.0, 0.0)
    for _ in range(rules.hold):
        guard_p, guard_e = world_step(duel, rules, actions_p, actions_e)
        captured = is_captured(duel, rules)
        escaped = not captured and duel.step >= duel.level[MAX_STEPS]
        if captured or escaped:
            break
    duel.circle_distance = measure_circles(duel)
    is_blocked = look(duel, rules, key)
    leave_tracks(duel)
    done = captured or escaped
    if rules.task_side == NO_TASK:
        seen = duel.visible[PURSUER] != 0
        if rules.vis_ignores_cone:
            seen = sees(duel, rules, key, is_blocked, ALL_ROUND, PURSUER)
        earned_p, earned_e = reward_both(duel, rules, before, guard_p, guard_e, seen, is_blocked, captured, escaped)
    else:
        earned_p, earned_e, done = step_task(duel, rules, key, captured, done)
    return earned_p, earned_e, captured, escaped, done


@inlined
def earn(duel, role, amount, side, n):  # type: ignore[no-untyped-def]
    reward = np.float32(amount)
    role.reward[n, 0] = reward
    duel.total[side] += np.float64(reward)


@inlined
def step_lane(clock, duels, pursuer, evader, actions_p, actions_e, rays, rules_row, n):  # type: ignore[no-untyped-def]
    duel = duels[n]
    rules = rules_row[0]
    key = clock.episode_key[n]
    clock.t[n] += 1
    earned_p, earned_e, captured, escaped, done = play(duel, rules, key, actions_p[n, 0], actions_e[n, 0])
    earn(duel, pursuer, earned_p, PURSUER, n)
    earn(duel, evader, earned_e, EVADER, n)
    observe_both(duel, rules, key, rays, pursuer, evader, n)
    clock.truncated[n] = done and escaped and rules.timeout_truncates
    clock.terminated[n] = done and not clock.truncated[n]
    if done:
        clock.ended_key[n] = key
        write_numbers(duel, rules, np.float64(clock.t[n]), captured, clock.ended[n])
        keep_sight(pursuer, n)
        keep_sight(evader, n)
        begin_lane(clock, duels, pursuer, evader, rays, rules_row, n)


@parallel_kernel
def step(clock, duels, pursuer, evader, actions_p, actions_e, rays, rules_row):  # type: ignore[no-untyped-def]
    for n in prange(actions_p.shape[0]):
        lane = np.int64(n)  # prange counts in uint64: a second set of types
        step_lane(clock, duels, pursuer, evader, actions_p, actions_e, rays, rules_row, lane)
