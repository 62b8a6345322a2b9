"""What a rehearsal of self-play must have seen: one feature for everything that is enabled, told from its record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from holdfast.config.sections import Config
from holdfast.runs.checkpoint import load
from holdfast.runs.folder import RunFolder
from holdfast.runs.metrics import read_lines
from holdfast.runs.rehearse import Feature
from holdfast.selfplay.schedule import planned_finish, together_again
from holdfast.selfplay.vault import content_hash
from holdfast.state import below

WARMUP_TURN = 5  # rollouts of a whole turn, of which a warming one has a fifth
Rows = list[dict[str, Any]]


def duel_features(mini: Config, run: RunFolder) -> list[Feature]:
    events, metrics = read_lines(run.folder / "events.jsonl"), read_lines(run.folder / "metrics.jsonl")
    found = [*_always(mini, run, events)]
    for enabled, feature in _optional(mini, events, metrics):
        if enabled:
            found.append(feature())
    return found


def _of(events: Rows, kind: str) -> Rows:
    return [event for event in events if event["event"] == kind]


def _always(mini: Config, run: RunFolder, events: Rows) -> list[Feature]:
    turns, back = _of(events, "turn"), _of(events, "rollback")
    roles = [",".join(turn["roles"]) for turn in turns]
    wanted = 2 if mini.duel.mode == "turns" and mini.duel.freeze_role == "none" else 1
    return [
        Feature("turns", len(set(roles)) >= wanted, " then ".join(roles[:6])),
        _rollback(run, back, bilateral=mini.health.bilateral),
    ]


def _rollback(run: RunFolder, back: Rows, bilateral: bool) -> Feature:
    """The role must be, bit for bit and with its optimiser, what the ring kept, but for what EWC holds."""
    name = "rollback of both roles" if bilateral else "rollback"
    playing = [event for event in back if event["bilateral"] == bilateral]
    if not playing:
        return Feature(name, False, "none happened")
    event = playing[0]
    saved = load(run.folder / "checkpoints" / f"{event['iteration']:06d}")
    same = {role: _is_back(saved.arrays, role, at["policy"]) for role, at in event["targets"].items()}
    text = f"{', '.join(same)} back at {', '.join(at['policy'][:6] for at in event['targets'].values())}"
    return Feature(name, all(same.values()), text if all(same.values()) else f"not the same bytes: {same}")


def _is_back(arrays: dict[str, np.ndarray], role: str, policy: str) -> bool:
    live, kept = below(arrays, f"{role}/"), below(arrays, f"curriculum/vault/{policy}/")
    if content_hash(live) == policy:
        return True
    others = [name for name in live if not name.startswith("ewc/")]
    return live.keys() == kept.keys() and all(np.array_equal(live[name], kept[name]) for name in others)


def _optional(mini: Config, events: Rows, metrics: Rows) -> list[tuple[bool, Callable[[], Feature]]]:
    duel, levels = mini.duel, mini.levels.kind != "none"
    return [
        (duel.cold_start != "none", lambda: _stage(events, "exercise", "cold start")),
        (levels, lambda: _moved(events, "advance", +1)),
        (levels, lambda: _moved(events, "regress", -1)),
        (levels and duel.warm_start, lambda: _warm_start(events)),
        (levels and duel.evader_first, lambda: _evader_first(events)),
        (
            levels and duel.mixed_level_ratio > 0,
            lambda: _largest(metrics, ".mixed", "mixed levels", "of the duels at most"),
        ),
        (mini.league.size > 0, lambda: _met(events, "earlier")),
        (mini.duel.finish_share > 0.0, lambda: _finish(mini, events)),
        (mini.league.mix[2] > 0, lambda: _met(events, "script")),
        (mini.ewc.strength > 0, lambda: _largest(metrics, ".penalty", "EWC", "added to the loss at most")),
        (mini.rnd.coef > 0, lambda: _novelty(metrics)),
        (mini.policy.network == "parts" and mini.policy.encoder == "belief", lambda: _belief(metrics)),
        (duel.warmup, lambda: _warmup(events)),
        (duel.damp_threshold > 0, lambda: _below_one(metrics, "duel.lr_scale", "learning-rate damping")),
        (duel.mask_steps > 0, lambda: _below_one(metrics, "duel.full_sight", "masking curriculum")),
        (duel.boost_threshold > 0, lambda: _reason(events, "boost")),
        (duel.alternate_freeze, lambda: _reason(events, "alternate_freeze")),
        (duel.force_switch_every > 0, lambda: _event(events, "forced_switch")),
        (mini.response.certify, lambda: _tested(mini, events)),
        (mini.response.certify and mini.response.rounds > 0, lambda: _rounds(mini, events, metrics)),
        (mini.response.anew, lambda: _anew(events, metrics)),
        (mini.response.heirs != "none", lambda: _heirs(mini, events)),
    ]


def _event(events: Rows, kind: str) -> Feature:
    return Feature(kind.replace("_", " "), bool(_of(events, kind)), f"{len(_of(events, kind))} times")


def _tested(mini: Config, events: Rows) -> Feature:
    """Challengers of both roles, and what was planted for them, if that is asked for."""
    found = _of(events, "best_response")
    sides = found[0]["sides"] if found else {}
    tried = [f"{name} from {start}" for name, side in sides.items() for start in side["challengers"]]
    checks = [len(side["power"]["checks"]) for side in sides.values()]
    fired = len(tried) == 4 and checks == [4 if mini.response.power else 2] * 2
    return Feature("best-response test", fired, ", ".join(tried) or "not made")


def _rounds(mini: Config, events: Rows, metrics: Rows) -> Feature:
    """After a test rates were those of the run's last part, or of all of it, and then there was another test."""
    begun, tests = _of(events, "round"), _of(events, "best_response")
    name = next((key for key in metrics[-1] if key.startswith("learner.") and key.endswith(".lr")), "")
    rates = [row.get(name) for row in metrics]
    ends = [*(event["iteration"] for event in begun[1:]), len(rates)]
    whole = begun[0]["iteration"] if begun else 0  # of the first beginning
    joint = planned_finish(mini)
    parts = {True: rates[:whole], False: rates[joint - together_again(mini) : joint]}  # by whether they begin anew
    repeated = all(
        _repeat(parts[event["anew"]], rates[event["iteration"] : end]) for event, end in zip(begun, ends, strict=False)
    )
    fired = len(begun) == mini.response.rounds == len(tests) - 1 and repeated
    return Feature("rounds", fired, f"{len(rates) - whole if begun else 0} iterations more, {len(tests)} tests")


def _repeat(before: list[Any], after: list[Any]) -> bool:
    """As far as both go; an update that failed on purpose had no rate."""
    return bool(before and after) and all(first in (None, again) for first, again in zip(before, after, strict=False))


def _anew(events: Rows, metrics: Rows) -> Feature:
    """Who is tested after the last round has only the steps behind it that were learned in that round."""
    tests, begun = _of(events, "best_response"), [event for event in _of(events, "round") if event["anew"]]
    trained = {name: side["trained_steps"] for test in tests[-1:] for name, side in test["sides"].items()}
    before = metrics[begun[-1]["iteration"] - 1] if begun else {}
    since = {name: metrics[-1][f"duel.{name}.steps"] - before.get(f"duel.{name}.steps", 0) for name in trained}
    fired = bool(trained) and bool(begun) and trained == since
    told = ", ".join(f"{steps} steps of the {name}" for name, steps in trained.items())
    return Feature("rounds anew", fired, told or "not tested")


def _heirs(mini: Config, events: Rows) -> Feature:
    found = _of(events, "heir")
    wanted = 2 if mini.response.heirs == "both" else 1
    told = ", ".join(f"the {event['role']} as its challenger from {event['start']}" for event in found)
    return Feature("heirs", len(found) == wanted, told or "nobody inherited")


def _stage(events: Rows, stage: str, name: str) -> Feature:
    found = [turn for turn in _of(events, "turn") if turn["stage"] == stage]
    return Feature(name, bool(found), ", ".join(f"{turn['rollouts']} rollouts of {turn['roles'][0]}" for turn in found))


def _reason(events: Rows, reason: str) -> Feature:
    found = [turn for turn in _of(events, "turn") if turn["reason"] == reason]
    return Feature(reason.replace("_", " "), bool(found), f"{len(found)} turns")


def _moved(events: Rows, kind: str, by: int) -> Feature:
    found = _of(events, kind)
    right = bool(found) and found[0]["level"] == found[0]["before"] + by
    if not right:
        return Feature(kind, False, "the level did not move")
    following = [turn for turn in _of(events, "turn") if turn["iteration"] >= found[0]["iteration"]]
    trained = bool(following) and following[0]["level"] == found[0]["level"]
    return Feature(kind, trained, f"{found[0]['label']}; {found[0]['because']}")


def _warm_start(events: Rows) -> Feature:
    found = _of(events, "warm_start")
    if not found:
        return Feature("warm start", False, "none happened")
    scores, chosen = found[0]["scores"], found[0]["policy"]
    best = scores[chosen] == max(scores.values())
    turn = _stage(events, "warm", "warm start")
    return Feature("warm start", best and turn.fired, f"{chosen[:6]} of {len(scores)} milestones; {turn.evidence}")


def _evader_first(events: Rows) -> Feature:
    when = _of(events, "advance")
    turns = [t for t in _of(events, "turn") if when and t["iteration"] >= when[0]["iteration"] and t["stage"] == "play"]
    fired = bool(turns) and turns[0]["reason"] == "forced"
    return Feature("evader first", fired, f"next turn: {turns[0]['roles'][0]}" if turns else "no turn after an advance")


def _met(events: Rows, kind: str) -> Feature:
    names = {who for turn in _of(events, "turn") for met in turn["opponents"].values() for who in met}
    mine = sorted(name.split(":")[1][:10] for name in names if name.startswith(f"{kind}:"))
    title = "league" if kind == "earlier" else "scripted opponents"
    return Feature(title, bool(mine), f"met {', '.join(mine[:6])}" if mine else "nobody was met")


def _finish(mini: Config, events: Rows) -> Feature:
    """It began, from there on one role learned, and it ended sooner where that role won often enough."""
    begun, early = _of(events, "finish"), _of(events, "finished_early")
    alone = [turn for turn in _of(events, "turn") if turn["reason"] == "finish" and turn["roles"] == [begun[0]["role"]]]
    told = f"{len(alone)} turns of the first role alone"
    told += f", over after {early[0]['after']} with {early[0]['rate']:.2f} of its duels won" if early else ""
    return Feature("finish", bool(begun and alone and (early or mini.duel.finish_until == 0.0)), told)


def _values(metrics: Rows, ending: str) -> list[float]:
    return [value for row in metrics for name, value in row.items() if name.endswith(ending)]


def _largest(metrics: Rows, ending: str, title: str, what: str) -> Feature:
    largest = max(_values(metrics, ending), default=0.0)
    return Feature(title, largest > 0.0, f"{largest:.3g} {what}")


def _below_one(metrics: Rows, name: str, title: str) -> Feature:
    values = [row[name] for row in metrics if name in row]
    return Feature(title, bool(values) and min(values) < max(values), f"from {max(values):.3g} to {min(values):.3g}")


def _novelty(metrics: Rows) -> Feature:
    """The predictor must come to know what it met: its error falls again after the strangest rollout."""
    errors, means = _values(_bonuses(metrics), ".error"), _values(_bonuses(metrics), ".mean")
    if not errors:
        return Feature("RND", False, "no bonus")
    peak = int(np.argmax(errors))
    fired = min(errors[peak:]) < errors[peak] and float(np.abs(means).max()) < 0.05
    return Feature("RND", fired, f"error {max(errors):.3g} to {errors[-1]:.3g}, mean bonus {max(means, key=abs):.2g}")


def _belief(metrics: Rows) -> Feature:
    """As with RND, what came unexpected is expected later."""
    errors = _values(metrics, ".belief_loss")
    fired = bool(errors) and errors[-1] < max(errors)
    return Feature(
        "belief", fired, f"error {max(errors):.3g} to {errors[-1]:.3g}" if errors else "nothing was believed"
    )


def _bonuses(metrics: Rows) -> Rows:
    return [{name: value for name, value in row.items() if name.startswith("rnd.")} for row in metrics]


def _warmup(events: Rows) -> Feature:
    lengths = [turn["rollouts"] for turn in _of(events, "turn") if turn["stage"] == "play"]
    fired = bool(lengths) and max(lengths) < WARMUP_TURN
    return Feature("warm-up of turns", fired, f"{lengths[:3]} of {WARMUP_TURN} rollouts")
