"""Comparing runs: who is grouped with whom, what is paired, what is left out, and what the command says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from holdfast.kit.errors import ConfigError, UnknownName
from holdfast.studies.comparison import compare
from tests.conftest import Command, finished_run
from tests.studies.recorded import write_run


def two_rates(root: Path, seeds: range = range(1, 11)) -> Path:
    for seed in seeds:
        write_run(root / f"slow-{seed}", seed, 0.5 + 0.01 * seed, curve=(0.1, 0.2, 0.3))
        write_run(root / f"fast-{seed}", seed, 0.7 + 0.01 * seed, curve=(0.3, 0.5, 0.6), learner__lr=0.01)
    return root


def test_runs_are_grouped_by_configuration_without_seed_names_threads_and_checkpoints(tmp_path: Path) -> None:
    found = compare([two_rates(tmp_path)])
    assert [(group.label, group.n) for group in found.groups] == [("learner.lr=0.01", 10), ("learner.lr=0.001", 10)]
    assert found.differences == {"learner.lr": [0.01, 0.001]}
    fast = found.groups[0]
    assert fast.mean.value == pytest.approx(0.755) and fast.mean.low < 0.755 < fast.mean.high and fast.reliable
    assert fast.seeds == [1, 10, *range(2, 10)]  # as the folders are sorted


def test_the_same_seeds_are_paired_and_the_p_value_is_exact(tmp_path: Path) -> None:
    (pair,) = compare([two_rates(tmp_path)]).pairs
    assert pair.pairs == 10 and pair.difference == pytest.approx(0.2)
    assert pair.p == pair.p_corrected == 2 / 2**10 and pair.significant and pair.detectable is None
    assert pair.improvement.value == 1.0 - 0.5 * 0.0


def test_groups_without_common_seeds_have_no_p_value_but_a_detectable_difference(tmp_path: Path) -> None:
    for seed in range(1, 7):
        write_run(tmp_path / f"a{seed}", seed, 0.1 * seed)
        write_run(tmp_path / f"b{seed}", seed + 100, 0.1 * seed, learner__lr=0.01)
    (pair,) = compare([tmp_path]).pairs
    assert (pair.pairs, pair.p, pair.p_corrected, pair.difference) == (0, None, None, pytest.approx(0.0))
    assert pair.detectable is not None and pair.detectable > 0.1 and pair.improvement.value == pytest.approx(0.5)


def test_holm_counts_every_comparison_that_is_shown(tmp_path: Path) -> None:
    for seed in range(1, 9):
        for number in range(3):
            write_run(tmp_path / f"{number}-{seed}", seed, 0.1 * number + 0.001 * seed, learner__lr=0.1**number)
    found = compare([tmp_path])
    assert [pair.p for pair in found.pairs] == [2 / 2**8] * 3
    assert [pair.p_corrected for pair in found.pairs] == [6 / 2**8] * 3


def test_by_one_option_pools_the_others_and_pairs_within_each(tmp_path: Path) -> None:
    for seed in range(1, 6):
        for size in (5, 9):
            write_run(tmp_path / f"a{size}-{seed}", seed, 10.0 * size, world__size=size)
            write_run(tmp_path / f"b{size}-{seed}", seed, 10.0 * size + 1.0, world__size=size, learner__lr=0.01)
    found = compare([tmp_path], by="learner.lr")
    assert [(group.label, group.n, group.tasks) for group in found.groups] == [
        ("learner.lr=0.001", 10, 2),
        ("learner.lr=0.01", 10, 2),
    ]
    assert found.groups[0].mean == (70.0, 70.0, 70.0)  # stratified: nothing varies within a configuration
    (pair,) = found.pairs
    assert (pair.pairs, pair.difference, pair.improvement.value) == (10, -1.0, 0.0)
    assert any("pooled over 2 configurations" in note for note in found.notes)


def test_other_measures_come_from_the_final_episodes_or_the_result(tmp_path: Path) -> None:
    two_rates(tmp_path)
    assert compare([tmp_path], measure="length").groups[0].mean.value == 15.0
    assert compare([tmp_path], measure="agent_steps").groups[0].mean.value == 3000
    assert compare([tmp_path], measure="return").groups == compare([tmp_path]).groups
    with pytest.raises(ConfigError, match=r"no measure 'lenght' \(did you mean length\?\)"):
        compare([tmp_path], measure="lenght")


def test_unfinished_and_damaged_runs_are_left_out_by_name_and_twins_counted_once(tmp_path: Path) -> None:
    two_rates(tmp_path, range(1, 4))
    write_run(tmp_path / "going", 9, 0.0, outcome="killed")
    write_run(tmp_path / "stopped", 10, 0.0, outcome="interrupted")
    (write_run(tmp_path / "torn", 11, 0.0) / "result.json").write_text("{")
    write_run(tmp_path / "twin", 1, 99.0)
    found = compare([tmp_path])
    assert [group.n for group in found.groups] == [3, 3] and not found.groups[0].reliable
    text = "\n".join(found.notes)
    assert "2 left out, not at its end: going, stopped" in text and "torn" in text
    assert "twin is" in text and "counted once" in text and "unreliable" in text


def test_thresholds_count_runs_that_never_got_there_as_censored(tmp_path: Path) -> None:
    for seed, curve in enumerate([(0.1, 0.9, 0.9), (0.9, 0.9, 0.9), (0.1, 0.2, 0.3)], 1):
        write_run(tmp_path / str(seed), seed, 1.0, curve)
    (reached,) = compare([tmp_path], threshold=0.9).reached
    assert reached.iterations == (2, 3, 20.0) and reached.agent_steps == (2, 3, 2000.0)
    assert reached.seconds == (2, 3, 20.0)
    (never,) = compare([tmp_path], threshold=5.0).reached
    assert never.iterations == (0, 3, None)


def test_learning_curves_have_intervals_at_the_evaluations(tmp_path: Path) -> None:
    fast = compare([two_rates(tmp_path)]).curves[0]
    assert fast is not None and fast.x.tolist() == [1000, 2000, 3000]
    assert np.allclose(fast.y, [0.3, 0.5, 0.6]) and np.allclose(fast.low, fast.y)


def test_many_groups_are_each_compared_with_the_first(tmp_path: Path) -> None:
    for number in range(8):
        write_run(tmp_path / str(number), 1, 0.1 * number, learner__lr=0.1 * (number + 1))
    found = compare([tmp_path])
    assert len(found.pairs) == 7 and all(pair.first == found.groups[0].label for pair in found.pairs)


def test_unknown_names_options_and_folders_without_a_whole_run(tmp_path: Path) -> None:
    two_rates(tmp_path, range(1, 3))
    with pytest.raises(UnknownName, match="no study or run 'nothing'"):
        compare(["nothing"])
    with pytest.raises(ConfigError, match=r"--by learner.rl: no run has this option \(did you mean learner.lr\?\)"):
        compare([tmp_path], by="learner.rl")
    write_run(tmp_path / "other/going", 9, 0.0, outcome="killed")
    with pytest.raises(ConfigError, match="no run to compare has come to its end"):
        compare([tmp_path / "other"])


def test_the_command_prints_tables_json_and_a_page(tmp_path: Path, holdfast: Command) -> None:
    two_rates(tmp_path / "runs")
    done = holdfast("compare", "runs", "--page", "page.html", "--threshold", "0.5")
    assert done.returncode == 0, done.stderr
    assert "learner.lr=0.01" in done.stdout and "A – B" in done.stdout and "10 of 10" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert "Learning curves" in page and "<svg" in page and "learner.lr=0.01" in page and "<script" not in page
    found = json.loads(holdfast("compare", "runs", "--json").stdout)
    assert found["pairs"][0]["p"] == 2 / 2**10 and found["measure"] == "return"
    wrong = holdfast("compare", "nowhere")
    assert wrong.returncode == 2 and "no study or run 'nowhere'" in wrong.stderr


def test_real_runs_are_read_as_they_ended(tmp_path: Path) -> None:
    means = []
    for seed in ("1", "2"):
        run, result = finished_run(tmp_path, **{"run.seed": seed, "run.name": f"s{seed}"})
        means.append(result.scores["learned"].mean)
    found = compare([run.folder, tmp_path / "s1"])
    assert [group.n for group in found.groups] == [2] and sorted(found.groups[0].values) == sorted(means)
    assert found.curves[0] is not None and compare([tmp_path], measure="arrived").groups[0].n == 2
