"""ROM-specific traces change the speed, not a byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cartridges import NMI_TIMING, cartridge

from holdfast.worlds.nes import Console, load_rom
from holdfast.worlds.nes.blocks import find_traces, machine_with_blocks, random_profile, stored_traces

ROM = load_rom(cartridge(NMI_TIMING.format(mask=0x1E)))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces are kept by ROM hash; tests keep theirs apart."""
    monkeypatch.setattr("holdfast.worlds.nes.blocks.cache_root", lambda: tmp_path)


def test_a_machine_with_blocks_gives_the_same_bytes() -> None:
    machine = machine_with_blocks(ROM, random_profile(ROM, frames=20), count=3)
    general, special = Console(ROM), Console(ROM)
    special.machine, special.code = machine, machine.code
    assert (general.code != 0).any() and (machine.code != general.code).any()
    for frame in range(60):
        general.step(frame % 256)
        special.step(frame % 256)
        assert np.array_equal(general.state, special.state), frame


def test_traces_are_kept_by_the_hash_of_the_rom(tmp_path: Path) -> None:
    profile = random_profile(ROM, frames=20)
    found = stored_traces(ROM, profile, 3)
    assert found == find_traces(ROM, profile, 3) == stored_traces(ROM, None, 3)
    assert [path.name for path in (tmp_path / "traces").iterdir()] == [f"{ROM.digest}-3.json"]
    assert all(len(trace.addresses) > 1 for trace in found)
