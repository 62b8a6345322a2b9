"""Forward and backward passes of the lidar's and the history's encoders, for a tile of rows: `parts_encoder.py` by
products.

A ring is hidden as [rows, rays + 4, filters], its ends repeated, so that what a filter sees is one piece of memory and
a convolution one product over all rays of all rows: the four places of a row that lie across its end compute something
that is never read, and have gradients of 0. A history is read step by step; all gates are kept, and become their own
gradients in the backward pass.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from holdfast.kit.compiled import contracted, contracted_inlined
from holdfast.learner.engines.fused_kernels import ONE, ZERO, block, tanh
from holdfast.learner.engines.layout import TILE
from holdfast.learner.engines.products import add_products
from holdfast.learner.parts_encoder import COMPONENTS, HALF_LOG_2PI, LOG_SIGMA, MEMORY, REACH, RINGS, SECTORS

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
    """The rays of one part of a ring, as torch's adaptive pooling divides it."""
    return number * rays // SECTORS, -(-(number + 1) * rays // SECTORS)


@contracted
def transpose_filters(parameters, ring, transposed):  # type: ignore[no-untyped-def]
    """[out, in, reach] as products read them: [reach, in, out] in the forward pass, [reach reversed, out, in] in the
    backward pass."""
    first, second = block(transposed, ring.first, REACH, FIRST), block(transposed, ring.second, REACH * FIRST, SECOND)
    back = block(transposed, ring.back, REACH * SECOND, FIRST)
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
    """A tile's rings: rays with their ends repeated, outputs of both filters, and gradients of the first ones."""
    places = TILE * (ring.rays + EDGES)
    padded = block(mine, ring.padded, TILE, ring.rays + 2 * EDGES)
    one, two = block(mine, ring.one, places + EDGES, FIRST), block(mine, ring.two, places + EDGES, SECOND)
    return padded, one, two, block(mine, ring.by_one, places, FIRST)


@contracted
def ring_forward(parameters, transposed, ring, obs, mine, rows, out):  # type: ignore[no-untyped-def]
    """From the rays in `obs` [TILE, numbers] to averages over sectors in `out` [TILE, numbers]."""
    padded, one, two, _ = rings_of(ring, mine)
    span, places = ring.rays + EDGES, rows * (ring.rays + EDGES)
    first = block(transposed, ring.first, REACH, FIRST)
    for r in range(rows):
        row, raw = padded[r], obs[r]
        for j in range(row.shape[0]):
            row[j] = raw[ring.start + (j - EDGES) % ring.rays]
        own = one[r * span : (r + 1) * span]
        fill_rows(own, span, parameters[ring.first_bias : ring.first_bias + FIRST])
        add_products(own, as_strided(row, (span, REACH), (SIZE, SIZE)), first, span, REACH)
        for q in range(span):
            for j in range(FIRST):
                own[q, j] = max(own[q, j], ZERO)
    clear_rows(one, places, places + EDGES)
    second = two[EDGES:]
    fill_rows(second, places, parameters[ring.second_bias : ring.second_bias + SECOND])
    around = as_strided(one, (places, REACH * FIRST), (FIRST * SIZE, SIZE))
    add_products(second, around, block(transposed, ring.second, REACH * FIRST, SECOND), places, REACH * FIRST)
    for r in range(rows):
        average_sectors(second[r * span : r * span + ring.rays], out[r, ring.out : ring.out + SECTORS * SECOND])


@contracted
def average_sectors(second, out):  # type: ignore[no-untyped-def]
    """Averages of what is above 0; `second` [rays, SECOND] is clipped at 0 in place."""
    rays = second.shape[0]
    for p in range(rays):
        row = second[p]
        for j in range(SECOND):
            row[j] = max(row[j], ZERO)
    means = np.zeros(SECOND, np.float32)
    for number in range(SECTORS):
        start, end = sector(rays, number)
        means[:] = ZERO
        add_rows(means, second, start, end)
        share = ONE / np.float32(end - start)
        for j in range(SECOND):
            out[j * SECTORS + number] = means[j] * share


@contracted
def ring_backward(transposed, ring, mine, rows, error):  # type: ignore[no-untyped-def]
    """Backpropagate from the averages, `error` [TILE, numbers], to both filters' sums."""
    _, one, two, by_one = rings_of(ring, mine)
    span, places = ring.rays + EDGES, rows * (ring.rays + EDGES)
    for r in range(rows):
        clear_rows(two, r * span, r * span + EDGES)
        own = two[r * span + EDGES : (r + 1) * span]
        share_sectors(own, error[r, ring.out : ring.out + SECTORS * SECOND])
    clear_rows(two, places, places + EDGES)
    clear_rows(by_one, 0, places)
    around = as_strided(two, (places, REACH * SECOND), (SECOND * SIZE, SIZE))
    add_products(by_one, around, block(transposed, ring.back, REACH * SECOND, FIRST), places, REACH * SECOND)
    for q in range(places):
        row, first = by_one[q], one[q]
        for j in range(FIRST):
            row[j] = row[j] if first[j] > ZERO else ZERO


@contracted
def share_sectors(second, error):  # type: ignore[no-untyped-def]
    """Replace what was above 0 by its gradient, from those of its sectors; where sectors overlap, from both."""
    rays = second.shape[0]
    errors = np.zeros((SECTORS, SECOND), np.float32)
    for number in range(SECTORS):
        start, end = sector(rays, number)
        for j in range(SECOND):
            errors[number, j] = error[j * SECTORS + number] / np.float32(end - start)
    for p in range(rays):
        row = second[p]
        total = np.zeros(SECOND, np.float32)
        for number in range(SECTORS):
            start, end = sector(rays, number)
            if start <= p < end:
                add_rows(total, errors, number, number + 1)
        for j in range(SECOND):
            row[j] = total[j] if row[j] > ZERO else ZERO


@contracted
def filter_gradient(ring, mine, rows, sums, tap):  # type: ignore[no-untyped-def]
    """Add a tile to the gradient of the second filters' weights at one place of their reach: sums [FIRST, SECOND]."""
    _, one, two, _ = rings_of(ring, mine)
    places = rows * (ring.rays + EDGES)
    add_products(sums, one[tap : tap + places].T, two[EDGES:], FIRST, places)


@contracted
def other_filters_gradient(ring, mine, rows, sums, gradients):  # type: ignore[no-untyped-def]
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
def step_of(mine, start, history, direction, step, width):  # type: ignore[no-untyped-def]
    """A tile's numbers of one step of one direction, [TILE, width]."""
    return block(mine, start + (direction * history.steps + step) * TILE * width, TILE, width)


@contracted
def step_inputs(history, obs, direction, step):  # type: ignore[no-untyped-def]
    """The vectors that a direction reads at a step: the first reads the oldest first, the second the newest."""
    number = step if direction == 0 else history.steps - 1 - step
    start = history.start + number * history.numbers
    return obs[:, start : start + history.numbers]


@contracted_inlined
def sigmoid(number):  # type: ignore[no-untyped-def]
    """The logistic function of a number."""
    return HALF * tanh(HALF * number) + HALF


@contracted
def lstm_cell(gates, before, cell, squashed, hidden):  # type: ignore[no-untyped-def]
    """One row of a long short-term memory (Hochreiter and Schmidhuber 1997); gates are replaced by their outputs."""
    for j in range(MEMORY):
        gates[j] = sigmoid(gates[j])
        gates[MEMORY + j] = sigmoid(gates[MEMORY + j])
        gates[2 * MEMORY + j] = tanh(gates[2 * MEMORY + j])
        gates[3 * MEMORY + j] = sigmoid(gates[3 * MEMORY + j])
        cell[j] = gates[MEMORY + j] * before[j] + gates[j] * gates[2 * MEMORY + j]
        squashed[j] = tanh(cell[j])
        hidden[j] = gates[3 * MEMORY + j] * squashed[j]


@contracted
def history_forward(parameters, transposed, history, obs, mine, rows, ends):  # type: ignore[no-untyped-def]
    """From the vectors in `obs` [TILE, numbers] to the final hidden state of each direction, [TILE, M each]."""
    nothing = np.zeros(MEMORY, np.float32)
    bias = np.empty(GATES, np.float32)
    for d in range(history.weight_ih.shape[0]):
        by_input, by_hidden = (
            block(transposed, history.weight_ih[d], history.numbers, GATES),
            block(transposed, history.weight_hh[d], MEMORY, GATES),
        )
        for j in range(GATES):
            bias[j] = parameters[history.bias_ih[d] + j] + parameters[history.bias_hh[d] + j]
        for n in range(history.steps):
            gates = step_of(mine, history.gates, history, d, n, GATES)
            cell, squashed = (
                step_of(mine, history.cells, history, d, n, MEMORY),
                step_of(mine, history.squashed, history, d, n, MEMORY),
            )
            hidden, last = step_of(mine, history.hidden, history, d, n, MEMORY), max(n - 1, 0)
            fill_rows(gates, rows, bias)
            add_products(gates, step_inputs(history, obs, d, n), by_input, rows, history.numbers)
            if n > 0:
                add_products(gates, step_of(mine, history.hidden, history, d, last, MEMORY), by_hidden, rows, MEMORY)
            before = step_of(mine, history.cells, history, d, last, MEMORY)
            for r in range(rows):
                lstm_cell(gates[r], before[r] if n > 0 else nothing, cell[r], squashed[r], hidden[r])
        final = step_of(mine, history.hidden, history, d, history.steps - 1, MEMORY)
        for r in range(rows):
            ends[r, d * MEMORY : (d + 1) * MEMORY] = final[r]


@contracted
def lstm_cell_backward(gates, before, squashed, by_hidden, by_cell):  # type: ignore[no-untyped-def]
    """One row of the backward pass: gates are replaced by the gradients with respect to their sums."""
    for j in range(MEMORY):
        enter, leave = gates[j], gates[3 * MEMORY + j]
        stay, new = gates[MEMORY + j], gates[2 * MEMORY + j]
        by_now = by_cell[j] + by_hidden[j] * leave * (ONE - squashed[j] * squashed[j])
        gates[j] = by_now * new * enter * (ONE - enter)
        gates[MEMORY + j] = by_now * before[j] * stay * (ONE - stay)
        gates[2 * MEMORY + j] = by_now * enter * (ONE - new * new)
        gates[3 * MEMORY + j] = by_hidden[j] * squashed[j] * leave * (ONE - leave)
        by_cell[j] = by_now * stay


@contracted
def history_backward(parameters, history, mine, rows, error):  # type: ignore[no-untyped-def]
    """Backpropagate from the final hidden states, `error`, to all gates."""
    nothing = np.zeros(MEMORY, np.float32)
    by_hidden, by_cell = block(mine, history.by_hidden, TILE, MEMORY), block(mine, history.by_cell, TILE, MEMORY)
    for d in range(history.weight_ih.shape[0]):
        weight_hh = block(parameters, history.weight_hh[d], GATES, MEMORY)
        clear_rows(by_cell, 0, rows)
        for r in range(rows):
            by_hidden[r] = error[r, d * MEMORY : (d + 1) * MEMORY]
        for n in range(history.steps - 1, -1, -1):
            gates, squashed = (
                step_of(mine, history.gates, history, d, n, GATES),
                step_of(mine, history.squashed, history, d, n, MEMORY),
            )
            before = step_of(mine, history.cells, history, d, max(n - 1, 0), MEMORY)
            for r in range(rows):
                lstm_cell_backward(gates[r], before[r] if n > 0 else nothing, squashed[r], by_hidden[r], by_cell[r])
            if n > 0:
                clear_rows(by_hidden, 0, rows)
                add_products(by_hidden, gates, weight_hh, rows, GATES)


@contracted
def history_gradient(history, obs, mine, rows, gradients, d, first, last):  # type: ignore[no-untyped-def]
    """Add a tile to the gradient of some of one direction's gates."""
    by_input = block(gradients, history.weight_ih[d], GATES, history.numbers)[first:last]
    by_hidden = block(gradients, history.weight_hh[d], GATES, MEMORY)[first:last]
    bias = gradients[history.bias_ih[d] + first : history.bias_ih[d] + last]
    for n in range(history.steps):
        errors = step_of(mine, history.gates, history, d, n, GATES)[:, first:last]
        add_products(by_input, errors.T, step_inputs(history, obs, d, n), last - first, rows)
        add_rows(bias, errors, 0, rows)
        if n > 0:
            add_products(
                by_hidden, errors.T, step_of(mine, history.hidden, history, d, n - 1, MEMORY), last - first, rows
            )


# --- beliefs ----------------------------------------------------------------------------------------------------------


@contracted
def belief_errors(outputs, obs, weight, errors, sums):  # type: ignore[no-untyped-def]
    """Gradients with respect to a mixture's numbers [B, C * (1 + 2 K)] of minus the log likelihood of the last K
    numbers of `obs`, times `weight`; sums: the error, and the squared distance of the mixture's mean, over all rows."""
    numbers = (outputs.shape[1] // COMPONENTS - 1) // 2
    means, spreads = COMPONENTS, COMPONENTS * (1 + numbers)
    log_weight, log_p = np.zeros(COMPONENTS), np.zeros(COMPONENTS)
    for r in range(outputs.shape[0]):
        row, error, truth = outputs[r], errors[r], obs[r, obs.shape[1] - numbers :]
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
