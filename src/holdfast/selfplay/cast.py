"""Who plays a role in every lane of a world: frozen policies and scripts, each for whole episodes.

A lane may be promised another player for its next episode; a place is free again once no lane plays from it or is
promised it, so an opponent never changes in the middle of an episode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from holdfast.kit.errors import CheckpointError
from holdfast.kit.soundness import refuse_outside
from holdfast.learner.batch import as_rows
from holdfast.learner.learner import Learner
from holdfast.selfplay.stack import Deal, Stack
from holdfast.worlds.api import World, random_policy

PLACES = 32


@dataclass(frozen=True)
class Player:
    """A frozen policy by its hash, or a script by its name; `kind` is why it was chosen."""

    kind: str  # newest, earlier or script
    name: str

    @property
    def is_script(self) -> bool:
        return self.kind == "script"


Script = Callable[[World, np.ndarray], np.ndarray]  # actions [N, A, ...] whose rows of these lanes count


def scripts_of(world: World, role: str) -> dict[str, Script]:
    """The scripted players that a world has for a role; random ones in any case."""
    found: dict[str, Script] = {"random": lambda inner, lanes: random_policy(inner)[role]}
    if hasattr(world, "scripted"):
        number = [one.name for one in world.spec.roles].index(role)
        pairs = [name.split("-") for name in world.yardsticks() if "-" in name]  # named first-second
        for name in dict.fromkeys(pair[number] for pair in pairs):
            found[name] = lambda inner, lanes, name=name: inner.scripted(role, name, lanes)  # type: ignore[misc]
    return found


class Cast:
    """The players of one role in one world."""

    def __init__(
        self,
        world: World,
        make: Callable[[], Learner],
        sampled: bool = True,
        stack: Stack | None = None,
        asks_all: bool = True,
    ) -> None:
        """`asks_all`: policies are asked about the lanes of scripts too, so that the shape of a pass never changes."""
        self.world, self.sampled, self.asks_all = world, sampled, asks_all
        self.stack = Stack(make, PLACES) if stack is None else stack
        template = self.stack.template
        self.role = template.role
        self.scripts = scripts_of(world, template.role.name)
        self.players: list[Player | None] = [None] * PLACES
        self.playing = np.zeros(world.lanes, np.int32)  # place of each lane's player
        self.promised = np.zeros(world.lanes, np.int32)  # from its next episode on
        self.hidden = torch.zeros(world.lanes * template.role.agents, template.policy.core_size)
        self._deal: Deal | None = None
        self._scripted: list[tuple[Script, np.ndarray]] = []
        self._asked: torch.Tensor | None = None  # rows of which policies are asked; None: all

    # --- who plays ---------------------------------------------------------------------------------------------------

    def place_of(self, player: Player) -> int | None:
        return next((place for place, other in enumerate(self.players) if other == player), None)

    def seat(self, wanted: list[tuple[Player, Mapping[str, np.ndarray] | None]]) -> list[int | None]:
        """A place for each player; none when all are taken by players whose episodes still go on.

        Those who got one must be promised lanes before others are seated.
        """
        players = {player for player, _ in wanted}
        free = [place for place in range(PLACES) if place not in self.needed() and self.players[place] not in players]
        places: list[int | None] = []
        for player, arrays in wanted:
            place = self.place_of(player)
            if place is None and free:
                place = free.pop(0)
                self.players[place] = player
                if arrays is not None:
                    self.stack.put(place, arrays)
            places.append(place)
        return places

    def needed(self) -> set[int]:
        """Places that a lane plays from or is promised."""
        if all(player is None for player in self.players):
            return set()  # nobody was seated yet
        return set(np.unique(self.playing).tolist()) | set(np.unique(self.promised).tolist())

    def promise(self, lanes: np.ndarray, place: int) -> None:
        self.promised[lanes] = place

    def begin(self, lanes: np.ndarray) -> None:
        """These lanes begin new episodes: promises are kept."""
        changed = self.playing[lanes] != self.promised[lanes]
        if changed.any():
            self.playing[lanes] = self.promised[lanes]
            self._deal = None

    def take_over(self, other: Cast, lanes: np.ndarray) -> None:
        """Play on in the other's lanes, which are now this one's."""
        self.players, self.playing, self.promised = other.players, other.playing[lanes], other.promised[lanes]
        rows = (lanes[:, None] * self.role.agents + np.arange(self.role.agents)).ravel()
        self.hidden = other.hidden[torch.from_numpy(rows)]
        self._deal = None

    def player(self, place: int) -> Player:
        found = self.players[place]
        assert found is not None
        return found

    # --- acting ------------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        frozen = self.playing.copy()
        self._scripted = []
        used = np.unique(self.playing)
        policies = [place for place in used if not self.player(place).is_script]
        for place in used:
            player = self.player(place)
            if player.is_script:
                lanes = np.flatnonzero(self.playing == place)
                self._scripted.append((self.scripts[player.name], lanes))
                frozen[lanes] = policies[0] if policies else 0  # of no meaning, as what is said there is not heard
        rows = np.repeat(frozen, self.role.agents)
        if self.asks_all:
            self._asked = None
        else:
            heard = np.repeat(np.isin(self.playing, policies), self.role.agents)
            self._asked, rows = torch.from_numpy(np.flatnonzero(heard)), rows[heard]
        self.asks = bool(policies)
        self._deal = self.stack.deal(rows)

    @torch.inference_mode()
    def act(self, generator: torch.Generator) -> np.ndarray:
        """Actions [N, A, ...] of every lane."""
        if self._deal is None:
            self._prepare()
        if not self.asks and len(self._scripted) == 1:
            return self._scripted[0][0](self.world, self._scripted[0][1])
        actions = self._ask(generator) if self.asks or self.asks_all else None
        for script, lanes in self._scripted:
            scripted = script(self.world, lanes)
            if actions is None:
                actions = np.zeros_like(scripted)
            actions[lanes] = scripted[lanes]
        assert actions is not None
        return actions

    def _ask(self, generator: torch.Generator) -> np.ndarray:
        """What policies do; zeros in the rows of which they are not asked."""
        assert self._deal is not None
        buffers, head, asked = self.world.roles[self.role.name], self.stack.policy.head, self._asked
        obs = as_rows(buffers.obs)
        starts = torch.from_numpy(np.repeat(self.world.clock.t == 0, self.role.agents))
        if asked is None:
            answer = self._deal.ask(obs, self.hidden, starts)
            self.hidden = answer.hidden
        else:
            answer = self._deal.ask(obs[asked], self.hidden[asked], starts[asked])
            self.hidden[asked] = answer.hidden
        if self.sampled:
            chosen, _ = head.sample(answer.actions, answer.extra, generator)
        else:
            chosen = head.greedy(answer.actions, answer.extra)
        flat: np.ndarray = head.for_world(chosen).numpy()
        if asked is not None:
            whole = np.zeros((len(obs), *flat.shape[1:]), flat.dtype)
            whole[asked.numpy()] = flat
            flat = whole
        return flat.reshape(self.world.lanes, self.role.agents, *flat.shape[1:])

    # --- saving ------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        return {"playing": self.playing, "promised": self.promised, "hidden": self.hidden.numpy()}

    def restore(self, arrays: Mapping[str, np.ndarray], players: list[dict[str, Any] | None], vault: Any) -> None:
        if len(players) not in (0, PLACES):
            raise CheckpointError(f"{len(players)} saved players for {PLACES} places")
        for name in ("playing", "promised"):  # lanes' places among the players
            refuse_outside(f"place of a lane's player ({name})", arrays[name], 0, PLACES - 1)
        self.playing[...] = arrays["playing"]
        self.promised[...] = arrays["promised"]
        self.hidden = torch.from_numpy(np.array(arrays["hidden"]))
        for place, table in enumerate(players):
            self.players[place] = None if table is None else Player(**table)
            player = self.players[place]
            if player is not None and not player.is_script:
                self.stack.put(place, vault.take(player.name))
        self._deal = None

    def players_json(self) -> list[dict[str, Any] | None]:
        return [None if player is None else asdict(player) for player in self.players]

    def hashes(self) -> set[str]:
        """Frozen policies that are seated here."""
        return {player.name for player in self.players if player is not None and not player.is_script}

    def drop_unused(self) -> None:
        needed = self.needed()
        self.players = [player if place in needed else None for place, player in enumerate(self.players)]
