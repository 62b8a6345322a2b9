"""How often each handler runs, in executions per frame: the weights of the comparison tree.

Measured with `benchmarks/nes_weights.py` over starts in eight worlds of a side-scrolling NROM game. Other programs run
exactly as well with these weights, only their favourite instructions may sit a comparison deeper.
"""

from __future__ import annotations

WEIGHTS: dict[str, float] = {
    "INY": 305.2, "BNE": 277.8, "STA_zpg": 249.1, "STA_aby_ram": 188.9, "CMP_imm": 185.5, "LDA_zpg": 173.2,
    "LSR_acc": 169.9, "BEQ": 163.8, "JSR": 146.9, "RTS": 138.4, "LDA_abs_ram": 133.9, "CLC": 119.0, "LDA_zpx": 116.2,
    "BCC": 110.5, "BPL": 103.1, "AND_imm": 97.7, "LDA_imm": 93.1, "PLA": 79.4, "LDA_abx_ram": 78.0, "DEX": 77.7,
    "ADC_imm": 70.8, "ASL_acc": 68.9, "DEY": 63.2, "PHA": 62.5, "TAY": 60.5, "JMP": 54.5, "BCS": 54.1, "INX": 52.6,
    "LDY_imm": 50.1, "LDX_zpg": 50.1, "LDA_iny": 48.2, "ORA_zpg": 44.5, "STA_abx_ram": 43.7, "SEC": 41.9,
    "STX_zpg": 41.7, "LDA_abx_rom": 40.1, "LDY_zpg": 38.6, "SBC_zpx": 38.3, "LDA_aby_rom": 37.5, "LDA_aby_ram": 36.1,
    "LDY_abs_ram": 34.3, "CPY_imm": 33.2, "CMP_zpg": 31.9, "BMI": 31.2, "STA_abs_ram": 30.1, "LDX_aby_rom": 27.4,
    "LDX_imm": 27.3, "TYA": 25.8, "STA_abs_bus": 25.6, "CPX_imm": 25.3, "ROL_acc": 23.7, "ADC_zpg": 21.8,
    "RARE": 21.2, "STY_zpg": 21.0, "SBC_imm": 19.1, "STA_zpx": 18.6, "TAX": 17.8, "ADC_aby_rom": 15.3,
    "ADC_aby_ram": 13.2, "SBC_aby_ram": 12.0, "SBC_abs_ram": 11.1, "ADC_abx_rom": 10.3, "ROR_acc": 9.3,
    "DEC_zpg": 8.7, "JMP_ind": 8.5, "TXA": 8.4, "ADC_zpx": 8.1, "ROR_abx_ram": 7.0, "LDX_abs_ram": 6.4,
    "LDY_zpx": 6.3, "LSR_zpg": 6.3, "SBC_zpg": 6.2, "DEC_abs_ram": 6.1, "INC_zpg": 5.7, "CMP_zpx": 5.6,
    "ORA_imm": 4.9, "LDY_abx_ram": 4.4, "CMP_abs_ram": 4.1, "ADC_abs_ram": 3.4, "DEC_abx_ram": 2.8,
    "AND_abs_ram": 2.8, "CMP_abx_ram": 2.6, "AND_aby_rom": 2.2, "STY_abs_ram": 2.2, "ADC_abx_ram": 2.0,
    "WAIT_forever": 2.0, "POLL_LDA": 2.0, "WAIT_DEY": 2.0, "AND_abx_ram": 2.0, "BIT_abs_ram": 1.9, "EOR_imm": 1.9,
    "STX_abs_ram": 1.4, "STY_abs_bus": 1.3, "ORA_abs_ram": 1.2, "AND_zpg": 1.2, "ROL_zpg": 1.2, "INC_abs_ram": 1.2,
    "EOR_zpg": 1.0, "LDA_abs_bus": 1.0, "CMP_abx_rom": 0.9, "STX_abs_bus": 0.9, "CMP_aby_rom": 0.8, "STA_iny": 0.8,
    "BIT_zpg": 0.7, "CMP_aby_ram": 0.6, "AND_abx_rom": 0.4, "STY_zpx": 0.2, "LDX_aby_ram": 0.1, "ASL_abs_ram": 0.1,
    "ROL_abs_ram": 0.1, "SBC_aby_rom": 0.1,
}  # fmt: skip
