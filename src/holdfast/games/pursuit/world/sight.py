"""Who sees whom, and what each side is told: flat vectors, or lidar and bearings with a history."""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.pursuit.world.constants import ANY_DISTANCE, FLAT
from holdfast.games.pursuit.world.duel import (
    FULL_PURSUER,
    MASK_STREAM,
    MAX_STEPS,
    NEVER,
    NOISE_STREAM,
    PURSUER,
    SEEN_STEP,
    UNTOLD,
)
from holdfast.games.pursuit.world.geometry import circle_range, clip, sight_blocked, wall_range, wrap
from holdfast.games.pursuit.world.mirror import mirror_flat, mirror_opponent, mirror_sensor
from holdfast.kit.compiled import inlined, kernel
from holdfast.kit.rng import normal4, uniform

ROUNDING = 1e-6  # m, more than the sums of a range can be off
ODOMETRY_INDEX = 1 << 40  # far from the indices of lidar noise


@inlined
def bearing(duel, side):  # type: ignore[no-untyped-def]
    """Of the opponent, from the own heading."""
    dx = duel.pose[1 - side, 0] - duel.pose[side, 0]
    dy = duel.pose[1 - side, 1] - duel.pose[side, 1]
    return wrap(math.atan2(dy, dx) - duel.pose[side, 2])


@inlined
def blocked(duel):  # type: ignore[no-untyped-def]
    """Whether a circle is between the two."""
    return duel.n_circles > 0 and sight_blocked(
        duel.pose[0, 0],
        duel.pose[0, 1],
        duel.pose[1, 0],
        duel.pose[1, 1],
        duel.circles,
        duel.n_circles,
    )


@inlined
def shown(duel, rules, key, side):  # type: ignore[no-untyped-def]
    """Whether the masking curriculum shows the opponent anyway."""
    share = duel.level[FULL_PURSUER + side]
    if share <= 0.0:
        return False
    index = 2 + 2 * np.int64(duel.step) + side if rules.mask_by_step else np.int64(side)
    return uniform(key, MASK_STREAM, index) < share


@kernel
def sees(duel, rules, key, is_blocked, cone, side):  # type: ignore[no-untyped-def]
    """The one rule of visibility, for observations, rewards and probes."""
    if not (rules.masks_p if side == PURSUER else rules.masks_e):
        return True
    if rules.task_side == side and not duel.fleeing:  # a goal: no cone, nothing in the way
        return duel.distance <= rules.sense_radius
    hidden = duel.distance > rules.sense_radius or (rules.occludes and is_blocked)
    if not hidden and (cone >= math.pi or abs(bearing(duel, side)) <= cone):
        return True
    return shown(duel, rules, key, side)


@inlined
def own_pose(duel, rules, key, side):  # type: ignore[no-untyped-def]
    """Where a robot believes to be."""
    x = duel.pose[side, 0]
    y = duel.pose[side, 1]
    heading = duel.pose[side, 2]
    if rules.position_noise > 0.0 or rules.heading_noise > 0.0:
        ex, ey, turn, _ = normal4(key, NOISE_STREAM + side, ODOMETRY_INDEX + np.int64(duel.step))
        x += rules.position_noise * ex
        y += rules.position_noise * ey
        heading = wrap(heading + rules.heading_noise * turn)
    return x, y, heading


@inlined
def time_left(duel):  # type: ignore[no-untyped-def]
    return 1.0 - np.float64(duel.step) / duel.level[MAX_STEPS]


@inlined
def write_circles(duel, rules, x, y, heading, diagonal, obs, place):  # type: ignore[no-untyped-def]
    """Surface distance and bearing of the nearest circles, by the distance of their centres."""
    used = 0
    for slot in range(rules.circles_seen):
        nearest = -1
        least = math.inf
        near_x = 0.0
        near_y = 0.0
        for k in range(duel.n_circles):
            if used & (1 << k):
                continue
            dx = duel.circles[k, 0] + duel.circle_shift[k, 0] - x
            dy = duel.circles[k, 1] + duel.circle_shift[k, 1] - y
            square = dx * dx + dy * dy
            if square < least:
                nearest, least, near_x, near_y = k, square, dx, dy
        if nearest < 0:
            obs[place + 2 * slot] = 1.0
            obs[place + 2 * slot + 1] = 0.0
        else:
            used |= 1 << nearest
            obs[place + 2 * slot] = min((math.sqrt(least) - duel.circles[nearest, 2]) / diagonal, 1.0)
            obs[place + 2 * slot + 1] = wrap(math.atan2(near_y, near_x) - heading) / math.pi


@inlined
def write_angle(rules, angle, obs, place):  # type: ignore[no-untyped-def]
    """As a share of half a turn, or as sine and cosine, which do not jump; the place after it."""
    if rules.sincos:
        obs[place] = math.sin(angle)
        obs[place + 1] = math.cos(angle)
        return place + 2
    obs[place] = angle / math.pi
    return place + 1


@inlined
def write_opponent(duel, rules, obs, side, heading, diagonal, place):  # type: ignore[no-untyped-def]
    other = 1 - side
    obs[place] = duel.pose[other, 0] / duel.half[0]
    obs[place + 1] = duel.pose[other, 1] / duel.half[1]
    facing = duel.pose[other, 2] - heading if rules.sincos else duel.pose[other, 2]
    place = write_angle(rules, facing, obs, place + 2)
    obs[place] = duel.command[other, 0] / duel.v_max[other]
    obs[place + 1] = duel.command[other, 1] / rules.omega_max
    obs[place + 2] = duel.distance / diagonal
    return write_angle(rules, bearing(duel, side), obs, place + 3)


@inlined
def write_recalled(duel, rules, x, y, heading, diagonal, obs, place, side):  # type: ignore[no-untyped-def]
    """The opponent as it was last seen: 1 now, 1/2 a second ago, 1/3 two seconds ago, 0 never; how far that place is,
    where, and how the opponent faced (zeros if that cannot be told). All zeros: never seen."""
    seen = duel.last_seen[side]
    if seen[SEEN_STEP] == NEVER:
        for k in range(6 if rules.sincos else 4):
            obs[place + k] = 0.0
        return
    obs[place] = 1.0 / (1.0 + rules.dt * (np.float64(duel.step) - seen[SEEN_STEP]))
    dx = seen[0] - x
    dy = seen[1] - y
    obs[place + 1] = math.sqrt(dx * dx + dy * dy) / diagonal
    place = write_angle(rules, wrap(math.atan2(dy, dx) - heading), obs, place + 2)
    if seen[2] == UNTOLD:
        obs[place] = 0.0
        if rules.sincos:
            obs[place + 1] = 0.0
    else:
        write_angle(rules, seen[2] - heading if rules.sincos else seen[2], obs, place)


@kernel
def observe_flat(duel, rules, key, obs, side):  # type: ignore[no-untyped-def]
    half_w = duel.half[0]
    half_h = duel.half[1]
    diagonal = 2.0 * math.sqrt(half_w * half_w + half_h * half_h)
    x, y, heading = own_pose(duel, rules, key, side)
    obs[0] = x / half_w
    obs[1] = y / half_h
    place = write_angle(rules, heading, obs, 2)
    obs[place] = duel.command[side, 0] / duel.v_max[side]
    obs[place + 1] = duel.command[side, 1] / rules.omega_max
    place += 2
    if duel.visible[side]:
        place = write_opponent(duel, rules, obs, side, heading, diagonal, place)
    else:
        for _ in range(9 if rules.sincos else 7):
            obs[place] = 0.0
            place += 1
    obs[place] = (half_w - abs(x)) / half_w
    obs[place + 1] = (half_h - abs(y)) / half_h
    place += 2
    if rules.masks_p if side == PURSUER else rules.masks_e:
        obs[place] = 1.0 if duel.visible[side] else 0.0
        place += 1
    if rules.time_left:
        obs[place] = time_left(duel)
        place += 1
    write_circles(duel, rules, x, y, heading, diagonal, obs, place)
    if rules.recalls_p if side == PURSUER else rules.recalls_e:
        write_recalled(duel, rules, x, y, heading, diagonal, obs, place + 2 * rules.circles_seen, side)
    if rules.mirrors:
        mirror_flat(duel, rules, obs, side, place)


@inlined
def circles_within(duel, x, y, reach):  # type: ignore[no-untyped-def]
    """A bit for each circle that a ray of this reach could meet."""
    within = 0
    for k in range(duel.n_circles):
        fx = x - duel.circles[k, 0]
        fy = y - duel.circles[k, 1]
        far = reach + duel.circles[k, 2] + ROUNDING
        if fx * fx + fy * fy < far * far:
            within |= 1 << k
    return within


@inlined
def write_lidar(duel, rules, key, rays, obs, place, side):  # type: ignore[no-untyped-def]
    """Ray i points at heading - pi + 2 pi i / rays; walls and circles, never the opponent; then noise."""
    x = duel.pose[side, 0]
    y = duel.pose[side, 1]
    c = math.cos(duel.pose[side, 2])
    s = math.sin(duel.pose[side, 2])
    reach = rules.lidar_range
    half_w = duel.half[0]
    half_h = duel.half[1]
    walls_near = half_w - abs(x) < reach or half_h - abs(y) < reach
    within = circles_within(duel, x, y, reach)
    noise_1 = noise_2 = noise_3 = 0.0
    for i in range(rules.rays):
        ux = c * rays[i, 0] - s * rays[i, 1]
        uy = s * rays[i, 0] + c * rays[i, 1]
        distance = wall_range(x, y, ux, uy, half_w, half_h, reach) if walls_near else reach
        if within != 0:
            for k in range(duel.n_circles):
                if within & (1 << k):
                    fx = x - duel.circles[k, 0]
                    fy = y - duel.circles[k, 1]
                    distance = circle_range(fx, fy, duel.circles[k, 2], ux, uy, distance)
        if rules.lidar_noise > 0.0:
            noise = noise_1
            if i % 4 == 0:
                index = np.int64(duel.step) * 128 + i // 4
                noise, noise_1, noise_2, noise_3 = normal4(key, NOISE_STREAM + side, index)
            else:
                noise_1 = noise_2
                noise_2 = noise_3
            distance = clip(distance + rules.lidar_noise * noise, 0.0, reach)
        obs[place + i] = distance / reach


@kernel
def observe_sensor(duel, rules, key, rays, obs, side):  # type: ignore[no-untyped-def]
    """Layout: the newest state with the time left and what is recalled, its lidar, then the history with the newest
    vector last."""
    half_w = duel.half[0]
    half_h = duel.half[1]
    x, y, heading = own_pose(duel, rules, key, side)
    obs[0] = x / half_w
    obs[1] = y / half_h
    place = 3
    if rules.sincos:
        obs[2] = math.cos(heading)
        obs[3] = math.sin(heading)
        place = 4
    else:
        obs[2] = heading / math.pi
    obs[place] = duel.command[side, 0] / duel.v_max[side]
    obs[place + 1] = duel.command[side, 1] / rules.omega_max
    if duel.visible[side]:
        scale = rules.sense_radius  # more than 1 is possible: the masking curriculum shows what is out of reach
        if scale == ANY_DISTANCE:
            scale = 2.0 * math.sqrt(half_w * half_w + half_h * half_h)
        obs[place + 2] = duel.distance / scale
        obs[place + 3] = bearing(duel, side) / math.pi
    else:
        obs[place + 2] = -1.0
        obs[place + 3] = 0.0
    state = place + 4
    lidar = state
    if rules.time_left:
        obs[lidar] = time_left(duel)
        lidar += 1
    if rules.recalls_p if side == PURSUER else rules.recalls_e:
        write_recalled(duel, rules, x, y, heading, 2.0 * math.sqrt(half_w * half_w + half_h * half_h), obs, lidar, side)
        lidar += 6 if rules.sincos else 4
    write_lidar(duel, rules, key, rays, obs, lidar, side)
    if rules.mirrors:
        mirror_sensor(duel, rules, obs, side, lidar)
    if rules.history > 0:
        remember(rules, obs, state, lidar)


@inlined
def remember(rules, obs, state, lidar):  # type: ignore[no-untyped-def]
    """Move the history by one vector and put the newest at its end."""
    rays = rules.rays if rules.remembers_lidar else 0
    size = state + rays
    first = lidar + rules.rays
    last = first + (rules.history - 1) * size
    for k in range(first, last):
        obs[k] = obs[k + size]
    for k in range(state):
        obs[last + k] = obs[k]
    for k in range(rays):
        obs[last + state + k] = obs[lidar + k]


@inlined
def write_judging(duel, rules, obs, side):  # type: ignore[no-untyped-def]
    """For values only: the opponent as it is, in sight or not, and whether it sees this side."""
    diagonal = 2.0 * math.sqrt(duel.half[0] * duel.half[0] + duel.half[1] * duel.half[1])
    place = obs.shape[0] - rules.believed - (10 if rules.sincos else 8)
    place = write_opponent(duel, rules, obs, side, duel.pose[side, 2], diagonal, place)
    obs[place] = 1.0 if duel.visible[1 - side] else 0.0
    if rules.mirrors:
        mirror_opponent(obs, duel, side, place - 9)


@inlined
def write_believed(duel, rules, obs, side):  # type: ignore[no-untyped-def]
    """At the end, for beliefs: how far ahead and to the left the opponent is, in diagonals of the arena."""
    diagonal = 2.0 * math.sqrt(duel.half[0] * duel.half[0] + duel.half[1] * duel.half[1])
    angle = bearing(duel, side)
    obs[obs.shape[0] - 2] = duel.distance / diagonal * math.cos(angle)
    obs[obs.shape[0] - 1] = duel.distance / diagonal * math.sin(angle)
    if rules.mirrors:
        obs[obs.shape[0] - 1] *= duel.mirror[side, 2]


@inlined
def observe(duel, rules, key, rays, obs, side):  # type: ignore[no-untyped-def]
    if rules.sight == FLAT:
        observe_flat(duel, rules, key, obs, side)
    else:
        observe_sensor(duel, rules, key, rays, obs, side)
    if rules.judges and (rules.masks_p if side == PURSUER else rules.masks_e):
        write_judging(duel, rules, obs, side)
    if rules.believed > 0:
        write_believed(duel, rules, obs, side)
