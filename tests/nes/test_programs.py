"""Verdicts of test programs, read from own cartridges that report in each of the public conventions."""

from __future__ import annotations

from pathlib import Path

import pytest
from cartridges import cartridge

from holdfast.nes.assembler import assemble, ines_file
from holdfast.nes.doctor import program_checks
from holdfast.nes.errors import ConsoleError
from holdfast.nes.programs import FAILED, NO_VERDICT, PASSED, run_program, run_programs


def status_program(status: int, text: str) -> bytes:
    """Reports at $6000."""
    stores = [(0x6001, 0xDE), (0x6002, 0xB0), (0x6003, 0x61)]
    stores += [(0x6004 + index, ord(letter)) for index, letter in enumerate(text + "\0")]
    lines = [f" LDA #{value}\n STA {address}" for address, value in [*stores, (0x6000, status)]]
    return ines_file(assemble("reset: NOP\n" + "\n".join(lines) + "\nend: JMP end")[0])


def screen_program(text: str) -> bytes:
    """Reports on the screen."""
    stores = [("PPUADDR", 0x21), ("PPUADDR", 0x04), *(("PPUDATA", ord(letter)) for letter in text)]
    body = "\n".join(f" LDA #{value}\n STA {register}" for register, value in stores)
    return cartridge(f"reset: JSR start\n{body}\nend: JMP end")


RESET_PROGRAM = """
reset:  LDA #$DE
        STA $6001
        LDA #$B0
        STA $6002
        LDA #$61
        STA $6003
        LDA $10
        CMP #7
        BEQ again
        LDA #7
        STA $10
        LDA #$81
        STA $6000
wait:   JMP wait
again:  LDA #0
        STA $6000
end:    JMP end
"""

# Error codes at $02 and $03 from an entry at $C000, as nestest leaves them.
NESTEST_LIKE = """
reset:  JMP reset
        .org $C000
        LDA #0
        STA $02
        LDA #{code}
        STA $03
        RTS
"""


@pytest.mark.parametrize(
    ("file", "verdict", "says"),
    [
        (status_program(0, "All good\n\nPassed"), PASSED, "All good Passed"),
        (status_program(3, "Error 3"), FAILED, "Error 3"),
        (ines_file(assemble(RESET_PROGRAM)[0]), PASSED, ""),
        (screen_program("BRANCH TIMING PASSED"), PASSED, "BRANCH"),
        (screen_program("FAILED: #2"), FAILED, "#2"),
        (screen_program("$01"), PASSED, "$01"),
        (screen_program("$03"), FAILED, "$03"),
        (screen_program("PRESS A BUTTON"), NO_VERDICT, "PRESS"),
        (cartridge("reset: JMP reset"), NO_VERDICT, "nothing"),
        (cartridge("reset: .byte $02"), FAILED, "jammed"),
        (b"nothing", NO_VERDICT, "not run"),
    ],
)
def test_verdicts_are_read(file: bytes, verdict: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "program.nes"
    path.write_bytes(file)
    found = run_program(path, "program.nes")
    assert found.verdict == verdict and says in found.detail


@pytest.mark.parametrize(("code", "verdict"), [(0, PASSED), (9, FAILED)])
def test_nestest_is_started_where_it_needs_no_screen(code: int, verdict: str, tmp_path: Path) -> None:
    path = tmp_path / "nestest.nes"
    path.write_bytes(ines_file(assemble(NESTEST_LIKE.format(code=code))[0]))
    assert run_program(path, "nestest").verdict == verdict


def test_only_a_failed_program_fails_the_doctor(tmp_path: Path) -> None:
    for name, file in (("a", status_program(0, "")), ("b", status_program(1, "")), ("c", b"nothing")):
        (tmp_path / f"{name}.nes").write_bytes(file)
    assert [check.passed for check in program_checks(tmp_path)] == [True, False, True]


def test_a_folder_without_programs_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConsoleError, match=r"no \.nes files"):
        run_programs(tmp_path)
    with pytest.raises(ConsoleError, match="not a folder"):
        run_programs(tmp_path / "nowhere")
