"""Making foreign environments, and turning what can go wrong there into errors a user can act on."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.utils import EzPickle

from holdfast.kit.errors import HoldfastError, MissingPackage, SnapshotUnsupported, UnknownName, WorldError, nearest
from holdfast.worlds.importing import import_admitted, import_path
from holdfast.worlds.trust import may_call

Environment = gymnasium.Env[Any, Any]


def make_environment(name: str, kwargs: dict[str, Any], max_steps: int, old_ones_too: bool = False) -> Environment:
    """The environment behind `gym:ID` or `module:EnvClass`, with pictures if it can make them.

    `old_ones_too`: any class with `reset` and `step`; the caller knows how to drive what is not Gymnasium's.
    """
    with _told(name, "making"):
        if name.startswith("gym:"):
            return _make_registered(name.removeprefix("gym:"), kwargs, max_steps)
        return _make_own(name, kwargs, max_steps, old_ones_too)


def import_environment(name: str) -> None:
    """Import the code behind the name, and make nothing yet."""
    with _told(name, "importing"):
        if name.startswith("gym:"):
            _maker(_specification(name.removeprefix("gym:")))
        else:
            import_path(name)


@contextmanager
def _told(name: str, doing: str) -> Iterator[None]:
    try:
        yield
    except HoldfastError:
        raise
    except gymnasium.error.DependencyNotInstalled as error:
        raise MissingPackage(f"world {name}: {error}") from error
    except ImportError as error:
        raise MissingPackage(f"world {name}: {error}") from error
    except (Exception, SystemExit) as error:  # foreign code may raise anything: told with its cause, never swallowed
        raise WorldError(f"world {name}: {doing} it raised {type(error).__name__}: {error}") from error


def _maker(specification: EnvSpec) -> Any:
    entry = specification.entry_point
    return load_env_creator(entry) if isinstance(entry, str) else entry


def _make_registered(identity: str, kwargs: dict[str, Any], max_steps: int) -> Environment:
    maker = _maker(_specification(identity))
    return gymnasium.make(
        identity,
        max_episode_steps=max_steps or None,
        disable_env_checker=True,
        **{**_picture_mode(maker), **kwargs},
    )


def _specification(identity: str) -> EnvSpec:
    """What is registered under `Name-v1` or, after importing the module that registers it, `module:Name-v1`."""
    module, _, short = identity.rpartition(":")
    if module:
        import_admitted(f"gym:{identity}", module)
    try:
        return gymnasium.spec(short)
    except gymnasium.error.Error as error:
        versioned = nearest(short, list(gymnasium.registry)) if "-v" not in short else ""
        raise UnknownName(
            f"world gym:{identity}: {error}{versioned}. An environment of another package: pip install PACKAGE, "
            f"then gym:MODULE:{short} with the module that registers it"
        ) from error


def _make_own(name: str, kwargs: dict[str, Any], max_steps: int, old_ones_too: bool) -> Any:
    maker = import_path(name)
    if not (isinstance(maker, type) and issubclass(maker, gymnasium.Env)):
        if old_ones_too and all(callable(getattr(maker, call, None)) for call in ("reset", "step")):
            return maker(**kwargs)
        if not (inspect.isfunction(maker) and may_call(name, maker)):
            raise WorldError(
                f"world {name} is neither a holdfast.World nor a gymnasium.Env class, nor a function that makes one"
            )
    environment = maker(**{**_picture_mode(maker), **kwargs})
    if not isinstance(environment, gymnasium.Env):
        raise WorldError(f"world {name} makes {type(environment).__name__} objects, not Gymnasium environments")
    return gymnasium.wrappers.TimeLimit(environment, max_steps) if max_steps else environment


def _picture_mode(maker: Any) -> dict[str, str]:
    """Environments draw only when asked, so being able to draw costs nothing while training."""
    metadata = getattr(maker, "metadata", None)
    modes = metadata.get("render_modes") if isinstance(metadata, dict) else None
    accepted = "render_mode" in inspect.signature(maker).parameters
    return {"render_mode": "rgb_array"} if accepted and "rgb_array" in (modes or ()) else {}


def layers(environment: Environment) -> list[Environment]:
    """The environment with all its wrappers, outermost first."""
    found = [environment]
    while isinstance(found[-1], gymnasium.Wrapper):
        found.append(found[-1].env)
    return found


def copied(environment: Environment, name: str) -> Environment:
    """An independent copy in the same state, or the reason why there is none."""
    for layer in layers(environment):
        # A copy of an EzPickle object is made by calling its constructor again: it forgets the episode.
        if isinstance(layer, EzPickle) and not hasattr(type(layer), "__deepcopy__"):
            raise SnapshotUnsupported(
                f"{name} cannot be saved: {type(layer).__name__} is an EzPickle, whose copies start anew"
            )
    try:
        return copy.deepcopy(environment)
    except Exception as error:  # foreign code may raise anything: told with its cause, never swallowed
        reason = f"copying it raised {type(error).__name__}: {error}"
        raise SnapshotUnsupported(f"{name} cannot be saved: {reason}") from error
