"""Forward and backward passes of a wide policy, tile by tile, then its gradient, weight by weight.

One thread takes a tile of rows from observations to outputs, and back to the gradient with respect to every layer's
sums; all of it stays in the tile's scratch. Then each piece of the weights gets its gradient from all tiles in order.
Nothing is summed across threads, so bytes do not depend on their number.
"""

from __future__ import annotations

import numpy as np

from holdfast.kit.compiled import contracted, contracted_parallel, prange
from holdfast.learner.engines.fused_kernels import (
    ZERO,
    block,
    errors_tile,
    forward_tile,
    layer_gradient,
    transpose_weights,
)
from holdfast.learner.engines.layout import TILE, Net
from holdfast.learner.engines.parts_kernels import (
    FIRST,
    GATES,
    MEMORY,
    REACH,
    SECOND,
    filter_gradient,
    history_backward,
    history_forward,
    history_gradient,
    other_filters_gradient,
    ring_backward,
    ring_forward,
    transpose_filters,
)

# parts of a network, and pieces of work on the gradients of their weights
PLAIN, LATENT, MIXTURE, JOINT, POLICY, VALUE, HISTORY, RING, RING_REST = range(9)
TRANSPOSED = (JOINT, HISTORY, PLAIN, RING, POLICY, VALUE, LATENT, MIXTURE)  # about as much in each half


# --- forward ----------------------------------------------------------------------------------------------------------


@contracted
def transpose_history(parameters, history, transposed):  # type: ignore[no-untyped-def]
    for d in range(history.weight_ih.shape[0]):
        for start, inputs in ((history.weight_ih[d], history.numbers), (history.weight_hh[d], MEMORY)):
            for i in range(inputs):
                for o in range(GATES):
                    transposed[start + i * GATES + o] = parameters[start + o * inputs + i]


@contracted
def transpose_part(parameters, transposed, net, part):  # type: ignore[no-untyped-def]
    """Weights are stored [out, in]; the forward pass reads them [in, out]."""
    if part == HISTORY:
        transpose_history(parameters, net.history, transposed)
    elif part == RING:
        if net.ring.rays > 0:
            transpose_filters(parameters, net.ring, transposed)
    elif part == PLAIN:
        transpose_weights(parameters, net.plain, transposed)
    elif part == LATENT:
        transpose_weights(parameters, net.latent, transposed)
    elif part == MIXTURE:
        transpose_weights(parameters, net.mixture, transposed)
    elif part == JOINT:
        transpose_weights(parameters, net.joint, transposed)
    elif part == POLICY:
        transpose_weights(parameters, net.policy, transposed)
    else:
        transpose_weights(parameters, net.value, transposed)


@contracted
def first_of(mine, tower):  # type: ignore[no-untyped-def]
    """Inputs of a tower, [TILE, inputs]."""
    return block(mine, tower.activation[0], TILE, tower.inputs[0])


@contracted
def last_of(mine, starts, tower):  # type: ignore[no-untyped-def]
    """Its outputs, or the gradients with respect to them, [TILE, outputs]."""
    layers = tower.inputs.shape[0]
    return block(mine, starts[layers], TILE, tower.outputs[layers - 1])


@contracted
def copy_columns(source, start, out, place, count, rows):  # type: ignore[no-untyped-def]
    for r in range(rows):
        there, here = source[r], out[r]
        for j in range(count):
            here[place + j] = there[start + j]


@contracted
def tower_forward(parameters, transposed, tower, mine, rows, source, start, out, place):  # type: ignore[no-untyped-def]
    """Columns of `source` through a tower, to columns of `out`."""
    copy_columns(source, start, first_of(mine, tower), 0, tower.inputs[0], rows)
    forward_tile(parameters, transposed, tower, mine, rows)
    outputs = last_of(mine, tower.activation, tower)
    copy_columns(outputs, 0, out, place, outputs.shape[1], rows)


@contracted
def parts_forward(parameters, transposed, net, obs, mine, rows):  # type: ignore[no-untyped-def]
    """Encode all parts of an observation, side by side, then through the layers they share."""
    joint = first_of(mine, net.joint)
    if net.plain.inputs.shape[0] > 0:
        tower_forward(
            parameters, transposed, net.plain, mine, rows, obs, net.places.plain_start, joint, net.places.plain_out
        )
    if net.ring.rays > 0:
        ring_forward(parameters, transposed, net.ring, obs, mine, rows, joint)
    if net.history.weight_ih.shape[0] > 0:
        ends = block(mine, net.history.ends, TILE, net.history.weight_ih.shape[0] * MEMORY)
        history_forward(parameters, transposed, net.history, obs, mine, rows, ends)
        tower_forward(parameters, transposed, net.latent, mine, rows, ends, 0, joint, net.places.latent_out)
        if net.mixture.inputs.shape[0] > 0:
            copy_columns(ends, 0, first_of(mine, net.mixture), 0, ends.shape[1], rows)
            forward_tile(parameters, transposed, net.mixture, mine, rows)
    elif net.latent.inputs.shape[0] > 0:
        tower_forward(
            parameters, transposed, net.latent, mine, rows, obs, net.places.latent_start, joint, net.places.latent_out
        )
    forward_tile(parameters, transposed, net.joint, mine, rows)
    features = last_of(mine, net.joint.activation, net.joint)
    acting, judging = first_of(mine, net.policy), first_of(mine, net.value)
    copy_columns(features, 0, acting, 0, features.shape[1], rows)
    copy_columns(features, 0, judging, 0, features.shape[1], rows)
    copy_columns(obs, net.places.acting, judging, features.shape[1], net.places.judged - net.places.acting, rows)


@contracted
def forward_all(parameters, transposed, net, raw, horizon, mine, rows, actions, values, beliefs):  # type: ignore[no-untyped-def]
    obs = block(mine, net.places.obs, TILE, net.places.judged)
    for r in range(rows):
        row, given = obs[r], raw[r]
        for j in range(net.places.judged):
            row[j] = min(max(given[j], -horizon), horizon)
    if net.joint.inputs.shape[0] > 0:
        parts_forward(parameters, transposed, net, obs, mine, rows)
    else:
        copy_columns(obs, 0, first_of(mine, net.policy), 0, net.places.acting, rows)
        copy_columns(obs, 0, first_of(mine, net.value), 0, net.places.judged, rows)
    forward_tile(parameters, transposed, net.policy, mine, rows)
    forward_tile(parameters, transposed, net.value, mine, rows)
    copy_columns(last_of(mine, net.policy.activation, net.policy), 0, actions, 0, actions.shape[1], rows)
    copy_columns(last_of(mine, net.value.activation, net.value), 0, values, 0, 1, rows)
    if net.mixture.inputs.shape[0] > 0:
        copy_columns(last_of(mine, net.mixture.activation, net.mixture), 0, beliefs, 0, beliefs.shape[1], rows)


@contracted
def transpose(  # type: ignore[no-untyped-def]
    parameters, transposed, number,
    places, plain, ring, history, latent, mixture, joint, policy, value,
):  # fmt: skip
    transpose_part(
        parameters,
        transposed,
        Net(places, plain, ring, history, latent, mixture, joint, policy, value),
        TRANSPOSED[number],
    )


@contracted
def tile_forward(  # type: ignore[no-untyped-def]
    parameters, transposed, rows, scratch, k,
    places, plain, ring, history, latent, mixture, joint, policy, value,
):  # fmt: skip
    net, a, b = Net(places, plain, ring, history, latent, mixture, joint, policy, value), rows.ends[k], rows.ends[k + 1]
    outputs = rows.actions[a:b], rows.values[a:b], rows.beliefs[a:b]
    forward_all(parameters, transposed, net, rows.obs[a:b], rows.horizon, scratch[k], b - a, *outputs)


@contracted_parallel
def forward(  # type: ignore[no-untyped-def]
    parameters, transposed, rows, scratch,
    places, plain, ring, history, latent, mixture, joint, policy, value,
):  # fmt: skip
    """Fill in a network's outputs for the rows of `Asked`."""
    for number in prange(len(TRANSPOSED)):
        transpose(
            parameters,
            transposed,
            np.int64(number),
            places,
            plain,
            ring,
            history,
            latent,
            mixture,
            joint,
            policy,
            value,
        )
    for tile in prange(rows.ends.shape[0] - 1):
        tile_forward(
            parameters, transposed, rows, scratch, np.int64(tile),
            places, plain, ring, history, latent, mixture, joint, policy, value,
        )  # fmt: skip


# --- backward ---------------------------------------------------------------------------------------------------------


@contracted
def tower_backward(parameters, tower, mine, rows, error, place, first):  # type: ignore[no-untyped-def]
    """Backpropagate columns of `error`, the gradients with respect to a tower's outputs, through it."""
    own = last_of(mine, tower.error, tower)
    copy_columns(error, place, own, 0, own.shape[1], rows)
    errors_tile(parameters, tower, mine, rows, first)


@contracted
def add_first_errors(mine, tower, total, rows):  # type: ignore[no-untyped-def]
    """Add the gradients with respect to a tower's inputs, as far as `total` is wide, to it."""
    error = block(mine, tower.error[0], TILE, tower.inputs[0])
    for r in range(rows):
        own, here = error[r], total[r]
        for j in range(total.shape[1]):
            here[j] += own[j]


@contracted
def parts_backward(parameters, transposed, net, mine, rows, by_beliefs):  # type: ignore[no-untyped-def]
    features = last_of(mine, net.joint.error, net.joint)
    for r in range(rows):
        features[r, :] = ZERO
    add_first_errors(mine, net.policy, features, rows)
    add_first_errors(mine, net.value, features, rows)
    errors_tile(parameters, net.joint, mine, rows, 0)
    error = block(mine, net.joint.error[0], TILE, net.joint.inputs[0])
    if net.plain.inputs.shape[0] > 0:
        tower_backward(parameters, net.plain, mine, rows, error, net.places.plain_out, 1)
    if net.ring.rays > 0:
        ring_backward(transposed, net.ring, mine, rows, error)
    if net.history.weight_ih.shape[0] > 0:
        tower_backward(parameters, net.latent, mine, rows, error, net.places.latent_out, 0)
        by_ends = block(mine, net.latent.error[0], TILE, net.latent.inputs[0])
        if net.mixture.inputs.shape[0] > 0:
            tower_backward(parameters, net.mixture, mine, rows, by_beliefs, 0, 0)
            add_first_errors(mine, net.mixture, by_ends, rows)
        history_backward(parameters, net.history, mine, rows, by_ends)
    elif net.latent.inputs.shape[0] > 0:
        tower_backward(parameters, net.latent, mine, rows, error, net.places.latent_out, 1)


@contracted
def backward_all(parameters, transposed, net, mine, rows, by_actions, by_values, by_beliefs):  # type: ignore[no-untyped-def]
    encodes = net.joint.inputs.shape[0] > 0
    tower_backward(parameters, net.policy, mine, rows, by_actions, 0, 0 if encodes else 1)
    tower_backward(parameters, net.value, mine, rows, by_values, 0, 0 if encodes else 1)
    if encodes:
        parts_backward(parameters, transposed, net, mine, rows, by_beliefs)


@contracted
def tower_gradient(tower, scratch, ends, gradients, layer, first, last):  # type: ignore[no-untyped-def]
    inputs = tower.inputs[layer]
    gradients[tower.weight[layer] + first * inputs : tower.weight[layer] + last * inputs] = ZERO
    gradients[tower.bias[layer] + first : tower.bias[layer] + last] = ZERO
    for tile in range(ends.shape[0] - 1):
        layer_gradient(tower, scratch[tile], gradients, ends[tile + 1] - ends[tile], layer, first, last)


@contracted
def direction_gradient(net, scratch, ends, gradients, d, first, last):  # type: ignore[no-untyped-def]
    history = net.history
    gradients[history.weight_ih[d] + first * history.numbers : history.weight_ih[d] + last * history.numbers] = ZERO
    gradients[history.weight_hh[d] + first * MEMORY : history.weight_hh[d] + last * MEMORY] = ZERO
    bias = gradients[history.bias_ih[d] + first : history.bias_ih[d] + last]
    bias[:] = ZERO
    for tile in range(ends.shape[0] - 1):
        obs = block(scratch[tile], net.places.obs, TILE, net.places.judged)
        history_gradient(history, obs, scratch[tile], ends[tile + 1] - ends[tile], gradients, d, first, last)
    gradients[history.bias_hh[d] + first : history.bias_hh[d] + last] = bias


@contracted
def tap_gradient(ring, scratch, ends, gradients, tap):  # type: ignore[no-untyped-def]
    sums = np.zeros((FIRST, SECOND), np.float32)
    for tile in range(ends.shape[0] - 1):
        filter_gradient(ring, scratch[tile], ends[tile + 1] - ends[tile], sums, tap)
    for o in range(SECOND):
        for i in range(FIRST):
            gradients[ring.second + (o * FIRST + i) * REACH + tap] = sums[i, o]


@contracted
def ring_rest_gradient(ring, scratch, ends, gradients):  # type: ignore[no-untyped-def]
    sums = np.zeros((REACH, FIRST), np.float32)
    gradients[ring.first_bias : ring.first_bias + FIRST] = ZERO
    gradients[ring.second_bias : ring.second_bias + SECOND] = ZERO
    for tile in range(ends.shape[0] - 1):
        other_filters_gradient(ring, scratch[tile], ends[tile + 1] - ends[tile], sums, gradients)
    for o in range(FIRST):
        for k in range(REACH):
            gradients[ring.first + o * REACH + k] = sums[k, o]


@contracted
def job_gradient(net, scratch, ends, gradients, job):  # type: ignore[no-untyped-def]
    """One piece of work: a part, one of its layers (or directions, or places in a filter), and some of the outputs."""
    part, number, first, last = job[0], job[1], job[2], job[3]
    if part == HISTORY:
        direction_gradient(net, scratch, ends, gradients, number, first, last)
    elif part == RING:
        tap_gradient(net.ring, scratch, ends, gradients, number)
    elif part == RING_REST:
        ring_rest_gradient(net.ring, scratch, ends, gradients)
    elif part == PLAIN:
        tower_gradient(net.plain, scratch, ends, gradients, number, first, last)
    elif part == LATENT:
        tower_gradient(net.latent, scratch, ends, gradients, number, first, last)
    elif part == MIXTURE:
        tower_gradient(net.mixture, scratch, ends, gradients, number, first, last)
    elif part == JOINT:
        tower_gradient(net.joint, scratch, ends, gradients, number, first, last)
    elif part == POLICY:
        tower_gradient(net.policy, scratch, ends, gradients, number, first, last)
    else:
        tower_gradient(net.value, scratch, ends, gradients, number, first, last)


@contracted
def tile_backward(  # type: ignore[no-untyped-def]
    parameters, transposed, rows, scratch, k,
    places, plain, ring, history, latent, mixture, joint, policy, value,
):  # fmt: skip
    net, a, b = Net(places, plain, ring, history, latent, mixture, joint, policy, value), rows.ends[k], rows.ends[k + 1]
    by = rows.actions[a:b], rows.values[a:b], rows.beliefs[a:b]
    backward_all(parameters, transposed, net, scratch[k], b - a, *by)


@contracted
def do_jobs(  # type: ignore[no-untyped-def]
    ends, scratch, gradients, jobs, first, last,
    places, plain, ring, history, latent, mixture, joint, policy, value,
):  # fmt: skip
    net = Net(places, plain, ring, history, latent, mixture, joint, policy, value)
    for number in range(first, last):
        job_gradient(net, scratch, ends, gradients, jobs[number])


@contracted_parallel
def backward(  # type: ignore[no-untyped-def]
    parameters, transposed, rows, scratch, gradients, jobs, shifts,
    places, plain, ring, history, latent, mixture, joint, policy, value,
):  # fmt: skip
    """From the gradients with respect to the outputs of the last `forward` to that of every parameter. Shift k has the
    jobs from shifts[k] to shifts[k + 1]."""
    for tile in prange(rows.ends.shape[0] - 1):
        tile_backward(
            parameters, transposed, rows, scratch, np.int64(tile),
            places, plain, ring, history, latent, mixture, joint, policy, value,
        )  # fmt: skip
    for shift in prange(shifts.shape[0] - 1):
        k = np.int64(shift)
        do_jobs(
            rows.ends, scratch, gradients, jobs, shifts[k], shifts[k + 1],
            places, plain, ring, history, latent, mixture, joint, policy, value,
        )  # fmt: skip
