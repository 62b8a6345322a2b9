"""Foreign environments as a world whose lanes are supervised processes.

A worker that hangs, dies or returns nonsense is replaced; the episode in it is cut, and the step that never finished
is marked so that nothing is learned from it. Checkpoints keep the seed and the actions of every episode, as for
environments in this process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from holdfast.kit.errors import SnapshotUnsupported
from holdfast.worlds.api import ArrayWorld, Role, Situation, WorldSpec
from holdfast.worlds.gym import PLAYER, SEEDS, GymSettings, anew_notes
from holdfast.worlds.gym_draw import sight_picture
from holdfast.worlds.gym_lanes import History, Totals, pack, saved_arrays, split_saved, unpack
from holdfast.worlds.lanes import next_episode
from holdfast.worlds.workers import wire
from holdfast.worlds.workers.block import REWARD, TERMINATED, TRUNCATED, Block, Layout, read_picture
from holdfast.worlds.workers.crew import Crew
from holdfast.worlds.workers.supervisor import Supervisor
from holdfast.worlds.workers.worker import Job


def worker_spec(name: str, layout: Layout) -> WorldSpec:
    return WorldSpec(
        name=name,
        version=1,
        roles=(Role(PLAYER, 1, layout.observations, layout.actions),),
        columns=("length", "return", "end_worker"),  # end_worker: 1 where a lost worker cut the episode
        score="return",
    )


class WorkerWorld(ArrayWorld):
    """N copies of one foreign environment, each in a process of its own."""

    Settings = GymSettings

    def __init__(
        self,
        name: str,
        settings: GymSettings,
        lanes: int,
        seed: int,
        threads: int = 1,
        supervisor: Supervisor | None = None,
    ) -> None:
        """Without a supervisor the world has one of its own, which ends with it."""
        self.own_supervisor = Supervisor() if supervisor is None else None
        self.supervisor = supervisor or self.own_supervisor
        assert self.supervisor is not None
        self.crew = Crew(self.supervisor, Job(name, json.dumps(settings.kwargs, sort_keys=True), settings.max_steps))
        self.crew.start(lanes)
        layout = self.crew.layout
        totals = Totals(total=np.zeros(lanes, np.float64))
        super().__init__(worker_spec(name, layout), lanes, seed, threads, totals)
        self.settings = settings
        self.player = self.roles[PLAYER]
        self.histories: list[History] = [[] for _ in range(lanes)]
        self._lost = np.zeros(lanes, np.bool_)
        self._all = range(lanes)

    @property
    def lost(self) -> np.ndarray:
        return self._lost

    def ram(self) -> np.ndarray:
        """The RAM of every lane's emulator after the last step, [N, bytes]; a copy, empty where there is none."""
        return np.stack([self._block(lane).ram for lane in self._all])

    def _block(self, lane: int) -> Block:
        block = self.crew.workers[lane].block
        assert block is not None
        return block

    # --- episodes ---

    def _begin(self, lanes: np.ndarray) -> None:
        for lane in lanes.tolist():
            next_episode(self.clock, lane)
            self.histories[lane] = []
            self.state.total[lane] = 0.0
            self.player.alive[lane, 0] = True
        self._reset_environments(lanes.tolist())
        for lane in lanes.tolist():
            self.player.obs[lane, 0] = self._block(lane).obs

    def _reset_environments(self, lanes: list[int]) -> None:
        """Reset with each episode's seed; a worker that fails at it is replaced and asked again."""
        waiting = lanes
        while waiting:
            waiting = self.crew.call(waiting, self._reset_call, "reset")
            self.crew.replace(waiting)

    def _reset_call(self, lane: int) -> bytes:
        return wire.reset_call(int(self.clock.episode_key[lane]) % SEEDS)

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        chosen = actions[PLAYER][:, 0].copy()  # [N] or [N, K]; rows stay in the histories
        self.clock.t[:] += 1
        lost = self._step_environments(chosen, self._all)
        self._lost[:] = False
        self._lost[lost] = True
        for lane in self._all:
            if self._lost[lane]:
                self._note_lost(lane)
            else:
                self._note(lane)
            self.histories[lane].append(chosen[lane])
        self.crew.replace(lost)
        ended = np.flatnonzero(self.clock.terminated | self.clock.truncated)
        if len(ended):
            self._end(ended)

    def _step_environments(self, chosen: np.ndarray, lanes: range | list[int]) -> list[int]:
        for lane in lanes:
            self._block(lane).action[...] = chosen[lane]
        return self.crew.call(lanes, _step_call, "step")

    def _note(self, lane: int) -> None:
        block = self._block(lane)
        numbers = block.numbers
        self.player.reward[lane, 0] = numbers[REWARD]
        self.state.total[lane] += self.player.reward[lane, 0]
        self.clock.terminated[lane] = numbers[TERMINATED]
        self.clock.truncated[lane] = numbers[TRUNCATED]
        self.player.obs[lane, 0] = block.obs

    def _note_lost(self, lane: int) -> None:
        """The step never finished: the last sight is the one before it."""
        self.player.reward[lane, 0] = 0.0
        self.clock.terminated[lane] = False
        self.clock.truncated[lane] = True

    def _end(self, lanes: np.ndarray) -> None:
        clock, player = self.clock, self.player
        clock.ended_key[lanes] = clock.episode_key[lanes]
        clock.ended[lanes] = np.stack([clock.t[lanes], self.state.total[lanes], self._lost[lanes]], axis=1)
        player.final_obs[lanes] = player.obs[lanes]
        player.final_alive[lanes] = True
        self._begin(lanes)

    # --- saving ---

    def save(self, lanes: np.ndarray) -> Situation:
        raise SnapshotUnsupported(
            f"{self.spec.name} cannot be saved: its environments live in other processes; "
            "world.backend = loop can save those that can be copied"
        )

    def arrays(self) -> dict[str, np.ndarray]:
        packed = pack(self.histories, self.settings.replay_limit, self.spec.roles[0].actions)
        return {**dict(self._named()), **saved_arrays(packed)}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> list[str]:
        """Rebuild every episode from its seed and actions; where that fails, begin a new one and say so."""
        fixed, packed = split_saved(arrays, self.lanes, self.spec.name)
        super().restore(fixed)
        self.histories = unpack(packed, self.spec.roles[0].actions)
        begun = [lane for lane in self._all if self.clock.episode_index[lane]]
        too_long = [lane for lane in begun if len(self.histories[lane]) != self.clock.t[lane]]
        whole = [lane for lane in begun if lane not in too_long]
        rebuilt = self._rebuilt(whole)
        other = [lane for lane in whole if lane not in rebuilt]
        self._begin(np.array([*too_long, *other], np.int64))
        return anew_notes(self.spec.name, self.settings.replay_limit, too_long, other)

    def _rebuilt(self, lanes: list[int]) -> set[int]:
        """Repeat the actions of these lanes side by side; those that came to the observation that was saved."""
        self._reset_environments(lanes)
        going, failed = set(lanes), set[int]()
        longest = max((len(self.histories[lane]) for lane in lanes), default=0)
        chosen = np.zeros((self.lanes, *np.shape(self._block(0).action)), self._block(0).action.dtype)
        for t in range(longest):
            going = {lane for lane in going if t < len(self.histories[lane])} - failed
            for lane in going:
                chosen[lane] = self.histories[lane][t]
            lost = self._step_environments(chosen, sorted(going))
            self.crew.replace(lost)
            over = {lane for lane in going if lane not in lost and self._block(lane).numbers[TERMINATED:].any()}
            failed |= over | set(lost)
        return {lane for lane in lanes if lane not in failed and self._is_as_saved(lane)}

    def _is_as_saved(self, lane: int) -> bool:
        return self._block(lane).obs.tobytes() == self.player.obs[lane, 0].tobytes()

    # --- the rest ---

    def draw(self, lane: int) -> np.ndarray:
        if lost := self.crew.call([lane], _draw_call, "draw"):
            self.crew.replace(lost)
            self._reset_environments(lost)
        worker = self.crew.workers[lane]
        if lost or worker.picture_size is None:
            return sight_picture(self.player.obs[lane, 0])
        return read_picture(worker.memory, self._block(lane), *worker.picture_size)

    def close(self) -> None:
        if self.own_supervisor is None:
            self.crew.leave()
            return
        self.crew.close()
        self.own_supervisor.close()


def _step_call(lane: int) -> bytes:
    return wire.STEP


def _draw_call(lane: int) -> bytes:
    return wire.DRAW
