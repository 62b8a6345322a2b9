"""Measures how often handlers run and which follow each other, and prints src/holdfast/nes/weights.py.

    python benchmarks/nes_weights.py > weights.py && mv weights.py src/holdfast/nes/weights.py

Needs the cartridge of gym-super-mario-bros. The profile covers starts in all eight worlds.
"""

from __future__ import annotations

from holdfast.nes.cartridge import load_rom
from holdfast.nes.profile import mario_profile
from holdfast.nes.rivals import mario_rom
from holdfast.nes.sequences import learn

MERGES = 160

HEAD = '''"""How often each handler runs per frame, the weights of the comparison tree; and the joined handlers.

Measured with `benchmarks/nes_weights.py` over starts in eight worlds of a side-scrolling NROM game. Other programs run
exactly as well with these weights, only their favourite instructions may sit a comparison deeper.
"""

from __future__ import annotations
'''


def lines(parts: list[str]) -> str:
    """Parts, wrapped to the project's line length."""
    text, line = "", "   "
    for part in parts:
        if len(line) + len(part) + 2 > 120:
            text, line = f"{text}{line}\n", "   "
        line += f" {part},"
    return f"{text}{line}\n"


def main() -> None:
    path = mario_rom()
    assert path is not None, "pip install gym-super-mario-bros"
    cartridge = load_rom(path)
    sequences, weights = learn(cartridge, mario_profile(cartridge).runs, MERGES)
    frequent = sorted(((-weight, name) for name, weight in weights.items() if weight >= 0.05))
    print(HEAD)
    print("SEQUENCES: tuple[str, ...] = (\n" + lines([f'"{name}"' for name in sequences]) + ")  # fmt: skip\n")
    print("WEIGHTS: dict[str, float] = {")
    print(lines([f'"{name}": {-weight:.1f}' for weight, name in frequent]) + "}  # fmt: skip")


if __name__ == "__main__":
    main()
