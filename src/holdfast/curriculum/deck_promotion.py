"""Keeping a promise of reinjections: when a type would come back too rarely, one of its blocks is moved forward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.curriculum.deck_queue import Block, QueuePlan, Reading, read_queue


class Promotion(NamedTuple):
    """A block that was moved, or repeated when none was left to move."""

    label: str
    type: str
    moved: bool  # False: a copy of the type's last block
    after: str  # label of the block it now follows


def promotion_due(
    plan: QueuePlan, blocks: Sequence[Block], iteration: int, consumed: int, minimum: Mapping[str, float]
) -> str | None:
    """The type to promote now, if the forecast falls short of its minimum. `consumed` counts one school's deals.

    Nothing is due while the type itself is dealt or comes next: only a change of type makes a reinjection.
    """
    now = read_queue(blocks, consumed, on_empty=plan.on_empty)
    if now.block is None or consumed >= now.capacity:  # once a cycling deck has begun again, its order stays
        return None
    coming = plan.consumed(plan.schedule.iterations) - plan.consumed(iteration)
    final = read_queue(blocks, consumed + coming, on_empty=plan.on_empty)
    follower = _following(blocks, now)
    for kind, count in minimum.items():
        waits = now.type != kind and (follower is None or follower.type != kind)
        known = any(block.type == kind for block in blocks)
        if known and waits and final.reinjections[kind] < count:
            return kind
    return None


def _following(blocks: Sequence[Block], reading: Reading) -> Block | None:
    place = _place(blocks, reading) + 1
    return blocks[place] if place < len(blocks) else None


def _place(blocks: Sequence[Block], reading: Reading) -> int:
    """Index of the current block; the position decides, because a repeated block occurs twice."""
    position, end = reading.capacity - reading.remaining, 0
    for index, block in enumerate(blocks):
        end += block.deals
        if position < end:
            return index
    return len(blocks)


def promote(blocks: Sequence[Block], consumed: int, kind: str) -> tuple[tuple[Block, ...], Promotion]:
    """The queue with a block of the type directly after the current one.

    `consumed` is the furthest deal of any school, so that no situation already dealt changes its place.
    """
    reading = read_queue(blocks, consumed)
    place = _place(blocks, reading)
    later = [index for index in range(place + 1, len(blocks)) if blocks[index].type == kind]
    chosen = later[0] if later else max(index for index, block in enumerate(blocks) if block.type == kind)
    block = blocks[chosen]
    rest = [other for index, other in enumerate(blocks) if not later or index != chosen]
    queue = (*rest[: place + 1], block, *rest[place + 1 :])
    return tuple(queue), Promotion(block.label, kind, bool(later), reading.label)


def forecast_with_promotions(
    plan: QueuePlan, minimum: Mapping[str, float]
) -> tuple[Reading, list[tuple[int, Promotion]]]:
    """The queue at the end of the run when every due promotion is carried out, and those promotions by iteration."""
    blocks, done = plan.blocks, []
    for iteration in range(1, plan.schedule.iterations + 1):
        consumed = plan.consumed(iteration)
        kind = promotion_due(plan, blocks, iteration, consumed, minimum)
        if kind is not None:
            blocks, promotion = promote(blocks, consumed, kind)
            done.append((iteration, promotion))
    return read_queue(blocks, plan.consumed(plan.schedule.iterations), on_empty=plan.on_empty), done
