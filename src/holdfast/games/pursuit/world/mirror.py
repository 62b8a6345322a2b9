"""Duels turned over: the arena in a mirror is the same arena, so a side may be told either, by chance.

A policy without memory would always go the same way round; told a duel in one of four ways, in a square arena eight, it
has no such habit that an opponent could count on. Only what a side is told and the turns it asks for are turned over,
never the duel.
"""

from __future__ import annotations

from holdfast.games.pursuit.world.duel import MIRROR_STREAM, PURSUER
from holdfast.kit.compiled import inlined, kernel
from holdfast.kit.rng import uniform4


@inlined
def draw_mirrors(duel, rules, key):  # type: ignore[no-untyped-def]
    """For a new duel: whether each side is told it turned over from left to right, from top to bottom, and, where width
    and height are the same, with x and y exchanged."""
    for side in range(2):
        for k in range(3):
            duel.mirror[side, k] = 1.0
        duel.exchanged[side] = 0
        if rules.mirrors:
            across, along, diagonal, _ = uniform4(key, MIRROR_STREAM, side)
            duel.mirror[side, 0] = -1.0 if across < 0.5 else 1.0
            duel.mirror[side, 1] = -1.0 if along < 0.5 else 1.0
            duel.exchanged[side] = 1 if diagonal < 0.5 and duel.half[0] == duel.half[1] else 0
            turns = duel.mirror[side, 0] * duel.mirror[side, 1]
            duel.mirror[side, 2] = -turns if duel.exchanged[side] else turns


@inlined
def exchange(obs, place):  # type: ignore[no-untyped-def]
    """A number and the next one."""
    first = obs[place]
    obs[place] = obs[place + 1]
    obs[place + 1] = first


@inlined
def mirror_opponent(obs, duel, side, place):  # type: ignore[no-untyped-def]
    """What `write_opponent` wrote, with sines and cosines."""
    mirror = duel.mirror[side]
    obs[place] *= mirror[0]
    obs[place + 1] *= mirror[1]
    if duel.exchanged[side]:
        exchange(obs, place)
    obs[place + 2] *= mirror[2]  # sine of its heading against the own
    obs[place + 5] *= mirror[2]  # its turn rate
    obs[place + 7] *= mirror[2]  # sine of the bearing


@inlined
def mirror_recalled(mirror, obs, place):  # type: ignore[no-untyped-def]
    """What `write_recalled` wrote, with sines and cosines."""
    obs[place + 2] *= mirror[2]  # sine of the bearing
    obs[place + 4] *= mirror[2]  # sine of its heading against the own


@kernel
def mirror_flat(duel, rules, obs, side, circles):  # type: ignore[no-untyped-def]
    """Turn a flat observation over, as the side is told this duel: signs change, and x and y may change places."""
    mirror = duel.mirror[side]
    obs[0] *= mirror[0]
    obs[1] *= mirror[1]
    obs[2] *= mirror[1]  # sine of the heading
    obs[3] *= mirror[0]
    obs[5] *= mirror[2]
    mirror_opponent(obs, duel, side, 6)
    if duel.exchanged[side]:
        exchange(obs, 0)
        exchange(obs, 2)
        exchange(obs, 15)  # distances from the walls
    for slot in range(rules.circles_seen):
        obs[circles + 2 * slot + 1] *= mirror[2]
    if rules.recalls_p if side == PURSUER else rules.recalls_e:
        mirror_recalled(mirror, obs, circles + 2 * rules.circles_seen)


@kernel
def mirror_sensor(duel, rules, obs, side, lidar):  # type: ignore[no-untyped-def]
    """Turn the newest vector over before it is remembered: a mirror stays for the whole duel, so the history is told
    in it, too. Rays to the left and to the right change places, the one straight behind stays."""
    mirror = duel.mirror[side]
    obs[0] *= mirror[0]
    obs[1] *= mirror[1]
    obs[2] *= mirror[0]  # cosine of the heading
    obs[3] *= mirror[1]
    obs[5] *= mirror[2]  # turn rate
    obs[7] *= mirror[2]  # bearing
    if duel.exchanged[side]:
        exchange(obs, 0)
        exchange(obs, 2)
    if rules.recalls_p if side == PURSUER else rules.recalls_e:
        mirror_recalled(mirror, obs, lidar - 6)
    if mirror[2] < 0.0:
        for k in range(1, (rules.rays + 1) // 2):
            left = obs[lidar + k]
            obs[lidar + k] = obs[lidar + rules.rays - k]
            obs[lidar + rules.rays - k] = left
