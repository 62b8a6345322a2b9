"""What the markers of workers come to: how many play, how often one was replaced, and why the last one was lost."""

from __future__ import annotations

from typing import Any

READY, GONE = ("ready", "baton_back"), ("closed", "killed")


def worker_story(markers: list[dict[str, Any]]) -> dict[str, Any]:
    """Empty where there are no workers. Lines may be anything that others wrote."""
    newest = {str(line["worker"]): line.get("marker") for line in markers if "worker" in line}
    if not newest:
        return {}
    lost = [line for line in markers if line.get("marker") == "killed" and "phase" in line]
    story: dict[str, Any] = {
        "ready": sum(marker in READY for marker in newest.values()),
        "starting": sum(marker not in (*READY, *GONE) for marker in newest.values()),
        "replaced": sum(line.get("marker") == "respawned" for line in markers),
    }
    if lost:
        story["last_lost"] = f"worker {lost[-1].get('worker')} {lost[-1].get('reason')}"
    return story


def in_words(story: dict[str, Any], is_over: bool) -> str:
    """Of a run that is over, nobody is ready: a killed one had no time to say so."""
    counted = ("replaced",) if is_over else ("ready", "starting", "replaced")
    counts = [f"{story[name]} {name}" for name in counted if story.get(name)]
    lost = [f"last lost: {story['last_lost']}"] if "last_lost" in story else []
    return ", ".join(counts + lost)
