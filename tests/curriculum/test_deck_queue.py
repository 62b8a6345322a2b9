"""The queue's arithmetic against the published decks: resets, blocks, warnings, reinjections and promotions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.curriculum.deck_promotion import forecast_with_promotions, promote, promotion_due
from holdfast.curriculum.deck_queue import Block, QueuePlan, episode_limit, first_limit, read_queue
from holdfast.curriculum.deck_spec import DeckSettings
from holdfast.curriculum.deck_warning import WarningState, all_warnings, watch
from holdfast.curriculum.schedule import parse_schedule
from holdfast.curriculum.worst import worst_episodes
from tests.curriculum.published import imported, queue

V42 = queue("v42")
EVALUATIONS = range(8, 57, 8)


def test_resets_and_types_of_v42() -> None:
    assert [V42.resets(iteration) for iteration in EVALUATIONS] == [5, 11, 15, 21, 26, 31, 36]
    assert V42.resets(60) == 38
    assert [V42.reading(iteration).type for iteration in EVALUATIONS] == ["ne"] * 3 + ["main"] * 4
    assert V42.reading(60).capacity == 118


def test_the_types_that_v40_recorded() -> None:
    assert [queue("v40").reading(at).type for at in EVALUATIONS] == ["ne", "ne", "main", "main", "main", "ne", "main"]


def test_reinjections_of_v42() -> None:
    counted = [(at, reading.reinjections["ne"], reading.reinjections_legacy["ne"]) for at, reading in V42.readings()]
    assert [row for row in counted if row[0] in (14, 15, 60)] == [(14, 0, 0), (15, 0, 1), (60, 0, 1)]
    legacy = [read_queue(V42.blocks, deals).reinjections_legacy["ne"] for deals in (73, 74)]
    assert legacy == [1, 2]
    assert [read_queue(V42.blocks, deals).reinjections["ne"] for deals in (73, 74, 92, 118)] == [0, 1, 2, 3]


@pytest.mark.parametrize(("version", "first"), [("v42", 57), ("v41", 47), ("v40", 57)])
def test_warnings_as_they_were_recorded(version: str, first: int) -> None:
    (warned,) = all_warnings(queue(version).readings(), imported(version).deck)
    assert (warned.iteration, warned.iteration + warned.duration - 1) == (first, 60)
    assert warned.resolved_iteration is None


def test_what_is_left_at_the_end_of_v42() -> None:
    final = V42.reading(60)
    assert (final.block and final.block.number, final.label, final.progress) == (4, "main_stage1b", 4)
    assert (final.remaining, final.remaining_by_type) == (80, {"ne": 26, "main": 54})
    assert sum(final.remaining_by_type.values()) == final.remaining


def test_a_warning_is_resolved_when_the_share_rises() -> None:
    settings = DeckSettings(warn_ratio=0.5, warn_patience=2)
    blocks = (Block(1, "a", "main", 10),)
    state, seen = WarningState(), []
    for iteration, deals in enumerate((2, 5, 6, 7, 2, 3), start=1):
        state, event = watch(state, iteration, read_queue(blocks, deals), settings)
        if event:
            seen.append(
                (iteration, event.iteration, event.resolved_iteration, event.duration, event.predicted_exhaustion)
            )
    assert seen == [(3, 3, None, 1, 5), (5, 3, 5, 2, 5)]


def test_schools_reset_at_a_phase_only_if_the_count_changes() -> None:
    plan = QueuePlan((Block(1, "a", "main", 99),), parse_schedule("15:5,25:5,25:5"), 100, 250)
    assert [plan.resets(iteration) for iteration in (0, 1, 5, 6, 10, 15)] == [0, 1, 3, 4, 6, 8]
    always = plan._replace(phase_reset="always")
    assert always.resets(15) == 9
    assert plan._replace(share=0.25).consumed(15) == 2


def test_limits_of_episodes() -> None:
    assert [episode_limit(500, forced) for forced in (0, 224, 900)] == [500, 224, 500]
    assert [first_limit(lane, 4, 10) for lane in range(4)] == [3, 5, 8, 10]


def test_an_exhausted_deck_spawns_or_begins_again() -> None:
    blocks = (Block(1, "a", "ne", 2), Block(2, "b", "main", 1))
    empty = read_queue(blocks, 5)
    assert (empty.block, empty.type, empty.remaining, empty.ratio) == (None, "", 0, 0.0)
    again = read_queue(blocks, 5, on_empty="cycle")
    assert (again.label, again.remaining, again.reinjections) == ("b", 1, {"ne": 1, "main": 1})


def test_a_waiting_block_is_moved_forward_and_without_one_the_last_is_repeated() -> None:
    blocks, moved = promote(V42.blocks, 20, "ne")  # in block 3; the next ne is block 7
    assert [block.number for block in blocks] == [1, 2, 3, 7, 4, 5, 6, 8, 9, 10, 11]
    assert (moved.label, moved.moved, moved.after) == ("ne_refresh_a", True, "main_stage1a")
    short = V42.blocks[:3]
    blocks, repeated = promote(short, 20, "ne")
    assert [block.number for block in blocks] == [1, 2, 3, 2] and not repeated.moved


def test_promotion_waits_until_another_type_is_dealt() -> None:
    minimum = {"ne": 2.0}
    assert promotion_due(V42, V42.blocks, 8, 5, minimum) is None  # ne itself is dealt
    assert promotion_due(V42, V42.blocks, 29, 19, minimum) == "ne"
    moved, _ = promote(V42.blocks, 19, "ne")
    assert promotion_due(V42, moved, 30, 19, minimum) is None  # ne comes next
    assert promotion_due(V42, V42.blocks, 29, 19, {"ne": 0.0}) is None
    final, promotions = forecast_with_promotions(V42, minimum)
    assert final.reinjections["ne"] == 1 and [moved.type for _, moved in promotions] == ["ne"]


BLOCKS = st.lists(st.tuples(st.sampled_from(["ne", "main", "slow"]), st.integers(1, 9)), min_size=1, max_size=7).map(
    lambda rows: tuple(Block(number, f"b{number}", kind, deals) for number, (kind, deals) in enumerate(rows, start=1))
)


@settings(deadline=None)
@given(BLOCKS, st.integers(0, 70), st.integers(1, 9))
def test_schools_dealt_alike_read_like_one(blocks: tuple[Block, ...], consumed: int, schools: int) -> None:
    one, many = read_queue(blocks, consumed), read_queue(blocks, consumed * schools, schools)
    assert (one.block, one.ratio, one.reinjections) == (many.block, many.ratio, many.reinjections)
    assert sum(many.remaining_by_type.values()) == many.remaining == one.remaining * schools


@settings(deadline=None)
@given(BLOCKS, st.integers(0, 70))
def test_deals_only_ever_use_up_the_deck(blocks: tuple[Block, ...], consumed: int) -> None:
    now, then = read_queue(blocks, consumed), read_queue(blocks, consumed + 1)
    assert then.remaining == max(0, now.remaining - 1)
    for kind in now.reinjections:
        assert now.reinjections[kind] <= then.reinjections[kind] <= now.reinjections_legacy[kind] + 1
        assert then.reinjections[kind] <= then.reinjections_legacy[kind]


@settings(deadline=None)
@given(BLOCKS, st.data())
def test_promotion_touches_nothing_already_dealt(blocks: tuple[Block, ...], data: st.DataObject) -> None:
    consumed = data.draw(st.integers(0, read_queue(blocks, 0).capacity - 1))
    kind = data.draw(st.sampled_from(sorted({block.type for block in blocks})))
    after, promotion = promote(blocks, consumed, kind)
    now = read_queue(blocks, consumed)
    place = blocks.index(now.block) if now.block else 0
    assert after[: place + 1] == blocks[: place + 1] and after[place + 1].type == kind
    assert len(after) == len(blocks) + (not promotion.moved)


def test_the_worst_episodes_come_in_order() -> None:
    assert worst_episodes([0.5, 0.4, 0.4, 0.4], [[9, 9], [3, 9], [2, 9], [2, 9]], 3) == [2, 3, 1]


def test_a_longer_forced_reset_never_deals_more() -> None:
    totals = [V42._replace(episode_steps=steps).consumed(60) for steps in range(50, 400)]
    assert totals == sorted(totals, reverse=True)
