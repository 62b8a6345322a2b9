"""ROM-specific traces change the speed, not a byte; what is kept of them is kept apart by ROM and goes when unused."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from cartridges import NMI_TIMING, cartridge

from holdfast.nes import Cartridge, Console, kept, load_rom
from holdfast.nes.blocks import Writer, machine_with_blocks, stored_traces
from holdfast.nes.decode import decode_program
from holdfast.nes.handlers import all_handlers
from holdfast.nes.opcodes import OPCODES
from holdfast.nes.profile import Profile, random_profile
from holdfast.nes.traces import find_traces

# Loops, calls, returns, every way to reach an operand, registers and OAM DMA, with an NMI that falls anywhere.
BUSY = """
reset:  JSR start
        LDA #$80
        STA PPUCTRL
        LDA #$1E
        STA PPUMASK
loop:   LDX #40
fill:   LDA $10,X
        CLC
        ADC table,X
        STA $0200,X
        STA $0300,Y
        ROR $40,X
        DEX
        BPL fill
        JSR mix
        LDA $4016
        LSR A
        ROL $50
        LDX #1
        LDA $4016,X
        STA $51
        LDA #2
        STA $4014
        JMP loop
mix:    LDA #$20
        STA $61
        LDA $60
        ASL A
        ASL A
        EOR $11
        TAY
        LDA ($62),Y
        STA ($64),Y
        INC $60
        PHA
        TXA
        PLA
        CMP #$7F
        BCS big
        INC $66
        RTS
big:    DEC $67
        BIT $67
        RTS
nmi:    INC $70
        PHA
        LDA #$20
        STA PPUADDR
        LDA $70
        STA PPUADDR
        STA PPUDATA
        LDA #$07
        STA $65
        LDA #$82
        STA $63
        PLA
        RTI
table:  .byte 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37
        .byte 38,39,40,41
"""
ROM = load_rom(cartridge(BUSY))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces are kept by ROM hash; tests keep theirs apart."""
    monkeypatch.setattr("holdfast.nes.kept.cache_root", lambda: tmp_path)


@pytest.fixture(scope="module")
def profile() -> Profile:
    return random_profile(ROM, frames=40)


def test_a_machine_with_blocks_gives_the_same_bytes(profile: Profile) -> None:
    found, _ = find_traces(ROM, profile, 12)
    assert any(one.trace.loops for one in found) and len(found) >= 3
    decoded = decode_program(ROM)
    held = {decoded[address].handler for one in found for address in one.trace.addresses}
    assert {"JSR", "RTS", "STA_abs_bus", "LDA_iny", "STA_iny"} <= held
    machine = machine_with_blocks(ROM, profile, count=12)
    general, special = Console(ROM), Console(ROM)
    special.machine, special.code = machine, machine.code
    for frame in range(300):
        general.step(frame % 256)
        special.step(frame % 256)
        assert np.array_equal(general.state, special.state), frame


def test_traces_of_the_real_game_take_most_dispatches(mario: Cartridge) -> None:
    profile = random_profile(mario, frames=300)
    found, left = find_traces(mario, profile, 30)
    assert sum(one.saved for one in found) > sum(left.values()) > 0
    assert all(len(one.trace.addresses) > 1 for one in found)


def test_a_trace_is_straight_code(profile: Profile) -> None:
    decoded, bodies = decode_program(ROM), all_handlers()
    lengths = {address: OPCODES[int(ROM.program[address & 0x7FFF])].length for address in decoded}
    for one in find_traces(ROM, profile, 12)[0]:
        text = "\n".join(Writer(one.trace, decoded, bodies, []).written(lengths))
        compile(text, "trace", "exec")
        assert "code[" not in text and "word" not in text.replace("words", "")


def test_traces_are_kept_by_the_hash_of_the_rom(tmp_path: Path, profile: Profile) -> None:
    found, left = stored_traces(ROM, profile, 3)
    again, same_left = stored_traces(ROM, None, 3)
    assert [one.trace for one in again] == [one.trace for one in found] and same_left == left
    other = load_rom(cartridge(NMI_TIMING.format(mask=0)))
    assert ROM.digest != other.digest
    assert [path.name for path in (tmp_path / "traces").iterdir()] == [f"{ROM.digest}-3.json"]


def test_what_nobody_used_for_a_month_goes(tmp_path: Path) -> None:
    root = kept.folder("generated")
    assert root == tmp_path / "generated"
    old, recent, used = root / "old", root / "recent", root / "used"
    for folder in (old, recent, used):
        folder.mkdir()
        kept.write(folder / "text.py", "x = 1\n")
    long_ago = time.time() - 40 * 86400
    os.utime(old, (long_ago, long_ago))
    os.utime(used, (long_ago, long_ago))
    kept.used(used, root)
    assert sorted(path.name for path in root.iterdir()) == ["recent", "used"]
    assert (used / "text.py").read_text() == "x = 1\n"
