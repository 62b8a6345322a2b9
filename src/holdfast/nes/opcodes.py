"""The 6502's 256 opcodes as one table; decoding, cycle counts, the interpreter and the assembler all come from it.

Facts from the NESdev wiki ("CPU unofficial opcodes", "6502 instruction reference"). Each entry is the mnemonic, the
addressing mode and the cycles; `+` marks the extra cycle for an index that crosses a page, `*` an unofficial opcode.
Branches count 2 here and pay 1 more when taken, 2 more when the target lies in another page.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TABLE = """
00 BRK imp 7   | 01 ORA inx 6   | 02 JAM imp 2*  | 03 SLO inx 8*
04 NOP zpg 3*  | 05 ORA zpg 3   | 06 ASL zpg 5   | 07 SLO zpg 5*
08 PHP imp 3   | 09 ORA imm 2   | 0A ASL acc 2   | 0B ANC imm 2*
0C NOP abs 4*  | 0D ORA abs 4   | 0E ASL abs 6   | 0F SLO abs 6*
10 BPL rel 2   | 11 ORA iny 5+  | 12 JAM imp 2*  | 13 SLO iny 8*
14 NOP zpx 4*  | 15 ORA zpx 4   | 16 ASL zpx 6   | 17 SLO zpx 6*
18 CLC imp 2   | 19 ORA aby 4+  | 1A NOP imp 2*  | 1B SLO aby 7*
1C NOP abx 4+* | 1D ORA abx 4+  | 1E ASL abx 7   | 1F SLO abx 7*
20 JSR abs 6   | 21 AND inx 6   | 22 JAM imp 2*  | 23 RLA inx 8*
24 BIT zpg 3   | 25 AND zpg 3   | 26 ROL zpg 5   | 27 RLA zpg 5*
28 PLP imp 4   | 29 AND imm 2   | 2A ROL acc 2   | 2B ANC imm 2*
2C BIT abs 4   | 2D AND abs 4   | 2E ROL abs 6   | 2F RLA abs 6*
30 BMI rel 2   | 31 AND iny 5+  | 32 JAM imp 2*  | 33 RLA iny 8*
34 NOP zpx 4*  | 35 AND zpx 4   | 36 ROL zpx 6   | 37 RLA zpx 6*
38 SEC imp 2   | 39 AND aby 4+  | 3A NOP imp 2*  | 3B RLA aby 7*
3C NOP abx 4+* | 3D AND abx 4+  | 3E ROL abx 7   | 3F RLA abx 7*
40 RTI imp 6   | 41 EOR inx 6   | 42 JAM imp 2*  | 43 SRE inx 8*
44 NOP zpg 3*  | 45 EOR zpg 3   | 46 LSR zpg 5   | 47 SRE zpg 5*
48 PHA imp 3   | 49 EOR imm 2   | 4A LSR acc 2   | 4B ALR imm 2*
4C JMP abs 3   | 4D EOR abs 4   | 4E LSR abs 6   | 4F SRE abs 6*
50 BVC rel 2   | 51 EOR iny 5+  | 52 JAM imp 2*  | 53 SRE iny 8*
54 NOP zpx 4*  | 55 EOR zpx 4   | 56 LSR zpx 6   | 57 SRE zpx 6*
58 CLI imp 2   | 59 EOR aby 4+  | 5A NOP imp 2*  | 5B SRE aby 7*
5C NOP abx 4+* | 5D EOR abx 4+  | 5E LSR abx 7   | 5F SRE abx 7*
60 RTS imp 6   | 61 ADC inx 6   | 62 JAM imp 2*  | 63 RRA inx 8*
64 NOP zpg 3*  | 65 ADC zpg 3   | 66 ROR zpg 5   | 67 RRA zpg 5*
68 PLA imp 4   | 69 ADC imm 2   | 6A ROR acc 2   | 6B ARR imm 2*
6C JMP ind 5   | 6D ADC abs 4   | 6E ROR abs 6   | 6F RRA abs 6*
70 BVS rel 2   | 71 ADC iny 5+  | 72 JAM imp 2*  | 73 RRA iny 8*
74 NOP zpx 4*  | 75 ADC zpx 4   | 76 ROR zpx 6   | 77 RRA zpx 6*
78 SEI imp 2   | 79 ADC aby 4+  | 7A NOP imp 2*  | 7B RRA aby 7*
7C NOP abx 4+* | 7D ADC abx 4+  | 7E ROR abx 7   | 7F RRA abx 7*
80 NOP imm 2*  | 81 STA inx 6   | 82 NOP imm 2*  | 83 SAX inx 6*
84 STY zpg 3   | 85 STA zpg 3   | 86 STX zpg 3   | 87 SAX zpg 3*
88 DEY imp 2   | 89 NOP imm 2*  | 8A TXA imp 2   | 8B ANE imm 2*
8C STY abs 4   | 8D STA abs 4   | 8E STX abs 4   | 8F SAX abs 4*
90 BCC rel 2   | 91 STA iny 6   | 92 JAM imp 2*  | 93 SHA iny 6*
94 STY zpx 4   | 95 STA zpx 4   | 96 STX zpy 4   | 97 SAX zpy 4*
98 TYA imp 2   | 99 STA aby 5   | 9A TXS imp 2   | 9B TAS aby 5*
9C SHY abx 5*  | 9D STA abx 5   | 9E SHX aby 5*  | 9F SHA aby 5*
A0 LDY imm 2   | A1 LDA inx 6   | A2 LDX imm 2   | A3 LAX inx 6*
A4 LDY zpg 3   | A5 LDA zpg 3   | A6 LDX zpg 3   | A7 LAX zpg 3*
A8 TAY imp 2   | A9 LDA imm 2   | AA TAX imp 2   | AB LXA imm 2*
AC LDY abs 4   | AD LDA abs 4   | AE LDX abs 4   | AF LAX abs 4*
B0 BCS rel 2   | B1 LDA iny 5+  | B2 JAM imp 2*  | B3 LAX iny 5+*
B4 LDY zpx 4   | B5 LDA zpx 4   | B6 LDX zpy 4   | B7 LAX zpy 4*
B8 CLV imp 2   | B9 LDA aby 4+  | BA TSX imp 2   | BB LAS aby 4+*
BC LDY abx 4+  | BD LDA abx 4+  | BE LDX aby 4+  | BF LAX aby 4+*
C0 CPY imm 2   | C1 CMP inx 6   | C2 NOP imm 2*  | C3 DCP inx 8*
C4 CPY zpg 3   | C5 CMP zpg 3   | C6 DEC zpg 5   | C7 DCP zpg 5*
C8 INY imp 2   | C9 CMP imm 2   | CA DEX imp 2   | CB SBX imm 2*
CC CPY abs 4   | CD CMP abs 4   | CE DEC abs 6   | CF DCP abs 6*
D0 BNE rel 2   | D1 CMP iny 5+  | D2 JAM imp 2*  | D3 DCP iny 8*
D4 NOP zpx 4*  | D5 CMP zpx 4   | D6 DEC zpx 6   | D7 DCP zpx 6*
D8 CLD imp 2   | D9 CMP aby 4+  | DA NOP imp 2*  | DB DCP aby 7*
DC NOP abx 4+* | DD CMP abx 4+  | DE DEC abx 7   | DF DCP abx 7*
E0 CPX imm 2   | E1 SBC inx 6   | E2 NOP imm 2*  | E3 ISC inx 8*
E4 CPX zpg 3   | E5 SBC zpg 3   | E6 INC zpg 5   | E7 ISC zpg 5*
E8 INX imp 2   | E9 SBC imm 2   | EA NOP imp 2   | EB SBC imm 2*
EC CPX abs 4   | ED SBC abs 4   | EE INC abs 6   | EF ISC abs 6*
F0 BEQ rel 2   | F1 SBC iny 5+  | F2 JAM imp 2*  | F3 ISC iny 8*
F4 NOP zpx 4*  | F5 SBC zpx 4   | F6 INC zpx 6   | F7 ISC zpx 6*
F8 SED imp 2   | F9 SBC aby 4+  | FA NOP imp 2*  | FB ISC aby 7*
FC NOP abx 4+* | FD SBC abx 4+  | FE INC abx 7   | FF ISC abx 7*
"""

MODES = ("imp", "acc", "imm", "zpg", "zpx", "zpy", "abs", "abx", "aby", "ind", "inx", "iny", "rel")
OPERAND_BYTES = {"imp": 0, "acc": 0, "abs": 2, "abx": 2, "aby": 2, "ind": 2}  # all others: 1

READS = ("LDA", "LDX", "LDY", "LAX", "ADC", "SBC", "AND", "ORA", "EOR", "CMP", "CPX", "CPY", "BIT", "NOP", "LAS")
WRITES = ("STA", "STX", "STY", "SAX", "SHA", "SHX", "SHY", "TAS")
MODIFIES = ("ASL", "LSR", "ROL", "ROR", "INC", "DEC", "SLO", "RLA", "SRE", "RRA", "DCP", "ISC")
UNSTABLE = ("ANE", "LXA", "SHA", "SHX", "SHY", "TAS", "LAS")  # differ between real chips
BRANCHES = {"BPL": "n", "BMI": "N", "BVC": "v", "BVS": "V", "BCC": "c", "BCS": "C", "BNE": "z", "BEQ": "Z"}


class Opcode(NamedTuple):
    code: int
    mnemonic: str
    mode: str
    cycles: int
    page_penalty: bool
    official: bool

    @property
    def length(self) -> int:
        return 1 + OPERAND_BYTES.get(self.mode, 1)


def _parse(entry: str) -> Opcode:
    code, mnemonic, mode, cycles = entry.split()
    return Opcode(int(code, 16), mnemonic, mode, int(cycles[0]), "+" in cycles, "*" not in cycles)


OPCODES = tuple(_parse(entry) for line in TABLE.strip().splitlines() for entry in line.split("|"))
MNEMONICS = tuple(dict.fromkeys(opcode.mnemonic for opcode in OPCODES))

# The same table as arrays, for the interpreter.
MODE = np.array([MODES.index(opcode.mode) for opcode in OPCODES], np.int64)
OPERATION = np.array([MNEMONICS.index(opcode.mnemonic) for opcode in OPCODES], np.int64)
CYCLES = np.array([opcode.cycles for opcode in OPCODES], np.int64)
PAGE_PENALTY = np.array([opcode.page_penalty for opcode in OPCODES], np.int64)
LENGTH = np.array([opcode.length for opcode in OPCODES], np.int64)
