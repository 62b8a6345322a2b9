"""A deck as one picture: its situations side by side from above, or the velocities of a light deck as arrows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from holdfast.curriculum.deck_files import Deck
from holdfast.kit.errors import ConfigError, RunFolderError
from holdfast.worlds.api import World

MOST = 16  # situations in one picture
ACROSS = 4
TILE = 240
PAGE, INK, ARROW, RING = (13, 17, 26), (226, 236, 242), (255, 128, 118), (60, 80, 100)
SIDE, FASTEST = 480, 3.2  # of the picture of velocities, and what its outer ring stands for


def write_picture(deck: Deck, path: Path, world: World | None) -> Path:
    """A .png file; `world` is one with a lane for each situation of a full deck."""
    if path.suffix.lower() != ".png":
        raise ConfigError([f"--picture {path}: must end in .png"])
    image = _velocities(deck.velocities) if deck.velocities is not None else _situations(deck, world)
    try:
        image.save(path)
    except OSError as error:
        raise RunFolderError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def _situations(deck: Deck, world: World | None) -> Image.Image:
    """The first of them, in their order."""
    assert world is not None and deck.situations is not None
    world.reset()
    world.begin_from(np.arange(len(deck)), deck.situations)
    shown = min(len(deck), MOST)
    page = Image.new("RGB", (ACROSS * TILE, -(-shown // ACROSS) * TILE), PAGE)
    for number in range(shown):
        tile = Image.fromarray(world.draw(number)).resize((TILE, TILE), Image.Resampling.LANCZOS)
        page.paste(tile, (number % ACROSS * TILE, number // ACROSS * TILE))
    return page


def _velocities(velocities: np.ndarray) -> Image.Image:
    """Arrows from the centre; rings are 0.8 apart."""
    image = Image.new("RGB", (2 * SIDE, 2 * SIDE), PAGE)
    canvas = ImageDraw.Draw(image)
    scale = 0.94 * SIDE / FASTEST
    for radius in np.arange(0.8, FASTEST + 0.01, 0.8) * scale:
        canvas.ellipse((SIDE - radius, SIDE - radius, SIDE + radius, SIDE + radius), outline=RING, width=2)
    for vx, vy in velocities:
        tip = np.array([SIDE + scale * vx, SIDE - scale * vy])
        along = np.array([vx, -vy]) / np.hypot(vx, vy) * 16.0
        aside = np.array([-along[1], along[0]]) * 0.4
        canvas.line((SIDE, SIDE, *tip), fill=ARROW, width=3)
        canvas.polygon([tuple(tip), tuple(tip - along + aside), tuple(tip - along - aside)], fill=ARROW)
    canvas.text((16, 12), f"{len(velocities)} predator velocities, rings 0.8 apart", fill=INK, font_size=22)
    return image.reduce(2)
