"""The algorithms a policy can learn by, and what each of them needs: `learner.algorithm` is a name of this table.

An algorithm is a module with a lesson (`update.Lesson`: what there is to learn from one batch) and one line here. This
module imports nothing, so that a configuration is read and checked without the algorithms themselves.
"""

from __future__ import annotations

from typing import NamedTuple


class Algorithm(NamedTuple):
    """What the configuration must know of an algorithm."""

    lesson: str  # module:Class, made with (learner, batch)
    options: tuple[str, ...] = ()  # options of [learner] that not all algorithms read, but this one does
    engines: tuple[str, ...] = ()  # engines with kernels for its loss; torch takes every loss
    whole_rollouts: bool = False  # a minibatch is whole rollouts of some lanes, not single steps
    believes: bool = False  # trains the beliefs of policy.encoder = belief


KERNELS = ("fused", "wide")
ALGORITHMS = {
    "ppo": Algorithm("holdfast.learner.ppo:PpoLesson", ("gae_lambda", "clip", "value_clip"), KERNELS, believes=True),
    "vtrace": Algorithm(
        "holdfast.learner.vtrace:VtraceLesson",
        ("trace_lambda", "rho_bar", "c_bar", "replay"),
        KERNELS,
        whole_rollouts=True,
    ),
}


def readers(option: str) -> tuple[str, ...]:
    """The algorithms that read an option of [learner]."""
    return tuple(name for name, algorithm in ALGORITHMS.items() if option in algorithm.options)
