"""The world keeps its contract, for all three kinds of observation. The compact one is among the worlds we ship."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.worlds.check import check_world


@pytest.mark.parametrize(
    "options",
    [
        {"rom": "own", "obs": "tiles", "stages": "1-*", "sticky": 0.25, "max_steps": 60},
        {"rom": "own", "obs": "pixels", "stack": 2, "max_steps": 30},
    ],
    ids=["tiles", "pixels"],
)
def test_every_proof_holds(options: dict[str, Any]) -> None:
    proofs = check_world("mario", options, lanes=4, steps=40, plain=False)
    assert not [proof for proof in proofs if not proof.passed]
