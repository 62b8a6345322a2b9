"""The whole configuration of a run as frozen dataclasses: each option's type, default and meaning on one line.

`config_reading.py` fills them from presets and the command line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

from holdfast.config.options import MORE_THAN_0, OptionInfo, flattened, nested, option, options_of
from holdfast.curriculum.adaptive import AdaptiveSettings
from holdfast.curriculum.deck_spec import DeckSettings
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.curriculum.harvest_settings import HarvestSettings
from holdfast.curriculum.schedule import ScheduleSettings
from holdfast.curriculum.starts import StartsSettings
from holdfast.kit.errors import ConfigError
from holdfast.learner.algorithms import ALGORITHMS, readers
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

    lanes: int = option(
        64,
        "Number of episodes played side by side. More lanes give steadier gradients and use the processor "
        "better, but fewer updates for the same number of steps. With world.backend = workers each lane is a "
        "process, and 8 is the default.",
        low=1,
        high=10**6,
    )
    steps: int = option(
        64,
        "Number of steps every lane plays between two updates. Longer rollouts see further ahead, shorter ones "
        "learn from fresher data.",
        low=1,
        high=10**6,
    )
    threads: int = option(
        0,
        "Number of threads for world kernels and network arithmetic; 0 uses one per core. Lower it to share the "
        "machine.",
        low=0,
        high=1000,
    )
    lag: int = option(
        0,
        "Number of updates between the policy that acts and the one that learns. 1 lets collecting and learning "
        "overlap; it is set to 1 with rollout.overlap.",
        low=0,
        high=1,
        expert=True,
    )
    overlap: bool = option(
        False,
        "Collect the next rollout in a thread while the learner updates. Faster where the world and the networks "
        "can share the cores; same bytes as without overlap at lag 1.",
        free=True,
    )


@dataclass(frozen=True)
class PolicyConfig:
    """The network that acts."""

    network: Literal["auto", "mlp", "parts", "cnn", "pixels-small", "conv4", "impala", "impala-large"] = option(
        "auto",
        "Architecture of the networks. mlp: fully connected, for vectors; parts: separate layers for lidar and "
        "history; cnn, pixels-small, conv4, impala and impala-large: convolutions, for images. auto takes mlp or "
        "cnn by the observation.",
    )
    encoder: Literal["mlp", "lstm", "belief"] = option(
        "mlp",
        "Encoder of the observation history in policy.network = parts. belief: a bidirectional encoder that also "
        "learns to predict where the opponent is (needs world.belief).",
        only=("policy.network", ("parts",)),
        expert=True,
    )
    hidden: tuple[int, ...] = option(
        (64, 64),
        "Width of each hidden layer, after the convolutions if there are any. Widen it for harder tasks; small "
        "networks train several times faster here.",
        low=1,
        high=10**5,
    )
    activation: Literal["tanh", "relu"] = option("tanh", "Activation function between layers.")
    norm: Literal["none", "layer", "group"] = option(
        "none",
        "Normalisation inside the networks. layer: layer normalisation after each hidden layer; group: group "
        "normalisation of convolutions in 8 groups.",
        expert=True,
    )
    separate: bool = option(
        True,
        "Give policy and value function networks of their own. false: they share all layers but the last, which "
        "is faster and usually better for images.",
        only=("policy.core", ("none",)),
    )
    core: Literal["none", "gru", "lstm"] = option(
        "none",
        "Recurrent core between the layers and the heads. Use gru or lstm where one observation does not tell "
        "the state.",
    )
    core_size: int = option(
        128, "Number of units of the recurrent core.", low=1, high=10**5, only=("policy.core", ("gru", "lstm"))
    )
    grid: tuple[int, ...] = option(
        (),
        "Number of values per action dimension: continuous actions are chosen from that grid as a categorical "
        "distribution. Empty: sample from a normal distribution.",
        low=2,
        only=("actions", ("continuous", "grid")),
        expert=True,
        example="7",
    )
    initial_log_std: float = option(
        0.0,
        "Logarithm of the initial standard deviation of continuous actions. Lower it where large actions are costly.",
        only=("actions", ("continuous",)),
        expert=True,
        example="-0.5",
    )


ALGORITHM = "learner.algorithm"


@dataclass(frozen=True)
class LearnerConfig:
    """Proximal policy optimisation (Schulman et al. 2017), or an actor-critic with V-trace (Espeholt et al. 2018)."""

    algorithm: str = option(
        "ppo",
        "Learning algorithm. ppo: proximal policy optimisation; vtrace: an actor-critic with V-trace, which "
        "corrects for the age of the data it learns from. --learner vtrace is short for it.",
        choices=ALGORITHMS,
    )
    engine: Literal["auto", "torch", "fused", "wide"] = option(
        "auto",
        "Implementation of the network arithmetic. fused: own kernels for two small separate MLPs and one "
        "discrete action; wide: own kernels for any width, normal actions and encoders by parts; torch: PyTorch. "
        "auto takes the fastest that fits.",
        expert=True,
    )
    lr: float = option(
        1e-3,
        "Learning rate of the Adam optimiser at the start of the run. The first option to tune: halve it when "
        "learning is unstable, double it when it is slow.",
        low=0.0,
    )
    lr_schedule: Literal["constant", "linear", "cosine"] = option(
        "linear",
        "Course of the learning rate over the run: constant, or down to 0 along a line or a cosine.",
    )
    lr_restart: float = option(
        0.0,
        "Restart the schedule for this last fraction of the run: the learning rate decays to 0 before it, then "
        "resumes the original curve. 0 disables.",
        low=0.0,
        high=0.8,
        expert=True,
    )
    warmup: int = option(
        0,
        "Number of iterations over which the learning rate rises from 0 at the start; at most a fifth of the run.",
        low=0,
        expert=True,
        unit="iterations",
    )
    weight_decay: float = option(
        0.0,
        "Decoupled weight decay per step of weight matrices, as a fraction of the learning rate.",
        low=0.0,
        expert=True,
    )
    gamma: float = option(
        0.99,
        "Discount factor per step. Raise it towards 1 where rewards come late.",
        low=0.0,
        high=1.0,
    )
    gae_lambda: float = option(
        0.95,
        "Lambda of generalised advantage estimation: 1 is Monte Carlo returns, 0 one-step bootstrapping.",
        low=0.0,
        high=1.0,
        only=(ALGORITHM, readers("gae_lambda")),
    )
    trace_lambda: float = option(
        1.0,
        "Lambda of V-trace targets: how far corrected returns look ahead.",
        low=0.0,
        high=1.0,
        only=(ALGORITHM, readers("trace_lambda")),
        expert=True,
    )
    rho_bar: float = option(
        1.0,
        "Truncation of the importance weight of a step's own temporal difference in V-trace (rho bar).",
        low=0.0,
        only=(ALGORITHM, readers("rho_bar")),
        expert=True,
    )
    c_bar: float = option(
        1.0,
        "Truncation of the importance weights of later temporal differences in V-trace (c bar).",
        low=0.0,
        only=(ALGORITHM, readers("c_bar")),
        expert=True,
    )
    epochs: int = option(
        4,
        "Number of passes over each batch. More learn faster from the same data, until the policy moves too far "
        "(see learner.target_kl). V-trace does not clip, so give it 1 with lagged batches.",
        low=1,
    )
    minibatch: int = option(
        512,
        "Number of agent-steps per gradient. Must divide rollout.lanes x rollout.steps x agents.",
        low=1,
        high=10**9,
        unit="agent-steps",
    )
    grad_accum: int = option(
        1,
        "Number of minibatch gradients averaged into one optimiser step. Raise it to imitate a larger minibatch "
        "with less memory.",
        low=1,
        expert=True,
    )
    clip: float = option(
        0.2,
        "PPO's clip range: limit of the change of an action's probability ratio that still earns gradient.",
        low=0.0,
        only=(ALGORITHM, readers("clip")),
    )
    value_clip: float = option(
        0.0,
        "Limit of the change of a predicted value per update; 0 disables value clipping.",
        low=0.0,
        only=(ALGORITHM, readers("value_clip")),
        expert=True,
    )
    entropy: float = option(
        0.0,
        "Coefficient of the entropy bonus. Raise it when the policy becomes deterministic too early.",
        low=0.0,
    )
    entropy_final: float | None = option(
        None,
        "Coefficient of the entropy bonus at the end of the run, reached linearly; none keeps it constant.",
        low=0.0,
    )
    entropy_share: float = option(
        1.0,
        "Fraction of the run after which learner.entropy_final is reached; it stays there afterwards.",
        low=0.01,
        high=1.0,
        expert=True,
    )
    value_coef: float = option(0.5, "Coefficient of the value loss.", low=0.0)
    belief_coef: float = option(
        0.1,
        "Coefficient of the belief encoder's prediction loss.",
        low=0.0,
        only=("policy.encoder", ("belief",)),
        expert=True,
    )
    max_grad_norm: float = option(0.5, "Clip gradients to this norm; 0 disables clipping.", low=0.0)
    target_kl: float = option(
        0.0,
        "End the epochs of an update once the policy has moved 1.5 times this far (approximate KL divergence); 0 "
        "disables. Useful with many epochs.",
        low=0.0,
    )
    normalize_advantages: bool = option(
        True,
        "Scale the advantages of each batch to mean 0 and standard deviation 1.",
        expert=True,
    )
    normalize_observations: bool = option(
        True,
        "Scale observations by their running mean and standard deviation. Turn it off for observations that are "
        "scaled already.",
    )
    normalize_returns: bool = option(
        True,
        "Let the value function predict returns scaled by their running mean and standard deviation. Turn it off "
        "for rewards of about 1.",
    )
    replay: bool = option(
        False,
        "Also learn from earlier steps by prioritised replay; options in [replay].",
        only=(ALGORITHM, readers("replay")),
        expert=True,
    )
    amp: Literal["auto", "off", "bf16"] = option(
        "auto",
        "Precision of the networks. bf16: mixed precision with bfloat16; auto: bf16 where the processor "
        "multiplies it natively and it pays.",
        expert=True,
    )
    compile: bool = option(
        False,
        "Build the networks' passes with torch.compile. Takes a minute at the start; pays for large networks.",
        only=("policy.core", ("none",)),
        expert=True,
    )


REPLAY = ("learner.replay", (True,))


@dataclass(frozen=True)
class ReplayConfig:
    """Prioritised replay (Schaul et al. 2016) of single agent-steps, corrected for their age as V-trace does."""

    expert: ClassVar = True

    capacity: int = option(
        200_000,
        "Number of agent-steps the replay buffer holds; the oldest leave first.",
        low=1024,
        high=10**9,
        only=REPLAY,
        unit="agent-steps",
    )
    max_gb: float = option(
        2.0,
        "Memory limit of the replay buffer; it holds fewer steps if they would need more.",
        low=0.001,
        only=REPLAY,
    )
    batch: int = option(
        256,
        "Number of replayed agent-steps beside each gradient of the learner.",
        low=1,
        high=10**7,
        only=REPLAY,
        unit="agent-steps",
    )
    interval: int = option(
        1,
        "Replay every N updates. Raise it where replay takes too much time.",
        low=1,
        only=REPLAY,
        unit="updates",
    )
    alpha: float = option(
        0.6,
        "Exponent of the priorities: 0 samples all steps alike, 1 in proportion to their error.",
        low=0.0,
        high=1.0,
        only=REPLAY,
    )
    coef: float = option(1.0, "Coefficient of the replayed loss.", low=0.0, only=REPLAY)
    max_age: int = option(50, "Drop steps that are older than N updates.", low=1, only=REPLAY, unit="updates")
    fp16_scalars: bool = option(
        True,
        "Keep the buffer's numbers in half precision, which halves its memory.",
        only=REPLAY,
    )
    sampler: Literal["device", "numpy"] = option(
        "device",
        "Sampler of the priorities: torch on the device, or NumPy.",
        only=REPLAY,
    )
    in_checkpoint: bool = option(
        True,
        "Save the buffer in checkpoints. Without it checkpoints are small, but a resumed run is not exact.",
        only=REPLAY,
    )


@dataclass(frozen=True)
class EvaluationConfig:
    """How the policy is judged: whole episodes on fixed seeds, beside scripted yardsticks."""

    every: int = option(
        10,
        "Number of iterations between two evaluations; 0 evaluates only at the end.",
        low=0,
        free=True,
        unit="iterations",
    )
    episodes: int = option(
        20,
        "Number of episodes of an evaluation during the run. More make decisions that depend on it (gates, best "
        "checkpoint) surer.",
        low=1,
        high=10**7,
        free=True,
    )
    final_episodes: int = option(
        80,
        "Number of episodes of the last evaluation, on seeds that were never used before.",
        low=1,
        high=10**7,
        free=True,
    )
    seed: int = option(
        411232,
        "Seed of the evaluation episodes. Use the same one in runs that are compared.",
        low=0,
        free=True,
    )
    seeds: Literal["fixed", "rolling"] = option(
        "fixed",
        "fixed: every evaluation plays the same episodes, so scores compare; rolling: new episodes each time.",
        free=True,
        expert=True,
    )
    sampled: bool = option(
        False,
        "Sample actions from the policy as in training; false takes the most probable ones (greedy).",
        free=True,
    )
    world: dict[str, Any] = option(
        {},
        "World options that differ in evaluations, for example a larger school: --evaluation.world.fish 96.",
        free=True,
    )


@dataclass(frozen=True)
class CheckpointConfig:
    """What is kept on disk to resume from."""

    expert: ClassVar = True

    every: int = option(
        10,
        "Number of iterations between two checkpoints.",
        low=1,
        free=True,
        expert=False,
        unit="iterations",
    )
    keep: int = option(3, "Number of newest checkpoints to keep.", low=1, free=True)
    milestone_every: int = option(
        0,
        "Number of iterations between checkpoints that are kept for good; 0 keeps none.",
        low=0,
        free=True,
        unit="iterations",
    )
    budget_mb: float = option(
        2000.0,
        "Disk space for all checkpoints of a run; the oldest leave first.",
        low=1.0,
        free=True,
    )


@dataclass(frozen=True)
class MetricsConfig:
    """What a run writes about itself while it goes on."""

    expert: ClassVar = True

    episodes: int = option(
        100,
        "Number of finished training episodes per iteration that go to episodes.jsonl; 0 writes none.",
        low=0,
        free=True,
    )
    parquet: bool = option(
        True,
        "Write the newest metrics to latest.parquet, and all to metrics.parquet at the end.",
        free=True,
    )
    rotate_mb: float = option(
        0.0,
        "Pack a stream of the run folder away once it is larger than this; 0 never does. Set it for runs of days.",
        low=0.0,
        free=True,
    )
    rotate_keep: int = option(
        5,
        "Number of packed parts of a stream to keep.",
        low=1,
        only=("metrics.rotate_mb", MORE_THAN_0),
        free=True,
    )
    heartbeat_s: float = option(
        30.0,
        "Interval between two lines of heartbeat.jsonl; 0 writes none.",
        low=0.0,
        free=True,
    )
    stall_s: float = option(
        300.0,
        "Time without a sign of life after which all stacks are written to traces/.",
        low=1.0,
        only=("metrics.heartbeat_s", MORE_THAN_0),
        free=True,
    )
    monitor_s: float = option(10.0, "Interval between two lines of resources.jsonl; 0 writes none.", low=0.0, free=True)
    slow_step_s: float = option(
        0.0,
        "Duration from which a step of all lanes counts as slow and becomes an event; 0 takes 20 times the "
        "median, at least 1 s.",
        low=0.0,
        free=True,
    )
    hints: bool = option(
        True,
        "Look for signs of trouble in the metrics and say what may help.",
        free=True,
        expert=False,
    )
    hint_cooldown: int = option(
        200,
        "Number of iterations before the same hint is given again.",
        low=1,
        only=("metrics.hints", (True,)),
        free=True,
        unit="iterations",
    )


@dataclass(frozen=True)
class MemoryConfig:
    """What to do when there is not enough memory."""

    expert: ClassVar = True

    auto: bool = option(
        False,
        "When memory runs out, resume from the last checkpoint with smaller batches, in several steps. Set it "
        "for unattended runs.",
        free=True,
    )


@dataclass(frozen=True)
class RunConfig:
    """The run as a whole."""

    name: str = option("", "Name of the run's folder; empty takes the preset's name and a number.", example="first")
    root: str = option("runs", "Folder that holds the runs.", example="experiments")
    seed: int = option(1, "Seed of all randomness of the run.", low=0, high=2**63 - 1)
    iterations: int = option(
        100,
        "Length of the run: number of times to collect a rollout and learn from it. --total-steps N of holdfast "
        "train counts in agent-steps instead.",
        low=1,
        high=10**12,
        unit="iterations",
    )
    init: str = option(
        "",
        "Begin with the weights of this run (its folder) or kept policy (its file); empty: random weights.",
        example="runs/first",
    )
    stop_score: float | None = option(
        None,
        "End the run once an evaluation's mean score reaches this; none never does.",
        example="0.95",
    )
    tensorboard: bool = option(True, "Write TensorBoard files too.", free=True)
    allow_slow: bool = option(False, "Train even if this machine is far too slow for the run.", free=True, expert=True)


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
        known = {info.name: info.attribute for info in options_of(type(self.world))}
        changed = {known[name]: value for name, value in flattened(self.evaluation.world, known)}
        return dataclasses.replace(self.world, **changed)


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
        for info in options_of(type(settings)):
            table[f"{section}.{info.name}"] = getattr(settings, info.attribute)
    return table


def to_json(config: Config) -> dict[str, Any]:
    """For the run folder; `reading.from_json` reads it back."""
    table: dict[str, Any] = {"format": FORMAT}
    for section, settings in values_of(config).items():
        values = dataclasses.asdict(settings)
        table[section] = nested({info.name: values[info.attribute] for info in options_of(type(settings))})
    table["world"] = {"name": config.world_name, **table["world"]}
    return table


def changes_learning(config: Config, changed: frozenset[str]) -> list[str]:
    """Those of the changed options that would change what is learned."""
    known = options_known(config)
    return sorted(key for key in changed if not known[key].free)
