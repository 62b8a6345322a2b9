"""A small two-pass 6502 assembler: enough to write test cartridges, so that tests and proofs need no ROM from anywhere.

A line is `label: LDA table,X ; comment`, `name = $2002`, `.org $C000`, `.byte 1, $FF, <label`, `.word label` or
`.fill count, value`. Numbers are decimal, $hex or %binary; expressions are sums of numbers, names, `*` (here) and
`<x` or `>x` for a low or high byte. Mnemonics and modes come from the opcode table, unofficial ones with their names.
`reset`, `nmi` and `irq` become the vectors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from holdfast.nes.cartridge import CHR_BANK_BYTES, MAGIC
from holdfast.nes.errors import AssemblyError
from holdfast.nes.opcodes import OPCODES

ORIGIN = 0x8000
PROGRAM_BYTES = 0x8000
VECTORS = {"nmi": 0xFFFA, "reset": 0xFFFC, "irq": 0xFFFE}

# The first official opcode of a mnemonic and mode, else the first unofficial one.
CODES = {(opcode.mnemonic, opcode.mode): opcode.code for opcode in sorted(OPCODES, key=lambda one: one.official)}
for _opcode in reversed([opcode for opcode in OPCODES if opcode.official]):
    CODES[_opcode.mnemonic, _opcode.mode] = _opcode.code

PATTERNS = (  # operand syntax, mode with a byte, mode with a word
    (re.compile(r"#(.+)"), "imm", ""),
    (re.compile(r"\((.+),\s*[Xx]\)"), "inx", ""),
    (re.compile(r"\((.+)\),\s*[Yy]"), "iny", ""),
    (re.compile(r"\((.+)\)"), "", "ind"),
    (re.compile(r"(.+),\s*[Xx]"), "zpx", "abx"),
    (re.compile(r"(.+),\s*[Yy]"), "zpy", "aby"),
    (re.compile(r"(.+)"), "zpg", "abs"),
)
TERM = re.compile(r"\s*([+-]?)\s*([<>]?)\s*(\$[0-9A-Fa-f]+|%[01]+|\d+|[A-Za-z_]\w*|\*)")


@dataclass
class _Pass:
    """One walk over the source; in the first, names that come later are not known yet."""

    names: dict[str, int]
    final: bool
    here: int = ORIGIN
    image: bytearray = field(default_factory=lambda: bytearray(PROGRAM_BYTES))

    def value(self, text: str) -> int | None:
        total, position = 0, 0
        while position < len(text.rstrip()):
            match = TERM.match(text, position)
            if not match or (position and not match[1]):
                raise AssemblyError(f"cannot read the expression {text.strip()!r}")
            term = self._term(match[3])
            if term is None:
                return None
            term = term & 0xFF if match[2] == "<" else term >> 8 if match[2] == ">" else term
            total += -term if match[1] == "-" else term
            position = match.end()
        return total

    def _term(self, text: str) -> int | None:
        if text == "*":
            return self.here
        if text[0] in "$%":
            return int(text[1:], 16 if text[0] == "$" else 2)
        if text.isdigit():
            return int(text)
        if text not in self.names and self.final:
            raise AssemblyError(f"the name {text!r} is not defined")
        return self.names.get(text)

    def emit(self, *values: int) -> None:
        for value in values:
            if not -128 <= value <= 255:
                raise AssemblyError(f"{value} does not fit a byte")
            if not ORIGIN <= self.here <= 0xFFFF:
                raise AssemblyError(f"address ${self.here:04X} lies outside the program ($8000-$FFFF)")
            self.image[self.here - ORIGIN] = value & 0xFF
            self.here += 1

    def emit_number(self, value: int | None, size: int) -> None:
        known = value or 0
        if size == 1:
            self.emit(known)
        else:
            self.emit(known & 0xFF, (known >> 8) & 0xFF)

    def define(self, name: str, value: int | None) -> None:
        if value is None:
            raise AssemblyError(f"the value of {name!r} uses a name that is defined later")
        if not self.final and name in self.names:
            raise AssemblyError(f"the name {name!r} is defined twice")
        self.names[name] = value

    def line(self, text: str) -> None:
        text = text.split(";")[0].strip()
        label = re.match(r"([A-Za-z_]\w*):\s*", text)
        if label:
            self.define(label[1], self.here)
            text = text[label.end() :]
        constant = re.match(r"([A-Za-z_]\w*)\s*=\s*(.+)", text)
        if constant:
            self.define(constant[1], self.value(constant[2]))
        elif text.startswith("."):
            self._directive(*(text.split(None, 1) + [""])[:2])
        elif text:
            self._instruction(*(text.split(None, 1) + [""])[:2])

    def _directive(self, name: str, rest: str) -> None:
        values = [self.value(part) for part in rest.split(",")] if rest else []
        if name == ".org" and values and values[0] is not None:
            self.here = values[0]
        elif name == ".byte":
            for value in values:
                self.emit_number(value, 1)
        elif name == ".word":
            for value in values:
                self.emit_number(value, 2)
        elif name == ".fill" and len(values) == 2 and values[0] is not None:
            for _ in range(values[0]):
                self.emit_number(values[1], 1)
        else:
            raise AssemblyError(f"cannot read the directive {name} {rest}")

    def _instruction(self, mnemonic: str, operand: str) -> None:
        name = mnemonic.upper()
        if not any(name == known for known, _ in CODES):
            raise AssemblyError(f"{mnemonic!r} is no instruction")
        if (name, "rel") in CODES:
            self._branch(CODES[name, "rel"], operand)
        elif not operand or (operand.upper() == "A" and (name, "acc") in CODES):
            mode = "acc" if (name, "acc") in CODES else "imp"
            self._emit_mode(name, mode, None)
        else:
            self._operand(name, operand)

    def _operand(self, name: str, operand: str) -> None:
        for pattern, short, long in PATTERNS:
            match = pattern.fullmatch(operand.strip())
            if match:
                value = self.value(match[1].replace("!", ""))
                fits = value is not None and 0 <= value <= 255 and "!" not in operand  # ! asks for the long form
                mode = short if short and (name, short) in CODES and (fits or not long) else long
                return self._emit_mode(name, mode, value)
        raise AssemblyError(f"cannot read the operand {operand!r}")

    def _emit_mode(self, name: str, mode: str, value: int | None) -> None:
        if (name, mode) not in CODES:
            raise AssemblyError(f"{name} has no such addressing mode")
        code = CODES[name, mode]
        self.emit(code)
        if OPCODES[code].length > 1:
            self.emit_number(value, OPCODES[code].length - 1)

    def _branch(self, code: int, operand: str) -> None:
        target = self.value(operand)
        distance = 0 if target is None else target - (self.here + 2)
        if self.final and not -128 <= distance <= 127:
            raise AssemblyError(f"the branch to {operand.strip()} is {distance} bytes away; -128 to 127 fit")
        self.emit(code, distance if -128 <= distance <= 127 else 0)


def assemble(source: str) -> tuple[bytes, dict[str, int]]:
    """The 32 KB program and its labels."""
    names: dict[str, int] = {}
    for final in (False, True):
        walk = _Pass(names, final)
        for number, text in enumerate(source.splitlines(), 1):
            try:
                walk.line(text)
            except AssemblyError as error:
                raise AssemblyError(f"line {number}: {text.strip()!r}: {error}") from None
    for name, address in VECTORS.items():
        target = names.get(name, names.get("reset", ORIGIN))
        walk.image[address - ORIGIN : address - ORIGIN + 2] = target.to_bytes(2, "little")
    return bytes(walk.image), names


def ines_file(program: bytes, tiles: bytes = b"", *, vertical_mirroring: bool = True, prg_ram: bool = False) -> bytes:
    """An iNES file around a program; without tiles the board has CHR-RAM."""
    flags = (1 if vertical_mirroring else 0) | (2 if prg_ram else 0)
    banks = len(tiles) // CHR_BANK_BYTES
    header = MAGIC + bytes([len(program) // 16384, banks, flags, 0]) + bytes(8)
    return header + program + tiles
