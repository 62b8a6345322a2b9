"""The command line: `command.py` dispatches the verbs, `words.py` says what each understands."""

from __future__ import annotations


def main(arguments: list[str] | None = None) -> None:
    """Run the `holdfast` command."""
    from holdfast.cli.command import main as command  # errors and dispatch; verbs import the rest when they are called

    command(arguments)
