"""Both directions: a Gymnasium environment as a Holdfast world, and a Holdfast world trained by Stable-Baselines3."""

from __future__ import annotations

from stable_baselines3 import PPO

import holdfast as hf

cartpole = hf.make_world("gym:CartPole-v1", lanes=4, seed=1)
for _ in range(20):
    cartpole.step(hf.random_policy(cartpole))
print("steps of four CartPole lanes:", cartpole.clock.t.tolist())

track = hf.make_world("template", lanes=64, seed=1)
model = PPO("MlpPolicy", hf.as_sb3(track), n_steps=32, batch_size=512, device="cpu").learn(2048)
print("Stable-Baselines3 learned for", model.num_timesteps, "steps")
