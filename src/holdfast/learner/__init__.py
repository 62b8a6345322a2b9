"""The learner: policies, advantages, losses and the update. It knows no world by name.

`learner.py` holds all that learning changes for one role, `update.py` runs one update of it. `algorithms.py` is the
table of algorithms: `ppo.py` and `vtrace.py`, on `advantages.py` and `losses.py`. A policy (`policy.py`) is made of
`networks.py`, `parts_encoder.py` and `heads.py`; `engines/` computes its forward passes and gradients. `ewc.py` and
`rnd.py` are additions that self-play uses.
"""
