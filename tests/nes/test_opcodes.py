"""The table itself, and the assembler that reads it backwards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.nes.assembler import CODES, assemble
from holdfast.nes.errors import AssemblyError
from holdfast.nes.opcodes import OPCODES


def test_the_table_has_every_opcode_once_and_151_official_ones() -> None:
    assert [opcode.code for opcode in OPCODES] == list(range(256))
    assert sum(opcode.official for opcode in OPCODES) == 151


SYNTAX = {
    "imp": "{0}", "acc": "{0} A", "imm": "{0} #{1}", "zpg": "{0} {1}", "zpx": "{0} {1},X", "zpy": "{0} {1},Y",
    "abs": "{0} !{2}", "abx": "{0} !{2},X", "aby": "{0} !{2},Y", "ind": "{0} ({2})", "inx": "{0} ({1},X)",
    "iny": "{0} ({1}),Y", "rel": "{0} *+{3}",
}  # fmt: skip


@given(key=st.sampled_from(sorted(CODES)), byte=st.integers(0, 255), word=st.integers(0, 65535))
def test_every_instruction_assembles_to_its_opcode(key: tuple[str, str], byte: int, word: int) -> None:
    mnemonic, mode = key
    code = CODES[key]
    program, _ = assemble(f"reset: {SYNTAX[mode].format(mnemonic, byte, word, byte % 100 + 2)}")
    length = OPCODES[code].length
    operand = {1: b"", 2: bytes([byte % 100 if mode == "rel" else byte]), 3: word.to_bytes(2, "little")}[length]
    assert program[:length] == bytes([code]) + operand


def test_labels_expressions_and_directives() -> None:
    program, names = assemble(
        "base = $0200 ; a comment\nreset: LDA #<later\n LDX #>later\n STA base+1,X\n BNE reset\n"
        "later: .byte 1, %11, $FF\n .word reset, later-1\n .fill 2, 7\n .org $9000\nnmi: RTI"
    )
    assert names["later"] == 0x8009
    assert program[:18] == bytes([0xA9, 9, 0xA2, 0x80, 0x9D, 1, 2, 0xD0, 0xF7, 1, 3, 0xFF, 0, 0x80, 8, 0x80, 7, 7])
    assert program[0x7FFA:] == bytes([0x00, 0x90, 0x00, 0x80, 0x00, 0x80])


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("LDA #300", "line 1.*300 does not fit"),
        ("NOP\nFOO", "line 2.*'FOO' is no instruction"),
        ("LDA nowhere", "'nowhere' is not defined"),
        ("x: NOP\nx: NOP", "defined twice"),
        ("BNE far\n.fill 200, 0\nfar: NOP", "200 bytes away"),
        (".nonsense", "cannot read the directive"),
        ("STA #1", "no such addressing mode"),
        (".org $100\nNOP", "outside the program"),
    ],
)
def test_mistakes_name_their_line(source: str, says: str) -> None:
    with pytest.raises(AssemblyError, match=says):
        assemble(source)
