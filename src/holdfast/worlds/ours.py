"""The worlds that come with Holdfast: the one place that names the games."""

from __future__ import annotations

OURS = {
    "template": "holdfast.worlds.template.world:Template",
    "fish": "holdfast.games.fish.world.fish:Fish",
    "pursuit": "holdfast.games.pursuit.world.pursuit:Pursuit",
    "mario": "holdfast.games.mario.world.mario:Mario",
}
DEMO = "fish"  # the preset of `holdfast demo`
