"""Scripts of inputs, playing them, and the proofs of the doctor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cartridges import cartridge
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.kit.errors import HoldfastError
from holdfast.nes.doctor import own_checks
from holdfast.nes.errors import ConsoleError, InputScriptError
from holdfast.nes.inputs import BUTTONS, read_inputs
from holdfast.nes.play import play


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
