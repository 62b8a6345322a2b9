"""The readers that are fuzzed: each makes good files once, edits them for every input, and uses what was accepted."""

from __future__ import annotations

import contextlib
import json
import random
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import numpy as np
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from fuzz.mutate import as_json, edited, edited_arrays, edited_bytes, edited_text
from holdfast.config.presets import presets
from holdfast.config.reading import load_config
from holdfast.config.sections import Config
from holdfast.curriculum.deck_archive import Archive, read_archive, write_archive
from holdfast.curriculum.deck_files import Source, check_deck, read_deck, write_deck
from holdfast.curriculum.deck_light import write_light
from holdfast.curriculum.deck_spec import parse_stages
from holdfast.curriculum.schedule import of_shares, parse_schedule
from holdfast.kit.errors import HoldfastError
from holdfast.kit.soundness import restoring
from holdfast.kit.timing import Clock
from holdfast.nes.assembler import ines_file
from holdfast.nes.cartridge import load_rom
from holdfast.rollout.collect import collect
from holdfast.runs.checkpoint import FACTS, MANIFEST, META, TENSORS, load, manifest_of
from holdfast.runs.folder import RunFolder, create_run
from holdfast.runs.metadata import Lineage, refuse_other_world
from holdfast.runs.reading import Follower, read_stream
from holdfast.runs.recorder import cut_streams_back
from holdfast.runs.reopen import config_of
from holdfast.runs.shelf import shelve, take_down
from holdfast.runs.streams import Rotation, Stream, cut_back
from holdfast.state import State, initial_state
from holdfast.train import train
from holdfast.views.report.record import read_record
from holdfast.views.run_list import describe
from holdfast.views.terminal import Quiet
from holdfast.worlds.registry import make_world

SMALL = {
    "rollout.lanes": "4", "rollout.steps": "4", "rollout.threads": "1", "learner.minibatch": "16",
    "run.iterations": "2", "run.stop_score": "none", "run.tensorboard": "false", "evaluation.every": "1",
    "evaluation.episodes": "2", "evaluation.final_episodes": "2", "checkpoint.every": "1", "metrics.parquet": "false",
}  # fmt: skip
REPLAYING = {"learner.algorithm": "vtrace", "learner.replay": "true", "replay.batch": "8", "rollout.lag": "1"}


def small_config(root: Path, target: str = "template", **options: str) -> Config:
    words = {**SMALL, "run.root": str(root), **options}
    return load_config(target, [f"--{name}={value}" for name, value in words.items()])[0]


def finished(root: Path, target: str = "template", **options: str) -> RunFolder:
    config = small_config(root, target, **options)
    run = create_run(config, target, ["fuzz"])
    train(config, run, Quiet())
    run.unlock()
    return run


class Reader(ABC):
    """One kind of file."""

    def __init__(self, place: Path) -> None:
        self.place = place

    @abstractmethod
    def read(self, chance: random.Random) -> None:
        """Edit a good file, read it, and use what was accepted; an error of ours refuses it."""


class Descriptions(Reader):
    """`run.json`: the list of runs, the report's record, and the configuration to resume with."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.run = finished(place)
        self.good = json.loads((self.run.folder / "run.json").read_text())

    def read(self, chance: random.Random) -> None:
        content = as_json(edited(self.good, chance), chance)
        path = self.run.folder / "run.json"
        path.write_bytes(edited_bytes(content, chance) if chance.random() < 0.1 else content)
        json.dumps(describe(self.run)).encode()  # never fails: a strange run harms no list
        read_record(self.run.folder)
        config_of(self.run)


class Checkpoints(Reader):
    """A checkpoint with right checksums: loaded, made the state of a run, and used for a rollout."""

    OPTIONS: ClassVar[dict[str, str]] = {}
    TARGET = "template"

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.run = finished(place, self.TARGET, **self.OPTIONS)
        self.config = config_of(self.run)
        self.folder = self.run.folder / "checkpoints" / "000002"
        self.contents = {file: (self.folder / file).read_bytes() for file in (TENSORS, FACTS, META)}
        self.arrays = {name: np.array(array) for name, array in load_tensors(self.contents[TENSORS]).items()}
        self.tables = {file: json.loads(self.contents[file]) for file in (FACTS, META)}
        self.state: State | None = None

    def read(self, chance: random.Random) -> None:
        contents = dict(self.contents)
        edits = chance.choice([(TENSORS,), (TENSORS,), (FACTS,), (META,), (TENSORS, FACTS, META)])
        if TENSORS in edits:
            contents[TENSORS] = save_tensors(edited_arrays(self.arrays, chance))
        for file in (FACTS, META):
            if file in edits:
                contents[file] = as_json(edited(self.tables[file], chance), chance)
        if chance.random() < 0.05:
            contents[TENSORS] = edited_bytes(contents[TENSORS], chance)
        for file, content in {**contents, MANIFEST: manifest_of(contents)}.items():
            (self.folder / file).write_bytes(content)
        self.use()

    def use(self) -> None:
        saved = load(self.folder)
        if self.state is None:
            self.state = initial_state(self.config)
        state = self.state
        refuse_other_world(saved.name, saved.meta, state.world)
        try:
            with restoring(saved.name):
                state.restore(saved.arrays, saved.facts)
                positions = saved.facts["streams"]
            Lineage.of(saved.name, saved.meta)
            cut_streams_back(self.place / "nowhere", dict(positions))
            with np.errstate(all="ignore"):
                seat = state.seat
                collect(seat.world, seat.learners, seat.batches, seat.memory, seat.actions, Clock())
        finally:
            self.state = None  # half restored, or used


class ReplayCheckpoints(Checkpoints):
    """With a replay and a rollout that waits."""

    OPTIONS = REPLAYING


class FishCheckpoints(Checkpoints):
    """Of a school."""

    TARGET = "fish"
    OPTIONS: ClassVar[dict[str, str]] = {
        "world.fish": "6",
        "world.steps": "20",
        "evaluation.world": "{}",
        "schedule.phases": "4:50%,6:50%",
        "learner.minibatch": "24",
        "gate.phase_allowance": "1,2",
    }


class GymCheckpoints(Checkpoints):
    """Of an environment that is rebuilt by repeating its actions."""

    TARGET = "gym:CartPole-v1"


class Decks(Reader):
    """Full decks of a school, whose parts are written again as an archive; and light ones."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.settings = small_config(place, "fish", **FishCheckpoints.OPTIONS).world
        self.world = make_world("fish", self.settings, 4, seed=1)
        self.world.reset()
        self.path = place / "deck.zip"
        write_deck(self.path, self.world, self.settings, self.world.save(np.arange(4)), Source("run", 1, "fuzz"))
        self.good = read_archive(self.path)
        write_light(place / "light.json", np.array([[1.0, 0.5], [0.0, 2.0]]))
        self.light = json.loads((place / "light.json").read_text())

    def read(self, chance: random.Random) -> None:
        if chance.random() < 0.3:
            self.path.write_bytes(as_json(edited(self.light, chance), chance))
        else:
            whole = chance.random() < 0.5
            manifest = self.good.manifest if whole else edited(self.good.manifest, chance)
            arrays = edited_arrays(self.good.arrays, chance) if whole else self.good.arrays
            if isinstance(manifest, dict):
                with contextlib.suppress(ValueError, TypeError):
                    write_archive(self.path, Archive(manifest, arrays))
            if chance.random() < 0.1:
                self.path.write_bytes(edited_bytes(self.path.read_bytes(), chance))
        deck = read_deck(self.path)
        check_deck(deck, self.world, self.settings)
        if deck.situations is not None:
            world = make_world("fish", self.settings, len(deck.situations), seed=2)
            world.reset()
            world.begin_from(np.arange(len(deck.situations)), deck.situations)
            with np.errstate(all="ignore"):
                world.step({"fish": np.zeros((world.lanes, self.settings.fish), np.int64)})


class Shelved(Reader):
    """A kept policy: one file of arrays, with its configuration and facts as text."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        config = small_config(place)
        self.path = place / "kept.safetensors"
        shelve(self.path, config, initial_state(config).learners, {"score": 1.0})
        self.content = self.path.read_bytes()
        length = int.from_bytes(self.content[:8], "little")
        self.about = json.loads(self.content[8 : 8 + length])["__metadata__"]
        self.arrays = {name: np.array(array) for name, array in load_tensors(self.content).items()}

    def read(self, chance: random.Random) -> None:
        about = dict(self.about)
        for name in ("config", "facts"):
            if chance.random() < 0.6:
                about[name] = as_json(edited(json.loads(about[name]), chance), chance).decode("utf-8", "replace")
        arrays = edited_arrays(self.arrays, chance) if chance.random() < 0.6 else self.arrays
        content = save_tensors(arrays, metadata=about)
        self.path.write_bytes(edited_bytes(content, chance) if chance.random() < 0.2 else content)
        take_down(self.path)


class Presets(Reader):
    """TOML, as text."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        texts = [path.read_text(encoding="utf-8") for _, path in sorted(presets().items())]
        self.good = [text for text in texts if 'name = "mario"' not in text]  # a ROM is sought there

    def read(self, chance: random.Random) -> None:
        lines = chance.choice(self.good).split("\n")
        at = chance.randrange(len(lines))
        lines[at] = edited_text(lines[at], chance)
        path = self.place / "preset.toml"
        path.write_text("\n".join(lines), encoding="utf-8", errors="replace")
        load_config(str(path))


class Grammars(Reader):
    """The small languages of options: schedules, stages of decks, numbers and lists on the command line."""

    SCHEDULES = ("4@1-20,6@21-40", "1:10%,8:40%,25:50%", "4:20,6:20")
    STAGES = ("4:a.zip;2:b.zip|type=left|label=x|apply=state|scale_speed=1.5", "2:@harvest", "1:a.json|type=fast")
    OPTIONS = ("--policy.hidden=64,64", "--learner.lr=1e-3", '--evaluation.world={"far": 3}', "--run.stop_score=none")

    def read(self, chance: random.Random) -> None:
        match chance.randrange(4):
            case 0:
                parse_schedule(edited_text(chance.choice(self.SCHEDULES), chance))
            case 1:
                of_shares(edited_text(chance.choice(self.SCHEDULES), chance), 100)
            case 2:
                parse_stages(edited_text(chance.choice(self.STAGES), chance))
            case _:
                load_config("template", [edited_text(chance.choice(self.OPTIONS), chance)])


class Streams(Reader):
    """Lines and packed parts: read, followed, cut back, and appended to."""

    def read(self, chance: random.Random) -> None:
        folder = self.place / "stream"
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
        path = folder / "s.jsonl"
        stream = Stream(path, Rotation(200, 5), resumable=True)
        for number in range(chance.randint(0, 15)):
            stream.write({"iteration": number, "text": "x" * chance.randint(0, 60)})
        position = stream.position()
        stream.close()
        for file in sorted(folder.iterdir()):
            if chance.random() < 0.5:
                file.write_bytes(edited_bytes(file.read_bytes(), chance))
        read_stream(path)
        Follower(path).look()
        with contextlib.suppress(HoldfastError):
            cut_back(path, chance.randint(0, position))
        again = Stream(path, Rotation(200, 5))
        again.write({"n": 1})
        again.close()
        found = read_stream(path)
        if not found.records or found.records[-1] != {"n": 1} or found.torn_last:
            raise AssertionError("a line that was written is not the last one")


class Roms(Reader):
    """iNES files."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.good = ines_file(bytes(16384))

    def read(self, chance: random.Random) -> None:
        load_rom(edited_bytes(self.good, chance))


READERS: dict[str, type[Reader]] = {
    "description": Descriptions,
    "checkpoint": Checkpoints,
    "checkpoint-replay": ReplayCheckpoints,
    "checkpoint-fish": FishCheckpoints,
    "checkpoint-gym": GymCheckpoints,
    "deck": Decks,
    "policy": Shelved,
    "preset": Presets,
    "grammar": Grammars,
    "stream": Streams,
    "rom": Roms,
}
