"""`holdfast completion SHELL`: a script that completes verbs, their flags, presets, options and the values of options.

source <(holdfast completion bash)          # or zsh, in ~/.zshrc
holdfast completion fish | source
"""

from __future__ import annotations

import argparse
from typing import Literal, NamedTuple, get_args, get_origin

from holdfast.config.catalogue import catalogue
from holdfast.config.presets import presets
from holdfast.worlds.registry import world_names

SHELLS = ("bash", "zsh", "fish")
TARGETS = ("train", "rehearse", "gate")  # verbs whose next word is a preset or a world


class Words(NamedTuple):
    """What can be typed."""

    verbs: dict[str, str]  # with their meanings
    flags: dict[str, list[str]]  # by verb
    with_options: list[str]  # verbs that take any --section.key
    options: list[str]
    values: dict[str, list[str]]  # of options with a few choices
    targets: list[str]


def words_of(parser: argparse.ArgumentParser) -> Words:
    """Everything a command line may have, from the parser and the catalogue of options."""
    (verbs,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    meanings = {choice.dest: choice.help or "" for choice in verbs._choices_actions}
    flags = {
        name: sorted(flag for action in one._actions for flag in action.option_strings)
        for name, one in verbs.choices.items()
    }
    values: dict[str, list[str]] = {}
    for entry in catalogue():
        kind = entry.info.kind
        if get_origin(kind) is Literal or kind is bool:
            found = ["true", "false"] if kind is bool else [str(choice) for choice in get_args(kind)]
            values.setdefault(f"--{entry.name}", []).extend(found)
    return Words(
        verbs={name: meanings[name] for name in verbs.choices},
        flags=flags,
        with_options=[name for name, one in verbs.choices.items() if one.get_default("takes_options")],
        options=sorted({f"--{entry.name}" for entry in catalogue()}),
        values={name: list(dict.fromkeys(found)) for name, found in values.items()},
        targets=sorted({*presets(), *world_names()}),
    )


def script(shell: str, words: Words) -> str:
    """The script of a shell."""
    if shell == "fish":
        return _fish(words)
    start = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return start + _bash(words)


def _bash(words: Words) -> str:
    flags = "\n".join(f"    {verb}) flags='{' '.join(found)}' ;;" for verb, found in words.flags.items())
    values = "\n".join(f"    {name}) values='{' '.join(found)}' ;;" for name, found in words.values.items())
    return f"""_holdfast() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" verb="${{COMP_WORDS[1]}}"
  local flags='' values='' options=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{" ".join(words.verbs)} --help --version' -- "$current")); return
  fi
  case "$before" in
{values}
  esac
  if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$current")); return; fi
  case "$verb" in
{flags}
  esac
  case "$verb" in
    {"|".join([*words.with_options, "options"])}) options='{" ".join(words.options)}' ;;
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$flags $options" -- "$current")); return ;;
  esac
  case "$verb" in
    {"|".join(TARGETS)}) values='{" ".join(words.targets)}' ;;
    *) values="$(ls runs 2>/dev/null)" ;;
  esac
  COMPREPLY=($(compgen -W "$values" -- "$current") $(compgen -f -- "$current"))
}}
complete -F _holdfast holdfast
"""


def _fish(words: Words) -> str:
    lines = ["complete -c holdfast -f"]
    for verb, meaning in words.verbs.items():
        told = meaning.replace("'", "\\'")
        lines.append(f"complete -c holdfast -n __fish_use_subcommand -a {verb} -d '{told}'")
    for verb, found in words.flags.items():
        seen = f"-n '__fish_seen_subcommand_from {verb}'"
        lines += [f"complete -c holdfast {seen} -l {flag[2:]}" for flag in found if flag.startswith("--")]
    seen = f"-n '__fish_seen_subcommand_from {' '.join(words.with_options)}'"
    for option in words.options:
        values = f" -x -a '{' '.join(words.values[option])}'" if option in words.values else " -x"
        lines.append(f"complete -c holdfast {seen} -l {option[2:]}{values}")
    seen = f"-n '__fish_seen_subcommand_from {' '.join(TARGETS)}'"
    lines.append(f"complete -c holdfast {seen} -a '{' '.join(words.targets)}'")
    return "\n".join(lines) + "\n"
