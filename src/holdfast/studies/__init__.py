"""Studies: many runs that answer one question, and the statistics that compare them.

    from holdfast.studies import Study, compare

`study` is the entry: a `plan` in a `folder`. The `engine` works through its `trials` in `piece`s, each in a `worker`
process of an `executor`: `local`, or on a Ray `cluster`. `search` asks Optuna for trials, `population` exchanges runs
by `fork`. `comparison` groups finished runs and compares them, from `recorded` runs, `groups` and `statistics`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.studies.comparison import Comparison, compare
    from holdfast.studies.study import Study, StudyTable

__all__ = ["Comparison", "Study", "StudyTable", "compare"]


def __getattr__(name: str) -> Any:
    if name in ("Comparison", "compare"):
        from holdfast.studies import comparison

        return getattr(comparison, name)
    if name in ("Study", "StudyTable"):
        from holdfast.studies import study

        return getattr(study, name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
