"""The world keeps its contract under both rules, and with schools large enough for blocks."""

import pytest

from holdfast.worlds.check import check_world


@pytest.mark.parametrize(
    ("options", "lanes", "steps", "plain"),
    [
        ({"fish": 9, "steps": 60, "reward": "classic", "density_coef": 0.1}, 6, 80, True),
        ({"fish": 9, "steps": 60, "rules": "hunt", "digest_steps": 3}, 6, 80, True),
        ({"fish": 400, "steps": 30, "pool_radius": 60.0}, 3, 40, False),
        ({"fish": 400, "steps": 30, "rules": "hunt"}, 3, 40, False),
    ],
)
def test_every_proof_holds(options: dict[str, object], lanes: int, steps: int, plain: bool) -> None:
    proofs = check_world("fish", options, lanes=lanes, steps=steps, plain=plain)
    assert not [proof for proof in proofs if not proof.passed]
