"""Judge and film the policy of a run that exists: the same evaluation code as during training, on held-out seeds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.config.sections import Config
from holdfast.kit.errors import ConfigError, UnknownName, nearest
from holdfast.learner.learner import Learner
from holdfast.rollout.act import PolicyActor
from holdfast.rollout.evaluate import HELD_OUT, Evaluation, Summary, evaluation_keys, play_yardsticks, summary
from holdfast.runs.folder import RunFolder, find_run
from holdfast.runs.reopen import config_of, load_learners
from holdfast.runs.shelf import ENDING, Shelved, on_shelf, shelves, take_down
from holdfast.runs.supervised import supervised
from holdfast.state import ACTIONS, torch_generator
from holdfast.worlds.api import Act, Plan, World
from holdfast.worlds.registry import game_of, make_world
from holdfast.worlds.workers.supervisor import Supervisor


def held_out(config: Config, episodes: int, supervisor: Supervisor | None = None) -> Evaluation:
    if episodes < 1:
        raise ConfigError([f"--episodes {episodes}: must be at least 1"])
    keys = evaluation_keys(config.evaluation.seed, HELD_OUT, episodes)
    return Evaluation(config.world_name, config.evaluation_world, keys, config.rollout.threads, supervisor)


def learned_actor(config: Config, learners: dict[str, Learner], sampled: bool) -> PolicyActor:
    return PolicyActor(learners, torch_generator(config.evaluation.seed, ACTIONS) if sampled else None)


class Kept(NamedTuple):
    """A policy that exists: of a run, or from the shelf of those that came with a game."""

    config: Config
    run: RunFolder | None
    load: Callable[[str], dict[str, Learner]]  # by checkpoint
    media: Path


def find_policy(name: str, root: str) -> Kept:
    """A run by its name or folder; else a kept policy, such as that of stage 1-1."""
    try:
        run = find_run(name, root)
    except UnknownName as unknown:
        path = on_shelf(name)
        if path is None:
            kept = [one.stem for folder in shelves() for one in sorted(folder.glob(f"*{ENDING}"))]
            more = f"; kept policies are {', '.join(kept)}" if kept else ""
            raise UnknownName(f"{unknown}{more}") from None
        shelved = take_down(path)
        return Kept(shelved.config, None, lambda which: _only(shelved, which), Path("media") / name)
    config = config_of(run)
    return Kept(config, run, lambda which: load_learners(run, config, which)[0], run.folder / "media")


def _only(shelved: Shelved, which: str) -> dict[str, Learner]:
    if which != "latest":
        raise UnknownName(f"--checkpoint {which}: {shelved.path} holds one policy and no checkpoints")
    return shelved.learners


def judge(kept: Kept, checkpoint: str, episodes: int, sampled: bool) -> tuple[dict[str, Summary], str]:
    """Scores of the policy and of every yardstick on the same episodes, and the score's name."""
    config, learners = kept.config, kept.load(checkpoint)
    with supervised(config, kept.run) as supervisor:
        evaluation = held_out(config, episodes, supervisor)
        played = {"learned": evaluation.play(lambda world: learned_actor(config, learners, sampled))}
        played |= play_yardsticks(evaluation)
        world = evaluation.make_world(1)
        score = world.spec.score
        world.close()
    return {name: summary(table, score) for name, table in played.items()}, score


@dataclasses.dataclass(frozen=True)
class Film:
    """What is to be filmed, and how."""

    video: str | None = None  # .mp4 or .gif; None: play.mp4 in the run's media folder
    episode: int = 0  # of the held-out ones
    stage: str | None = None
    level: str | None = None
    policy: str = "learned"
    checkpoint: str = "latest"
    sampled: bool = False
    fps: int = 20


def film(kept: Kept, wanted: Film) -> Path:
    """One held-out episode as a video file."""
    from holdfast.views.video import episode_frames, write_video

    config = kept.config
    key = evaluation_keys(config.evaluation.seed, HELD_OUT, wanted.episode + 1)[-1]
    path = Path(wanted.video) if wanted.video else kept.media / "play.mp4"
    with supervised(config, kept.run) as supervisor:
        threads = config.rollout.threads
        world = make_world(config.world_name, _filmed_settings(config, wanted.stage), 1, 0, threads, supervisor)
        try:
            act = _captioned(world, _chosen_policy(kept, world, wanted))
            if wanted.level is not None:
                world.plan(np.arange(1), planned(config, world, wanted.level))
            return write_video(path, episode_frames(world, act, key), fps=wanted.fps)
        finally:
            world.close()


def _filmed_settings(config: Config, stage: str | None) -> Any:
    if stage is None:
        return config.evaluation_world
    one_stage = game_of(config).one_stage
    if one_stage is None:
        raise ConfigError([f"--stage {stage}: world {config.world_name}, which this run is of, has no stages"])
    return one_stage(config.evaluation_world, stage)


def planned(config: Config, world: World, level: str) -> Plan:
    """How an episode of a level begins."""
    from holdfast.selfplay.ladder import Ladder

    if config.duel.mode == "off":
        raise ConfigError([f"--level {level}: only runs of self-play have levels, this one is of {config.world_name}"])
    ladder = Ladder(config, world.spec)
    if level == "top":
        return ladder.plan(ladder.top)
    if not level.isdecimal() or int(level) > ladder.top:
        raise ConfigError([f"--level {level}: must be top or a number from 0 to {ladder.top}"])
    return ladder.plan(int(level))


def _captioned(world: World, act: Act) -> Act:
    """Let a world that draws captions show what the policy expects of the moment."""
    if not (hasattr(world, "caption") and isinstance(act, PolicyActor)):
        return act

    def captioned(seen: World) -> dict[str, np.ndarray]:
        actions = act(seen)
        seen.caption = tuple(f"value {value:.2f}" for value in act.values.values())  # type: ignore[attr-defined]
        return actions

    return captioned


def film_rom(rom: str | None, inputs: str | None, video: str | None) -> Path:
    """A NES program played by a script of inputs, as a video file."""
    from holdfast.nes.play import FRAMES_PER_S, play
    from holdfast.views.video import write_video

    missing = [word for word, given in (("FILE", rom), ("--inputs", inputs), ("--video", video)) if given is None]
    if rom is None or inputs is None or video is None:
        raise ConfigError(
            [f"play rom needs {', '.join(missing)}: holdfast play rom FILE --inputs SCRIPT --video out.mp4"]
        )
    return write_video(Path(video), play(Path(rom), Path(inputs)), fps=round(FRAMES_PER_S))


def _chosen_policy(kept: Kept, world: World, wanted: Film) -> Act:
    if wanted.policy == "learned":
        return learned_actor(kept.config, kept.load(wanted.checkpoint), wanted.sampled)
    known = world.yardsticks()
    if wanted.policy not in known:
        names = ["learned", *known]
        raise UnknownName(f"no policy {wanted.policy!r}{nearest(wanted.policy, names)}; there are {', '.join(names)}")
    return known[wanted.policy]
