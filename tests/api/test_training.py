"""Training from Python: the same runs and the same refusals as on the command line."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.config.options import as_text, from_text
from holdfast.config.reading import load_config
from holdfast.kit.errors import RunFolderError
from holdfast.worlds.gym_make import make_environment
from tests.api.tiny import TINY
from tests.conftest import Command
from tests.small_envs import Dial

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def make_dial() -> Dial:
    return Dial()


def world_of(run: hf.OpenedRun) -> str:
    return str(json.loads((run.folder / "run.json").read_text())["config"]["world"]["name"])


def test_it_makes_the_run_that_the_recorded_command_makes(holdfast: Command, tmp_path: Path) -> None:
    run = hf.train("template", {**TINY, "policy.hidden": (32, 16), "learner.lr": np.float32(0.5)}, quiet=True)
    command = json.loads((run.folder / "run.json").read_text())["command"]
    assert command[:3] == ["holdfast", "train", "template"]
    done = holdfast(*command[1:], "--quiet", "--no-report")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs/template-2/metrics.jsonl").read_bytes() == (run.folder / "metrics.jsonl").read_bytes()


def test_what_it_returns_tells_of_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    run = hf.train("template", {**TINY, "run.name": "it", "world.far": 3}, quiet=True)
    assert capsys.readouterr().out == ""
    assert (run.name, run.folder) == ("it", Path("runs/it")) and run.config.world.far == 3
    assert run.result.outcome == "finished" and list(run.result.scores) == ["learned", "random", "optimal"]
    table = run.metrics()
    assert table.num_rows == 2 and table.column("iteration").to_pylist() == [1, 2]
    assert {"learner.player.entropy", "elapsed_s", "evaluation.score"} <= set(table.column_names)
    assert hf.open_run("it").result == run.result
    assert run.report().stat().st_size > 10_000
    assert run.film("film.gif", policy="optimal").stat().st_size > 100
    assert hf.evaluate("it", episodes=8) == run.result.scores  # the same held-out seeds
    with pytest.raises(hf.ConfigError, match="episodes = 0: must be at least 1"):
        hf.evaluate("it", episodes=0)


def test_progress_is_printed_unless_it_is_to_be_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    hf.train("template", TINY)
    assert "iteration 2/2" in capsys.readouterr().out


def test_a_watch_of_ones_own_takes_the_place_of_the_terminal() -> None:
    class Count:
        seen = 0

        def iteration(self, progress: Any) -> None:
            self.seen = progress.counts.iteration

        def started(self, *_: Any) -> None: ...
        def evaluated(self, *_: Any) -> None: ...
        def decided(self, *_: Any) -> None: ...
        def finished(self, *_: Any) -> None: ...

    count = Count()
    hf.train("template", TINY, watch=count)
    assert count.seen == 2
    with pytest.raises(hf.ConfigError, match="quiet = True has no effect beside a watch"):
        hf.train("template", TINY, watch=count, quiet=True)


def test_a_resumed_run_equals_an_uninterrupted_one() -> None:
    whole = hf.train("template", {**TINY, "run.iterations": 4, "learner.lr_schedule": "constant"}, quiet=True)
    short = hf.train("template", {**TINY, "learner.lr_schedule": "constant"}, quiet=True)
    with pytest.raises(hf.ConfigError, match=r"run\.iterations would change what is learned"):
        hf.resume(short, {"run.iterations": 4})
    longer = hf.resume(short.name, {"run.iterations": 4}, relax=["run.iterations"], quiet=True)
    files = [run.folder / "metrics.jsonl" for run in (whole, longer)]
    assert files[0].read_bytes() == files[1].read_bytes()
    with pytest.raises(hf.UnknownName, match="no run 'template-9'"):
        hf.resume("template-9")


def test_it_trains_in_a_thread() -> None:
    found: list[Any] = []

    def work() -> None:
        found.append(hf.train("template", {**TINY, "run.name": "threaded"}, quiet=True))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    here = hf.train("template", TINY, quiet=True)
    assert found[0].result.outcome == "finished"
    assert found[0].folder.joinpath("metrics.jsonl").read_bytes() == here.folder.joinpath("metrics.jsonl").read_bytes()


# --- targets ----------------------------------------------------------------------------------------------------------


def test_a_world_of_ones_own_brings_options_metrics_and_a_curriculum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    from own_world import Corridor  # type: ignore[import-not-found]

    options = {**TINY, "rollout.lanes": 32, "run.iterations": 4, "ramp.goal": 0.0, "ramp.start": 4, "ramp.step": 5}
    whole = hf.train(Corridor, options, quiet=True)
    assert world_of(whole) == "own_world:Corridor"
    assert whole.metrics().column("curriculum.distance").to_pylist() == [9, 14, 19, 20]
    short = hf.train(Corridor, {**options, "run.iterations": 2, "learner.lr_schedule": "constant"}, quiet=True)
    longer = hf.resume(short, {"run.iterations": 4}, relax=["run.iterations"], quiet=True)
    assert longer.metrics().column("curriculum.distance").to_pylist() == [9, 14, 19, 20]
    with pytest.raises(hf.ConfigError, match=r"no option ramp.gaol \(did you mean ramp.goal\?\)"):
        hf.train(Corridor, {"ramp.gaol": 0.5})
    failed = [
        proof for proof in hf.check_world("own_world:Corridor", lanes=4, steps=60, plain=False) if not proof.passed
    ]
    assert failed == []


@pytest.mark.parametrize(("target", "name"), [(Dial, "tests.small_envs:Dial"), (make_dial, f"{__name__}:make_dial")])
def test_a_class_or_function_of_gymnasium_is_kept_by_its_name(target: Any, name: str) -> None:
    run = hf.train(target, TINY, quiet=True)
    assert world_of(run) == name
    assert hf.evaluate(run, episodes=2)["learned"].episodes == 2


def test_one_of_our_classes_is_kept_by_its_short_name() -> None:
    from holdfast.worlds.template.world import Template

    assert hf.make_world(Template).spec.name == "template"
    run = hf.train(Template, TINY, quiet=True)
    assert world_of(run) == "template" and run.name == "template-1"


def test_a_file_of_options_is_a_target(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[world]\nname = "template"\nfar = 2\n')
    run = hf.train(tmp_path / "mine.toml", TINY, quiet=True)
    assert run.name == "mine-1" and run.config.world.far == 2


def test_a_function_that_only_a_file_names_is_never_called(tmp_path: Path) -> None:
    with pytest.raises(hf.WorldError, match="neither"):
        make_environment("shutil:rmtree", {"path": str(tmp_path)}, 0)
    with pytest.raises(hf.WorldError, match="neither"):
        make_environment("os:system", {"command": "true"}, 0)
    assert tmp_path.is_dir()


def not_here() -> Any:
    class Local(Dial):
        pass

    return Local


REFUSED: list[tuple[Any, type[Exception], str]] = [
    ("tempalte", hf.UnknownName, r"did you mean template\?"),
    ("nowhere.toml", hf.UnknownName, "no file nowhere.toml"),
    ("gym:CartPol-v1", hf.UnknownName, "CartPole"),
    ("no_such_module:World", hf.UnknownName, "no module 'no_such_module'"),
    (3, hf.ConfigError, "3 is no target: give the name of a preset"),
    (Dial(), hf.ConfigError, "every lane needs its own"),
    (functools.partial(make_dial), hf.ConfigError, "is no target"),
    (lambda: Dial(), hf.UnknownName, "define it in a file of its own"),
    (not_here(), hf.UnknownName, "made inside a function.*define it in a file of its own"),
    ("mario-levels", hf.ConfigError, "a series of runs, not one: holdfast train mario-levels"),
    (f"{__name__}:not_here", hf.WorldError, "makes type objects, not Gymnasium environments|raised"),
]


@pytest.mark.parametrize(("target", "error", "text"), REFUSED, ids=[text[:30] for _, _, text in REFUSED])
def test_what_is_no_target_is_refused(target: Any, error: type[Exception], text: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=text):
        hf.train(target, TINY)
    assert not (tmp_path / "runs").exists()


SCRIPT = """
import gymnasium, numpy as np
import holdfast as hf
from tests.small_envs import Dial
class Mine(Dial):
    pass
{guard}hf.train(Mine, {options}, quiet=True)
"""


@pytest.mark.parametrize(
    ("file", "guard", "text"),
    [
        ("my_script.py", "", 'put the call under `if __name__ == "__main__":`'),
        ("my-script.py", "", "cannot be imported as 'my-script': define it in a file of its own"),
        (None, "", "defined in a notebook or at a prompt"),
        ("my_script.py", 'if __name__ == "__main__": ', None),
    ],
)
def test_a_class_of_a_script_is_found_again_or_refused(
    file: str | None, guard: str, text: str | None, tmp_path: Path
) -> None:
    code = SCRIPT.format(guard=guard, options=TINY)
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    words = ["-c", code]
    if file is not None:
        words = [str(scripts / file)]
        (scripts / file).write_text(code)
    root = Path(__file__).parents[2]  # for what the script imports of the tests
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path, env=env)
    if text is None:
        assert done.returncode == 0, done.stderr
        assert world_of(hf.open_run("my_script-Mine-1")) == "my_script:Mine"
    else:
        assert done.returncode == 1 and text in done.stderr.splitlines()[-1] + done.stderr.splitlines()[-2]
        assert not (tmp_path / "runs").exists()


# --- options ----------------------------------------------------------------------------------------------------------

WRONG: list[tuple[dict[Any, Any], str]] = [
    ({"learner.lrr": 0.1}, r"options: no option learner.lrr \(did you mean learner.lr\?\)"),
    ({"rollout.lanes": "16"}, "options: rollout.lanes = '16' is not an int"),
    ({"rollout.lanes": 16.0}, "rollout.lanes = 16.0 is not an int"),
    ({"rollout.lanes": True}, "rollout.lanes = True is not an int"),
    ({"rollout.lanes": None}, "rollout.lanes = None is not an int"),
    ({"rollout.lanes": 0}, "rollout.lanes = 0 must be at least 1"),
    ({"learner.lr": float("nan")}, "must be a finite number"),
    ({"policy.hidden": 64}, "policy.hidden = 64 is not an int list"),
    ({"policy.hidden": ("64",)}, "is not an int list"),
    ({"run.tensorboard": "true"}, "run.tensorboard = 'true' is not a bool"),
    ({"learner": "a2c"}, "learner.algorithm = 'a2c' is not one of ppo, vtrace"),
    ({"learner": "ppo", "learner.algorithm": "ppo"}, "given twice, by its name and by a short one"),
    ({7: 1}, "options: 7 is not the name of an option"),
    ({"gate.enabled": True}, "gate.enabled has no effect in world template"),
    ({"learner.minibatch": 60}, "learner.minibatch = 60 does not divide"),
    ({"run.seed": object()}, "is not an int"),
]


@pytest.mark.parametrize(("options", "text"), WRONG, ids=[text for _, text in WRONG])
def test_wrong_options_are_told_before_anything_is_written(options: dict[Any, Any], text: str, tmp_path: Path) -> None:
    with pytest.raises(hf.ConfigError, match=text):
        hf.train("template", {**TINY, **options})
    assert not (tmp_path / "runs").exists()


def test_all_wrong_options_are_told_at_once() -> None:
    with pytest.raises(hf.ConfigError) as caught:
        hf.train("template", {"run.seed": -1, "learner.lr": "fast", "world.fra": 2})
    assert len(caught.value.problems) == 3


def test_python_values_and_typed_words_mean_the_same() -> None:
    values: dict[str, Any] = {
        "policy.hidden": [32, 16],
        "learner.entropy_final": None,
        "evaluation.world": {"far": 2},
        "run.stop_score": 1,
        "learner.lr": np.float64(0.25),
        "run.root": Path("elsewhere"),
        "run.tensorboard": np.bool_(False),
    }
    words = ["--policy.hidden=32,16", "--learner.entropy_final=none", '--evaluation.world={"far": 2}']
    words += ["--run.stop_score=1", "--learner.lr=0.25", "--run.root=elsewhere", "--run.tensorboard=false"]
    assert load_config("template", values) == load_config("template", words)


@pytest.mark.parametrize(
    ("value", "kind"),
    [(True, bool), (3, int), (1e-5, float), ("a b", str), ((1, 2), tuple[int, ...]), ({"a": [1]}, dict[str, Any])],
)
def test_a_value_is_read_from_its_text(value: Any, kind: Any) -> None:
    assert from_text(as_text(value), kind) == value


# --- runs that have no result, worlds that lack a part ----------------------------------------------------------------


def test_a_run_without_a_result_says_why(tmp_path: Path) -> None:
    run = hf.train("template", TINY, quiet=True)
    result = run.folder / "result.json"
    result.write_text('{"outcome": "failed", "error": "WorldError", "text": "the floor is gone", "exit_status": 1}')
    with pytest.raises(hf.HoldfastError, match="failed with WorldError: the floor is gone"):
        _ = hf.open_run(run.folder).result
    result.write_text('{"outcome": "finished"}')
    with pytest.raises(RunFolderError, match=r"result.json cannot be read"):
        _ = hf.open_run(run.folder).result
    result.unlink()
    with pytest.raises(hf.HoldfastError, match="has no result yet"):
        _ = hf.open_run(run.folder).result


def test_a_world_is_made_with_its_own_options() -> None:
    world = hf.make_world("template", lanes=3, seed=1, far=2)
    assert world.lanes == 3 and world.roles["player"].alive.all()
    cartpole = hf.make_world("gym:CartPole-v1", lanes=2, max_steps=5)
    for _ in range(5):
        cartpole.step(hf.random_policy(cartpole))
    assert cartpole.truncated.all()
    with pytest.raises(hf.ConfigError, match=r"no option world.fra \(did you mean world.far\?\)"):
        hf.make_world("template", fra=2)
    with pytest.raises(hf.ConfigError, match="lanes = 0: must be a whole number, at least 1"):
        hf.make_world("template", lanes=0)
    with pytest.raises(hf.UnknownName, match="did you mean template"):
        hf.make_world("templat")


class NoSettings(hf.ArrayWorld):
    """Lacks everything."""


class PlainSettings(hf.ArrayWorld):
    """Its settings are no dataclass, and it defines nothing."""

    Settings = dict


class Unfinished(hf.ArrayWorld):
    """Defines no step."""

    from holdfast.worlds.template.world import TrackSettings as Settings


class NoSpec(Unfinished):
    """Its constructor forgets the one of its base."""

    def __init__(self, *_: Any) -> None: ...
    def _begin(self, lanes: np.ndarray) -> None: ...
    def step(self, actions: Any) -> None: ...
    def draw(self, lane: int) -> np.ndarray:
        return np.zeros((1, 1, 3), np.uint8)


class CoreSection(NoSpec):
    """Its game brings a section that the core has."""

    game = hf.Game(sections={"learner": NoSpec.Settings})


class SectionOfNothing(NoSpec):
    """Its game brings a section that is no dataclass."""

    game = hf.Game(sections={"mine": dict})


class GameClass(NoSpec):
    """Gives the class instead of a value of it."""

    game = hf.Game  # type: ignore[assignment]


LACKING: list[tuple[type, type[Exception], str]] = [
    (NoSettings, hf.WorldError, "NoSettings' has no Settings class"),
    (PlainSettings, hf.WorldError, "Settings must be a dataclass"),
    (Unfinished, hf.WorldError, "Unfinished' does not define _begin, draw, step"),
    (NoSpec, hf.WorldError, "NoSpec' has no spec: its __init__ must call super"),
    (CoreSection, hf.ConfigError, r"brings a section \[learner\], which the core has already"),
    (SectionOfNothing, hf.WorldError, r"the section \[mine\] of its game must be a dataclass"),
    (GameClass, hf.WorldError, r"game must be a Game\(...\)"),
]


@pytest.mark.parametrize(("lacking", "error", "text"), LACKING, ids=[one.__name__ for one, _, _ in LACKING])
def test_a_world_that_lacks_a_part_is_refused_by_name(lacking: type, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        hf.train(lacking, TINY)
