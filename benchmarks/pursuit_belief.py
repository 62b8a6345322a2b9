"""How well a belief knows where the opponent is, in sight and out of sight, in metres.

    python benchmarks/pursuit_belief.py [ITERATIONS]

Self-play of the network that `pursuit-v` was published with, in larger batches: 256 duels, four epochs, minibatches of
1,024. Then one more rollout is played by both roles, and what is believed is compared with the truth. Beside it: the
best constant guess, which is the mean of the truth, and a place drawn from all the places the opponent was at. The
earlier project had 0.31 m in sight, 9.25 m out of sight, and 8.2 m for a random guess. Writes
benchmarks/results/pursuit_belief.json.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from holdfast.selfplay.duel import Duel

from holdfast.config.reading import load_config
from holdfast.learner.learner import Learner
from holdfast.learner.parts_encoder import mixture_of
from holdfast.runs.folder import create_run
from holdfast.selfplay.arena import Arena
from holdfast.selfplay.turns import begin_turn, end_turn
from holdfast.views.terminal import Quiet

RESULT = Path(__file__).parent / "results" / "pursuit_belief.json"
WORDS = [
    "--duel.mode=simultaneous", "--duel.turn_steps=8192", "--duel.cold_start=none", "--levels.kind=none",
    "--rollout.lanes=256", "--rollout.steps=32", "--learner.minibatch=1024", "--learner.epochs=4", "--learner.lr=1e-3",
    "--world.hold=3", "--world.fixed_speed=true", "--policy.grid=7", "--evaluation.every=0", "--run.tensorboard=false",
    "--rollout.threads=1",
]  # fmt: skip
UNSEEN = -1.0  # what is told as the distance of an opponent out of sight
DISTANCE = 5  # its place in a sight: after pose, speed and turn rate
Table = dict[str, float]


def learned(iterations: int, root: str) -> Duel:
    config, _ = load_config("pursuit-v", [*WORDS, f"--run.iterations={iterations}", f"--run.root={root}"])
    duel = Duel(config, create_run(config, "pursuit-v", ["benchmark"]), Quiet())
    for iteration in range(iterations):
        if duel.state.book.turn is None:
            begin_turn(duel.state, duel.ladder, duel.tell)
        duel.learn()
        if duel.state.book.turn is not None and duel.state.book.turn.left <= 0:
            end_turn(duel.state, duel.tell)
        if (iteration + 1) % 20 == 0:
            table = {side.name: compared(side.learner, duel.state.arenas[side.number]) for side in duel.state.sides}
            print(iteration + 1, json.dumps(table), flush=True)
    return duel


@torch.inference_mode()
def compared(learner: Learner, arena: Arena) -> Table:
    """Root mean square distances over the last rollout, which the weights have seen in one update only."""
    batch = arena.batch
    obs, raw = batch.obs.flatten(0, 1), batch.raw_obs(torch.ones_like(batch.valid))
    belief = learner.policy(obs, obs[:0], obs[:0]).belief
    assert belief is not None
    metres = batch.scale[1, -2:] * math.hypot(20.0, 20.0)
    truth, said = obs[:, -2:] * metres, mixture_of(belief).centre() * metres
    seen = raw[:, DISTANCE] > UNSEEN / 2.0
    drawn = truth[torch.randperm(len(truth), generator=torch.Generator().manual_seed(0))]
    return {
        "in_sight_m": off(said[seen], truth[seen]),
        "out_of_sight_m": off(said[~seen], truth[~seen]),
        "constant_out_of_sight_m": off(truth[~seen].mean(0), truth[~seen]),
        "random_out_of_sight_m": off(drawn[~seen], truth[~seen]),
        "share_in_sight": float(seen.float().mean()),
    }


def off(said: torch.Tensor, truth: torch.Tensor) -> float:
    return round(float((said - truth).square().sum(-1).mean().sqrt()), 3)


def main(iterations: int) -> None:
    with tempfile.TemporaryDirectory() as root:
        duel = learned(iterations, root)
        table: dict[str, Any] = {"iterations": iterations, "agent_steps": duel.state.counts.agent_steps}
        table |= {side.name: compared(side.learner, duel.state.arenas[side.number]) for side in duel.state.sides}
    print(json.dumps(table, indent=1))
    RESULT.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
