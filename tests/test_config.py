"""Configuration: everything wrong is told at once, names are exact, idle options are refused, JSON goes round."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.checks import check_against_world
from holdfast.config.options import from_text, from_toml, kind_name
from holdfast.config.presets import presets
from holdfast.config.reading import from_json, load_config, parse_overrides, resolved
from holdfast.config.sections import Config, flat, known_options, options_known, sections_for, to_json
from holdfast.kit.errors import ConfigError, UnknownName
from holdfast.views.dry_run import spec_of
from holdfast.worlds.template.world import TrackSettings


def problems(target: str, *words: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(target, list(words))
    return caught.value.problems


def test_every_preset_loads_and_fits_its_world() -> None:
    assert {"template", "fish"} <= presets().keys()
    for name in presets():
        config, explicit = load_config(name)
        check_against_world(config, explicit, spec_of(config))


def test_all_errors_are_told_at_once() -> None:
    words = ["--learner.lrr", "1e-3", "--rollout.lanes", "many", "--learner.gamma", "1.5", "--run.seed", "-1", "stray"]
    found = problems("template", *words)
    assert len(found) == 5
    text = "\n".join(found)
    assert "learner.lrr (did you mean learner.lr?)" in text
    assert "rollout.lanes = 'many' is not an int" in text
    assert "learner.gamma = 1.5 must be at most 1" in text
    assert "run.seed = -1 must be at least 0" in text
    assert "'stray': not an option" in text


def test_names_are_never_abbreviated() -> None:
    assert (
        "no option learner.minib (did you mean learner.minibatch?)" in problems("template", "--learner.minib", "64")[0]
    )


def test_a_misspelt_key_and_section_in_toml_are_named_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[world]\nname = "template"\n[learner]\nlearning_rate = 1\n[rolout]\nlanes = 2\n[run]\nseed = "x"\n'
    )
    found = problems(str(path))
    assert len(found) == 3 and all(str(path) in problem for problem in found)
    assert "[rolout] (did you mean rollout?)" in found[1]


@pytest.mark.parametrize("text", ["[world", "[world]\nname = 3", "", "world = 5"])
def test_broken_toml_is_one_clear_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text)
    assert str(path) in problems(str(path))[0]


def test_a_preset_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "newer.toml"
    path.write_text('format = 99\n[world]\nname = "template"\n')
    assert "format 99" in problems(str(path))[0]


def test_unknown_presets_and_worlds_are_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean template"):
        load_config("templat")
    with pytest.raises(UnknownName, match=r"nowhere\.toml"):
        load_config("nowhere.toml")


def test_options_without_effect_are_refused() -> None:
    assert (
        "policy.core_size has no effect while policy.core is none" in problems("template", "--policy.core_size", "9")[0]
    )
    config, explicit = load_config("template", ["--policy.initial_log_std", "-1"])
    with pytest.raises(ConfigError, match="initial_log_std has no effect while actions is discrete"):
        check_against_world(config, explicit, spec_of(config))
    config, explicit = load_config("template", ["--policy.grid", "3"])
    with pytest.raises(ConfigError, match=r"policy\.grid has no effect while actions is discrete"):
        check_against_world(config, explicit, spec_of(config))


def test_numbers_for_values_only_need_values_of_their_own() -> None:
    for words in (["--policy.separate", "false"], ["--policy.core", "gru", "--learner.minibatch", "2048"]):
        config, explicit = load_config("pursuit", words)
        with pytest.raises(ConfigError, match=r"pursuer has 10 numbers for values only, but with policy\."):
            check_against_world(config, explicit, spec_of(config))


def test_a_grid_needs_a_count_for_each_number_of_an_action() -> None:
    config, explicit = load_config("pursuit", ["--policy.grid", "3", "--world.fixed_speed", "false"])
    with pytest.raises(ConfigError, match=r"policy\.grid = 3: an action of pursuer is 2 numbers"):
        check_against_world(config, explicit, spec_of(config))


def test_what_a_preset_sets_for_another_mode_is_not_the_users_mistake(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[world]\nname = "template"\n[learner]\ngae_lambda = 0.9\n')
    config, explicit = load_config(str(path), ["--learner", "vtrace"])
    assert config.learner.algorithm == "vtrace" and "learner.gae_lambda" not in explicit
    assert "learner.gae_lambda has no effect" in problems(str(path), "--learner=vtrace", "--learner.gae_lambda=0.8")[0]


def test_overlap_brings_its_lag_and_refuses_another() -> None:
    assert load_config("template", ["--rollout.overlap", "true"])[0].rollout.lag == 1
    assert "needs rollout.lag = 1" in problems("template", "--rollout.overlap=true", "--rollout.lag=0")[0]


def test_learner_options_that_cannot_work_are_told_with_the_reason() -> None:
    words = ["--learner.engine=fused", "--policy.norm=layer", "--learner.warmup=13", "--policy.network=impala"]
    config, explicit = load_config("template", words)
    with pytest.raises(ConfigError) as caught:
        check_against_world(config, explicit, spec_of(config))
    text = "\n".join(caught.value.problems)
    assert "learner.engine = fused cannot do policy.norm = layer: use auto or torch" in text
    assert "learner.warmup = 13 is more than a fifth of 60 iterations: at most 12" in text
    assert "policy.network = impala needs images of bytes; player sees float32[16]" in text


def test_when_an_entropy_reward_has_fallen_is_asked_only_where_it_falls() -> None:
    config, explicit = load_config("template", ["--learner.entropy=0.1", "--learner.entropy_share=0.4"])
    with pytest.raises(ConfigError, match=r"learner\.entropy_share = 0\.4 .* give learner\.entropy_final"):
        check_against_world(config, explicit, spec_of(config))


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("--learner.lr_schedule=constant", r"learner\.lr_restart = 0\.25 begins a falling rate anew"),
        ("--run.iterations=4", r"learner\.lr_restart = 0\.25 of 4 iterations is too little"),
    ],
)
def test_a_rate_begins_anew_only_where_it_falls_and_can_rise(word: str, reason: str) -> None:
    config, explicit = load_config("template", ["--learner.lr_restart=0.25", word])
    with pytest.raises(ConfigError, match=reason):
        check_against_world(config, explicit, spec_of(config))


def test_batches_that_do_not_divide_are_refused_with_the_arithmetic() -> None:
    config, explicit = load_config("template", ["--learner.minibatch", "1000"])
    with pytest.raises(
        ConfigError, match="256 lanes x 32 steps x 1 player = 8192 agent-steps; the nearest that does is 1024"
    ):
        check_against_world(config, explicit, spec_of(config))


def test_evaluation_world_settings_are_checked_like_any_other() -> None:
    found = problems("template", "--evaluation.world", '{"slipp": 0.1, "far": 99}')
    assert "no option world.slipp (did you mean world.slip?)" in found[0]
    assert "world.far = 99 must be at most 7" in found[1]


def test_overrides_are_read_in_both_spellings() -> None:
    found, wrong = parse_overrides(["--a.b=1", "--c.d", "-2", "--e.f", "--a.b", "3"])
    assert found == {"a.b": "3", "c.d": "-2"}
    assert wrong == ["--e.f: no value given", "--a.b: given twice"]


# --- property tests ------------------------------------------------------------------------------------------------

KNOWN = known_options(sections_for(TrackSettings, {}))


def values_of(kind: Any, low: float | None, high: float | None) -> st.SearchStrategy[Any]:
    origin = get_origin(kind)
    if origin is Literal:
        return st.sampled_from(get_args(kind))
    if kind is bool:
        return st.booleans()
    if kind is int:
        return st.integers(int(low or 0), int(min(high or 10**6, 2**53)))
    if kind is float:
        return st.floats(low if low is not None else -1e6, high if high is not None else 1e6, allow_nan=False)
    if kind is str:
        return st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
    if origin is tuple:
        return st.lists(values_of(get_args(kind)[0], low, high), max_size=4).map(tuple)
    if origin is dict:
        return st.just({})
    other = next(
        part for part in get_args(kind) if part is not type(None)
    )  # what remains are `int | None` and the like
    return st.none() | values_of(other, low, high)


CHANGES = st.fixed_dictionaries(
    {}, optional={name: values_of(info.kind, info.low, info.high) for name, info in KNOWN.items() if info.only is None}
)


def with_values(changes: dict[str, Any]) -> Config:
    config, _ = load_config("template")
    for name, value in changes.items():
        section, field = name.partition(".")[0], KNOWN[name].attribute
        changed = dataclasses.replace(getattr(config, section), **{field: value})
        config = dataclasses.replace(config, **{section: changed})
    return config


@settings(max_examples=60, deadline=None)
@given(CHANGES)
def test_any_configuration_survives_json(changes: dict[str, Any]) -> None:
    given = with_values(changes)
    config = resolved(given, given.rollout.lanes)
    again, changed = from_json(json.loads(json.dumps(to_json(config))), "test")
    assert again == config and not changed


@settings(max_examples=60, deadline=None)
@given(CHANGES)
def test_any_value_survives_the_command_line(changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        shown = ",".join(map(str, value)) if isinstance(value, tuple) else json.dumps(value)
        text = value if isinstance(value, str) else "none" if value is None else shown
        assert from_text(text, KNOWN[name].kind) == value


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(KNOWN)), st.text(max_size=12))
def test_any_text_is_a_value_or_a_clear_error(name: str, text: str) -> None:
    try:
        from_text(text, KNOWN[name].kind)
    except ValueError:
        assert kind_name(KNOWN[name].kind)


@given(st.sampled_from(sorted(KNOWN)), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers()))
def test_any_json_value_is_of_the_kind_or_refused(name: str, value: Any) -> None:
    kind = KNOWN[name].kind
    try:
        read = from_toml(value, kind)
    except ValueError:
        return
    if kind in (int, str, bool):
        assert type(read) is kind


def test_changed_options_are_found_at_resume() -> None:
    config, _ = load_config("template")
    again, changed = from_json(to_json(config), "run.json", ["--learner.lr", "1e-5", "--checkpoint.every=2"])
    assert changed == {"learner.lr", "checkpoint.every"}
    assert flat(again)["learner.lr"] == 1e-5


def test_a_run_of_a_newer_version_is_refused_by_name() -> None:
    config, _ = load_config("template")
    with pytest.raises(ConfigError, match=r"run\.json: written in configuration format 7"):
        from_json({**to_json(config), "format": 7}, "run.json")


@pytest.mark.parametrize(
    ("target", "switch", "gone"),
    [
        ("fish", ["--gate.enabled", "false"], "gate."),
        ("fish-v42", ["--deck.stages", "", "--gate.enabled", "false"], "deck."),
        ("pursuit", ["--duel.mode", "off"], "response."),
        ("pursuit", ["--response.certify", "false"], "response."),
        ("mario-vtrace", ["--learner.algorithm", "ppo"], "learner."),
    ],
)
def test_switching_a_part_off_drops_what_the_preset_set_for_it(target: str, switch: list[str], gone: str) -> None:
    before, after = load_config(target)[0], load_config(target, switch)[0]
    changed = {key for key, value in flat(after).items() if value != flat(before)[key]}
    assert any(key.startswith(gone) for key in changed)
    left = {key: flat(after)[key] for key in changed if key.startswith(gone)}
    assert left == {key: options_known(after)[key].default for key in left}, "back to their defaults"


def test_what_is_typed_beside_the_switch_is_refused_as_ever() -> None:
    with pytest.raises(ConfigError, match=r"gate\.success_p10 has no effect while gate\.enabled is false, only"):
        load_config("fish", ["--gate.enabled", "false", "--gate.success_p10", "60"])
