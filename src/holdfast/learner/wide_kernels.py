"""The loss of a minibatch and its slope by what the networks said, for one choice of several and for normal actions."""

from __future__ import annotations

import math

import numpy as np

from holdfast.kit.compiled import contracted
from holdfast.learner.fused_kernels import CLIPPED, ENTROPY, KL, POLICY_LOSS, policy_error, value_error
from holdfast.learner.heads import HALF_LOG_2PI


@contracted
def choice_errors(logits, part, knobs, errors, sums):  # type: ignore[no-untyped-def]
    """Slopes by logits [B, n]."""
    for row in range(logits.shape[0]):
        advantage = np.float64(part.advantage[row])
        policy_error(
            logits[row], part.actions[row], part.log_prob[row], advantage, knobs.share, knobs, errors[row], sums
        )


@contracted
def normal_errors(means, log_std, part, knobs, errors, by_log_std, sums):  # type: ignore[no-untyped-def]
    """Slopes by means [B, K], and by the log deviations [K] that all rows share."""
    count = means.shape[1]
    inverse = np.exp(-log_std.astype(np.float64))
    constant = 0.0
    slopes = np.zeros(count)
    for k in range(count):
        constant += np.float64(log_std[k]) + HALF_LOG_2PI
    for row in range(means.shape[0]):
        squares = 0.0
        for k in range(count):
            noise = (np.float64(part.actions[row, k]) - np.float64(means[row, k])) * inverse[k]
            squares += noise * noise
        log_ratio = -0.5 * squares - constant - np.float64(part.log_prob[row])
        ratio = math.exp(log_ratio)
        clipped = min(max(ratio, 1.0 - knobs.clip), 1.0 + knobs.clip)
        gain, safe = np.float64(part.advantage[row]) * ratio, np.float64(part.advantage[row]) * clipped
        pull = -knobs.share * gain if gain <= safe else 0.0  # the clipped branch is flat
        for k in range(count):
            noise = (np.float64(part.actions[row, k]) - np.float64(means[row, k])) * inverse[k]
            errors[row, k] = np.float32(pull * noise * inverse[k])
            slopes[k] += pull * (noise * noise - 1.0)
        sums[POLICY_LOSS] -= knobs.share * min(gain, safe)
        sums[KL] += knobs.share * (ratio - 1.0 - log_ratio)
        sums[CLIPPED] += knobs.share * (1.0 if abs(ratio - 1.0) > knobs.clip else 0.0)
    sums[ENTROPY] += constant + 0.5 * count
    for k in range(count):
        by_log_std[k] = np.float32(slopes[k] - knobs.entropy)


@contracted
def value_errors(values, part, knobs, errors, sums):  # type: ignore[no-untyped-def]
    """Slopes by values [B, 1]."""
    for row in range(values.shape[0]):
        errors[row, 0] = value_error(values[row, 0], part.target[row], part.old_value[row], knobs.share, knobs, sums)
