"""A picture of one school from above, made of arrays alone.

Silver fish are calm, amber ones see the predator, and faster ones are brighter; crosses mark where fish died. The
red disc is the predator's kill radius, the thin ring around it the distance from which it is seen.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from holdfast.games.fish.world.school import KILL_DISTANCE, MAX_SPEED, VISION, School

SIZE = 480
SMOOTH = 3  # drawn this much larger, then averaged down
POOL_SHARE = 0.46  # of the picture, from the centre to the wall

SHORE = (13, 17, 26)
DEEP, SHALLOW = (8, 42, 74), (26, 104, 136)
RIM = (120, 190, 205)
CALM_SLOW, CALM_FAST = (112, 152, 172), (226, 246, 250)
ALARMED_SLOW, ALARMED_FAST = (196, 122, 44), (255, 206, 92)
GRAVE = (214, 226, 236, 90)
EDGE = (6, 34, 60)  # a dark line around each fish keeps a crowd readable
KILL_DISC, KILL_RIM, SIGHT_RING = (222, 52, 60, 150), (255, 128, 118, 235), (255, 160, 150, 70)
PREDATOR = (255, 236, 228)
INK, FAINT_INK = (226, 236, 242), (140, 158, 172)

# Outlines with the nose at +x, in units of the body's half length.
FISH_OUTLINE = np.array(
    [(1.0, 0.0), (0.62, 0.3), (0.1, 0.38), (-0.45, 0.13), (-1.05, 0.45), (-0.85, 0.0)]
    + [(-1.05, -0.45), (-0.45, -0.13), (0.1, -0.38), (0.62, -0.3)]
)
PREDATOR_OUTLINE = np.array(
    [(1.0, 0.0), (0.82, 0.14), (0.5, 0.22), (0.28, 0.23), (-0.12, 0.62), (-0.02, 0.2), (-0.5, 0.09), (-1.0, 0.42)]
    + [(-0.8, 0.0), (-1.0, -0.42)]
    + [(-0.5, -0.09), (-0.02, -0.2), (-0.12, -0.62), (0.28, -0.23), (0.5, -0.22), (0.82, -0.14)]
)
FISH_HALF_LENGTH = 0.29
CROSS = 0.13
RIM_SHARE = 0.012  # of the radius
SMALLEST = 1.2  # drawn pixels of a fish's half length, after averaging: in a wide pool it is a dot, but it is there


def scale_of(pool: float) -> float:
    """Drawn pixels per unit of length in a pool of this radius."""
    return SMOOTH * SIZE * POOL_SHARE / pool


def to_pixels(points: np.ndarray, scale: float) -> np.ndarray:
    """Pool coordinates (y up) to drawn pixels (y down)."""
    return SMOOTH * SIZE / 2 + points * (scale, -scale)


@lru_cache(maxsize=1)
def water(pool: float) -> Image.Image:
    """The empty pool: dark in the middle, lighter where it is shallow, with a bright rim."""
    across = (np.arange(SMOOTH * SIZE) + 0.5 - SMOOTH * SIZE / 2) / scale_of(pool)
    radius = np.hypot(across[:, None], across[None, :]) / pool
    depth = np.clip(radius, 0.0, 1.0)[..., None] ** 2.2
    inside = np.array(DEEP) + depth * (np.array(SHALLOW) - np.array(DEEP))
    glow = np.exp(-(((radius - 1.0) / RIM_SHARE) ** 2))[..., None]
    picture = np.where(radius[..., None] < 1.0, inside, np.array(SHORE))
    picture = picture + glow * (np.array(RIM) - picture)
    return Image.fromarray(picture.astype(np.uint8))


@lru_cache(maxsize=1)
def font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=15)


def outlines(
    shape: np.ndarray, half_length: float, position: np.ndarray, velocity: np.ndarray, scale: float
) -> np.ndarray:
    """[F, K, 2] drawn pixels of one shape at F places, nose along the velocity (along +x at a standstill)."""
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    nose = np.where(speed[:, None] > 0.0, velocity / np.where(speed > 0.0, speed, 1.0)[:, None], (1.0, 0.0))
    side = np.stack([-nose[:, 1], nose[:, 0]], axis=1)
    along = shape[None, :, :1] * nose[:, None] + shape[None, :, 1:] * side[:, None]
    return to_pixels(position[:, None] + half_length * along, scale)


def colours(position: np.ndarray, velocity: np.ndarray, predator: np.ndarray) -> np.ndarray:
    """[F, 3]: the kind of colour tells who sees the predator, its brightness the speed."""
    pace = (np.hypot(velocity[:, 0], velocity[:, 1]) / MAX_SPEED)[:, None]
    distance = np.hypot(position[:, 0] - predator[0], position[:, 1] - predator[1])[:, None]
    slow = np.where(distance < VISION, ALARMED_SLOW, CALM_SLOW)
    fast = np.where(distance < VISION, ALARMED_FAST, CALM_FAST)
    return (slow + np.clip(pace, 0.0, 1.0) * (fast - slow)).astype(int)


def draw_graves(canvas: ImageDraw.ImageDraw, position: np.ndarray, scale: float) -> None:
    arm = CROSS * scale
    for x, y in to_pixels(position, scale):
        canvas.line((x - arm, y - arm, x + arm, y + arm), fill=GRAVE, width=SMOOTH)
        canvas.line((x - arm, y + arm, x + arm, y - arm), fill=GRAVE, width=SMOOTH)


def draw_fish(
    canvas: ImageDraw.ImageDraw, position: np.ndarray, velocity: np.ndarray, predator: np.ndarray, scale: float
) -> None:
    half_length = max(FISH_HALF_LENGTH, SMALLEST * SMOOTH / scale)
    edge = EDGE if half_length == FISH_HALF_LENGTH else None  # a dot would be all edge
    shapes = outlines(FISH_OUTLINE, half_length, position, velocity, scale)
    for shape, colour in zip(shapes, colours(position, velocity, predator), strict=True):
        canvas.polygon(shape.ravel().tolist(), fill=tuple(colour.tolist()), outline=edge)


def draw_predator(canvas: ImageDraw.ImageDraw, position: np.ndarray, velocity: np.ndarray, scale: float) -> None:
    x, y = to_pixels(position, scale)
    seen, kill = VISION * scale, KILL_DISTANCE * scale
    canvas.ellipse((x - seen, y - seen, x + seen, y + seen), outline=SIGHT_RING, width=SMOOTH)
    canvas.ellipse((x - kill, y - kill, x + kill, y + kill), fill=KILL_DISC, outline=KILL_RIM, width=SMOOTH)
    shape = outlines(PREDATOR_OUTLINE, 0.95 * KILL_DISTANCE, position[None], velocity[None], scale)
    canvas.polygon(shape.ravel().tolist(), fill=PREDATOR)


def draw_caption(image: Image.Image, t: int, living: int, present: int) -> None:
    canvas = ImageDraw.Draw(image)
    canvas.text((12, 10), f"step {t}", fill=FAINT_INK, font=font())
    canvas.text((SIZE - 12, 10), f"{living} of {present} alive", fill=INK, font=font(), anchor="ra")


def picture(school: School, alive: np.ndarray, pool: float, t: int, lane: int) -> np.ndarray:
    """[480, 480, 3] uint8."""
    present = int(school.n_fish[lane])
    living = alive[lane, :present]
    position = school.fish_pos[lane, :present].astype(np.float64)
    velocity = school.fish_vel[lane, :present].astype(np.float64)
    predator = school.pred_pos[lane].astype(np.float64)
    image, scale = water(pool).copy(), scale_of(pool)
    canvas = ImageDraw.Draw(image, "RGBA")
    draw_graves(canvas, position[~living], scale)
    draw_predator(canvas, predator, school.pred_vel[lane].astype(np.float64), scale)
    draw_fish(canvas, position[living], velocity[living], predator, scale)
    image = image.reduce(SMOOTH)
    draw_caption(image, t, int(living.sum()), present)
    return np.array(image)
