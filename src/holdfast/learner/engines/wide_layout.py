"""The layout of a policy for the wide engine's kernels: where weights and activations lie, and the jobs of the
gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from torch import nn

from holdfast.learner.engines import wide_kernels as kernels
from holdfast.learner.engines.fused import kind_of
from holdfast.learner.engines.layout import (
    LINEAR,
    RELU,
    TANH,
    TILE,
    HistoryShape,
    Net,
    Places,
    RingShape,
    Room,
    Tower,
    make_tower,
)
from holdfast.learner.engines.parts_kernels import EDGES, FIRST, GATES, SECOND
from holdfast.learner.optim import FlatAdam
from holdfast.learner.parts_encoder import (
    MEMORY,
    REACH,
    BeliefEncoder,
    FlatHistory,
    PartsEncoder,
    PlainEncoder,
    RecurrentHistory,
    RingEncoder,
)
from holdfast.learner.policy import Body, Policy

NONE = np.zeros(0, np.int64)
NOTHING = Tower(*[NONE] * len(Tower._fields))
PIECE = 32  # outputs of a layer that are one piece of work


def make_net(policy: Policy, optimizer: FlatAdam) -> tuple[Net, int, int]:
    """The layout of a policy, the size of a tile's scratch, and that of the transposed weights."""
    assert policy.value_body is not None
    room, places = Room(), {name: start for name, start, _ in optimizer.names}
    numbers = len(optimizer.parameters)
    judged, parts = policy.judged, policy.parts
    acting = judged if policy.acting is None else policy.acting
    chosen = _body(places, "body", policy.body, "action_layer", policy.head.outputs, room)
    valued = _body(places, "value_body", policy.value_body, "value_layer", 1, room)
    plain = Net(
        Places(room.take(TILE * judged), judged, acting, 0, 0, 0, 0),
        plain=NOTHING,
        ring=RingShape(*[0] * len(RingShape._fields)),
        history=HistoryShape(0, 0, 0, NONE, NONE, NONE, NONE, 0, 0, 0, 0, 0, 0, 0),
        latent=NOTHING,
        mixture=NOTHING,
        joint=NOTHING,
        policy=chosen,
        value=valued,
    )
    net = plain if parts is None else _with_parts(plain, parts, places, numbers, room)
    return net, room.size, numbers + (REACH * FIRST * SECOND if net.ring.rays else 0)


def _body(places: Mapping[str, int], name: str, body: Body, last: str, outputs: int, room: Room) -> Tower:
    names = [*(f"{name}.layers.{index}" for index in range(len(body.layers))), last]
    kinds = [kind_of(body)] * len(body.layers) + [LINEAR]
    return make_tower(places, names, [body.inputs, *body.widths, outputs], kinds, room)


def _with_parts(net: Net, encoder: PartsEncoder, places: Mapping[str, int], transposed: int, room: Room) -> Net:
    """The same with the encoders of parts."""
    out = 0
    for part, one in encoder.encoders.items():
        start, name = encoder.places[part][0], f"parts.encoders.{part}"
        if isinstance(one, PlainEncoder):
            net = net._replace(plain=_sequence(places, f"{name}.layers", one.layers, RELU, room))
            net = net._replace(places=net.places._replace(plain_start=start, plain_out=out))
        elif isinstance(one, RingEncoder):
            net = net._replace(ring=_ring(places, name, encoder.shapes[part][0], (start, out, transposed), room))
        elif isinstance(one, FlatHistory):
            net = net._replace(latent=_sequence(places, f"{name}.layers", one.layers, TANH, room))
            net = net._replace(places=net.places._replace(latent_start=start, latent_out=out))
        elif isinstance(one, RecurrentHistory | BeliefEncoder):
            ends = one.latent.in_features
            history = _history(places, name, encoder.shapes[part], start, ends // MEMORY, room)
            latent = make_tower(places, [f"{name}.latent"], [ends, one.latent.out_features], [TANH], room)
            net = net._replace(history=history, latent=latent, places=net.places._replace(latent_out=out))
            if isinstance(one, BeliefEncoder):
                widths = [ends, one.mixture.out_features]
                net = net._replace(mixture=make_tower(places, [f"{name}.mixture"], widths, [LINEAR], room))
        out += encoder.sizes[part]
    return net._replace(joint=_sequence(places, "parts.joint", encoder.joint, RELU, room))


def _sequence(places: Mapping[str, int], name: str, layers: nn.Sequential, kind: int, room: Room) -> Tower:
    """Linear layers, each with the same activation after it."""
    linear = [(index, layer) for index, layer in enumerate(layers) if isinstance(layer, nn.Linear)]
    widths = [linear[0][1].in_features, *(layer.out_features for _, layer in linear)]
    return make_tower(places, [f"{name}.{index}" for index, _ in linear], widths, [kind] * len(linear), room)


def _ring(places: Mapping[str, int], name: str, rays: int, where: tuple[int, int, int], room: Room) -> RingShape:
    """`where`: its rays in an observation, its features among all, and its transposed weights after all others."""
    span = TILE * (rays + EDGES)
    return RingShape(
        rays=rays,
        start=where[0],
        out=where[1],
        first=places[f"{name}.first.weight"],
        first_bias=places[f"{name}.first.bias"],
        second=places[f"{name}.second.weight"],
        second_bias=places[f"{name}.second.bias"],
        back=where[2],
        padded=room.take(TILE * (rays + 2 * EDGES)),
        one=room.take((span + EDGES) * FIRST),
        two=room.take((span + EDGES) * SECOND),
        by_one=room.take(span * FIRST),
    )


def _history(
    places: Mapping[str, int], name: str, shape: tuple[int, ...], start: int, directions: int, room: Room
) -> HistoryShape:
    steps, numbers = shape
    words = ["", "_reverse"][:directions]

    def at(kind: str) -> np.ndarray:
        return np.array([places[f"{name}.lstm.{kind}_l0{word}"] for word in words], np.int64)

    each = directions * steps * TILE
    return HistoryShape(
        steps=steps,
        numbers=numbers,
        start=start,
        weight_ih=at("weight_ih"),
        weight_hh=at("weight_hh"),
        bias_ih=at("bias_ih"),
        bias_hh=at("bias_hh"),
        gates=room.take(each * GATES),
        cells=room.take(each * MEMORY),
        squashed=room.take(each * MEMORY),
        hidden=room.take(each * MEMORY),
        ends=room.take(TILE * directions * MEMORY),
        by_hidden=room.take(TILE * MEMORY),
        by_cell=room.take(TILE * MEMORY),
    )


# --- work on gradients ------------------------------------------------------------------------------------------------


class Job(NamedTuple):
    """The gradient of some outputs of one layer (or direction, or place in a filter) of a part."""

    part: int
    number: int
    first: int
    last: int
    cost: int  # products per row, about


def jobs_of(net: Net, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """All jobs [J, 4] in shifts of about equal cost, one per thread: the largest first, each to who has least to do."""
    shifts: list[list[Job]] = [[] for _ in range(max(1, threads))]
    for job in sorted(_all_jobs(net), key=lambda one: -one.cost):
        min(shifts, key=lambda shift: sum(one.cost for one in shift)).append(job)
    jobs = [job[:4] for shift in shifts for job in shift]
    return np.array(jobs, np.int64), np.cumsum([0, *(len(shift) for shift in shifts)])


def _all_jobs(net: Net) -> list[Job]:
    towers = {
        kernels.PLAIN: net.plain, kernels.LATENT: net.latent, kernels.MIXTURE: net.mixture,
        kernels.JOINT: net.joint, kernels.POLICY: net.policy, kernels.VALUE: net.value,
    }  # fmt: skip
    found = [job for part, tower in towers.items() for job in _tower_jobs(part, tower)]
    width = net.history.numbers + MEMORY
    for direction in range(len(net.history.weight_ih)):
        found += [Job(kernels.HISTORY, direction, *ends, net.history.steps * PIECE * width) for ends in _pieces(GATES)]
    if net.ring.rays:
        span = net.ring.rays + EDGES
        found += [Job(kernels.RING, tap, 0, 0, span * FIRST * SECOND) for tap in range(REACH)]
        found.append(Job(kernels.RING_REST, 0, 0, 0, span * FIRST * REACH))
    return found


def _tower_jobs(part: int, tower: Tower) -> list[Job]:
    found = []
    for layer, (inputs, outputs) in enumerate(zip(tower.inputs.tolist(), tower.outputs.tolist(), strict=True)):
        found += [Job(part, layer, first, last, (last - first) * inputs) for first, last in _pieces(outputs)]
    return found


def _pieces(outputs: int) -> Sequence[tuple[int, int]]:
    return [(start, min(start + PIECE, outputs)) for start in range(0, outputs, PIECE)]
