"""The update: state in, named statistics out. Losses are defined by the lesson of an algorithm (`algorithms.py`); here
the gradients of its minibatches are checked, accumulated, clipped and stepped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pkgutil import resolve_name
from typing import NamedTuple, Protocol

import torch

from holdfast.kit.errors import NonFinite
from holdfast.learner.algorithms import ALGORITHMS
from holdfast.learner.batch import Batch
from holdfast.learner.learner import Learner
from holdfast.learner.losses import Loss
from holdfast.learner.rnd import NoveltyResult
from holdfast.learner.schedules import Pace
from holdfast.worlds.spaces import Continuous

KL_SLACK = 1.5


class Lesson(Protocol):
    """What there is to learn from one batch: the losses of an algorithm."""

    explained_variance: float

    def epoch(self, pace: Pace, generator: torch.Generator) -> Iterator[Loss]:
        """One pass: the loss of each minibatch, its gradient waiting in the optimiser."""

    def close(self) -> dict[str, float]:
        """Called after the last step; statistics of this algorithm alone."""


@cache
def lesson_of(algorithm: str) -> Callable[[Learner, Batch], Lesson]:
    """The class of an algorithm's lessons."""
    found: Callable[[Learner, Batch], Lesson] = resolve_name(ALGORITHMS[algorithm].lesson)
    return found


class UpdateResult(NamedTuple):
    """Statistics of one update, averaged over its minibatches; `mean` is None when every action of the batch was
    forced."""

    lr: float
    entropy_coef: float
    epochs: float  # fewer than configured when the KL limit ended them
    valid_share: float  # agent-steps of living agents
    forced_share: float  # agent-steps whose action the policy did not choose
    mean: Loss | None
    grad_norm: float
    explained_variance: float
    own: dict[str, float]  # statistics of this algorithm alone

    def measured(self) -> dict[str, float]:
        """All statistics by name, without those that were not measured."""
        always = dict(zip(self._fields[:5], self[:5], strict=True))
        if self.mean is None:
            return always
        return {
            "policy_loss": float(self.mean.policy),
            "value_loss": float(self.mean.value),
            "entropy": float(self.mean.entropy),
            "approx_kl": float(self.mean.approx_kl),
            "clip_fraction": float(self.mean.clip_fraction),
            "grad_norm": self.grad_norm,
            "explained_variance": self.explained_variance,
            **always,
            **self.own,
        }


class Descent:
    """The gradient steps of one update."""

    def __init__(self, learner: Learner, pace: Pace) -> None:
        self.learner, self.lr = learner, pace.lr
        self.losses: list[torch.Tensor] = []
        self.norms: list[float] = []
        self._waiting = 0

    def take(self, loss: Loss) -> None:
        """Take a minibatch whose gradient lies in the optimiser."""
        guard(loss)
        self.losses.append(torch.stack(loss).detach())
        self._waiting += 1
        if self.learner.config.grad_accum > 1:
            self.learner.optimizer.accumulate(self._waiting)
        if self._waiting == self.learner.config.grad_accum:
            self.step()

    def step(self) -> None:
        """Step by the mean of the gradients accumulated since the last step, if there are any."""
        if self._waiting:
            self.norms.append(self.learner.optimizer.step(self.lr, self.learner.config.max_grad_norm))
            self._waiting = 0

    @property
    def went_far(self) -> bool:
        limit = self.learner.config.target_kl
        return (
            limit > 0.0
            and len(self.losses) > 0
            and float(self.losses[-1][Loss._fields.index("approx_kl")]) > KL_SLACK * limit
        )

    def mean(self) -> Loss | None:
        return Loss(*torch.stack(self.losses).mean(0)) if self.losses else None


def update(learner: Learner, batch: Batch, pace: Pace, generator: torch.Generator) -> UpdateResult:
    """Learn from one batch; `generator` shuffles it."""
    lesson = lesson_of(learner.config.algorithm)(learner, batch)
    descent, epochs = Descent(learner, pace), 0
    while epochs < learner.config.epochs:
        epochs += 1
        for loss in lesson.epoch(pace, generator):
            descent.take(loss)
        if descent.went_far:
            break
    descent.step()
    return UpdateResult(
        lr=pace.lr,
        entropy_coef=pace.entropy,
        epochs=epochs,
        valid_share=float(batch.valid.float().mean()),
        forced_share=float((batch.valid & batch.forced).float().mean()),
        mean=descent.mean(),
        grad_norm=sum(descent.norms) / max(1, len(descent.norms)),
        explained_variance=lesson.explained_variance,
        own=lesson.close(),
    )


class Learned(NamedTuple):
    """Statistics of learning from one batch: of the update, the bonus for new observations (RND), held weights
    (EWC)."""

    result: UpdateResult | None  # None: a number was not finite, and the weights are as before
    error: str = ""
    novelty: NoveltyResult | None = None
    held: dict[str, float] = {}  # noqa: RUF012 - a tuple's default is never written to

    def measured(self, role: str) -> dict[str, float | int]:
        """All of them by the names of metrics."""
        found: dict[str, float | int] = {}
        if self.result is not None:
            found |= {f"learner.{role}.{name}": value for name, value in self.result.measured().items()}
        if self.novelty is not None:
            found |= {f"rnd.{role}.{name}": value for name, value in self.novelty._asdict().items()}
        return found | {f"ewc.{role}.{name}": value for name, value in self.held.items()}


def learn(learner: Learner, batch: Batch, pace: Pace, generator: torch.Generator, is_strict: bool = True) -> Learned:
    """Learn from one batch, additions included. A number that is not finite raises if `is_strict`, else it is
    reported."""
    novelty = None if learner.novelty is None else learner.novelty.pay(batch, generator)
    try:
        result = update(learner, batch, pace, generator)
    except NonFinite as error:
        if is_strict:
            raise
        return Learned(None, str(error), novelty)
    if learner.log_std_floor is not None and isinstance(learner.role.actions, Continuous):
        with torch.no_grad():
            learner.policy.extra.clamp_(min=learner.log_std_floor)
    anchor = learner.anchor
    held = {} if anchor is None or not int(anchor.taken) else {"penalty": anchor.penalty(), "moved": anchor.distance()}
    return Learned(result, "", novelty, held)


def guard(loss: Loss) -> None:
    if not bool(torch.isfinite(loss.total)):
        bad = [name for name, value in zip(Loss._fields, loss, strict=True) if not bool(torch.isfinite(value).all())]
        raise NonFinite(f"the loss is not finite: {', '.join(bad)}; the weights are as before this step")
