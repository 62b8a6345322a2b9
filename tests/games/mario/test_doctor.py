"""The doctor proves the own cartridge, and the real game where it is installed; it also notices what is wrong."""

from __future__ import annotations

import pytest

from holdfast.games.mario.world import doctor as doctor_module
from holdfast.games.mario.world.doctor import EXPECTED, Patient, _proof, death, doctor, stages
from holdfast.games.mario.world.rom import OWN


def test_all_proofs_hold_on_the_own_cartridge() -> None:
    failed = [proof for proof in doctor("own") if not proof.passed]
    assert not failed


def test_starts_and_death_of_the_real_game(real_rom: str) -> None:
    patient = Patient(real_rom, threads=2)
    for check in (stages, death):
        proof = _proof(check.__name__, check, patient)
        assert proof.passed, proof.detail


def test_a_wrong_figure_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = EXPECTED[OWN]._replace(death_frame=200)
    monkeypatch.setitem(doctor_module.EXPECTED, OWN, wrong)
    proof = _proof("death", death, Patient("own", threads=1))
    assert not proof.passed and "expected 200" in proof.detail
