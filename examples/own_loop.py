"""Holdfast as a library: a world stepped by hand, saved, and started again from where it was saved."""

from __future__ import annotations

import numpy as np

import holdfast as hf

world = hf.make_world("fish", lanes=8, seed=1, fish=25, steps=200)
for _ in range(50):
    world.step(hf.random_policy(world))
situation = world.save(np.array([3]))  # lane 3 as it is now
for _ in range(50):
    world.step(hf.random_policy(world))
world.load(np.arange(8), situation)  # eight lanes go on from there
print("alive in every lane:", world.roles["fish"].alive.sum(1).tolist())
