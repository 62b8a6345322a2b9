"""The world keeps its contract, for all three kinds of observation. The compact one is among the worlds we ship."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.games.fish.world.fish import FishSettings
from holdfast.games.mario.world import starts
from holdfast.games.mario.world.mario import Mario
from holdfast.games.mario.world.settings import MarioSettings
from holdfast.nes.cartridge import Cartridge
from holdfast.nes.machine import Machine, general_machine
from holdfast.worlds.check import check_world
from holdfast.worlds.registry import light


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


def test_with_blocks_lanes_run_the_machine_of_this_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """That such a machine does the same to the last byte is shown in tests/nes/test_blocks.py."""
    made = []

    def compiled(cartridge: Cartridge) -> Machine:
        made.append(general_machine(cartridge))
        return made[-1]

    monkeypatch.setattr(starts, "_GAMES", {})
    monkeypatch.setattr(starts, "machine_with_blocks", compiled)
    world = Mario(MarioSettings(rom="own", blocks=True), lanes=2, seed=1)
    assert world.fixed.code is made[0].code
    assert Mario(MarioSettings(rom="own"), lanes=2, seed=1).fixed.code is not made[0].code
    assert Mario(MarioSettings(rom="own", blocks=True), lanes=2, seed=1).fixed.code is made[0].code
    assert len(made) == 1


def test_who_wants_only_the_spec_does_not_wait_for_blocks() -> None:
    assert light(MarioSettings(rom="own", blocks=True, sticky=0.25)) == MarioSettings(rom="own", sticky=0.25)
    assert light(FishSettings()) == FishSettings()
