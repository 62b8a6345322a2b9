"""Forward and backward passes of small MLPs, tile by tile, so that a tile's activations never leave the cache.

A twin of `policy.py` and `losses.py` for the commonest case: two separate towers and one discrete choice. Weights are
read from, and gradients written to, the flat arrays of `optim.py`. Work is cut into a fixed number of chunks whose sums
are added in order, so bytes do not depend on the number of threads.

Only multiply-add contraction is allowed to the compiler: it changes no order of operations.
"""

from __future__ import annotations

import numpy as np

from holdfast.kit.compiled import contracted, contracted_inlined, contracted_parallel, prange
from holdfast.learner.engines.layout import CHUNKS, RELU, TANH, TILE
from holdfast.learner.engines.loss_kernels import policy_error, value_error
from holdfast.learner.engines.products import add_products

# tanh(x) = x P(x^2) / Q(x^2) within 3e-7 in float32, fitted by least squares on [-8, 8]; beyond, it is +-1
P0, P1 = np.float32(0.9999999914357627), np.float32(0.13120646934991056)
P2, P3 = np.float32(0.0031452355080911825), np.float32(1.159917086213013e-05)
P4, P5 = np.float32(-2.2136347597471698e-08), np.float32(6.276458485289434e-11)
P6 = np.float32(-1.1321497250451193e-13)
Q1, Q2, Q3 = np.float32(0.46453976356181104), np.float32(0.0246585420456197), np.float32(0.0002606961776969352)
EDGE, ONE, ZERO = np.float32(8.0), np.float32(1.0), np.float32(0.0)


@contracted_inlined
def tanh(number):  # type: ignore[no-untyped-def]
    """The hyperbolic tangent of a number."""
    x = min(max(number, -EDGE), EDGE)
    u = x * x
    top = ((((((P6 * u + P5) * u + P4) * u + P3) * u + P2) * u + P1) * u + P0) * x
    return top / (((Q3 * u + Q2) * u + Q1) * u + ONE)


@contracted
def activate(row, kind):  # type: ignore[no-untyped-def]
    if kind == TANH:
        for j in range(row.shape[0]):
            row[j] = tanh(row[j])
    elif kind == RELU:
        for j in range(row.shape[0]):
            row[j] = max(row[j], ZERO)


@contracted
def block(scratch, start, rows, columns):  # type: ignore[no-untyped-def]
    return scratch[start : start + rows * columns].reshape((rows, columns))


@contracted
def transpose_weights(parameters, shape, transposed):  # type: ignore[no-untyped-def]
    """Weights are stored [out, in]; the forward pass reads them [in, out]."""
    for layer in range(shape.inputs.shape[0]):
        inputs, outputs, start = shape.inputs[layer], shape.outputs[layer], shape.weight[layer]
        for i in range(inputs):
            for o in range(outputs):
                transposed[start + i * outputs + o] = parameters[start + o * inputs + i]


@contracted
def forward_tile(parameters, transposed, shape, scratch, rows):  # type: ignore[no-untyped-def]
    """Layer by layer; activation l of the tile is at shape.activation[l], the input already at shape.activation[0]."""
    for layer in range(shape.inputs.shape[0]):
        inputs, outputs = shape.inputs[layer], shape.outputs[layer]
        before = block(scratch, shape.activation[layer], TILE, inputs)
        after = block(scratch, shape.activation[layer + 1], TILE, outputs)
        weights = block(transposed, shape.weight[layer], inputs, outputs)
        bias = parameters[shape.bias[layer] : shape.bias[layer] + outputs]
        for r in range(rows):
            row = after[r]
            for j in range(outputs):
                row[j] = bias[j]
        add_products(after, before, weights, rows, inputs)
        for r in range(rows):
            activate(after[r], shape.kinds[layer])


@contracted
def activation_gradient(row, activation, kind):  # type: ignore[no-untyped-def]
    """Multiply a gradient by the derivative of the activation, computed from its outputs."""
    if kind == TANH:
        for j in range(row.shape[0]):
            row[j] *= ONE - activation[j] * activation[j]
    elif kind == RELU:
        for j in range(row.shape[0]):
            row[j] = row[j] if activation[j] > ZERO else ZERO


@contracted
def errors_tile(parameters, shape, scratch, rows, first):  # type: ignore[no-untyped-def]
    """Backpropagate from the gradients with respect to the last layer's outputs, at shape.error[layers], to those of
    every layer before it; `first` 0: also to the inputs of the first layer."""
    for layer in range(shape.inputs.shape[0] - 1, -1, -1):
        inputs, outputs = shape.inputs[layer], shape.outputs[layer]
        error = block(scratch, shape.error[layer + 1], TILE, outputs)
        after = block(scratch, shape.activation[layer + 1], TILE, outputs)
        for r in range(rows):
            activation_gradient(error[r], after[r], shape.kinds[layer])
        if layer >= first:
            earlier = block(scratch, shape.error[layer], TILE, inputs)
            for r in range(rows):
                row = earlier[r]
                for j in range(inputs):
                    row[j] = ZERO
            add_products(earlier, error, block(parameters, shape.weight[layer], outputs, inputs), rows, outputs)


@contracted
def layer_gradient(shape, scratch, gradients, rows, layer, first, last):  # type: ignore[no-untyped-def]
    """Add a tile to the gradient of some of a layer's outputs: their weights and biases."""
    inputs, outputs = shape.inputs[layer], shape.outputs[layer]
    before = block(scratch, shape.activation[layer], TILE, inputs)
    error = block(scratch, shape.error[layer + 1], TILE, outputs)[:, first:last]
    own = block(gradients, shape.weight[layer], outputs, inputs)[first:last]
    add_products(own, error.T, before, last - first, rows)
    bias = gradients[shape.bias[layer] + first : shape.bias[layer] + last]
    for r in range(rows):
        row = error[r]
        for j in range(last - first):
            bias[j] += row[j]


@contracted
def backward_tile(parameters, shape, scratch, gradients, rows):  # type: ignore[no-untyped-def]
    """Backpropagate from the last layer's outputs to the gradient of every weight and bias."""
    errors_tile(parameters, shape, scratch, rows, 1)
    for layer in range(shape.inputs.shape[0]):
        layer_gradient(shape, scratch, gradients, rows, layer, 0, shape.outputs[layer])


@contracted
def load_tile(obs, start, rows, horizon, scratch, tower):  # type: ignore[no-untyped-def]
    """Load the first numbers of each row, as many as the tower takes: not all are for the acting one."""
    loaded = block(scratch, tower.activation[0], TILE, tower.inputs[0])
    for r in range(rows):
        row, raw = loaded[r], obs[start + r]
        for j in range(row.shape[0]):
            row[j] = min(max(raw[j], -horizon), horizon)


@contracted
def forward_rows(parameters, policy, value, obs, horizon, transposed, mine, tile, logits, values):  # type: ignore[no-untyped-def]
    start = tile * TILE
    count = min(TILE, obs.shape[0] - start)
    load_tile(obs, start, count, horizon, mine, policy)
    forward_tile(parameters, transposed, policy, mine, count)
    found = block(mine, policy.activation[policy.inputs.shape[0]], TILE, logits.shape[1])
    for r in range(count):
        for j in range(logits.shape[1]):
            logits[start + r, j] = found[r, j]
    load_tile(obs, start, count, horizon, mine, value)
    forward_tile(parameters, transposed, value, mine, count)
    worth = block(mine, value.activation[value.inputs.shape[0]], TILE, 1)
    for r in range(count):
        values[start + r] = worth[r, 0]


@contracted_parallel
def forward(parameters, policy, value, obs, horizon, transposed, scratch, logits, values):  # type: ignore[no-untyped-def]
    """Outputs of both towers for rows [B, D]; `scratch` has one row per tile."""
    transpose_weights(parameters, policy, transposed)
    transpose_weights(parameters, value, transposed)
    for tile in prange(scratch.shape[0]):
        n = np.int64(tile)
        forward_rows(parameters, policy, value, obs, horizon, transposed, scratch[n], n, logits, values)


@contracted
def policy_tile(parameters, policy, part, knobs, transposed, mine, own, sums, start, size):  # type: ignore[no-untyped-def]
    load_tile(part.obs, start, size, knobs.horizon, mine, policy)
    forward_tile(parameters, transposed, policy, mine, size)
    layers = policy.inputs.shape[0]
    logits = block(mine, policy.activation[layers], TILE, policy.outputs[layers - 1])
    error = block(mine, policy.error[layers], TILE, policy.outputs[layers - 1])
    for r in range(size):
        row = start + r
        advantage = np.float64(part.advantage[row])
        policy_error(logits[r], part.actions[row], part.log_prob[row], advantage, knobs.share, knobs, error[r], sums)
    backward_tile(parameters, policy, mine, own, size)


@contracted
def value_tile(parameters, value, part, knobs, transposed, mine, own, sums, start, size):  # type: ignore[no-untyped-def]
    load_tile(part.obs, start, size, knobs.horizon, mine, value)
    forward_tile(parameters, transposed, value, mine, size)
    layers = value.inputs.shape[0]
    worth = block(mine, value.activation[layers], TILE, 1)
    miss = block(mine, value.error[layers], TILE, 1)
    for r in range(size):
        row = start + r
        miss[r, 0] = value_error(worth[r, 0], part.target[row], part.old_value[row], knobs.share, knobs, sums)
    backward_tile(parameters, value, mine, own, size)


@contracted
def gradient_of_chunk(parameters, policy, value, part, knobs, transposed, mine, own, sums, chunk):  # type: ignore[no-untyped-def]
    own[:] = ZERO
    sums[:] = 0.0
    rows = part.obs.shape[0]
    last = rows * (chunk + 1) // CHUNKS
    for start in range(rows * chunk // CHUNKS, last, TILE):
        size = min(TILE, last - start)
        policy_tile(parameters, policy, part, knobs, transposed, mine, own, sums, start, size)
        value_tile(parameters, value, part, knobs, transposed, mine, own, sums, start, size)


@contracted_parallel
def gradient(parameters, policy, value, part, knobs, transposed, scratch, pieces, sums):  # type: ignore[no-untyped-def]
    """Fill each chunk's gradient and sums from its rows of the minibatch; the caller adds them up in order."""
    transpose_weights(parameters, policy, transposed)
    transpose_weights(parameters, value, transposed)
    for chunk in prange(CHUNKS):
        n = np.int64(chunk)
        gradient_of_chunk(parameters, policy, value, part, knobs, transposed, scratch[n], pieces[n], sums[n], n)


@contracted
def add_pieces(pieces, gradients):  # type: ignore[no-untyped-def]
    """The chunks' gradients added in a fixed order."""
    gradients[:] = pieces[0]
    for chunk in range(1, pieces.shape[0]):
        piece = pieces[chunk]
        for p in range(gradients.shape[0]):
            gradients[p] += piece[p]
