"""The gate's verbs as a user calls them: the published settings cannot open, the default can, recorded runs replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.cli.command import run as command
from holdfast.config.reading import load_config
from holdfast.curriculum.gate import run_gate
from holdfast.kit.errors import ConfigError, Infeasible, RunFolderError
from holdfast.runs.folder import RunFolder, create_run
from tests.curriculum.published import imported, v42_evaluations


def test_the_published_gate_is_told_to_be_shut_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["gate", "check", "fish-v42", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["feasible"]
    by_code = {item["code"]: item for item in found["findings"]}
    assert by_code["F1"]["severity"] == by_code["F7"]["severity"] == "infeasible"
    assert by_code["F1"]["repair"]["changes"] == {"gate.by_type.main.success_early_death_window": 3}
    assert {"F2", "F3", "F4", "F5", "F6", "F8", "F10"} <= by_code.keys()


def test_the_preset_holds_the_published_settings() -> None:
    config, published = load_config("fish-v42")[0], imported("v42")
    assert config.gate == published.gate
    assert config.own["density"] == published.own["density"]
    assert config.schedule == published.schedule
    assert config.deck.force_reset_steps == published.deck.force_reset_steps and config.deck.share == 1.0
    assert config.evaluation_world.fish == published.evaluation_world.fish
    assert config.run.iterations == published.run.iterations


def test_the_default_gate_can_open(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["gate", "check", "fish"]) == 0
    assert "this gate can open" in capsys.readouterr().out


def test_train_refuses_a_gate_that_cannot_open_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(Infeasible, match="F1: a perfect policy ends at level 0") as caught:
        command(["train", "fish-v42", "--run.root", str(tmp_path / "runs")])
    assert "gate.accept_infeasible true" in str(caught.value) and caught.value.exit_status == 2
    assert not (tmp_path / "runs").exists()


def test_what_is_not_a_gate_cannot_be_checked() -> None:
    with pytest.raises(ConfigError, match=r"world\.name is template"):
        command(["gate", "check", "template"])
    with pytest.raises(ConfigError, match="goes with gate what-if"):
        command(["gate", "check", "fish", "--set", "failure_p10=60"])


@pytest.fixture
def recorded(tmp_path: Path) -> RunFolder:
    """A run whose evaluations are the published ones."""
    config = load_config("fish-v42", ["--run.root", str(tmp_path), "--run.name", "v42"])[0]
    run = create_run(config, "fish-v42", ["test"])
    lines = [json.dumps(record.to_json()) for record in run_gate(config.gate, v42_evaluations())]
    (run.folder / "gate_debug.jsonl").write_text("\n".join(lines) + "\n")
    run.unlock()
    return run


def what_if(run: RunFolder, *words: str) -> int:
    return command(["gate", "what-if", str(run.folder), *words])


def test_what_if_replays_the_recorded_evaluations(recorded: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert what_if(recorded, "--set", "failure_p10=60", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["recorded"] == ["H0"] * 7 and found["replayed"] == ["L0", "L0", "L0", "N0", "N0", "N0", "N0"]
    assert found["changed"] == {"gate.failure_p10": [95.0, 60.0]}
    assert what_if(recorded, "--set", "success.ratio.main=0.025") == 0
    assert "the same decisions at every evaluation" in capsys.readouterr().out


def test_what_if_says_what_it_cannot_do(recorded: RunFolder) -> None:
    with pytest.raises(ConfigError, match="needs at least one change"):
        what_if(recorded)
    with pytest.raises(ConfigError, match=r"no option gate\.failure_p1"):
        what_if(recorded, "--set", "failure_p1=60")
    with pytest.raises(ConfigError, match="changes nothing"):
        what_if(recorded, "--set", "failure_p10=95")
    (recorded.folder / "gate_debug.jsonl").unlink()
    with pytest.raises(RunFolderError, match="its gate never decided"):
        what_if(recorded, "--set", "failure_p10=60")
