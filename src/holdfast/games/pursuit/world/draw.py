"""A picture of one duel from above: arena, circles, both ways so far, who can see whom, and what the lidar feels.

The pursuer is red, the evader blue. A fan is what a side can see: its cone up to the sensing radius, cut by circles
where they hide; it is bright while the opponent is in sight. Dots are where lidar rays end. A ring is where a
side that recalls last saw the other.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from holdfast.games.pursuit.world.constants import (
    ALL_ROUND,
    ANY_DISTANCE,
    DT,
    LIDAR_RANGE,
    ROBOT_RADIUS,
    observation_parts,
    recalled_size,
)
from holdfast.games.pursuit.world.duel import MAX_STEPS, NEVER, SIDES, TRAIL, Duel

if TYPE_CHECKING:
    from holdfast.games.pursuit.world.pursuit import Pursuit

SIZE = 560  # of the picture's shorter side
HEADER = 34
MARGIN = 18
SMOOTH = 3  # drawn this much larger, then averaged down
FAN_RAYS = 120

GROUND, FLOOR, GRID = (15, 18, 25), (27, 32, 43), (36, 42, 55)
WALL, CIRCLE, CIRCLE_RIM = (120, 132, 152), (66, 76, 95), (128, 142, 166)
INK, FAINT_INK = (228, 234, 242), (140, 152, 172)
COLOURS = ((242, 92, 84), (84, 164, 250))  # pursuer, evader
SIGHT_LINE = (250, 214, 110)

# The outline of a robot with its nose at +x, in units of its radius.
BODY = np.array([(1.25, 0.0), (0.1, 0.82), (-0.85, 0.7), (-0.5, 0.0), (-0.85, -0.7), (0.1, -0.82)])
LEAST_BODY = 0.02  # of the arena's larger side: smaller robots are drawn larger than they are


class Canvas:
    """Drawing in metres, on an image that is reduced at the end."""

    def __init__(self, half_w: float, half_h: float) -> None:
        self.half = (half_w, half_h)
        self.scale = SMOOTH * (SIZE - 2 * MARGIN) / (2.0 * min(half_w, half_h))
        self.left, self.top = SMOOTH * MARGIN, SMOOTH * (MARGIN + HEADER)
        width = int(2 * half_w * self.scale) + 2 * SMOOTH * MARGIN
        height = int(2 * half_h * self.scale) + SMOOTH * (2 * MARGIN + HEADER)
        even = 2 * SMOOTH  # videos want even sizes
        self.image = Image.new("RGB", (width - width % even, height - height % even), GROUND)
        self.pen = ImageDraw.Draw(self.image, "RGBA")

    def pixels(self, points: np.ndarray) -> list[float]:
        """[K, 2] metres, y up, to a flat list of drawn pixels, y down."""
        x = self.left + (points[:, 0] + self.half[0]) * self.scale
        y = self.top + (self.half[1] - points[:, 1]) * self.scale
        return [float(value) for value in np.stack([x, y], axis=1).ravel()]

    def box(self, x: float, y: float, rx: float, ry: float) -> list[float]:
        a, b, c, d = self.pixels(np.array([(x - rx, y + ry), (x + rx, y - ry)]))
        return [a, b, c, d]


@lru_cache(maxsize=4)
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=size)


def faded(side: int, strength: int) -> tuple[int, int, int, int]:
    return (*COLOURS[side], strength)


def draw_arena(canvas: Canvas, circles: np.ndarray) -> None:
    half_w, half_h = canvas.half
    canvas.pen.rectangle(canvas.box(0.0, 0.0, half_w, half_h), fill=FLOOR)
    for share in np.linspace(-0.8, 0.8, 9):
        canvas.pen.line(canvas.pixels(np.array([(share * half_w, -half_h), (share * half_w, half_h)])), GRID, SMOOTH)
        canvas.pen.line(canvas.pixels(np.array([(-half_w, share * half_h), (half_w, share * half_h)])), GRID, SMOOTH)
    for x, y, radius in circles:
        canvas.pen.ellipse(canvas.box(x, y, radius, radius), fill=CIRCLE, outline=CIRCLE_RIM, width=2 * SMOOTH)
    canvas.pen.rectangle(canvas.box(0.0, 0.0, half_w, half_h), outline=WALL, width=3 * SMOOTH)


def ray_ends(pose: np.ndarray, angles: np.ndarray, reach: float, half: np.ndarray, circles: np.ndarray) -> np.ndarray:
    """[K, 2] where rays from a robot end: at a circle, a wall, or their reach."""
    ux, uy = np.cos(angles), np.sin(angles)
    with np.errstate(divide="ignore"):
        wall_x = np.where(np.abs(ux) > 1e-12, (np.sign(ux) * half[0] - pose[0]) / ux, np.inf)
        wall_y = np.where(np.abs(uy) > 1e-12, (np.sign(uy) * half[1] - pose[1]) / uy, np.inf)
    ranges = np.minimum(np.minimum(wall_x, wall_y), reach)
    for x, y, radius in circles:
        fx, fy = pose[0] - x, pose[1] - y
        b = fx * ux + fy * uy
        inside = b * b - (fx * fx + fy * fy - radius * radius)
        entry = -b - np.sqrt(np.maximum(inside, 0.0))
        ranges = np.where((inside >= 0.0) & (entry > 0.0), np.minimum(ranges, entry), ranges)
    return np.stack([pose[0] + ranges * ux, pose[1] + ranges * uy], axis=1)


def draw_fan(canvas: Canvas, world: Pursuit, lane: int, side: int, circles: np.ndarray) -> None:
    """What a side can see."""
    duel, rules = world.state, world.rules[0]
    pose, half = duel.pose[lane, side], duel.half[lane]
    cone = math.pi if rules["half_cone"] == ALL_ROUND else float(rules["half_cone"])
    reach = 2.0 * float(half.sum()) if rules["sense_radius"] == ANY_DISTANCE else float(rules["sense_radius"])
    angles = pose[2] + np.linspace(-cone, cone, FAN_RAYS)
    ends = ray_ends(pose, angles, reach, half, circles if rules["occludes"] else circles[:0])
    strength = 62 if duel.visible[lane, side] else 26
    outline = ends if cone >= math.pi else np.concatenate([pose[None, :2], ends])
    canvas.pen.polygon(canvas.pixels(outline), fill=faded(side, strength))


def draw_trail(canvas: Canvas, duel: Duel, lane: int, side: int) -> None:
    """The way so far, fainter the longer ago."""
    spacing = max(1, math.ceil(duel.level[lane, MAX_STEPS] / TRAIL))
    count = min(int(duel.step[lane]) // spacing + 1, TRAIL)
    points = np.concatenate([duel.trail[lane, side, :count], duel.pose[lane, side, :2][None]]).astype(np.float64)
    for k in range(len(points) - 1):
        strength = 50 + int(170 * (k + 1) / len(points))
        canvas.pen.line(canvas.pixels(points[k : k + 2]), faded(side, strength), 2 * SMOOTH)


def draw_lidar(canvas: Canvas, world: Pursuit, lane: int, side: int) -> None:
    """The ranges as the side is told, noise and all."""
    settings = world.settings
    role = world.roles.get(SIDES[side])
    if settings.obs != "sensor" or role is None:
        return
    start = math.prod(observation_parts(settings, side)[0][1])
    ranges = role.obs[lane, 0, start : start + settings.lidar_rays].astype(np.float64) * LIDAR_RANGE
    pose = world.state.pose[lane, side]
    angles = pose[2] + np.arctan2(world.rays[:, 1], world.rays[:, 0])
    dot = 1.3 * SMOOTH / canvas.scale
    for length, angle in zip(ranges, angles, strict=True):
        x, y = pose[0] + length * math.cos(angle), pose[1] + length * math.sin(angle)
        strength = 220 if length < 0.99 * LIDAR_RANGE else 60
        canvas.pen.ellipse(canvas.box(x, y, dot, dot), fill=faded(side, strength))


def draw_recalled(canvas: Canvas, world: Pursuit, lane: int, side: int) -> None:
    """A ring where a side that recalls last saw the other, fainter the longer ago."""
    x, y, _, step = world.state.last_seen[lane, side]
    if not recalled_size(world.settings, side) or step == NEVER or world.state.visible[lane, side]:
        return
    age = (world.state.step[lane] - step) * DT
    ring = LEAST_BODY * 2.0 * max(canvas.half)
    canvas.pen.ellipse(canvas.box(x, y, ring, ring), outline=faded(side, 60 + int(160 / (1.0 + age))), width=2 * SMOOTH)


def draw_robot(canvas: Canvas, world: Pursuit, lane: int, side: int) -> None:
    x, y, heading = world.state.pose[lane, side]
    radius = max(ROBOT_RADIUS, LEAST_BODY * 2.0 * max(canvas.half))
    c, s = math.cos(heading), math.sin(heading)
    outline = radius * BODY @ np.array([[c, s], [-s, c]]) + (x, y)
    canvas.pen.polygon(canvas.pixels(outline), fill=COLOURS[side], outline=(255, 255, 255, 190), width=SMOOTH)
    if side == 0:
        reach = world.settings.capture_radius
        canvas.pen.ellipse(canvas.box(x, y, reach, reach), outline=faded(side, 200), width=SMOOTH)


def draw_header(image: Image.Image, world: Pursuit, lane: int) -> None:
    duel = world.state
    pen = ImageDraw.Draw(image)
    seconds = duel.step[lane] * DT
    limit = duel.level[lane, MAX_STEPS] * DT
    pen.text((MARGIN, 12), f"{seconds:.1f} of {limit:.0f} s", fill=FAINT_INK, font=font(17))
    pen.text((image.width / 2, 12), f"{duel.distance[lane]:.1f} m apart", fill=INK, font=font(17), anchor="ma")
    right = image.width - MARGIN
    for side, name in reversed(list(enumerate(SIDES))):
        sees = "sees" if duel.visible[lane, side] else "does not see"
        text = name if world.settings.obs == "flat" else f"{name} {sees}"
        pen.text((right, 4 + 16 * side), text, fill=COLOURS[side], font=font(13), anchor="ra")


def picture(world: Pursuit, lane: int) -> np.ndarray:
    """[height, width, 3] uint8."""
    duel = world.state
    circles = duel.circles[lane, : int(duel.n_circles[lane])]
    canvas = Canvas(float(duel.half[lane, 0]), float(duel.half[lane, 1]))
    draw_arena(canvas, circles)
    masked = [bool(world.rules[0]["masks_p"]), bool(world.rules[0]["masks_e"])]
    for side in range(2):
        if masked[side]:
            draw_fan(canvas, world, lane, side, circles)
    for side in range(2):
        draw_trail(canvas, duel, lane, side)
        draw_lidar(canvas, world, lane, side)
        if masked[side]:
            draw_recalled(canvas, world, lane, side)
    if duel.visible[lane, 0] and masked[0]:
        canvas.pen.line(canvas.pixels(duel.pose[lane, :, :2]), (*SIGHT_LINE, 110), SMOOTH)
    for side in (1, 0):
        draw_robot(canvas, world, lane, side)
    image = canvas.image.reduce(SMOOTH)
    draw_header(image, world, lane)
    return np.array(image)
