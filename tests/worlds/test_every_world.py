"""All proofs of the contract on every world we ship, and on one with two roles."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.worlds.check import check_world
from holdfast.worlds.ours import OURS

CASES: dict[str, list[dict[str, Any]]] = {
    "template": [{}, {"slip": 0.3, "far": 2}],
    "fish": [{}, {"fish": 5, "steps": 40, "reward": "classic", "density_coef": 0.05, "neighbours": False}],
    "pursuit": [
        {"max_steps": 60, "obstacles": 2, "capture_radius": 2.0, "hold": 2, "reward_search": 0.1},
        {
            "max_steps": 60,
            "obs": "flat_masked",
            "mask_roles": "pursuer",
            "randomise": "arena",
            "noise_time_constant": 0.1,
        },
        {"max_steps": 60, "obs": "flat", "filter": "none", "play": "pursuer", "opponent": "orbit"},
        {"max_steps": 60, "play": "evader", "task": "navigate", "timeout_as": "truncated"},
    ],
    "mario": [{"rom": "own"}],
    "tests.two_roles:Pennies": [{}],
}


@pytest.mark.parametrize(
    ("name", "options"), [(name, options) for name in CASES for options in CASES[name]], ids=lambda value: str(value)
)
def test_every_proof_holds(name: str, options: dict[str, Any]) -> None:
    failed = [proof for proof in check_world(name, options) if not proof.passed]
    assert not failed


def test_no_world_is_forgotten() -> None:
    assert OURS.keys() <= CASES.keys()
