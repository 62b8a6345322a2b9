"""Decks on disk: written whole, read back equal, and refused by name when anything about them is wrong."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.curriculum.deck_archive import MANIFEST
from holdfast.curriculum.deck_errors import DeckError
from holdfast.curriculum.deck_files import Deck, Source, check_deck, read_deck, write_deck
from holdfast.curriculum.deck_light import write_light
from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.worlds.template.world import Template

SETTINGS = FishSettings(fish=12)
SOURCE = Source("first", 8, "abc")


def begun(chosen: FishSettings = SETTINGS, lanes: int = 5) -> Fish:
    world = Fish(chosen, lanes=lanes, seed=3)
    world.reset()
    return world


def written(path: Path) -> Fish:
    world = begun()
    twice = world.save(np.array([0, 1, 2, 1]))
    write_deck(path, world, SETTINGS, twice, SOURCE, "a note", {"window": np.arange(4, dtype=np.int32)})
    return world


def rewritten(path: Path, change: Callable[[str, bytes], tuple[str, bytes] | None]) -> None:
    """The same archive with every part passed through `change`; None drops it."""
    with zipfile.ZipFile(path) as folder:
        parts = [(name, folder.read(name)) for name in folder.namelist()]
    with zipfile.ZipFile(path, "w") as folder:
        for part in parts:
            changed = change(*part)
            if changed is not None:
                folder.writestr(*changed)


def with_manifest(path: Path, **changes: object) -> None:
    def change(name: str, content: bytes) -> tuple[str, bytes]:
        return name, json.dumps({**json.loads(content), **changes}).encode() if name == MANIFEST else content

    rewritten(path, change)


def with_array(path: Path, chosen: str, array: np.ndarray) -> None:
    content = io.BytesIO()
    np.save(content, array)
    rewritten(path, lambda name, old: (name, content.getvalue() if name == f"{chosen}.npy" else old))


def test_a_full_deck_comes_back_as_it_was(tmp_path: Path) -> None:
    world = written(tmp_path / "a.deck")
    deck = read_deck(tmp_path / "a.deck")
    assert (len(deck), deck.world, deck.source, deck.note) == (4, "fish", SOURCE, "a note")
    assert deck.per_item["window"].tolist() == [0, 1, 2, 3]
    assert deck.situations is not None
    for name, array in world.of_episode(world.save(np.array([0, 1, 2, 1]))).rows.items():
        assert np.array_equal(deck.situations.rows[name], array), name
    check_deck(deck, world, SETTINGS)
    manifest = json.loads(zipfile.ZipFile(tmp_path / "a.deck").read(MANIFEST))
    assert (manifest["items"], manifest["distinct"]) == (4, 3)
    assert sum(manifest["statistics"]["heading_histogram"]) == 4
    assert manifest["settings"]["fish"] == 12


def test_the_same_deck_is_the_same_bytes_and_numpy_can_open_it(tmp_path: Path) -> None:
    written(tmp_path / "a.npz")
    written(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as opened:
        assert opened["state/n_fish"].tolist() == [12] * 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def refused(path: Path, *words: str) -> None:
    with pytest.raises(DeckError) as told:
        read_deck(path)
    for word in (str(path), *words):
        assert word in str(told.value)


def test_what_is_no_deck_is_refused_by_name(tmp_path: Path) -> None:
    refused(tmp_path / "missing.deck", "No such file")
    refused(tmp_path, "it is no file")
    for name, content, words in (
        ("nothing", b"", "0 bytes"),
        ("noise", b"\x93NUMPY", "neither a full deck"),
        ("list.json", b"[[1, 2]]", "not an object"),
        ("zip", b"PK\x03\x04 and then nothing", "damaged"),
        ("deep.json", b'{"velocities":' + b"[" * 200_000, "neither"),
    ):
        (tmp_path / name).write_bytes(content)
        refused(tmp_path / name, words)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as folder:
        folder.writestr("readme.txt", "hello")
    refused(tmp_path / "other.zip", "manifest.json")


@settings(max_examples=30, deadline=None)
@given(share=st.floats(0.0, 1.0), flip=st.integers(1, 255), cut=st.booleans())
def test_a_damaged_deck_is_refused_or_unchanged(
    tmp_path_factory: pytest.TempPathFactory, share: float, flip: int, cut: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "whole.deck"
    if not path.exists():
        written(path)
    content = bytearray(path.read_bytes())
    place = min(int(share * len(content)), len(content) - 1)
    if cut:
        content = content[:place]
    else:
        content[place] ^= flip
    other = path.with_name("damaged.deck")
    other.write_bytes(bytes(content))
    try:
        deck = read_deck(other)
    except DeckError as error:
        assert str(other) in str(error)
        return
    same = read_deck(path)  # a byte that nothing depends on, such as a date
    assert deck.situations is not None and same.situations is not None
    for name, array in same.situations.rows.items():
        assert np.array_equal(deck.situations.rows[name], array), name


def test_each_broken_part_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.deck"

    def after(change: Callable[[], None], *words: str) -> None:
        written(path)
        change()
        refused(path, *words)

    after(lambda: with_manifest(path, format="deck/2"), "deck/2 is newer", "update")
    after(lambda: with_manifest(path, format="cards"), "format is 'cards'")
    after(lambda: with_manifest(path, world=None), "manifest.json: world")
    after(lambda: with_manifest(path, items=0), "empty")
    after(lambda: with_manifest(path, items=5), "not 5 items")
    after(lambda: with_manifest(path, source={}), "source")
    after(lambda: rewritten(path, lambda name, old: None if name == MANIFEST else (name, old)), MANIFEST)
    after(lambda: rewritten(path, lambda name, old: (name, old if name == MANIFEST else old[:-3])), "state/")
    after(lambda: rewritten(path, lambda name, old: (name.replace(".npy", ".txt"), old)), "no array")
    after(lambda: rewritten(path, lambda name, old: (name.replace("state/", "other/"), old)), "other/")
    after(lambda: with_manifest(path, arrays=7), "arrays is missing")


def test_pickled_objects_and_huge_headers_are_never_read(tmp_path: Path) -> None:
    path = tmp_path / "a.deck"
    written(path)
    with_array(path, "state/t", np.array([{"a": 1}] * 4, object))
    refused(path, "state/t.npy", "pickled")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (4, 10**15)})
    rewritten(path, lambda name, old: (name, header.getvalue() if name == "state/t.npy" else old))
    refused(path, "state/t.npy", "does not fit")
    long = b"\x93NUMPY\x02\x00" + (10**8).to_bytes(4, "little") + b"{" * 1000
    rewritten(path, lambda name, old: (name, long if name == "state/t.npy" else old))
    refused(path, "state/t.npy")


def unfit(path: Path, chosen: FishSettings, *words: str) -> None:
    with pytest.raises(DeckError) as told:
        check_deck(read_deck(path), begun(chosen, lanes=1), chosen)
    for word in (str(path), *words):
        assert word in str(told.value)


def test_a_deck_of_another_world_version_or_rule_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.deck"
    written(path)
    template = Template(Template.Settings(), lanes=1, seed=0)
    with pytest.raises(DeckError, match="of world fish; this run plays template"):
        check_deck(read_deck(path), template, Template.Settings())
    unfit(path, FishSettings(fish=12, rules="hunt"), "world.rules = classic", "hunt")
    unfit(path, FishSettings(fish=8), "12 fish does not fit", "room for 8")
    with_manifest(path, world_version=99)
    unfit(path, SETTINGS, "version 99", "update Holdfast")
    with_manifest(path, world_version=1)
    unfit(path, SETTINGS, "version 1", "harvest it anew")


def test_numbers_no_school_can_have_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.deck"
    for name, array, words in (
        ("n_fish", np.full(4, 1_000_000, np.int32), "n_fish"),
        ("n_fish", np.full(4, 5, np.int32), "absent"),
        ("t", np.full(4, 500, np.int32), "step_limit"),
        ("t", np.full(4, -1, np.int32), "t is not"),
        ("pred_pos", np.full((4, 2), 99.0, np.float32), "pred_pos is outside"),
        ("pred_vel", np.full((4, 2), np.nan, np.float32), "pred_vel is not finite"),
        ("fish.alive", np.zeros((4, 12), np.bool_), "without living fish"),
        ("fish.alive", np.ones((4, 11), np.bool_), "11 and 12"),
        ("death_step", np.zeros((4, 12), np.int64), "death_step"),
        ("n_fish", np.ones((4, 1), np.int32), "n_fish is int32 of 2 axes"),
    ):
        written(path)
        with_array(path, f"state/{name}", array)
        unfit(path, SETTINGS, words)
    written(path)
    rewritten(path, lambda name, old: None if name == "state/total.npy" else (name, old))
    refused(path, "state/total")
    with_manifest(path, arrays=[name for name in _arrays(path) if name != "state/total"])
    unfit(path, SETTINGS, "total is missing")


def _arrays(path: Path) -> list[str]:
    found: list[str] = json.loads(zipfile.ZipFile(path).read(MANIFEST))["arrays"]
    return found


def test_an_empty_deck_is_not_written(tmp_path: Path) -> None:
    world = begun()
    with pytest.raises(DeckError, match="no situation"):
        write_deck(tmp_path / "a.deck", world, SETTINGS, world.save(np.empty(0, np.int64)), SOURCE)


# --- light decks -----------------------------------------------------------------------------------------------------


speeds = st.floats(-50, 50).filter(lambda value: abs(value) > 1e-6)


@settings(max_examples=25, deadline=None)
@given(pairs=st.lists(st.tuples(speeds, speeds), min_size=1, max_size=8), note=st.text(max_size=20))
def test_a_light_deck_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[float, float]], note: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "light.json"
    write_light(path, np.array(pairs), note, source="somewhere")
    deck = read_deck(path)
    assert deck.light and deck.note == note and deck.world == "fish"
    assert np.array_equal(deck.velocities, np.array(pairs))


def light(path: Path, content: object) -> Deck:
    path.write_text(json.dumps(content))
    return read_deck(path)


def test_files_of_the_earlier_project_are_imported(tmp_path: Path) -> None:
    clusters = [{"sample": {"predator_velocity": [0.5, 1.5]}}, {"sample": {"predator_velocity": [1, 0]}}]
    old = {"summary": {"clusters": clusters}}
    found = light(tmp_path / "old.json", old).velocities
    assert found is not None and found.tolist() == [[0.5, 1.5], [1.0, 0.0]]
    both = light(tmp_path / "both.json", {**old, "velocities": [[2, 0]]}).velocities
    assert both is not None and both.tolist() == [[2.0, 0.0]]


@pytest.mark.parametrize(
    "content, words",
    [
        ({"velocities": []}, "velocities has no item"),
        ({"velocities": {}}, "velocities is a dict"),
        ({"velocities": [[1, 0], [1]]}, "velocities[1]"),
        ({"velocities": [[1, "0"]]}, "velocities[0]"),
        ({"velocities": [[True, 0]]}, "velocities[0]"),
        ({"velocities": [[float("nan"), 0]]}, "velocities[0]"),
        ({"velocities": [[0, 0]]}, "above 0"),
        ({"velocities": [[1e6, 0]]}, "at most 100"),
        ({"format": "deck-light/2", "velocities": [[1, 0]]}, "newer"),
        ({"format": "deck/1", "velocities": [[1, 0]]}, "format is 'deck/1'"),
        ({"summary": {"clusters": [{"sample": {}}]}}, "summary.clusters"),
        ({"summary": {"clusters": []}}, "empty"),
        ({}, "no velocities"),
    ],
)
def test_a_bad_light_deck_is_refused_by_its_part(tmp_path: Path, content: object, words: str) -> None:
    (tmp_path / "bad.json").write_text(json.dumps(content))
    refused(tmp_path / "bad.json", words)
