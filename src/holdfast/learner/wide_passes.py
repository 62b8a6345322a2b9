"""Both passes of a wide policy, tile by tile on the way there and back, then weight by weight.

On the way a tile of rows is one thread's, from what it sees to what it says, and back to the slopes by every sum; all
of it stays in the tile's scratch. Then each piece of the weights has its gradient from all tiles in order. Nothing is
summed across threads, so bytes do not depend on their number.
"""

from __future__ import annotations

import numpy as np

from holdfast.kit.compiled import contracted, contracted_parallel, prange
from holdfast.learner.fused_kernels import (
    TILE,
    ZERO,
    block,
    errors_tile,
    forward_tile,
    transpose_weights,
    weigh_layer,
)
from holdfast.learner.look_kernels import (
    FIRST,
    GATES,
    MEMORY,
    REACH,
    SECOND,
    look_round,
    look_round_back,
    read_past,
    read_past_back,
    turn_filters,
    weigh_past,
    weigh_ring,
    weigh_ring_rest,
)
from holdfast.learner.shapes import Net

# parts of a network, and pieces of work on the gradients of their weights
PLAIN, LATENT, MIXTURE, JOINT, POLICY, VALUE, PAST, RING, RING_REST = range(9)
TURNED = (JOINT, PAST, PLAIN, RING, POLICY, VALUE, LATENT, MIXTURE)  # about as much in each half


# --- there ------------------------------------------------------------------------------------------------------------


@contracted
def turn_past(parameters, past, turned):  # type: ignore[no-untyped-def]
    for d in range(past.weight.shape[0]):
        for start, inputs in ((past.weight[d], past.numbers), (past.again[d], MEMORY)):
            for i in range(inputs):
                for o in range(GATES):
                    turned[start + i * GATES + o] = parameters[start + o * inputs + i]


@contracted
def turn_part(parameters, turned, net, part):  # type: ignore[no-untyped-def]
    """Weights are stored [out, in]; the way there reads them [in, out]."""
    if part == PAST:
        turn_past(parameters, net.past, turned)
    elif part == RING:
        if net.ring.rays > 0:
            turn_filters(parameters, net.ring, turned)
    elif part == PLAIN:
        transpose_weights(parameters, net.plain, turned)
    elif part == LATENT:
        transpose_weights(parameters, net.latent, turned)
    elif part == MIXTURE:
        transpose_weights(parameters, net.mixture, turned)
    elif part == JOINT:
        transpose_weights(parameters, net.joint, turned)
    elif part == POLICY:
        transpose_weights(parameters, net.policy, turned)
    else:
        transpose_weights(parameters, net.value, turned)


@contracted
def first_of(mine, tower):  # type: ignore[no-untyped-def]
    """What goes into a tower, [TILE, inputs]."""
    return block(mine, tower.activation[0], TILE, tower.inputs[0])


@contracted
def last_of(mine, starts, tower):  # type: ignore[no-untyped-def]
    """What comes out of it, or the slopes by that, [TILE, outputs]."""
    layers = tower.inputs.shape[0]
    return block(mine, starts[layers], TILE, tower.outputs[layers - 1])


@contracted
def copy_columns(source, start, out, place, count, rows):  # type: ignore[no-untyped-def]
    for r in range(rows):
        there, here = source[r], out[r]
        for j in range(count):
            here[place + j] = there[start + j]


@contracted
def tower_there(parameters, turned, tower, mine, rows, source, start, out, place):  # type: ignore[no-untyped-def]
    """Columns of `source` through a tower, to columns of `out`."""
    copy_columns(source, start, first_of(mine, tower), 0, tower.inputs[0], rows)
    forward_tile(parameters, turned, tower, mine, rows)
    said = last_of(mine, tower.activation, tower)
    copy_columns(said, 0, out, place, said.shape[1], rows)


@contracted
def look(parameters, turned, net, seen, mine, rows):  # type: ignore[no-untyped-def]
    """All parts of a sight, side by side, through the layers they share."""
    joint = first_of(mine, net.joint)
    if net.plain.inputs.shape[0] > 0:
        tower_there(
            parameters, turned, net.plain, mine, rows, seen, net.places.plain_start, joint, net.places.plain_out
        )
    if net.ring.rays > 0:
        look_round(parameters, turned, net.ring, seen, mine, rows, joint)
    if net.past.weight.shape[0] > 0:
        ends = block(mine, net.past.ends, TILE, net.past.weight.shape[0] * MEMORY)
        read_past(parameters, turned, net.past, seen, mine, rows, ends)
        tower_there(parameters, turned, net.latent, mine, rows, ends, 0, joint, net.places.latent_out)
        if net.mixture.inputs.shape[0] > 0:
            copy_columns(ends, 0, first_of(mine, net.mixture), 0, ends.shape[1], rows)
            forward_tile(parameters, turned, net.mixture, mine, rows)
    elif net.latent.inputs.shape[0] > 0:
        tower_there(
            parameters, turned, net.latent, mine, rows, seen, net.places.latent_start, joint, net.places.latent_out
        )
    forward_tile(parameters, turned, net.joint, mine, rows)
    features = last_of(mine, net.joint.activation, net.joint)
    acting, judging = first_of(mine, net.policy), first_of(mine, net.value)
    copy_columns(features, 0, acting, 0, features.shape[1], rows)
    copy_columns(features, 0, judging, 0, features.shape[1], rows)
    copy_columns(seen, net.places.acting, judging, features.shape[1], net.places.shown - net.places.acting, rows)


@contracted
def answer_tile(parameters, turned, net, obs, horizon, mine, rows, said, values, beliefs):  # type: ignore[no-untyped-def]
    seen = block(mine, net.places.seen, TILE, net.places.shown)
    for r in range(rows):
        row, raw = seen[r], obs[r]
        for j in range(net.places.shown):
            row[j] = min(max(raw[j], -horizon), horizon)
    if net.joint.inputs.shape[0] > 0:
        look(parameters, turned, net, seen, mine, rows)
    else:
        copy_columns(seen, 0, first_of(mine, net.policy), 0, net.places.acting, rows)
        copy_columns(seen, 0, first_of(mine, net.value), 0, net.places.shown, rows)
    forward_tile(parameters, turned, net.policy, mine, rows)
    forward_tile(parameters, turned, net.value, mine, rows)
    copy_columns(last_of(mine, net.policy.activation, net.policy), 0, said, 0, said.shape[1], rows)
    copy_columns(last_of(mine, net.value.activation, net.value), 0, values, 0, 1, rows)
    if net.mixture.inputs.shape[0] > 0:
        copy_columns(last_of(mine, net.mixture.activation, net.mixture), 0, beliefs, 0, beliefs.shape[1], rows)


@contracted
def turn(  # type: ignore[no-untyped-def]
    parameters, turned, number,
    places, plain, ring, past, latent, mixture, joint, policy, value,
):  # fmt: skip
    turn_part(parameters, turned, Net(places, plain, ring, past, latent, mixture, joint, policy, value), TURNED[number])


@contracted
def answer(  # type: ignore[no-untyped-def]
    parameters, turned, rows, scratch, k,
    places, plain, ring, past, latent, mixture, joint, policy, value,
):  # fmt: skip
    net, a, b = Net(places, plain, ring, past, latent, mixture, joint, policy, value), rows.ends[k], rows.ends[k + 1]
    said = rows.said[a:b], rows.values[a:b], rows.beliefs[a:b]
    answer_tile(parameters, turned, net, rows.obs[a:b], rows.horizon, scratch[k], b - a, *said)


@contracted_parallel
def forward(  # type: ignore[no-untyped-def]
    parameters, turned, rows, scratch,
    places, plain, ring, past, latent, mixture, joint, policy, value,
):  # fmt: skip
    """What a network says about the rows of `Asked`."""
    for number in prange(len(TURNED)):
        turn(parameters, turned, np.int64(number), places, plain, ring, past, latent, mixture, joint, policy, value)
    for tile in prange(rows.ends.shape[0] - 1):
        answer(
            parameters, turned, rows, scratch, np.int64(tile),
            places, plain, ring, past, latent, mixture, joint, policy, value,
        )  # fmt: skip


# --- and back ---------------------------------------------------------------------------------------------------------


@contracted
def tower_back(parameters, tower, mine, rows, error, place, first):  # type: ignore[no-untyped-def]
    """Slopes by what a tower gave, from columns of `error`, through it."""
    own = last_of(mine, tower.error, tower)
    copy_columns(error, place, own, 0, own.shape[1], rows)
    errors_tile(parameters, tower, mine, rows, first)


@contracted
def add_first_errors(mine, tower, total, rows):  # type: ignore[no-untyped-def]
    """Slopes by what went into a tower, as far as `total` is wide, added to it."""
    error = block(mine, tower.error[0], TILE, tower.inputs[0])
    for r in range(rows):
        own, here = error[r], total[r]
        for j in range(total.shape[1]):
            here[j] += own[j]


@contracted
def look_back(parameters, turned, net, mine, rows, by_beliefs):  # type: ignore[no-untyped-def]
    features = last_of(mine, net.joint.error, net.joint)
    for r in range(rows):
        features[r, :] = ZERO
    add_first_errors(mine, net.policy, features, rows)
    add_first_errors(mine, net.value, features, rows)
    errors_tile(parameters, net.joint, mine, rows, 0)
    error = block(mine, net.joint.error[0], TILE, net.joint.inputs[0])
    if net.plain.inputs.shape[0] > 0:
        tower_back(parameters, net.plain, mine, rows, error, net.places.plain_out, 1)
    if net.ring.rays > 0:
        look_round_back(turned, net.ring, mine, rows, error)
    if net.past.weight.shape[0] > 0:
        tower_back(parameters, net.latent, mine, rows, error, net.places.latent_out, 0)
        by_ends = block(mine, net.latent.error[0], TILE, net.latent.inputs[0])
        if net.mixture.inputs.shape[0] > 0:
            tower_back(parameters, net.mixture, mine, rows, by_beliefs, 0, 0)
            add_first_errors(mine, net.mixture, by_ends, rows)
        read_past_back(parameters, net.past, mine, rows, by_ends)
    elif net.latent.inputs.shape[0] > 0:
        tower_back(parameters, net.latent, mine, rows, error, net.places.latent_out, 1)


@contracted
def slopes_tile(parameters, turned, net, mine, rows, by_said, by_values, by_beliefs):  # type: ignore[no-untyped-def]
    looks = net.joint.inputs.shape[0] > 0
    tower_back(parameters, net.policy, mine, rows, by_said, 0, 0 if looks else 1)
    tower_back(parameters, net.value, mine, rows, by_values, 0, 0 if looks else 1)
    if looks:
        look_back(parameters, turned, net, mine, rows, by_beliefs)


@contracted
def weigh_tower(tower, scratch, ends, gradients, layer, first, last):  # type: ignore[no-untyped-def]
    inputs = tower.inputs[layer]
    gradients[tower.weight[layer] + first * inputs : tower.weight[layer] + last * inputs] = ZERO
    gradients[tower.bias[layer] + first : tower.bias[layer] + last] = ZERO
    for tile in range(ends.shape[0] - 1):
        weigh_layer(tower, scratch[tile], gradients, ends[tile + 1] - ends[tile], layer, first, last)


@contracted
def weigh_direction(net, scratch, ends, gradients, d, first, last):  # type: ignore[no-untyped-def]
    past = net.past
    gradients[past.weight[d] + first * past.numbers : past.weight[d] + last * past.numbers] = ZERO
    gradients[past.again[d] + first * MEMORY : past.again[d] + last * MEMORY] = ZERO
    bias = gradients[past.bias[d] + first : past.bias[d] + last]
    bias[:] = ZERO
    for tile in range(ends.shape[0] - 1):
        seen = block(scratch[tile], net.places.seen, TILE, net.places.shown)
        weigh_past(past, seen, scratch[tile], ends[tile + 1] - ends[tile], gradients, d, first, last)
    gradients[past.bias_again[d] + first : past.bias_again[d] + last] = bias


@contracted
def weigh_tap(ring, scratch, ends, gradients, tap):  # type: ignore[no-untyped-def]
    sums = np.zeros((FIRST, SECOND), np.float32)
    for tile in range(ends.shape[0] - 1):
        weigh_ring(ring, scratch[tile], ends[tile + 1] - ends[tile], sums, tap)
    for o in range(SECOND):
        for i in range(FIRST):
            gradients[ring.second + (o * FIRST + i) * REACH + tap] = sums[i, o]


@contracted
def weigh_rest(ring, scratch, ends, gradients):  # type: ignore[no-untyped-def]
    sums = np.zeros((REACH, FIRST), np.float32)
    gradients[ring.first_bias : ring.first_bias + FIRST] = ZERO
    gradients[ring.second_bias : ring.second_bias + SECOND] = ZERO
    for tile in range(ends.shape[0] - 1):
        weigh_ring_rest(ring, scratch[tile], ends[tile + 1] - ends[tile], sums, gradients)
    for o in range(FIRST):
        for k in range(REACH):
            gradients[ring.first + o * REACH + k] = sums[k, o]


@contracted
def weigh(net, scratch, ends, gradients, job):  # type: ignore[no-untyped-def]
    """One piece of work: a part, one of its layers (or directions, or places in a filter), and some of the outputs."""
    part, number, first, last = job[0], job[1], job[2], job[3]
    if part == PAST:
        weigh_direction(net, scratch, ends, gradients, number, first, last)
    elif part == RING:
        weigh_tap(net.ring, scratch, ends, gradients, number)
    elif part == RING_REST:
        weigh_rest(net.ring, scratch, ends, gradients)
    elif part == PLAIN:
        weigh_tower(net.plain, scratch, ends, gradients, number, first, last)
    elif part == LATENT:
        weigh_tower(net.latent, scratch, ends, gradients, number, first, last)
    elif part == MIXTURE:
        weigh_tower(net.mixture, scratch, ends, gradients, number, first, last)
    elif part == JOINT:
        weigh_tower(net.joint, scratch, ends, gradients, number, first, last)
    elif part == POLICY:
        weigh_tower(net.policy, scratch, ends, gradients, number, first, last)
    else:
        weigh_tower(net.value, scratch, ends, gradients, number, first, last)


@contracted
def slopes(  # type: ignore[no-untyped-def]
    parameters, turned, rows, scratch, k,
    places, plain, ring, past, latent, mixture, joint, policy, value,
):  # fmt: skip
    net, a, b = Net(places, plain, ring, past, latent, mixture, joint, policy, value), rows.ends[k], rows.ends[k + 1]
    by = rows.said[a:b], rows.values[a:b], rows.beliefs[a:b]
    slopes_tile(parameters, turned, net, scratch[k], b - a, *by)


@contracted
def work(  # type: ignore[no-untyped-def]
    ends, scratch, gradients, jobs, first, last,
    places, plain, ring, past, latent, mixture, joint, policy, value,
):  # fmt: skip
    net = Net(places, plain, ring, past, latent, mixture, joint, policy, value)
    for number in range(first, last):
        weigh(net, scratch, ends, gradients, jobs[number])


@contracted_parallel
def backward(  # type: ignore[no-untyped-def]
    parameters, turned, rows, scratch, gradients, jobs, shifts,
    places, plain, ring, past, latent, mixture, joint, policy, value,
):  # fmt: skip
    """From slopes by what was said about the rows of the last `forward` to every parameter's gradient. Shift k has the
    jobs from shifts[k] to shifts[k + 1]."""
    for tile in prange(rows.ends.shape[0] - 1):
        slopes(
            parameters, turned, rows, scratch, np.int64(tile),
            places, plain, ring, past, latent, mixture, joint, policy, value,
        )  # fmt: skip
    for shift in prange(shifts.shape[0] - 1):
        k = np.int64(shift)
        work(
            rows.ends, scratch, gradients, jobs, shifts[k], shifts[k + 1],
            places, plain, ring, past, latent, mixture, joint, policy, value,
        )  # fmt: skip
