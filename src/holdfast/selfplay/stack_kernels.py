"""The forward pass of many small policies at once, block by block: each block of rows is one policy's."""

from __future__ import annotations

import numpy as np

from holdfast.kit.compiled import contracted, contracted_parallel, prange
from holdfast.learner.engines.fused_kernels import block, forward_tile
from holdfast.learner.engines.layout import TILE


@contracted
def answer_block(parameters, turned, mean, inverse, shape, obs, rows, horizon, mine, logits):  # type: ignore[no-untyped-def]
    """Rows of one policy: what it sees of them, and what it says."""
    numbers = shape.inputs[0]
    seen = block(mine, shape.activation[0], TILE, numbers)
    for r in range(rows.shape[0]):
        raw, row = obs[rows[r]], seen[r]
        for j in range(numbers):
            row[j] = min(max((raw[j] - mean[j]) * inverse[j], -horizon), horizon)
    forward_tile(parameters, turned, shape, mine, rows.shape[0])
    said = block(mine, shape.activation[shape.inputs.shape[0]], TILE, logits.shape[1])
    for r in range(rows.shape[0]):
        row = logits[rows[r]]
        for j in range(logits.shape[1]):
            row[j] = said[r, j]


@contracted_parallel
def answer(stack, shape, obs, order, ends, places, horizon, scratch, logits):  # type: ignore[no-untyped-def]
    """Logits [B, n] of rows [B, D]: block k holds rows order[ends[k]:ends[k + 1]], played from places[k]."""
    for one in prange(places.shape[0]):
        k = np.int64(one)
        rows, place = order[ends[k] : ends[k + 1]], places[k]
        answer_block(
            stack.parameters[place],
            stack.turned[place],
            stack.mean[place],
            stack.inverse[place],
            shape,
            obs,
            rows,
            horizon,
            scratch[k],
            logits,
        )
