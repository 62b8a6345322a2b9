"""The whole configuration of a run as frozen dataclasses: each option's type, default and meaning on one line.

`config_reading.py` fills them from presets and the command line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from holdfast.config.options import MORE_THAN_0, OptionInfo, option, options_of
from holdfast.curriculum.adaptive import AdaptiveSettings
from holdfast.curriculum.deck_spec import DeckSettings
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.curriculum.harvest_settings import HarvestSettings
from holdfast.curriculum.schedule import ScheduleSettings
from holdfast.curriculum.starts import StartsSettings
from holdfast.kit.errors import ConfigError
from holdfast.selfplay.settings import (
    SELFPLAY_SECTIONS,
    DuelConfig,
    EwcConfig,
    HealthConfig,
    LeagueConfig,
    LevelsConfig,
    ResponseConfig,
    RndConfig,
)
from holdfast.worlds.workers.settings import WorkerSettings

Section = TypeVar("Section")
FORMAT = 1  # raised when an older Holdfast could no longer read a run's configuration


@dataclass(frozen=True)
class RolloutConfig:
    """How experience is collected."""

    lanes: int = option(64, "episodes played side by side; 8 in workers unless set", low=1, high=10**6)
    steps: int = option(64, "steps of every lane between two updates", low=1, high=10**6)
    threads: int = option(0, "threads for kernels and torch; 0 = one per core", low=0, high=1000)
    lag: int = option(0, "updates between the policy that acts and the one that learns; 1 with overlap", low=0, high=1)
    overlap: bool = option(
        False, "collect in a thread while the learner updates; same bytes as one after the other at lag 1", free=True
    )


@dataclass(frozen=True)
class PolicyConfig:
    """The network that acts."""

    network: Literal["auto", "mlp", "parts", "cnn", "pixels-small", "conv4", "impala", "impala-large"] = option(
        "auto",
        "mlp for vectors; parts: lidar and history by layers of their own; the others look at images; auto: mlp or cnn",
    )
    encoder: Literal["mlp", "lstm", "belief"] = option(
        "mlp",
        "what sums up a history; belief: in both directions, and learns to tell where the opponent is (world.belief)",
        only=("policy.network", ("parts",)),
    )
    hidden: tuple[int, ...] = option(
        (64, 64), "width of each hidden layer, after the convolutions if any", low=1, high=10**5
    )
    activation: Literal["tanh", "relu"] = option("tanh", "between layers")
    norm: Literal["none", "layer", "group"] = option(
        "none", "layer: each hidden layer's numbers are normalised; group: the convolutions' in 8 groups"
    )
    separate: bool = option(
        True,
        "value and policy have networks of their own; false: they share all but the last layer",
        only=("policy.core", ("none",)),
    )
    core: Literal["none", "gru", "lstm"] = option(
        "none", "gru or lstm: the policy remembers what it saw earlier in the episode"
    )
    core_size: int = option(128, "units of the core", low=1, high=10**5, only=("policy.core", ("gru", "lstm")))
    grid: tuple[int, ...] = option(
        (),
        "values per number of an action, to choose one point of that grid; none: draw from a normal distribution",
        low=2,
        only=("actions", ("continuous", "grid")),
    )
    initial_log_std: float = option(0.0, "log of the first action noise", only=("actions", ("continuous",)))


PPO = ("learner.algorithm", ("ppo",))
VTRACE = ("learner.algorithm", ("vtrace",))


@dataclass(frozen=True)
class LearnerConfig:
    """Proximal policy optimisation (Schulman et al. 2017), or an actor-critic with V-trace (Espeholt et al. 2018)."""

    algorithm: Literal["ppo", "vtrace"] = option(
        "ppo", "vtrace: corrects for the age of what it learns from; --learner vtrace is short for it"
    )
    engine: Literal["auto", "torch", "fused", "wide"] = option(
        "auto",
        "fused: own kernels, for two small separate MLPs and one discrete choice; wide: for any width, for normal "
        "actions and for sights looked at by their parts too; auto: what suits",
    )
    lr: float = option(1e-3, "Adam's learning rate at the start", low=0.0)
    lr_schedule: Literal["constant", "linear", "cosine"] = option("linear", "how it falls to 0 over the whole run")
    lr_restart: float = option(
        0.0,
        "share of the run, at its end, before which it falls to 0 once; then it is what it would have been; 0 = never",
        low=0.0,
        high=0.8,
    )
    warmup: int = option(0, "iterations over which it rises first; at most a fifth of the run", low=0)
    adam_eps: float = option(1e-5, "Adam's epsilon", low=0.0)
    weight_decay: float = option(0.0, "share of the learning rate by which matrices shrink per step", low=0.0)
    gamma: float = option(0.99, "discount per step", low=0.0, high=1.0)
    gae_lambda: float = option(0.95, "how far advantages look ahead", low=0.0, high=1.0, only=PPO)
    trace_lambda: float = option(1.0, "how far V-trace looks ahead", low=0.0, high=1.0, only=VTRACE)
    rho_bar: float = option(1.0, "limit on the weight of a step's own surprise", low=0.0, only=VTRACE)
    c_bar: float = option(1.0, "limit on the weight of the surprises after it", low=0.0, only=VTRACE)
    epochs: int = option(4, "passes over each batch; V-trace has no clip, so on lagged batches give it 1", low=1)
    minibatch: int = option(512, "agent-steps per gradient; must divide lanes x steps x agents", low=1, high=10**9)
    grad_accum: int = option(1, "gradients averaged into one step", low=1)
    clip: float = option(0.2, "limit on the change of an action's probability ratio", low=0.0, only=PPO)
    value_clip: float = option(0.0, "limit on the change of a value per update; 0 = off", low=0.0, only=PPO)
    entropy: float = option(0.0, "reward for undecided policies", low=0.0)
    entropy_final: float | None = option(None, "where that reward is at the end of the run; none = unchanged", low=0.0)
    entropy_share: float = option(1.0, "share of the run after which it is there", low=0.01, high=1.0)
    value_coef: float = option(0.5, "weight of the value loss", low=0.0)
    belief_coef: float = option(0.1, "weight of the error of beliefs", low=0.0, only=("policy.encoder", ("belief",)))
    max_grad_norm: float = option(0.5, "gradients are scaled down to this length; 0 = off", low=0.0)
    target_kl: float = option(0.0, "end the epochs once the policy moved 1.5 times this far; 0 = off", low=0.0)
    normalize_advantages: bool = option(True, "scale each batch's advantages to mean 0, deviation 1")
    normalize_observations: bool = option(True, "scale observations by their running mean and deviation")
    normalize_returns: bool = option(True, "let the value network predict scaled returns")
    replay: bool = option(False, "also learn from earlier steps, the surprising ones first: see [replay]", only=VTRACE)
    amp: Literal["auto", "off", "bf16"] = option(
        "auto", "bf16: networks compute in half precision; auto: where this CPU multiplies bf16 itself and it pays"
    )
    compile: bool = option(False, "let torch.compile build the network's passes", only=("policy.core", ("none",)))


REPLAY = ("learner.replay", (True,))


@dataclass(frozen=True)
class ReplayConfig:
    """Prioritised replay (Schaul et al. 2016) of single agent-steps, corrected for their age as V-trace does."""

    capacity: int = option(200_000, "agent-steps it holds; the oldest go first", low=1024, high=10**9, only=REPLAY)
    max_gb: float = option(2.0, "hold fewer if they would need more memory than this", low=0.001, only=REPLAY)
    batch: int = option(256, "agent-steps replayed beside each gradient of the learner", low=1, high=10**7, only=REPLAY)
    interval: int = option(1, "replay in every so many updates", low=1, only=REPLAY)
    alpha: float = option(0.6, "0: all steps alike; 1: as often as they surprise", low=0.0, high=1.0, only=REPLAY)
    beta_start: float = option(0.4, "how far that bias is corrected at first", low=0.0, high=1.0, only=REPLAY)
    beta_final: float = option(1.0, "how far at the end of the run", low=0.0, high=1.0, only=REPLAY)
    coef: float = option(1.0, "weight of the replayed loss", low=0.0, only=REPLAY)
    max_age: int = option(50, "steps older than so many updates teach nothing", low=1, only=REPLAY)
    fp16_scalars: bool = option(True, "keep numbers in half precision", only=REPLAY)
    sampler: Literal["device", "numpy"] = option("device", "draw with torch or with NumPy", only=REPLAY)
    in_checkpoint: bool = option(True, "save it; without it a resumed run is not exact", only=REPLAY)


@dataclass(frozen=True)
class EvaluationConfig:
    """How the policy is judged: whole episodes on fixed seeds, beside scripted yardsticks."""

    every: int = option(10, "iterations between evaluations; 0 = only at the end", low=0, free=True)
    episodes: int = option(20, "episodes of an evaluation during the run", low=1, high=10**7, free=True)
    final_episodes: int = option(
        80, "episodes of the last evaluation, on seeds never used before", low=1, high=10**7, free=True
    )
    seed: int = option(411232, "where evaluation seeds come from", low=0, free=True)
    seeds: Literal["fixed", "rolling"] = option(
        "fixed", "fixed: the same episodes every time; rolling: new ones each time, which compare badly", free=True
    )
    sampled: bool = option(False, "draw actions as in training; false: take the likeliest", free=True)
    world: dict[str, Any] = option({}, "world settings that differ from training", free=True)


@dataclass(frozen=True)
class CheckpointConfig:
    """What is kept on disk to resume from."""

    every: int = option(10, "iterations between checkpoints", low=1, free=True)
    keep: int = option(3, "newest checkpoints to keep", low=1, free=True)
    milestone_every: int = option(
        0, "iterations between checkpoints that are kept for good; 0 = none", low=0, free=True
    )
    budget_mb: float = option(2000.0, "oldest checkpoints go first when all together are larger", low=1.0, free=True)


@dataclass(frozen=True)
class MetricsConfig:
    """What a run writes about itself while it goes on."""

    episodes: int = option(
        100, "finished training episodes of an iteration that go to episodes.jsonl; 0 = none", low=0, free=True
    )
    parquet: bool = option(
        True, "the newest metrics in latest.parquet, and all in metrics.parquet at the end", free=True
    )
    rotate_mb: float = option(0.0, "a stream larger than this is packed away; 0 = never", low=0.0, free=True)
    rotate_keep: int = option(
        5, "packed parts of a stream to keep", low=1, only=("metrics.rotate_mb", MORE_THAN_0), free=True
    )
    heartbeat_s: float = option(30.0, "between two lines of heartbeat.jsonl; 0 = none", low=0.0, free=True)
    stall_s: float = option(
        300.0,
        "without a sign of life until all stacks are written to traces/",
        low=1.0,
        only=("metrics.heartbeat_s", MORE_THAN_0),
        free=True,
    )
    monitor_s: float = option(10.0, "between two lines of resources.jsonl; 0 = none", low=0.0, free=True)
    slow_step_s: float = option(
        0.0,
        "a step of all lanes longer than this is an event; 0 = 20 times the median, at least 1 s",
        low=0.0,
        free=True,
    )
    slow_step_count: int = option(
        5, "so many slow steps within the window leave a trace of all stacks", low=1, free=True
    )
    slow_step_window_s: float = option(120.0, "the window for slow steps", low=0.0, free=True)
    hints: bool = option(True, "look for signs of trouble in the metrics, and say what may help", free=True)
    hint_cooldown: int = option(
        200, "iterations before a hint is given again", low=1, only=("metrics.hints", (True,)), free=True
    )


@dataclass(frozen=True)
class MemoryConfig:
    """What to do when there is not enough memory."""

    auto: bool = option(False, "go on from the last checkpoint with smaller batches, in several steps", free=True)


@dataclass(frozen=True)
class RunConfig:
    """The run as a whole."""

    name: str = option("", "name of the run's folder; empty: the preset's name and a number")
    root: str = option("runs", "folder that holds the runs")
    seed: int = option(1, "all randomness of the run comes from it", low=0, high=2**63 - 1)
    iterations: int = option(100, "collect and learn this often", low=1, high=10**12)
    init: str = option(
        "", "begin with the weights of this run (its folder) or kept policy (its file); empty: random ones"
    )
    stop_score: float | None = option(None, "end once an evaluation's mean score reaches this; none = never")
    tensorboard: bool = option(True, "also write TensorBoard files", free=True)
    allow_slow: bool = option(False, "train also what is hopelessly slow on this machine", free=True)


@dataclass(frozen=True)
class Config:
    """Everything a run depends on."""

    world_name: str
    world: Any  # the Settings dataclass of the world
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    schedule: ScheduleSettings = field(default_factory=ScheduleSettings)
    gate: GateSettings = field(default_factory=GateSettings)
    deck: DeckSettings = field(default_factory=DeckSettings)
    harvest: HarvestSettings = field(default_factory=HarvestSettings)
    starts: StartsSettings = field(default_factory=StartsSettings)
    adaptive: AdaptiveSettings = field(default_factory=AdaptiveSettings)
    duel: DuelConfig = field(default_factory=DuelConfig)
    levels: LevelsConfig = field(default_factory=LevelsConfig)
    league: LeagueConfig = field(default_factory=LeagueConfig)
    health: HealthConfig = field(default_factory=HealthConfig)
    ewc: EwcConfig = field(default_factory=EwcConfig)
    rnd: RndConfig = field(default_factory=RndConfig)
    response: ResponseConfig = field(default_factory=ResponseConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    metrics: MetricsConfig = field(default_factory=MetricsConfig)
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    run: RunConfig = field(default_factory=RunConfig)
    workers: WorkerSettings = field(default_factory=WorkerSettings)
    own: Mapping[str, Any] = field(default_factory=dict)  # the sections that the game brings, by name

    def section(self, kind: type[Section]) -> Section:
        """The settings of a section that the game brings."""
        return next(value for value in self.own.values() if type(value) is kind)

    def with_section(self, changed: Any) -> Config:
        """The same configuration with one of the game's own sections changed."""
        name = next(name for name, value in self.own.items() if type(value) is type(changed))
        return dataclasses.replace(self, own={**self.own, name: changed})

    @property
    def evaluation_world(self) -> Any:
        """The settings evaluations are played under."""
        return dataclasses.replace(self.world, **self.evaluation.world)


SECTIONS: dict[str, type] = {
    "rollout": RolloutConfig,
    "policy": PolicyConfig,
    "learner": LearnerConfig,
    "replay": ReplayConfig,
    "evaluation": EvaluationConfig,
    "schedule": ScheduleSettings,
    "gate": GateSettings,
    "deck": DeckSettings,
    "harvest": HarvestSettings,
    "starts": StartsSettings,
    "adaptive": AdaptiveSettings,
    **SELFPLAY_SECTIONS,
    "checkpoint": CheckpointConfig,
    "metrics": MetricsConfig,
    "memory": MemoryConfig,
    "run": RunConfig,
    "workers": WorkerSettings,
}


def sections_for(world_settings: type, own: Mapping[str, type]) -> dict[str, type]:
    """All sections of a run's configuration: the world's, the core's and those that the game brings."""
    taken = sorted(own.keys() & {"world", *SECTIONS})
    if taken:
        raise ConfigError([f"the game brings a section [{name}], which the core has already" for name in taken])
    return {"world": world_settings, **SECTIONS, **own}


def known_options(sections: Mapping[str, type]) -> dict[str, OptionInfo]:
    """Every option by its dotted name."""
    return {f"{name}.{info.name}": info for name, kind in sections.items() for info in options_of(kind)}


def values_of(config: Config) -> dict[str, Any]:
    """The settings of every section by its name."""
    core = {name: getattr(config, name) for name in ("world", *SECTIONS)}
    return {**core, **config.own}


def options_known(config: Config) -> dict[str, OptionInfo]:
    return known_options({name: type(value) for name, value in values_of(config).items()})


def flat(config: Config) -> dict[str, Any]:
    """Every option's value by its dotted name."""
    table = {"world.name": config.world_name}
    for section, settings in values_of(config).items():
        for item in dataclasses.fields(settings):
            table[f"{section}.{item.name}"] = getattr(settings, item.name)
    return table


def to_json(config: Config) -> dict[str, Any]:
    """For the run folder; `reading.from_json` reads it back."""
    table: dict[str, Any] = {"format": FORMAT}
    for section, settings in values_of(config).items():
        table[section] = dataclasses.asdict(settings)
    table["world"] = {"name": config.world_name, **table["world"]}
    return table


def changes_learning(config: Config, changed: frozenset[str]) -> list[str]:
    """Those of the changed options that would change what is learned."""
    known = options_known(config)
    return sorted(key for key in changed if not known[key].free)
