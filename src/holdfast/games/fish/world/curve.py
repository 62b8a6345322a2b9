"""The fish of a large school in the order of a Hilbert curve, with a box around every few of them; and which boxes are
in reach of a tile of `WIDE` fish.

Fish that follow each other on the curve swim close together, so most pairs of boxes are wholly out of reach of each
other or wholly within it. Boxes are measured in the arithmetic of the fish themselves, whose rounding keeps order: what
two boxes say of their fish is true of every pair to the last bit.
"""

from __future__ import annotations

import numpy as np

from holdfast.games.fish.world.sight import FAR, REACH, WIDE, ZERO
from holdfast.kit.compiled import inlined

QUAD, GROUP = 4, 64  # fish in the smaller and the larger boxes
QUADS = GROUP // QUAD
OWN_QUADS = WIDE // QUAD  # of a tile

SIDE = 64  # cells of the curve along one axis


def hilbert_ranks() -> np.ndarray:
    """[SIDE * SIDE] i32: the place of cell (x, y) on the curve (Hilbert 1891), found level by level."""
    x, y = np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij")
    rank = np.zeros((SIDE, SIDE), np.int32)
    half = SIDE // 2
    while half:
        right, upper = (x & half) > 0, (y & half) > 0
        rank += (half * half * ((3 * right) ^ upper)).astype(np.int32)
        flip = right & ~upper
        x, y = np.where(flip, SIDE - 1 - x, x), np.where(flip, SIDE - 1 - y, y)
        x, y = np.where(upper, x, y), np.where(upper, y, x)
        half //= 2
    return rank.ravel()


RANKS = hilbert_ranks()


@inlined
def cell_rank(x, y, pool):  # type: ignore[no-untyped-def]
    """Where the cell of (x, y) in a pool of this radius comes on the curve."""
    half = np.float32(pool)
    cells_per_unit = np.float32(SIDE / (2.0 * pool))
    column = min(max(np.int64((x + half) * cells_per_unit), 0), SIDE - 1)
    row = min(max(np.int64((y + half) * cells_per_unit), 0), SIDE - 1)
    return RANKS[column * SIDE + row]


@inlined
def first_places(position, alive, pool):  # type: ignore[no-untyped-def]
    """How many fish live, and the place of the first one of each cell when all stand in line."""
    places = np.zeros(SIDE * SIDE + 1, np.int64)
    for i in range(alive.shape[0]):
        if alive[i]:
            places[cell_rank(position[i, 0], position[i, 1], pool) + 1] += 1
    for rank in range(SIDE * SIDE):
        places[rank + 1] += places[rank]
    return places[SIDE * SIDE], places


@inlined
def line_up(position, velocity, alive, pool, who):  # type: ignore[no-untyped-def]
    """Rows (x, y, vx, vy, speed) of the living fish along the curve, filled up to whole groups with rows that are out
    of everyone's reach; `who` takes the fish of each row. Fish of one cell keep their order."""
    count, places = first_places(position, alive, pool)
    swim = np.zeros(((count + GROUP - 1) // GROUP * GROUP, 5), np.float32)
    for i in range(alive.shape[0]):
        if alive[i]:
            rank = cell_rank(position[i, 0], position[i, 1], pool)
            place = places[rank]
            places[rank] += 1
            vx = velocity[i, 0]
            vy = velocity[i, 1]
            swim[place, 0] = position[i, 0]
            swim[place, 1] = position[i, 1]
            swim[place, 2] = vx
            swim[place, 3] = vy
            swim[place, 4] = np.sqrt(vx * vx + vy * vy)
            who[place] = i
    for place in range(count, swim.shape[0]):
        swim[place, 0] = FAR
        swim[place, 1] = FAR
    return swim, count


@inlined
def measure_boxes(swim, count, size, boxes):  # type: ignore[no-untyped-def]
    """The box around every `size` rows: low x, high x, low y, high y. One without a fish is out of reach."""
    for block in range(boxes.shape[1]):
        boxes[0, block] = FAR
        boxes[1, block] = FAR if block * size >= count else -FAR
        boxes[2, block] = FAR
        boxes[3, block] = boxes[1, block]
        for j in range(block * size, min(count, block * size + size)):
            boxes[0, block] = min(boxes[0, block], swim[j, 0])
            boxes[1, block] = max(boxes[1, block], swim[j, 0])
            boxes[2, block] = min(boxes[2, block], swim[j, 1])
            boxes[3, block] = max(boxes[3, block], swim[j, 1])


@inlined
def sum_speeds(swim, count, sums):  # type: ignore[no-untyped-def]
    """Of every quad: count, sum of speeds and of their squares, in double precision for a variance without loss."""
    for j in range(count):
        speed = np.float64(swim[j, 4])
        sums[j // QUAD, 0] += 1.0
        sums[j // QUAD, 1] += speed
        sums[j // QUAD, 2] += speed * speed


@inlined
def box_gap(box, boxes, k):  # type: ignore[no-untyped-def]
    """No fish of the two boxes are nearer to each other than this (squared)."""
    dx = max(ZERO, max(boxes[0, k] - box[1], box[0] - boxes[1, k]))
    dy = max(ZERO, max(boxes[2, k] - box[3], box[2] - boxes[3, k]))
    return dx * dx + dy * dy


@inlined
def box_span(box, boxes, k):  # type: ignore[no-untyped-def]
    """No fish of the two boxes are farther from each other than this (squared)."""
    dx = max(boxes[1, k] - box[0], box[1] - boxes[0, k])
    dy = max(boxes[3, k] - box[2], box[3] - boxes[2, k])
    return dx * dx + dy * dy


@inlined
def list_own(own, quads, close, edge):  # type: ignore[no-untyped-def]
    """The tile's own quads head the list of those at the edge of reach; these and the tiles before and after it, that
    of the close ones. Returns where the latter begin and end."""
    for k in range(OWN_QUADS):
        edge[k] = own + k
    first = max(own - OWN_QUADS, 0)
    last = min(own + 2 * OWN_QUADS, quads)
    for quad in range(first, last):
        close[quad - first] = quad
    return first, last


@inlined
def list_quads(boxes, bound, seeds, own, close, inner, edge):  # type: ignore[no-untyped-def]
    """Go on with the lists: quads that may hold a nearest neighbour, those wholly within reach, those at its edge. They
    are listed without a branch, as nobody could guess it: a list's end is overwritten until a quad belongs there."""
    box, group_box, quad_box, gaps, spans = boxes
    closes, inners, edges = seeds[1] - seeds[0], 0, OWN_QUADS
    for group in range(group_box.shape[1]):
        if box_gap(box, group_box, group) > REACH:
            continue
        base = group * QUADS
        for k in range(QUADS):
            gaps[k] = box_gap(box, quad_box, base + k)
            spans[k] = box_span(box, quad_box, base + k)
        if own // QUADS == group:
            for k in range(own - base, own - base + OWN_QUADS):
                gaps[k] = FAR
                spans[k] = FAR
        for quad in range(base, base + QUADS):
            gap, span = gaps[quad - base], spans[quad - base]
            close[closes] = quad
            closes += 1 if (gap <= bound) & ((quad < seeds[0]) | (quad >= seeds[1])) else 0
            inner[inners] = quad
            inners += 1 if span <= REACH else 0
            edge[edges] = quad
            edges += 1 if (gap <= REACH) & (span > REACH) else 0
    return closes, inners, edges
