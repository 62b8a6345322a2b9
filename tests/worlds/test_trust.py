"""What a file names is never imported unless the user named or trusted it; each verb that reads a run is tried."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.cli import command as cli
from holdfast.kit.errors import RunFolderError, UnknownName, UntrustedModule, WorldError
from holdfast.worlds import trust as trust_module
from holdfast.worlds.gym_make import make_environment
from holdfast.worlds.importing import import_path
from holdfast.worlds.trust import admit, files_of, forget, may_call, module_of, name_world, trust, trusted
from tests.conftest import Command, finished_run, small_words

EVIL = "import pathlib\npathlib.Path(__file__).with_name('marker').write_text('ran')\nclass Env: pass\n"
MINE = """
import gymnasium, numpy
class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        self.t = 0
        return numpy.zeros(2, numpy.float32), {}
    def step(self, action):
        self.t += 1
        return numpy.zeros(2, numpy.float32), 1.0, self.t >= 5, False, {}
"""
SMALL = small_words(**{"rollout.lanes": "2", "run.name": "it", "learner.minibatch": "16"})

NEEDS_THE_WORLD = {
    "resume": ["resume", "stranger"],
    "resume of a found run": ["resume", "stranger", "--find"],
    "evaluate": ["evaluate", "stranger"],
    "play": ["play", "stranger"],
    "exploit": ["exploit", "stranger", "--role", "a"],
    "crossplay": ["crossplay", "stranger", "stranger"],
    "first weights": ["train", "template", "--run.init", "runs/stranger", "--dry-run"],
    "harvest": ["deck", "harvest", "stranger", "--output", "deck"],
    "preset": ["train", "stranger.toml", "--dry-run"],
    "rehearsal": ["rehearse", "stranger.toml"],
    "gate check": ["gate", "check", "stranger.toml"],
}
NEEDS_NO_WORLD = {
    "runs": ["runs"],
    "runs found": ["runs", "--find", "stranger"],
    "watch": ["watch", "stranger", "--once"],
    "report": ["report", "stranger"],
    "inspect": ["checkpoint", "inspect", "stranger"],
    "verify": ["checkpoint", "verify", "stranger"],
    "prune": ["checkpoint", "prune", "stranger"],
    "what-if": ["gate", "what-if", "stranger", "--set", "max_level=2"],
    "backfill": ["checkpoint", "backfill", "stranger"],
}


def say_evil(folder: Path, name: str) -> None:
    """Let a run of the template say that its world is another one."""
    path = folder / "run.json"
    content = json.loads(path.read_text())
    content["config"]["world"]["name"] = name
    content["config"]["run"]["iterations"] = 9  # so that there is something to resume
    path.write_text(json.dumps(content))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as it comes out of a stranger's archive: a run, and beside it the module that the run names."""
    folder = tmp_path_factory.mktemp("unpacked")
    finished_run(folder / "runs", **{"run.name": "stranger", "run.iterations": "2"})
    (folder / "runs/stranger/result.json").unlink()
    say_evil(folder / "runs/stranger", "evil_world:Env")
    (folder / "evil_world.py").write_text(EVIL)
    (folder / "stranger.toml").write_text('[world]\nname = "evil_world:Env"\n')
    return folder


@pytest.mark.parametrize("backend", ["loop", "workers"])
@pytest.mark.parametrize("verb", NEEDS_THE_WORLD)
def test_no_verb_imports_what_only_a_file_names(
    stranger: Path, monkeypatch: pytest.MonkeyPatch, verb: str, backend: str
) -> None:
    monkeypatch.chdir(stranger)
    path = stranger / "runs/stranger/run.json"
    content = json.loads(path.read_text())
    content["config"]["world"]["backend"] = backend
    path.write_text(json.dumps(content))
    try:
        cli.run(NEEDS_THE_WORLD[verb])
    except UntrustedModule as error:
        assert "evil_world.py" in str(error) and "--trust evil_world" in str(error)
    except Exception as error:
        assert "evil_world" not in sys.modules, error
        if backend == "loop":
            raise
    else:
        pytest.fail("it went on without the world")
    assert "evil_world" not in sys.modules and not (stranger / "marker").exists()


@pytest.mark.parametrize("verb", NEEDS_NO_WORLD)
def test_looking_at_a_strangers_run_needs_no_trust(stranger: Path, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    monkeypatch.chdir(stranger)
    with suppress(RunFolderError):  # a run without a gate has nothing to ask about it
        assert cli.run(NEEDS_NO_WORLD[verb]) in (0, 1)
    assert "evil_world" not in sys.modules and not (stranger / "marker").exists()


@pytest.mark.parametrize("name", ["gym:evil_world:Env-v0", "evil_world.deeper:Env", "antigravity:x"])
def test_every_way_of_naming_a_module_is_refused(stranger: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(stranger)
    with pytest.raises((UntrustedModule, UnknownName)):
        admit(name)
        import_path(name.removeprefix("gym:"))
    assert not (stranger / "marker").exists()


def test_what_the_program_has_imported_is_never_called_unless_it_is_a_world(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="neither"):
        make_environment("subprocess:Popen", {"args": ["touch", str(tmp_path / "marker")]}, 0)
    assert not (tmp_path / "marker").exists()


def test_only_a_trusted_modules_own_functions_make_environments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "makers_of_mine.py"
    place.write_text("from shutil import rmtree\ndef make(): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trust_module, "_named", set())
    name_world("makers_of_mine:make")
    make, rmtree = import_path("makers_of_mine:make"), import_path("makers_of_mine:rmtree")
    assert may_call("makers_of_mine:make", make) and not may_call("makers_of_mine:rmtree", rmtree)
    trust_module._named.clear()  # as in another process
    assert may_call("makers_of_mine:make", make)
    with place.open("a") as file:
        file.write("# changed\n")
    assert not may_call("makers_of_mine:make", make)


def test_names_and_their_modules() -> None:
    assert module_of("fish") is None and module_of("gym:CartPole-v1") is None
    assert module_of("holdfast.worlds.workers.drill:Drill") is None
    assert module_of("holdfast.__main__:main") == "holdfast.__main__"
    assert module_of("my.mod:Env") == "my.mod" and module_of("gym:my.mod:Env-v0") == "my.mod"


def test_a_world_that_was_named_is_trusted_until_it_changes(tmp_path: Path, holdfast: Command) -> None:
    """The whole way of a user with a world of their own."""
    home = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    (tmp_path / "my_mod.py").write_text(MINE)
    done = holdfast("train", "my_mod:Env", *SMALL, "--no-report", **home)
    assert done.returncode == 0, done.stderr
    more = ["--run.iterations", "6", "--allow-change", "--no-report"]
    done = holdfast("resume", "it", *more, **home)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "my_mod.py").open("a") as file:
        file.write("# changed\n")
    done = holdfast("evaluate", "it", "--episodes", "2", **home)
    assert done.returncode == 2 and "has changed since" in done.stderr and "--trust my_mod" in done.stderr
    listed = holdfast("trust", "--list", **home)
    assert "my_mod" in listed.stdout and "changed: not imported" in listed.stdout
    assert holdfast("evaluate", "it", "--episodes", "2", "--trust", "my_mod", **home).returncode == 0
    assert holdfast("evaluate", "it", "--episodes", "2", **home).returncode == 0
    assert holdfast("trust", "my_mod", "--remove", **home).returncode == 0
    assert holdfast("evaluate", "it", "--episodes", "2", **home).returncode == 2


def test_trust_covers_the_packages_around_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "around"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("Env = 1\n")
    assert files_of("around.inner") == [package / "__init__.py", package / "inner.py"]
    trust("around.inner")
    admit("around.inner:Env")
    (package / "__init__.py").write_text("import os\n")
    with pytest.raises(UntrustedModule, match="has changed"):
        admit("around.inner:Env")
    assert [entry.module for entry in trusted() if entry.file.startswith(str(tmp_path))] == ["around.inner"]
    assert forget("around.inner") and not forget("around.inner")


def test_trust_of_one_file_is_not_trust_of_another_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("mine", "theirs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same_name.py").write_text("Env = 1\n")
    monkeypatch.chdir(tmp_path / "mine")
    trust("same_name")
    monkeypatch.chdir(tmp_path / "theirs")
    with pytest.raises(UntrustedModule, match="neither named"):
        admit("same_name:Env")


def test_a_store_that_cannot_be_written_is_told_and_the_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "unwritable_store.py").write_text("Env = 1\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    monkeypatch.chdir(tmp_path)
    name_world("unwritable_store:Env")
    assert import_path("unwritable_store:Env") == 1
    assert "has to be named again" in capsys.readouterr().err


def test_files_in_the_working_folder_take_no_packages_place(tmp_path: Path) -> None:
    """TensorBoard is imported by every run, numpy at once."""
    for name in ("tensorboard", "numpy", "torch", "rich"):
        (tmp_path / f"{name}.py").write_text(EVIL)
    words = ["train", "template", *small_words(**{"run.tensorboard": "true", "run.name": "it"}), "--no-report"]
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "marker").exists()
