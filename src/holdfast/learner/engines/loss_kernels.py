"""The loss of a minibatch (`losses.surrogate_loss`) and its gradient with respect to the network's outputs, for
discrete and for normally distributed actions."""

from __future__ import annotations

import math

import numpy as np

from holdfast.kit.compiled import contracted
from holdfast.learner.engines.layout import CLIPPED, ENTROPY, KL, POLICY_LOSS, VALUE_LOSS

HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@contracted
def policy_error(logits, action, old, advantage, weight, knobs, error, sums):  # type: ignore[no-untyped-def]
    """One row's part of the policy loss and of the entropy, and their gradient with respect to each logit."""
    count = logits.shape[0]
    top = logits[0]
    for j in range(1, count):
        top = max(top, logits[j])
    total = 0.0
    for j in range(count):
        error[j] = math.exp(logits[j] - top)
        total += np.float64(error[j])
    log_total = math.log(total)
    entropy = 0.0
    for j in range(count):
        entropy -= np.float64(error[j]) / total * (np.float64(logits[j] - top) - log_total)
    log_ratio = np.float64(logits[action] - top) - log_total - np.float64(old)
    ratio = math.exp(log_ratio)
    clipped = min(max(ratio, 1.0 - knobs.clip), 1.0 + knobs.clip)
    gain, safe = advantage * ratio, advantage * clipped
    pull = -weight * gain if gain <= safe else 0.0  # the clipped branch is flat
    for j in range(count):
        log_p, p = np.float64(logits[j] - top) - log_total, np.float64(error[j]) / total
        by_choice = pull * ((1.0 if j == action else 0.0) - p)
        error[j] = np.float32(by_choice + knobs.entropy * weight * p * (log_p + entropy))
    sums[POLICY_LOSS] -= weight * min(gain, safe)
    sums[ENTROPY] += weight * entropy
    sums[KL] += weight * (ratio - 1.0 - log_ratio)
    sums[CLIPPED] += weight * (1.0 if abs(ratio - 1.0) > knobs.clip else 0.0)


@contracted
def value_error(value, target, old, share, knobs, sums):  # type: ignore[no-untyped-def]
    """One row's part of the value loss; returns its gradient."""
    moved = np.float64(value) - np.float64(old)
    passes = 1.0
    if knobs.value_clip > 0.0:
        passes = 1.0 if abs(moved) <= knobs.value_clip else 0.0
        moved = min(max(moved, -knobs.value_clip), knobs.value_clip)
    miss = np.float64(old) + moved - np.float64(target)
    sums[VALUE_LOSS] += share * miss * miss
    return np.float32(2.0 * share * knobs.value_coef * miss * passes)


@contracted
def choice_errors(logits, part, knobs, errors, sums):  # type: ignore[no-untyped-def]
    """Gradients with respect to logits [B, n]."""
    for row in range(logits.shape[0]):
        advantage = np.float64(part.advantage[row])
        policy_error(
            logits[row], part.actions[row], part.log_prob[row], advantage, knobs.share, knobs, errors[row], sums
        )


@contracted
def normal_errors(means, log_std, part, knobs, errors, by_log_std, sums):  # type: ignore[no-untyped-def]
    """Gradients with respect to means [B, K], and to the log standard deviations [K] that all rows share."""
    count = means.shape[1]
    inverse = np.exp(-log_std.astype(np.float64))
    constant = 0.0
    by_log = np.zeros(count)
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
            by_log[k] += pull * (noise * noise - 1.0)
        sums[POLICY_LOSS] -= knobs.share * min(gain, safe)
        sums[KL] += knobs.share * (ratio - 1.0 - log_ratio)
        sums[CLIPPED] += knobs.share * (1.0 if abs(ratio - 1.0) > knobs.clip else 0.0)
    sums[ENTROPY] += constant + 0.5 * count
    for k in range(count):
        by_log_std[k] = np.float32(by_log[k] - knobs.entropy)


@contracted
def value_errors(values, part, knobs, errors, sums):  # type: ignore[no-untyped-def]
    """Gradients with respect to values [B, 1]."""
    for row in range(values.shape[0]):
        errors[row, 0] = value_error(values[row, 0], part.target[row], part.old_value[row], knobs.share, knobs, sums)
