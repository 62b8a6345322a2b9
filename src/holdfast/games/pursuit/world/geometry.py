"""Angles, circles and lines: the parts of the rules that know no duel."""

from __future__ import annotations

import math

from holdfast.kit.compiled import inlined

TWO_PI = 2.0 * math.pi
AT_CENTRE = 1e-10  # nearer than this to a circle's centre there is no direction away from it
NO_LENGTH = 1e-12  # square of the length of a segment that nothing can be in the way of
PASSES = 3  # over all circles, when a robot is pushed out of them
NEARLY_PARALLEL = 1e-12


@inlined
def wrap(angle):  # type: ignore[no-untyped-def]
    """The same direction in [-pi, pi)."""
    return angle - TWO_PI * math.floor((angle + math.pi) / TWO_PI)


@inlined
def clip(value, low, high):  # type: ignore[no-untyped-def]
    return min(max(value, low), high)


@inlined
def sight_blocked(ax, ay, bx, by, circles, count):  # type: ignore[no-untyped-def]
    """Whether one of `count` circles touches the segment from a to b."""
    dx = bx - ax
    dy = by - ay
    square = dx * dx + dy * dy
    if square < NO_LENGTH:
        return False
    for k in range(count):
        fx = circles[k, 0] - ax
        fy = circles[k, 1] - ay
        along = clip((fx * dx + fy * dy) / square, 0.0, 1.0)
        gx = fx - along * dx
        gy = fy - along * dy
        if gx * gx + gy * gy <= circles[k, 2] * circles[k, 2]:
            return True
    return False


@inlined
def pushed_out(x, y, heading, radius, circles, count):  # type: ignore[no-untyped-def]
    """The place outside of all circles next to (x, y), and whether it is another."""
    touched = False
    for _ in range(PASSES):
        inside = False
        for k in range(count):
            dx = x - circles[k, 0]
            dy = y - circles[k, 1]
            reach = circles[k, 2] + radius
            square = dx * dx + dy * dy
            if square < reach * reach:
                distance = math.sqrt(square)
                if distance < AT_CENTRE:
                    dx = math.cos(heading)
                    dy = math.sin(heading)
                    distance = 1.0
                x = circles[k, 0] + reach * dx / distance
                y = circles[k, 1] + reach * dy / distance
                inside = True
        if not inside:
            break
        touched = True
    return x, y, touched


@inlined
def surface_distance(x, y, circles, count, beyond):  # type: ignore[no-untyped-def]
    """From (x, y) to the surface of the nearest circle; `beyond` without circles."""
    least = beyond
    for k in range(count):
        dx = x - circles[k, 0]
        dy = y - circles[k, 1]
        least = min(least, math.sqrt(dx * dx + dy * dy) - circles[k, 2])
    return least


@inlined
def wall_range(x, y, ux, uy, half_w, half_h, reach):  # type: ignore[no-untyped-def]
    """How far a ray from inside the arena goes to its walls, at most `reach`."""
    if abs(ux) > NEARLY_PARALLEL:
        reach = min(reach, ((half_w if ux > 0.0 else -half_w) - x) / ux)
    if abs(uy) > NEARLY_PARALLEL:
        reach = min(reach, ((half_h if uy > 0.0 else -half_h) - y) / uy)
    return reach


@inlined
def circle_range(fx, fy, radius, ux, uy, reach):  # type: ignore[no-untyped-def]
    """The same to a circle; f is the ray's start seen from the circle's centre. From inside: to its far side."""
    b = fx * ux + fy * uy
    c = fx * fx + fy * fy - radius * radius
    s = b * b - c
    if s < 0.0:
        return reach
    root = math.sqrt(s)
    if -b - root > 1e-6:
        return min(reach, -b - root)
    if -b + root > 1e-6:
        return min(reach, -b + root)
    return reach
