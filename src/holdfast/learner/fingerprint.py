"""A short name for what was learned: two policies with equal fingerprints act alike."""

from __future__ import annotations

import hashlib

import numpy as np

from holdfast.learner.learner import Learner


def fingerprint(learners: dict[str, Learner]) -> str:
    """Twelve hexadecimal digits of the weights and of the scale of observations."""
    digest = hashlib.sha256()
    for role in sorted(learners):
        learner = learners[role]
        weights = {name: tensor.detach().numpy() for name, tensor in learner.policy.state_dict().items()}
        scale = learner.observations.arrays() if learner.observations is not None else {}
        for name, array in sorted({**weights, **scale}.items()):
            digest.update(f"{role}/{name}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:12]
