"""A preset as text: options by their dotted names become sections of TOML that can be read back."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

WIDTH = 118  # of a comment


def preset_text(world: str, options: Mapping[str, Any], comments: Iterable[str]) -> str:
    """Comments first, each a paragraph with its later lines indented; then the sections in the order they come."""
    lines: list[str] = []
    for comment in comments:
        wrapped = textwrap.wrap(" ".join(comment.split()), WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        lines += [f"# {line}" for line in wrapped]
    sections: dict[str, dict[str, Any]] = {"world": {"name": world}}
    for name, value in options.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, {})[key] = value
    parts = [[f"[{section}]", *(f"{key} = {toml_value(value)}" for key, value in content.items())]
             for section, content in sections.items()]  # fmt: skip
    return "\n\n".join("\n".join(part) for part in ([lines] if lines else []) + parts) + "\n"


def toml_value(value: Any) -> str:
    """As `options.from_toml` reads it; None is a text, as TOML has nothing for it."""
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {toml_value(one)}' for key, one in value.items())} }}"
    return repr(value)
