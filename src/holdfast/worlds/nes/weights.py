"""How often each handler runs, in executions per frame: the weights of the comparison tree; and the joined handlers.

Measured with `benchmarks/nes_weights.py` over starts in eight worlds of a side-scrolling NROM game. Other programs run
exactly as well with these weights, only their favourite instructions may sit a comparison deeper.
"""

from __future__ import annotations

SEQUENCES: tuple[str, ...] = (
    "INY+INY", "LSR_acc+LSR_acc", "CMP_imm+BNE", "INY+INY+INY+INY", "CLC+ADC_imm", "DEX+BPL", "STA_aby_ram+LDA_zpg",
    "CMP_imm+BEQ", "DEY+BPL", "STA_aby_ram+LDA_zpg+STA_aby_ram", "LDA_abs_ram+BNE", "INY+LDA_iny", "ASL_acc+ASL_acc",
    "LDX_aby_rom+CMP_imm", "LDA_abs_ram+BEQ", "DEY+BNE", "LSR_acc+ORA_zpg", "LDA_abx_ram+BEQ", "STA_zpg+LDA_imm",
    "LDX_zpg+CMP_imm+BNE", "STA_zpg+LDA_abs_ram", "STA_zpg+PLA", "STA_zpg+LDA_zpg", "LDA_abx_rom+STA_zpg",
)  # fmt: skip

WEIGHTS: dict[str, float] = {
    "BNE": 153.2, "STA_zpg": 140.7, "JSR": 139.3, "RTS": 131.5, "STA_aby_ram": 113.5, "BCC": 108.9, "LDA_zpx": 106.5,
    "LDA_zpg": 105.0, "AND_imm": 93.7, "LDA_imm": 67.7, "BEQ": 67.3, "INY+INY+INY+INY": 63.2, "CLC": 62.5, "PHA": 59.5,
    "LDA_abs_ram": 59.0, "TAY": 57.0, "PLA": 56.0, "LDA_abx_ram": 54.9, "INX": 53.9, "BCS": 51.7, "JMP": 51.7,
    "CLC+ADC_imm": 50.2, "DEX+BPL": 49.1, "LSR_acc+LSR_acc": 48.8, "LDY_imm": 47.1, "CMP_imm+BNE": 44.7,
    "CMP_imm": 43.4, "STA_abx_ram": 42.5, "CMP_imm+BEQ": 41.7, "LSR_acc": 41.3, "STX_zpg": 40.7, "SEC": 39.1,
    "SBC_zpx": 37.2, "LDY_zpg": 36.0, "LDA_aby_rom": 35.5, "LDA_aby_ram": 34.6, "LDY_abs_ram": 34.2, "CPY_imm": 33.4,
    "DEY+BPL": 31.9, "CMP_zpg": 31.0, "BMI": 29.9, "STA_abs_ram": 29.3, "STA_aby_ram+LDA_zpg+STA_aby_ram": 29.0,
    "LDA_abs_ram+BNE": 27.4, "LDX_imm": 26.7, "DEX": 26.3, "LDX_zpg": 26.0, "INY+LDA_iny": 25.9,
    "LDX_aby_rom+CMP_imm": 25.6, "STA_abs_bus": 25.4, "CPX_imm": 24.8, "TYA": 24.7, "ASL_acc": 24.7,
    "LDA_abs_ram+BEQ": 24.6, "INY": 24.4, "DEY+BNE": 23.7, "ROL_acc": 23.1, "LSR_acc+ORA_zpg": 22.5,
    "LDA_abx_ram+BEQ": 22.2, "LDA_abx_rom": 21.4, "STA_zpg+LDA_imm": 21.0, "LDX_zpg+CMP_imm+BNE": 20.9,
    "STA_zpg+LDA_abs_ram": 20.7, "LDA_iny": 20.7, "ORA_zpg": 20.6, "ADC_zpg": 20.0, "ASL_acc+ASL_acc": 19.8,
    "STY_zpg": 19.1, "STA_zpg+PLA": 18.9, "STA_zpg+LDA_zpg": 17.3, "LDA_abx_rom+STA_zpg": 17.3, "ADC_imm": 17.3,
    "SBC_imm": 17.1, "STA_zpx": 17.1, "BPL": 16.9, "TAX": 16.4, "LDA_abx_bus": 16.0, "STA_aby_ram+LDA_zpg": 14.7,
    "ADC_aby_rom": 13.8, "ADC_aby_ram": 13.2, "SBC_aby_ram": 12.0, "SBC_abs_ram": 10.8, "ADC_abx_rom": 9.7,
    "DEC_zpg": 8.5, "ROR_acc": 8.4, "JMP_ind": 7.7, "ADC_zpx": 7.5, "TXA": 7.4, "ROR_abx_ram": 7.0, "LDX_abs_ram": 6.3,
    "LSR_zpg": 6.3, "DEC_abs_ram": 5.9, "LDY_zpx": 5.9, "DEY": 5.6, "SBC_zpg": 5.5, "INC_zpg": 5.5, "CMP_zpx": 5.5,
    "RARE": 5.1, "ORA_imm": 4.7, "CMP_abs_ram": 4.2, "LDY_abx_ram": 4.1, "POLL_LDA": 4.0, "ADC_abs_ram": 3.2,
    "AND_abs_ram": 2.5, "DEC_abx_ram": 2.4, "AND_aby_rom": 2.2, "STY_abs_ram": 2.2, "AND_abx_ram": 2.0, "WAIT_DEY": 2.0,
    "WAIT_forever": 2.0, "ADC_abx_ram": 2.0, "CMP_abx_ram": 1.8, "BIT_abs_ram": 1.8, "EOR_imm": 1.7, "STX_abs_ram": 1.3,
    "STY_abs_bus": 1.2, "ORA_abs_ram": 1.2, "ROL_zpg": 1.2, "INC_abs_ram": 1.1, "AND_zpg": 1.1, "INY+INY": 1.1,
    "LDX_aby_rom": 1.0, "EOR_zpg": 1.0, "LDA_abs_bus": 1.0, "STX_abs_bus": 0.8, "CMP_abx_rom": 0.8, "CMP_aby_rom": 0.8,
    "STA_iny": 0.7, "BIT_zpg": 0.7, "CMP_aby_ram": 0.4, "AND_abx_rom": 0.2, "LDX_aby_ram": 0.1, "ASL_abs_ram": 0.1,
    "ROL_abs_ram": 0.1, "STY_zpx": 0.1,
}  # fmt: skip
