"""How often each handler runs per frame, the weights of the comparison tree; and the joined handlers.

Measured with `benchmarks/nes_weights.py` over starts in eight worlds of a side-scrolling NROM game. Other programs run
exactly as well with these weights, only their favourite instructions may sit a comparison deeper.
"""

from __future__ import annotations

SEQUENCES: tuple[str, ...] = (
    "INY+INY", "LSR_acc+LSR_acc", "CMP_imm+BNE", "STA_aby_ram+INY+INY+INY+INY+BNE", "CLC+ADC_imm", "DEX+BPL",
    "STA_aby_ram+LDA_zpg", "CMP_imm+BEQ", "DEY+BPL", "STA_aby_ram+LDA_zpg+STA_aby_ram", "ASL_acc+ASL_acc",
    "LDX_aby_rom+CMP_imm", "LDA_abs_ram+BNE", "INY+LDA_iny", "LDA_abs_ram+BEQ", "DEY+BNE", "LDX_zpg+CMP_imm+BNE",
    "LSR_acc+ORA_zpg", "STA_zpg+LDA_imm", "STA_zpg+LDA_abs_ram", "LDA_abx_ram+BEQ", "STA_zpg+PLA",
    "LDA_abx_rom+STA_zpg", "SEC+SBC_zpx", "SBC_zpx+LDX_aby_rom+CMP_imm+BMI", "LDA_abx_rom+LDX_zpg+CMP_imm+BNE",
    "STA_zpg+LDA_zpg", "CMP_imm+BCS", "CPY_imm+BCC", "STA_zpg+LDA_zpx", "STA_zpg+INY+LDA_iny",
    "STA_zpg+LSR_acc+ORA_zpg+LSR_acc+PLA+ROL_acc", "PHA+LDA_abx_bus", "CMP_imm+BCC", "CPX_imm+BNE", "INX+INY",
    "LDA_abx_ram+CMP_zpg+BCC", "DEX+DEY+BPL", "LDX_zpg+RTS", "LDA_abs_ram+AND_imm", "STA_abx_ram+DEX+BPL",
    "LSR_acc+LSR_acc+LSR_acc+LSR_acc", "CLC+ADC_imm+TAY", "CLC+ADC_zpg", "CLC+ADC_aby_rom", "SEC+SBC_imm",
    "LDA_zpx+BEQ", "STA_zpg+LDA_aby_ram", "LDY_abs_ram+CLC+ADC_aby_ram+BCC", "LDA_zpg+CMP_imm+BNE", "LDY_imm+JMP",
    "STA_aby_ram+INX+INY", "LDA_abx_ram+SBC_aby_ram+DEX+DEY+BPL", "ORA_zpg+STA_aby_ram", "CPY_imm+BNE",
    "CLC+ADC_abx_rom", "STA_aby_ram+LDA_zpg+CLC+ADC_imm", "AND_imm+BEQ", "STA_aby_ram+LDA_zpg+STA_aby_ram+CLC+ADC_imm",
    "TYA+CLC+ADC_imm+TAY+INX+INX",
)  # fmt: skip

WEIGHTS: dict[str, float] = {
    "JSR": 145.5, "RTS": 122.3, "LDA_zpg": 97.0, "STA_zpg": 83.8, "LDA_zpx": 83.7, "LDA_imm": 70.9, "BNE": 68.7,
    "AND_imm": 67.7, "STA_aby_ram+INY+INY+INY+INY+BNE": 63.0, "BCC": 51.9, "BEQ": 45.7, "TAY": 45.6, "PHA": 45.5,
    "LDA_abs_ram": 43.9, "CMP_imm+BEQ": 43.8, "JMP": 42.7, "STX_zpg": 42.4, "PLA": 42.3, "LDY_zpg": 37.3,
    "LDY_imm": 37.3, "BCS": 36.6, "LDA_aby_rom": 36.2, "DEX+BPL": 34.1, "CMP_imm+BNE": 33.7, "STA_aby_ram": 31.0,
    "STA_abx_ram": 29.2, "STA_abs_ram": 29.1, "LDA_abx_ram": 28.8, "LDA_abs_ram+BNE": 26.9, "LSR_acc": 26.9,
    "LDX_imm": 26.4, "STA_abs_bus": 25.1, "LDA_abs_ram+BEQ": 24.8, "ASL_acc": 24.7, "LDA_aby_ram": 24.5,
    "DEY+BNE": 23.8, "LSR_acc+LSR_acc": 22.9, "STA_zpg+LDA_imm": 22.1, "STA_zpg+LDA_abs_ram": 21.7,
    "ASL_acc+ASL_acc": 21.2, "STA_aby_ram+LDA_zpg+STA_aby_ram": 21.0, "LDA_abx_ram+BEQ": 21.0, "LDY_abs_ram": 20.5,
    "STY_zpg": 20.1, "STA_zpg+PLA": 19.5, "LDA_iny": 19.5, "INX": 19.2, "LDA_abx_rom+STA_zpg": 19.0,
    "CLC+ADC_imm": 18.8, "LDA_abx_rom+LDX_zpg+CMP_imm+BNE": 18.3, "SBC_zpx+LDX_aby_rom+CMP_imm+BMI": 18.3,
    "SEC+SBC_zpx": 18.3, "TAX": 18.2, "DEY+BPL": 18.1, "ADC_imm": 18.0, "STA_zpg+LDA_zpg": 17.9, "BPL": 17.5,
    "CMP_zpg": 17.4, "CMP_imm+BCS": 17.0, "CPY_imm+BCC": 17.0, "STA_zpx": 16.8, "STA_zpg+LDA_zpx": 16.7,
    "STA_zpg+INY+LDA_iny": 16.4, "PHA+LDA_abx_bus": 16.0, "STA_zpg+LSR_acc+ORA_zpg+LSR_acc+PLA+ROL_acc": 16.0,
    "CMP_imm+BCC": 15.4, "CPX_imm+BNE": 15.3, "LDA_abx_ram+CMP_zpg+BCC": 15.0, "LDX_zpg+RTS": 15.0,
    "LDA_abs_ram+AND_imm": 14.5, "TYA": 14.5, "BMI": 14.1, "STA_abx_ram+DEX+BPL": 13.9,
    "LSR_acc+LSR_acc+LSR_acc+LSR_acc": 13.9, "LDX_zpg": 13.7, "CLC+ADC_zpg": 13.6, "CLC+ADC_aby_rom": 13.4, "CLC": 13.2,
    "SEC+SBC_imm": 13.2, "LDA_zpx+BEQ": 13.1, "STA_zpg+LDA_aby_ram": 13.0, "LDY_abs_ram+CLC+ADC_aby_ram+BCC": 13.0,
    "CMP_imm": 13.0, "LDA_zpg+CMP_imm+BNE": 12.5, "LDY_imm+JMP": 12.4, "STA_aby_ram+INX+INY": 12.3,
    "LDA_abx_ram+SBC_aby_ram+DEX+DEY+BPL": 12.0, "ORA_zpg+STA_aby_ram": 11.9, "SBC_abs_ram": 11.4, "DEX": 11.2,
    "CPY_imm+BNE": 11.2, "CLC+ADC_abx_rom": 10.7, "STA_aby_ram+LDA_zpg+CLC+ADC_imm": 10.7, "AND_imm+BEQ": 10.6,
    "STA_aby_ram+LDA_zpg+STA_aby_ram+CLC+ADC_imm": 10.5, "TYA+CLC+ADC_imm+TAY+INX+INX": 10.5, "CPX_imm": 10.5,
    "ORA_zpg": 10.3, "INY+LDA_iny": 9.9, "INY": 9.7, "SEC": 9.6, "LDX_aby_rom+CMP_imm": 9.0, "CPY_imm": 8.9,
    "DEC_zpg": 8.6, "TXA": 8.4, "ROR_acc": 8.3, "JMP_ind": 8.2, "ADC_zpx": 7.5, "ADC_zpg": 7.1, "ROR_abx_ram": 7.0,
    "LDY_zpx": 7.0, "ROL_acc": 6.8, "LSR_acc+ORA_zpg": 6.4, "SBC_zpg": 6.4, "LDX_abs_ram": 6.3, "LSR_zpg": 6.1,
    "DEC_abs_ram": 5.7, "STA_aby_ram+LDA_zpg": 5.4, "INC_zpg": 5.4, "CMP_zpx": 5.4, "DEY": 5.3, "ORA_imm": 5.1,
    "RARE": 5.0, "SBC_imm": 4.8, "LDY_abx_ram": 4.8, "LDA_abx_rom": 4.3, "LDX_zpg+CMP_imm+BNE": 4.3, "POLL_LDA": 4.0,
    "CMP_abs_ram": 3.8, "ADC_abs_ram": 3.1, "DEX+DEY+BPL": 3.0, "AND_abs_ram": 2.8, "SBC_zpx": 2.7, "INX+INY": 2.7,
    "AND_aby_rom": 2.3, "CMP_abx_ram": 2.3, "DEC_abx_ram": 2.3, "STY_abs_ram": 2.2, "ADC_abx_ram": 2.2,
    "AND_abx_ram": 2.0, "WAIT_DEY": 2.0, "WAIT_forever": 2.0, "CLC+ADC_imm+TAY": 1.9, "EOR_imm": 1.7,
    "BIT_abs_ram": 1.6, "STX_abs_ram": 1.4, "ORA_abs_ram": 1.3, "STY_abs_bus": 1.2, "ROL_zpg": 1.1, "AND_zpg": 1.1,
    "INC_abs_ram": 1.1, "INY+INY": 1.0, "LDX_aby_rom": 1.0, "EOR_zpg": 1.0, "LDA_abs_bus": 1.0, "STX_abs_bus": 0.8,
    "CMP_abx_rom": 0.8, "CMP_aby_rom": 0.7, "STA_iny": 0.7, "BIT_zpg": 0.7, "CMP_aby_ram": 0.5, "AND_abx_rom": 0.4,
    "ADC_aby_rom": 0.3, "LDX_aby_ram": 0.2, "STY_zpx": 0.1, "ASL_abs_ram": 0.1, "ROL_abs_ram": 0.1,
}  # fmt: skip
