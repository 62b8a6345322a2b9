"""Proofs by running twice: the seed decides everything, the thread count nothing."""

from __future__ import annotations

import numba

from holdfast.kit.compiled import use_threads
from holdfast.worlds.api import World
from holdfast.worlds.check.subject import Broken, NotApplicable, Subject, advance, everything, first_difference


def run_together(one: World, other: World, steps: int) -> None:
    """Step both worlds and compare all arrays and buffers at every step."""
    for step in range(steps + 1):
        if step:
            advance(one)
            advance(other)
        difference = first_difference(everything(one), everything(other))
        if difference:
            raise Broken(f"after {step} steps the two worlds differ in {difference}")


def seed_repeats(subject: Subject) -> str:
    run_together(subject.begun(), subject.begun(), subject.steps)
    return f"equal over {subject.steps} steps of {subject.lanes} lanes"


def seed_matters(subject: Subject) -> str:
    """What differs must be what is seen or earned: keys differ in any world."""
    one, other = subject.begun(), subject.begun(seed=subject.seed + 1)
    for step in range(subject.steps + 1):
        if step:
            advance(one)
            advance(other)
        for role in one.roles:
            seen = {"obs": one.roles[role].obs, "reward": one.roles[role].reward}
            difference = first_difference(seen, {name: getattr(other.roles[role], name) for name in seen})
            if difference:
                return f"after {step} steps {role}.{difference}"
    raise Broken(f"seeds {subject.seed} and {subject.seed + 1} look the same for {subject.steps} steps")


def threads_agree(subject: Subject) -> str:
    use_threads(2)
    if numba.get_num_threads() < 2:
        raise NotApplicable("this process was started with one thread")
    run_together(subject.begun(threads=1), subject.begun(threads=2), subject.steps)
    return f"equal over {subject.steps} steps"
