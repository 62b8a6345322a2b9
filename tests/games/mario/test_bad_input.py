"""What a user can get wrong with the game ends with exit status 2 and one message that names it; nothing is begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.cli.command import main
from holdfast.games.mario.world import rom as roms
from holdfast.games.mario.world.own_cartridge import own_cartridge

OWN = "--world.rom=own"
REPLAY = ["--learner.algorithm=vtrace", "--learner.replay=true", "--policy.core=gru"]
ADAPTING = ["--adaptive.distance.min=0.01", "--adaptive.distance.max=1", "--world.distance_anneal=9"]


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["train", "mario", *words])
    assert ended.value.code == 2
    assert not Path("runs").exists(), "a refused run leaves no folder"
    return capsys.readouterr().err


@pytest.fixture(autouse=True)
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([OWN, "--world.stages=9-1"], "'9-1' is no stage"),
        ([OWN, "--world.stages=1-5"], "'1-5' is no stage"),
        ([OWN, "--world.actions=extended"], "START in play pauses the game"),
        ([OWN, "--world.script=RIGHT+B:240,START:8"], "segment 2 (START:8)"),
        ([OWN, "--world.script=RIGHT+B:"], "segment 1"),
        ([OWN, "--world.script=RIGHT+LEFT:8"], "cannot be held together"),
        ([OWN, *REPLAY], "policy.core = gru needs whole episodes"),
        ([OWN, *ADAPTING], "world.distance_anneal both set the distance weight"),
        (["--world.rom=missing.nes"], "missing.nes: there is no such file"),
        ([OWN, "--world.backend=nes_py"], "world.rom = own needs world.backend = console"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_it_is_refused_by_name(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told in refused(words, capsys)


def test_without_a_rom_the_places_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(roms.VARIABLE, raising=False)
    monkeypatch.setattr(roms, "WHEEL", "no_such_package")
    told = refused([], capsys)
    assert all(place in told for place in ("world.rom", roms.VARIABLE, "gym-super-mario-bros", "./roms/"))


def test_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = own_cartridge()
    for data, told in ((good[:-100], "truncated"), (good[:6] + b"\x40" + good[7:], "mapper 4"), (b"", "game.nes")):
        (tmp_path / "game.nes").write_bytes(data)
        assert told in refused(["--world.rom=game.nes"], capsys)
