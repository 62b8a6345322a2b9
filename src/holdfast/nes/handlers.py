"""What each handler does, as source text: the operation of the opcode table joined with a way to reach its operand.

Registers are locals of the generated function: a, x, y, sp, pc, dot, carry, overflow and `nz`, which stands for two
flags (Z is `nz & 0xFF == 0`, N is `nz & 0x8080 != 0`). `o` is the predecoded operand. A handler that meets something
it does not handle sets `slow`, and the plain interpreter executes the instruction instead.
"""

from __future__ import annotations

import re

from holdfast.nes.decode import FAST_MODIFIES, FAST_READS, FAST_WRITES, JOIN, RARE
from holdfast.nes.opcodes import BRANCHES, OPCODES

READ_BODIES = {
    "LDA": "a = value; nz = value",
    "LDX": "x = value; nz = value",
    "LDY": "y = value; nz = value",
    "AND": "a &= value; nz = a",
    "ORA": "a |= value; nz = a",
    "EOR": "a ^= value; nz = a",
    "ADC": "total = a + value + carry; overflow = ((~(a ^ value) & (a ^ total)) >> 7) & 1; carry = total >> 8; "
    "a = total & 0xFF; nz = a",
    "SBC": "total = a + (value ^ 0xFF) + carry; overflow = (((a ^ value) & (a ^ total)) >> 7) & 1; carry = total >> 8; "
    "a = total & 0xFF; nz = a",
    "CMP": "carry = int64(a >= value); nz = (a - value) & 0xFF",
    "CPX": "carry = int64(x >= value); nz = (x - value) & 0xFF",
    "CPY": "carry = int64(y >= value); nz = (y - value) & 0xFF",
    "BIT": "nz = (a & value) | (value & 0x80) << 8; overflow = (value >> 6) & 1",
}
MODIFY_BODIES = {
    "ASL": "carry = value >> 7; value = (value << 1) & 0xFF; nz = value",
    "LSR": "carry = value & 1; value = value >> 1; nz = value",
    "ROL": "value = (value << 1) | carry; carry = value >> 8; value &= 0xFF; nz = value",
    "ROR": "value |= carry << 8; carry = value & 1; value = value >> 1; nz = value",
    "INC": "value = (value + 1) & 0xFF; nz = value",
    "DEC": "value = (value - 1) & 0xFF; nz = value",
}
SIMPLE_BODIES = {
    "TAX": "x = a; nz = x",
    "TAY": "y = a; nz = y",
    "TXA": "a = x; nz = a",
    "TYA": "a = y; nz = a",
    "INX": "x = (x + 1) & 0xFF; nz = x",
    "INY": "y = (y + 1) & 0xFF; nz = y",
    "DEX": "x = (x - 1) & 0xFF; nz = x",
    "DEY": "y = (y - 1) & 0xFF; nz = y",
    "CLC": "carry = int64(0)",
    "SEC": "carry = int64(1)",
    "PHA": "row[0x100 + (sp & 0xFF)] = a; sp = (sp - 1) & 0xFF",
    "PLA": "sp = (sp + 1) & 0xFF; a = int64(row[0x100 + (sp & 0xFF)]); nz = a",
    "NOP": "pass",
}
TAKEN = {
    "n": "nz & 0x8080 == 0",
    "N": "nz & 0x8080 != 0",
    "v": "overflow == 0",
    "V": "overflow != 0",
    "c": "carry == 0",
    "C": "carry != 0",
    "z": "nz & 0xFF != 0",
    "Z": "nz & 0xFF == 0",
}
PLACES = {  # where an operand is, for reading and for writing
    "zpg": "row[o & 0xFF]",
    "zpx": "row[(o + x) & 0xFF]",
    "zpy": "row[(o + y) & 0xFF]",
    "abs_ram": "row[o & 0x7FF]",
    "abx_ram": "row[(o + x) & 0x7FF]",
    "aby_ram": "row[(o + y) & 0x7FF]",
    "abx_rom": "rom[(o + x) & 0x7FFF]",
    "aby_rom": "rom[(o + y) & 0x7FFF]",
}
REGISTER = {"STA": "a", "STX": "x", "STY": "y"}
CYCLES = {(opcode.mnemonic, opcode.mode): opcode.cycles for opcode in reversed(OPCODES) if opcode.official}
LENGTHS = {"imp": 1, "acc": 1, "abs": 3, "abx": 3, "aby": 3}
MOVED = re.compile(r"pc \+= (\d+); dot \+= (\d+)")
WORD = re.compile(r"\w+")

INDIRECT_Y = [
    "base = int64(row[o & 0xFF]) | int64(row[(o + 1) & 0xFF]) << 8",
    "address = base + y",
]


def moved(name: str, mode: str) -> str:
    """PC and time after an instruction, without penalties."""
    return f"pc += {LENGTHS.get(mode, 2)}; dot += {3 * CYCLES[name, mode]}"


def penalty(mode: str) -> str:
    """The cycle for an index that crosses a page, in dots."""
    return f"dot += 3 * (((o & 0xFF) + {mode[2]}) >> 8)"


def split(body: str) -> list[str]:
    return [part.strip() for part in body.split(";")]


def read_handler(name: str, way: str) -> list[str]:
    mode = way[:3]
    if way in ("imm", "abs_rom"):
        return ["value = o & 0xFF", *split(READ_BODIES[name]), moved(name, mode)]
    if way == "abs_bus":
        return [
            f"value = int64(read_bus(row, words, rom, o, dot + {3 * CYCLES[name, mode] - 3}))",
            *split(READ_BODIES[name]),
            moved(name, mode),
        ]
    if way == "abx_bus":
        return [
            "if (o & 0xFF) + x < 0x100:",
            f"    value = int64(read_bus(row, words, rom, o + x, dot + {3 * CYCLES[name, mode] - 3}))",
            *("    " + line for line in [*split(READ_BODIES[name]), moved(name, mode)]),
            "else:",
            "    slow = True",
        ]
    if way == "iny":
        done = [*split(READ_BODIES[name]), moved(name, mode), "dot += 3 * (((base & 0xFF) + y) >> 8)"]
        return [
            *INDIRECT_Y,
            "if base >= 0x8000 and address < 0x10000:",
            "    value = int64(rom[address & 0x7FFF])",
            "elif address < 0x2000:",
            "    value = int64(row[address & 0x7FF])",
            "else:",
            "    value = int64(0)",
            "    slow = True",
            "if not slow:",
            *("    " + line for line in done),
        ]
    lines = [f"value = int64({PLACES[way]})", *split(READ_BODIES[name]), moved(name, mode)]
    return [*lines, penalty(mode)] if mode in ("abx", "aby") else lines


def write_handler(name: str, way: str) -> list[str]:
    mode = way[:3]
    register = REGISTER[name]
    if way == "abs_bus":
        return [
            f"dot += write_bus(row, words, rom, o, {register}, dot + {3 * CYCLES[name, mode] - 3})",
            moved(name, mode),
            "if words[NMI] != 0 or words[INTERRUPT_DISABLE] == 0:",
            "    stop = int64(0)",
        ]
    if way == "iny":
        return [
            *INDIRECT_Y,
            "if address < 0x2000:",
            f"    row[address & 0x7FF] = {register}",
            f"    {moved(name, mode)}",
            "else:",
            "    slow = True",
        ]
    return [f"{PLACES[way]} = {register}", moved(name, mode)]


def modify_handler(name: str, way: str) -> list[str]:
    if way == "acc":
        return ["value = a", *split(MODIFY_BODIES[name]), "a = value", moved(name, "acc")]
    place = PLACES[way]
    return [f"value = int64({place})", *split(MODIFY_BODIES[name]), f"{place} = value", moved(name, way[:3])]


def branch_handler(name: str) -> list[str]:
    return [
        f"if {TAKEN[BRANCHES[name]]}:",
        "    dot += 6 + 3 * ((word >> 10) & 3)",
        "    pc = o",
        "else:",
        "    pc += 2",
        "    dot += 6",
    ]


def delay_handler(register: str) -> list[str]:
    """DEX or DEY with BNE back to it, 15 dots a round: all rounds but the last are skipped, as far as time allows."""
    return [
        f"rounds = min(({register} - 1) & 0xFF, (stop - dot - 1) // 15)",
        f"{register} = ({register} - rounds - 1) & 0xFF",
        f"nz = {register}",
        "dot += 15 * rounds + 6",
        "pc += 1",
    ]


def poll_handler(name: str) -> list[str]:
    """A loop around $2002: after a read that stays in the loop, go to the last round in which nothing can change."""
    return [
        "value = int64(read_status(row, words, rom, dot + 9))",
        "if int64(value & o & 0xFF != 0) == (o >> 8) & 1:",
        "    loop = 3 * ((word >> 10) & 63)",
        "    rounds = min(status_change_dot(row, words, rom, dot + 9) - dot - 10, stop - dot - 1) // loop",
        "    if rounds > 0:",
        "        dot += rounds * loop",
        "        value = int64(read_status(row, words, rom, dot + 9))",
        *split(READ_BODIES[name]),
        moved(name, "abs"),
    ]


SPECIAL = {
    RARE: ["slow = True"],
    "JMP": ["pc = o", "dot += 9"],
    "JMP_ind": [
        "pc = int64(row[o & 0x7FF]) | int64(row[(o & 0x700) | ((o + 1) & 0xFF)]) << 8",
        "dot += 15",
    ],
    "JSR": [
        "back = pc + 2",
        "row[0x100 + (sp & 0xFF)] = back >> 8",
        "row[0x100 + ((sp - 1) & 0xFF)] = back & 0xFF",
        "sp = (sp - 2) & 0xFF",
        "pc = o",
        "dot += 18",
    ],
    "RTS": [
        "pc = int64(row[0x100 + ((sp + 1) & 0xFF)]) | int64(row[0x100 + ((sp + 2) & 0xFF)]) << 8",
        "pc = (pc + 1) & 0xFFFF",
        "sp = (sp + 2) & 0xFF",
        "dot += 18",
    ],
    "WAIT_forever": ["dot += (stop - dot + 8) // 9 * 9"],
    "WAIT_DEX": delay_handler("x"),
    "WAIT_DEY": delay_handler("y"),
    "POLL_LDA": poll_handler("LDA"),
    "POLL_BIT": poll_handler("BIT"),
}


def _mode(name: str) -> str:
    return name.split("_")[1][:3] if "_" in name else "imp"


def longest_dots(name: str) -> int:
    """Of a handler that another one can follow in a sequence."""
    return 3 * (CYCLES[name.split("_")[0], _mode(name)] + (_mode(name) in ("abx", "aby", "iny")))


def sequence_handler(bodies: dict[str, list[str]], names: list[str]) -> list[str]:
    """Several instructions after one dispatch. The clock is looked at once: if something may be due before the last of
    them, the first runs alone, and the rest follow as usual. What is read and counted on the way is what is needed,
    as every statement costs time to compile."""
    lines, indent, offset = ["here = pc & 0xFFFF"], "", 0
    length = dots = 0  # of instructions that PC and clock do not know of yet
    for name in names:
        body = bodies[name]
        used = set(WORD.findall("\n".join(body)))
        if offset and "word" in used:
            lines += [f"{indent}word = int64(code[here + {offset}])", f"{indent}o = word >> 16"]
        elif offset and "o" in used:
            lines.append(f"{indent}o = int64(code[here + {offset}]) >> 16")
        if plainly := _moves_plainly(body):
            length, dots = length + int(plainly[1]), dots + int(plainly[2])
            body = [line for line in body if line != plainly[0]]
        elif length:
            lines.append(f"{indent}pc += {length}; dot += {dots}")
            length = dots = 0
        lines += (indent + line for line in body)
        if "slow" in used and name != names[-1]:
            lines.append(f"{indent}if not slow:")
            indent += "    "
        offset += LENGTHS.get(_mode(name), 2)
    if length:
        lines.append(f"{indent}pc += {length}; dot += {dots}")
    alone = ["else:", *("    " + line for line in bodies[names[0]])]
    return [f"if dot + {sum(map(longest_dots, names[:-1]))} < stop:", *("    " + line for line in lines), *alone]


def _moves_plainly(body: list[str]) -> re.Match[str] | None:
    """The line of a body that moves PC and clock, if it can wait: nothing else asks for them, only penalties add."""
    moves = [found for line in body if (found := MOVED.fullmatch(line))]
    rest = [line for line in body if not MOVED.fullmatch(line) and not line.startswith("dot += 3 * ")]
    asks = any(line.startswith(" ") or {"pc", "dot", "stop"} & set(WORD.findall(line)) for line in rest)
    return moves[0] if moves and not asks else None


def all_handlers(sequences: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Every handler that decoding can name, with its lines."""
    found = dict(SPECIAL)
    for name, body in SIMPLE_BODIES.items():
        found[name] = [*split(body), moved(name, "imp")]
    for name in BRANCHES:
        found[name] = branch_handler(name)
    for (name, mode), _ in sorted(CYCLES.items()):
        variants = [mode]
        if mode in ("abx", "aby"):
            variants = [f"{mode}_ram", f"{mode}_rom", *(["abx_bus"] if (name, mode) == ("LDA", "abx") else [])]
        elif mode == "abs":
            variants = ["abs_ram", "abs_rom", "abs_bus"]
        for way in variants:
            key = f"{name}_{way}"
            if name in FAST_READS and way != "inx" and (way != "abs_bus" or name == "LDA"):
                found[key] = read_handler(name, way)
            elif name in FAST_WRITES and way != "inx" and not way.endswith("_rom"):
                found[key] = write_handler(name, way)
            elif name in FAST_MODIFIES and not way.endswith(("_rom", "_bus")):
                found[key] = modify_handler(name, way)
    for joined in sequences:
        found[joined] = sequence_handler(found, joined.split(JOIN))
    return found
