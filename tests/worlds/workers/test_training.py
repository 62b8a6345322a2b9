"""Learning from a world in workers: a step that never finished teaches nothing, the rest does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from holdfast.config.reading import load_config
from holdfast.kit.timing import Clock
from holdfast.learner.advantages import gae
from holdfast.rollout.collect import collect
from holdfast.state import initial_state
from holdfast.worlds.workers.drill import draw_tickets
from holdfast.worlds.workers.settings import WorkerSettings
from holdfast.worlds.workers.supervisor import Supervisor
from tests.worlds.workers.places import DRILL, QUICK, living


def test_the_step_of_a_lost_worker_is_masked_and_passes_nothing_on(tmp_path: Path) -> None:
    draw_tickets(tmp_path / "tickets", 1)
    kwargs = {"tickets": str(tmp_path / "tickets"), "place": "step", "fault": "exit", "length": 6}
    options = ["--backend=workers", "--rollout.lanes=2", "--rollout.steps=8", "--learner.minibatch=16"]
    config, _ = load_config(DRILL, [*options, f"--world.kwargs={json.dumps(kwargs)}"])
    supervisor = Supervisor(WorkerSettings(**QUICK), tmp_path)  # type: ignore[arg-type]
    state = initial_state(config, supervisor)
    try:
        episodes = collect(
            state.world, state.learners, state.seat.batches, state.seat.memory, state.seat.actions, Clock()
        )
    finally:
        state.world.close()
        supervisor.close()
    batch = state.seat.batches["player"]
    t, row = (int(place) for place in np.argwhere(~batch.valid.numpy())[0])
    assert (int((~batch.valid).sum()), t) == (1, 0)
    assert not batch.truncated.any()  # the cut is in the mask, not in a bootstrap
    advantage, _ = gae(batch, 0.99, 0.95)
    assert advantage[t, row] == 0.0 and advantage[t, 1 - row] != 0.0
    assert batch.starts[1].tolist() == [row == 0, row == 1]  # a new episode follows, in that lane only
    assert episodes is not None
    assert sorted(zip(episodes["end_worker"].tolist(), episodes["length"].tolist(), strict=True)) == [
        (0.0, 6.0),
        (0.0, 6.0),
        (1.0, 1.0),
    ]
    assert living(tmp_path) == []
