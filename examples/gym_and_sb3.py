"""Both directions: a Gymnasium environment as a Holdfast world, and a Holdfast world trained by Stable-Baselines3."""

from __future__ import annotations

from stable_baselines3 import PPO

from holdfast.worlds.adapters import as_sb3
from holdfast.worlds.api import random_policy
from holdfast.worlds.registry import make_world, world_class

cartpole = make_world("gym:CartPole-v1", world_class("gym:CartPole-v1").Settings(), lanes=4, seed=1)
cartpole.reset()
for _ in range(20):
    cartpole.step(random_policy(cartpole))
print("steps of four CartPole lanes:", cartpole.clock.t.tolist())

track = make_world("template", world_class("template").Settings(), lanes=64, seed=1)
model = PPO("MlpPolicy", as_sb3(track), n_steps=32, batch_size=512, device="cpu").learn(2048)
print("Stable-Baselines3 learned for", model.num_timesteps, "steps")
