"""Doctor: proves that the installation works and that a world keeps the contract, and says so line by line."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from holdfast.config.reading import load_config
from holdfast.kit.errors import HoldfastError, UnknownName
from holdfast.worlds.check import Proof, check_world
from holdfast.worlds.ours import OURS
from holdfast.worlds.registry import own_game


def doctor(world: str | None, options: list[str], as_json: bool) -> int:
    """Exit status 0 when every proof holds, 1 otherwise."""
    proofs = installation() if world is None else []
    for name in [world] if world is not None else list(OURS):
        proofs += [proof._replace(name=f"{name}: {proof.name}") for proof in _world_proofs(name, options)]
    return _told(proofs, as_json)


def doctor_nes(roms: str | None, as_json: bool) -> int:
    """The console's own proofs, and public test programs where a folder of them is given."""
    from holdfast.nes.doctor import doctor as nes_checks

    folder = None if roms is None else Path(roms)
    if folder is not None and not folder.is_dir():
        raise UnknownName(f"--roms {roms}: no such folder")
    return _told([Proof(check.name, check.passed, check.detail) for check in nes_checks(folder)], as_json)


def doctor_game(name: str, rom: str, as_json: bool) -> int:
    """What a game proves of itself."""
    proofs = own_game(name).proofs
    assert proofs is not None
    return _told(proofs(rom), as_json)


def _told(proofs: Iterable[Proof], as_json: bool) -> int:
    """Lines come as the proofs are made, JSON when all are."""
    made: list[Proof] = []
    for proof in proofs:
        made.append(proof)
        if not as_json:
            print(f"{'ok    ' if proof.passed else 'FAILED'} {proof.name}  {proof.detail}", flush=True)
    passed = sum(proof.passed for proof in made)
    if as_json:
        print(json.dumps([proof._asdict() for proof in made]))
    else:
        print(f"{passed} of {len(made)} proofs hold")
    return 0 if passed == len(made) else 1


def _world_proofs(name: str, options: list[str]) -> list[Proof]:
    """Options are written as for `train`: --world.key value."""
    options = options or list(own_game(name).proof_options)
    config, explicit = load_config(name, options)
    chosen = {key.removeprefix("world."): key for key in explicit if key.startswith("world.")}
    return check_world(config.world_name, {short: getattr(config.world, short) for short in chosen})


def installation() -> list[Proof]:
    return [_versions(), _cache(), _video(), _gradients()]


def _versions() -> Proof:
    import numba
    import torch

    cores = len(os.sched_getaffinity(0))
    text = f"Python {platform.python_version()}, torch {torch.__version__}, numba {numba.__version__}, {cores} cores"
    return Proof("packages", True, text)


def _cache() -> Proof:
    from holdfast.kit import rng
    from holdfast.kit.compiled import cache_folder

    return Proof("kernel cache", True, str(cache_folder(Path(rng.__file__).resolve())))


def _video() -> Proof:
    from holdfast.views.video import write_video

    try:
        with tempfile.TemporaryDirectory() as folder:
            path = write_video(Path(folder) / "test.mp4", (np.full((32, 32, 3), 8 * i, np.uint8) for i in range(8)))
            return Proof("video", path.stat().st_size > 0, "an MP4 was written")
    except (HoldfastError, OSError, RuntimeError) as error:
        return Proof("video", False, str(error))


def _gradients() -> Proof:
    """One gradient against the same one by hand: catches a broken torch build."""
    import torch

    x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    torch.tanh(x).sum().backward()
    expected = 1.0 - np.tanh(x.detach().numpy()) ** 2
    found = x.grad.numpy() if x.grad is not None else np.zeros(3)
    return Proof("torch gradients", bool(np.allclose(found, expected, atol=1e-6)), "d tanh = 1 - tanh^2")
