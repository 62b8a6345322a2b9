"""Both passes of what looks at a ring of ranges and at a history, for a tile of rows: `looking.py` by products.

A ring is kept as [rows, rays + 4, filters], its ends repeated, so that what a filter sees is one piece of memory and a
convolution one product over all rays of all rows: the four places of a row that lie across its end compute something
nobody reads, and have errors of 0. A history is read step by step; all gates are kept, and become their own slopes on
the way back.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from holdfast.kit.compiled import contracted, contracted_inlined
from holdfast.learner.belief import COMPONENTS, HALF_LOG_2PI, LOG_SIGMA
from holdfast.learner.fused_kernels import ONE, TILE, ZERO, block, squashed
from holdfast.learner.looking import MEMORY, REACH, RINGS, SECTORS
from holdfast.learner.products import add_products

FIRST, SECOND = RINGS
EDGES = REACH - 1  # places by which the ring is longer than its rays
GATES = 4 * MEMORY
HALF = np.float32(0.5)
SIZE = 4  # bytes of a number


@contracted
def fill_rows(out, rows, values):  # type: ignore[no-untyped-def]
    for r in range(rows):
        row = out[r]
        for j in range(row.shape[0]):
            row[j] = values[j]


@contracted
def clear_rows(out, first, last):  # type: ignore[no-untyped-def]
    for r in range(first, last):
        row = out[r]
        for j in range(row.shape[0]):
            row[j] = ZERO


@contracted
def add_rows(total, rows, first, last):  # type: ignore[no-untyped-def]
    """Add rows [first, last) to one."""
    for r in range(first, last):
        row = rows[r]
        for j in range(total.shape[0]):
            total[j] += row[j]


# --- a ring of ranges -------------------------------------------------------------------------------------------------


@contracted
def sector(rays, number):  # type: ignore[no-untyped-def]
    """The rays of one part of a ring, as torch's adaptive pooling cuts it."""
    return number * rays // SECTORS, -(-(number + 1) * rays // SECTORS)


@contracted
def turn_filters(parameters, ring, turned):  # type: ignore[no-untyped-def]
    """[out, in, reach] as products read them: [reach, in, out] on the way there, [reach back, out, in] back."""
    first, second = block(turned, ring.first, REACH, FIRST), block(turned, ring.second, REACH * FIRST, SECOND)
    back = block(turned, ring.back, REACH * SECOND, FIRST)
    for o in range(FIRST):
        for k in range(REACH):
            first[k, o] = parameters[ring.first + o * REACH + k]
    for o in range(SECOND):
        for i in range(FIRST):
            for k in range(REACH):
                weight = parameters[ring.second + (o * FIRST + i) * REACH + k]
                second[k * FIRST + i, o] = weight
                back[(EDGES - k) * SECOND + o, i] = weight


@contracted
def rings_of(ring, mine):  # type: ignore[no-untyped-def]
    """What a tile keeps of its rings: rays with their ends, what the filters gave, and the slopes of the first ones."""
    places = TILE * (ring.rays + EDGES)
    padded = block(mine, ring.padded, TILE, ring.rays + 2 * EDGES)
    one, two = block(mine, ring.one, places + EDGES, FIRST), block(mine, ring.two, places + EDGES, SECOND)
    return padded, one, two, block(mine, ring.by_one, places, FIRST)


@contracted
def look_round(parameters, turned, ring, seen, mine, rows, out):  # type: ignore[no-untyped-def]
    """From the rays in `seen` [TILE, numbers] to averages over sectors in `out` [TILE, numbers]."""
    padded, one, two, _ = rings_of(ring, mine)
    span, places = ring.rays + EDGES, rows * (ring.rays + EDGES)
    first = block(turned, ring.first, REACH, FIRST)
    for r in range(rows):
        row, raw = padded[r], seen[r]
        for j in range(row.shape[0]):
            row[j] = raw[ring.start + (j - EDGES) % ring.rays]
        own = one[r * span : (r + 1) * span]
        fill_rows(own, span, parameters[ring.first_bias : ring.first_bias + FIRST])
        add_products(own, as_strided(row, (span, REACH), (SIZE, SIZE)), first, span, REACH)
        for q in range(span):
            for j in range(FIRST):
                own[q, j] = max(own[q, j], ZERO)
    clear_rows(one, places, places + EDGES)
    said = two[EDGES:]
    fill_rows(said, places, parameters[ring.second_bias : ring.second_bias + SECOND])
    around = as_strided(one, (places, REACH * FIRST), (FIRST * SIZE, SIZE))
    add_products(said, around, block(turned, ring.second, REACH * FIRST, SECOND), places, REACH * FIRST)
    for r in range(rows):
        average_sectors(said[r * span : r * span + ring.rays], out[r, ring.out : ring.out + SECTORS * SECOND])


@contracted
def average_sectors(said, out):  # type: ignore[no-untyped-def]
    """What is above 0, [rays, SECOND], also becomes what `said` holds."""
    rays = said.shape[0]
    for p in range(rays):
        row = said[p]
        for j in range(SECOND):
            row[j] = max(row[j], ZERO)
    means = np.zeros(SECOND, np.float32)
    for number in range(SECTORS):
        start, end = sector(rays, number)
        means[:] = ZERO
        add_rows(means, said, start, end)
        share = ONE / np.float32(end - start)
        for j in range(SECOND):
            out[j * SECTORS + number] = means[j] * share


@contracted
def look_round_back(turned, ring, mine, rows, error):  # type: ignore[no-untyped-def]
    """From the slopes by the averages, in `error` [TILE, numbers], to those by what both filters summed up."""
    _, one, two, by_one = rings_of(ring, mine)
    span, places = ring.rays + EDGES, rows * (ring.rays + EDGES)
    for r in range(rows):
        clear_rows(two, r * span, r * span + EDGES)
        own = two[r * span + EDGES : (r + 1) * span]
        share_sectors(own, error[r, ring.out : ring.out + SECTORS * SECOND])
    clear_rows(two, places, places + EDGES)
    clear_rows(by_one, 0, places)
    around = as_strided(two, (places, REACH * SECOND), (SECOND * SIZE, SIZE))
    add_products(by_one, around, block(turned, ring.back, REACH * SECOND, FIRST), places, REACH * SECOND)
    for q in range(places):
        row, said = by_one[q], one[q]
        for j in range(FIRST):
            row[j] = row[j] if said[j] > ZERO else ZERO


@contracted
def share_sectors(said, error):  # type: ignore[no-untyped-def]
    """What was above 0 becomes its slope, from those by its sectors; where sectors overlap, from both."""
    rays = said.shape[0]
    slopes = np.zeros((SECTORS, SECOND), np.float32)
    for number in range(SECTORS):
        start, end = sector(rays, number)
        for j in range(SECOND):
            slopes[number, j] = error[j * SECTORS + number] / np.float32(end - start)
    for p in range(rays):
        row = said[p]
        total = np.zeros(SECOND, np.float32)
        for number in range(SECTORS):
            start, end = sector(rays, number)
            if start <= p < end:
                add_rows(total, slopes, number, number + 1)
        for j in range(SECOND):
            row[j] = total[j] if row[j] > ZERO else ZERO


@contracted
def weigh_ring(ring, mine, rows, sums, tap):  # type: ignore[no-untyped-def]
    """Add a tile to the gradient of the second filters' weights at one place of their reach: sums [FIRST, SECOND]."""
    _, one, two, _ = rings_of(ring, mine)
    places = rows * (ring.rays + EDGES)
    add_products(sums, one[tap : tap + places].T, two[EDGES:], FIRST, places)


@contracted
def weigh_ring_rest(ring, mine, rows, sums, gradients):  # type: ignore[no-untyped-def]
    """The first filters' weights, as sums [REACH, FIRST], and all biases."""
    padded, _, two, by_one = rings_of(ring, mine)
    span, places = ring.rays + EDGES, rows * (ring.rays + EDGES)
    for r in range(rows):
        own = by_one[r * span : (r + 1) * span]
        add_products(sums, as_strided(padded[r], (REACH, span), (SIZE, SIZE)), own, REACH, span)
    add_rows(gradients[ring.first_bias : ring.first_bias + FIRST], by_one, 0, places)
    add_rows(gradients[ring.second_bias : ring.second_bias + SECOND], two, EDGES, EDGES + places)


# --- a history --------------------------------------------------------------------------------------------------------


@contracted
def step_of(mine, start, past, direction, step, width):  # type: ignore[no-untyped-def]
    """What a tile keeps of one step of one direction, [TILE, width]."""
    return block(mine, start + (direction * past.steps + step) * TILE * width, TILE, width)


@contracted
def moment(past, seen, direction, step):  # type: ignore[no-untyped-def]
    """The vectors that a direction reads at a step: the first reads the oldest first, the second the newest."""
    number = step if direction == 0 else past.steps - 1 - step
    start = past.start + number * past.numbers
    return seen[:, start : start + past.numbers]


@contracted_inlined
def opened(number):  # type: ignore[no-untyped-def]
    """How far a gate is open."""
    return HALF * squashed(HALF * number) + HALF


@contracted
def remember(gates, before, cell, bent, kept):  # type: ignore[no-untyped-def]
    """One row of a long short-term memory (Hochreiter and Schmidhuber 1997); gates become what they open."""
    for j in range(MEMORY):
        gates[j] = opened(gates[j])
        gates[MEMORY + j] = opened(gates[MEMORY + j])
        gates[2 * MEMORY + j] = squashed(gates[2 * MEMORY + j])
        gates[3 * MEMORY + j] = opened(gates[3 * MEMORY + j])
        cell[j] = gates[MEMORY + j] * before[j] + gates[j] * gates[2 * MEMORY + j]
        bent[j] = squashed(cell[j])
        kept[j] = gates[3 * MEMORY + j] * bent[j]


@contracted
def read_past(parameters, turned, past, seen, mine, rows, ends):  # type: ignore[no-untyped-def]
    """From the vectors in `seen` [TILE, numbers] to what each direction remembers in the end, [TILE, M each]."""
    nothing = np.zeros(MEMORY, np.float32)
    bias = np.empty(GATES, np.float32)
    for d in range(past.weight.shape[0]):
        by_seen, by_kept = (
            block(turned, past.weight[d], past.numbers, GATES),
            block(turned, past.again[d], MEMORY, GATES),
        )
        for j in range(GATES):
            bias[j] = parameters[past.bias[d] + j] + parameters[past.bias_again[d] + j]
        for n in range(past.steps):
            gates = step_of(mine, past.gates, past, d, n, GATES)
            cell, bent = step_of(mine, past.cells, past, d, n, MEMORY), step_of(mine, past.bent, past, d, n, MEMORY)
            kept, last = step_of(mine, past.kept, past, d, n, MEMORY), max(n - 1, 0)
            fill_rows(gates, rows, bias)
            add_products(gates, moment(past, seen, d, n), by_seen, rows, past.numbers)
            if n > 0:
                add_products(gates, step_of(mine, past.kept, past, d, last, MEMORY), by_kept, rows, MEMORY)
            before = step_of(mine, past.cells, past, d, last, MEMORY)
            for r in range(rows):
                remember(gates[r], before[r] if n > 0 else nothing, cell[r], bent[r], kept[r])
        final = step_of(mine, past.kept, past, d, past.steps - 1, MEMORY)
        for r in range(rows):
            ends[r, d * MEMORY : (d + 1) * MEMORY] = final[r]


@contracted
def forget(gates, before, bent, by_kept, by_cell):  # type: ignore[no-untyped-def]
    """One row on the way back: what gates opened becomes the slope by what they summed up."""
    for j in range(MEMORY):
        enter, leave = gates[j], gates[3 * MEMORY + j]
        stay, new = gates[MEMORY + j], gates[2 * MEMORY + j]
        by_now = by_cell[j] + by_kept[j] * leave * (ONE - bent[j] * bent[j])
        gates[j] = by_now * new * enter * (ONE - enter)
        gates[MEMORY + j] = by_now * before[j] * stay * (ONE - stay)
        gates[2 * MEMORY + j] = by_now * enter * (ONE - new * new)
        gates[3 * MEMORY + j] = by_kept[j] * bent[j] * leave * (ONE - leave)
        by_cell[j] = by_now * stay


@contracted
def read_past_back(parameters, past, mine, rows, error):  # type: ignore[no-untyped-def]
    """From the slopes by what was remembered in the end, in `error`, to those by all gates."""
    nothing = np.zeros(MEMORY, np.float32)
    by_kept, by_cell = block(mine, past.by_kept, TILE, MEMORY), block(mine, past.by_cell, TILE, MEMORY)
    for d in range(past.weight.shape[0]):
        again = block(parameters, past.again[d], GATES, MEMORY)
        clear_rows(by_cell, 0, rows)
        for r in range(rows):
            by_kept[r] = error[r, d * MEMORY : (d + 1) * MEMORY]
        for n in range(past.steps - 1, -1, -1):
            gates, bent = step_of(mine, past.gates, past, d, n, GATES), step_of(mine, past.bent, past, d, n, MEMORY)
            before = step_of(mine, past.cells, past, d, max(n - 1, 0), MEMORY)
            for r in range(rows):
                forget(gates[r], before[r] if n > 0 else nothing, bent[r], by_kept[r], by_cell[r])
            if n > 0:
                clear_rows(by_kept, 0, rows)
                add_products(by_kept, gates, again, rows, GATES)


@contracted
def weigh_past(past, seen, mine, rows, gradients, d, first, last):  # type: ignore[no-untyped-def]
    """Add a tile to the gradient of some of one direction's gates."""
    by_seen = block(gradients, past.weight[d], GATES, past.numbers)[first:last]
    by_kept = block(gradients, past.again[d], GATES, MEMORY)[first:last]
    bias = gradients[past.bias[d] + first : past.bias[d] + last]
    for n in range(past.steps):
        slopes = step_of(mine, past.gates, past, d, n, GATES)[:, first:last]
        add_products(by_seen, slopes.T, moment(past, seen, d, n), last - first, rows)
        add_rows(bias, slopes, 0, rows)
        if n > 0:
            add_products(by_kept, slopes.T, step_of(mine, past.kept, past, d, n - 1, MEMORY), last - first, rows)


# --- beliefs ----------------------------------------------------------------------------------------------------------


@contracted
def belief_errors(said, obs, weight, errors, sums):  # type: ignore[no-untyped-def]
    """Slopes by a mixture's numbers [B, C * (1 + 2 K)] of minus the log likelihood of the last K numbers of `obs`,
    times `weight`; sums: the error, and the squared distance of what is expected, over all rows. See `belief.py`."""
    numbers = (said.shape[1] // COMPONENTS - 1) // 2
    means, spreads = COMPONENTS, COMPONENTS * (1 + numbers)
    log_weight, log_p = np.zeros(COMPONENTS), np.zeros(COMPONENTS)
    for r in range(said.shape[0]):
        row, error, truth = said[r], errors[r], obs[r, obs.shape[1] - numbers :]
        for c in range(COMPONENTS):
            log_weight[c] = row[c]
        log_weight -= log_total(log_weight)
        for c in range(COMPONENTS):
            log_p[c] = log_weight[c]
            for k in range(numbers):
                log_sigma = min(max(np.float64(row[spreads + c * numbers + k]), LOG_SIGMA[0]), LOG_SIGMA[1])
                away = (np.float64(truth[k]) - np.float64(row[means + c * numbers + k])) * math.exp(-log_sigma)
                log_p[c] -= 0.5 * away * away + log_sigma + HALF_LOG_2PI
        total = log_total(log_p)
        sums[0] -= total
        for c in range(COMPONENTS):
            blame = math.exp(log_p[c] - total)
            error[c] = np.float32(weight * (math.exp(log_weight[c]) - blame))
            for k in range(numbers):
                raw = np.float64(row[spreads + c * numbers + k])
                log_sigma = min(max(raw, LOG_SIGMA[0]), LOG_SIGMA[1])
                away = (np.float64(truth[k]) - np.float64(row[means + c * numbers + k])) * math.exp(-log_sigma)
                error[means + c * numbers + k] = np.float32(-weight * blame * away * math.exp(-log_sigma))
                error[spreads + c * numbers + k] = np.float32(
                    weight * blame * (1.0 - away * away) if raw == log_sigma else 0.0
                )
        for k in range(numbers):
            expected = -np.float64(truth[k])
            for c in range(COMPONENTS):
                expected += math.exp(log_weight[c]) * np.float64(row[means + c * numbers + k])
            sums[1] += expected * expected


@contracted
def log_total(logs):  # type: ignore[no-untyped-def]
    top = logs.max()
    total = 0.0
    for c in range(logs.shape[0]):
        total += math.exp(logs[c] - top)
    return top + math.log(total)
