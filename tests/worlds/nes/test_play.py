"""Scripts of inputs, playing them, and the proofs of the doctor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cartridges import cartridge
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import HoldfastError
from holdfast.worlds.nes.assembler import assemble, ines_file
from holdfast.worlds.nes.doctor import own_checks, run_test_program
from holdfast.worlds.nes.doctor import test_programs as check_programs
from holdfast.worlds.nes.errors import ConsoleError, InputScriptError
from holdfast.worlds.nes.inputs import BUTTONS, read_inputs
from holdfast.worlds.nes.play import play


def test_the_grammar() -> None:
    script = """
    # wait, then start
    2
    1 START
    repeat 2
      1 RIGHT + b | A   # both controllers
      repeat 2
        1
      end
    end
    """
    both = [0x82, 0x01]
    assert read_inputs(script).tolist() == [[0, 0], [0, 0], [8, 0], both, [0, 0], [0, 0], both, [0, 0], [0, 0]]
    assert read_inputs("").shape == (0, 2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("10\nx RIGHT", r"line 2: 'x RIGHT'"),
        ("0 A", "from 1 to"),
        ("-1", "from 1 to"),
        ("5 RIGTH", r"line 1.*RIGTH \(did you mean RIGHT\?\)"),
        ("5 A | B | A", "at most one"),
        ("end", "without a `repeat`"),
        ("repeat 2\n1", "line 1: this `repeat` has no `end`"),
        ("repeat\nend", "number of times"),
        ("9000000\n9000000", "line 2.*longer"),
        ("repeat 1000000\n1000\nend", "longer"),
    ],
)
def test_mistakes_name_their_line(text: str, says: str) -> None:
    with pytest.raises(InputScriptError, match=says):
        read_inputs(text)


RUNS = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 255), st.integers(0, 255)), max_size=20)


def held(buttons: int) -> str:
    return "+".join(name for bit, name in enumerate(BUTTONS) if buttons >> bit & 1)


@given(RUNS)
def test_what_is_written_is_what_is_read(runs: list[tuple[int, int, int]]) -> None:
    text = "\n".join(f"{frames} {held(first)} | {held(second)}" for frames, first, second in runs)
    expected = [[first, second] for frames, first, second in runs for _ in range(frames)]
    assert read_inputs(text).tolist() == expected


@settings(max_examples=300)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    try:
        assert read_inputs(text).shape[1] == 2
    except HoldfastError as error:
        assert "line" in str(error)


def test_play_gives_a_picture_for_every_frame(tmp_path: Path) -> None:
    rom, inputs = tmp_path / "game.nes", tmp_path / "script.txt"
    red = "reset: LDA #$3F\n STA PPUADDR\n LDA #0\n STA PPUADDR\n LDA #$16\n STA PPUDATA\nx: JMP x"
    rom.write_bytes(cartridge(red))
    inputs.write_text("3 A")
    pictures = list(play(rom, inputs))
    assert len(pictures) == 3 and pictures[0].shape == (240, 256, 3)
    assert len(np.unique(pictures[2].reshape(-1, 3), axis=0)) == 1
    with pytest.raises(InputScriptError, match=r"nothing\.txt"):
        play(rom, tmp_path / "nothing.txt")


def test_play_says_when_the_program_jams(tmp_path: Path) -> None:
    rom, inputs = tmp_path / "game.nes", tmp_path / "script.txt"
    rom.write_bytes(cartridge("reset: .byte $02"))
    inputs.write_text("3")
    with pytest.raises(ConsoleError, match="frame 0"):
        list(play(rom, inputs))


def test_the_doctor_finds_this_console_well() -> None:
    assert [check.name for check in own_checks() if not check.passed] == []


def status_program(status: int, text: str) -> bytes:
    """A program that reports like the public test programs."""
    stores = [(0x6001, 0xDE), (0x6002, 0xB0), (0x6003, 0x61)]
    stores += [(0x6004 + index, ord(letter)) for index, letter in enumerate(text + "\0")]
    lines = [f" LDA #{value}\n STA {address}" for address, value in [*stores, (0x6000, status)]]
    return ines_file(assemble("reset: NOP\n" + "\n".join(lines) + "\nend: JMP end")[0])


def test_verdicts_of_test_programs_are_read(tmp_path: Path) -> None:
    (tmp_path / "good.nes").write_bytes(status_program(0, "Passed"))
    (tmp_path / "bad.nes").write_bytes(status_program(3, "Error 3"))
    (tmp_path / "other.nes").write_bytes(b"nothing")
    checks = {check.name: check for check in check_programs(tmp_path)}
    assert checks["good.nes"].passed and checks["good.nes"].detail == "Passed"
    assert not checks["bad.nes"].passed and "Error 3" in checks["bad.nes"].detail
    assert not checks["other.nes"].passed and "not run" in checks["other.nes"].detail
    with pytest.raises(ConsoleError, match=r"no \.nes files"):
        check_programs(_empty(tmp_path))


def _empty(folder: Path) -> Path:
    empty = folder / "empty"
    empty.mkdir()
    return empty


def test_a_silent_program_has_no_verdict(tmp_path: Path) -> None:
    path = tmp_path / "silent.nes"
    path.write_bytes(cartridge("reset: JMP reset"))
    assert not run_test_program(path, "silent").passed
