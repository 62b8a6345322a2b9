"""What a watcher is told of workers."""

from __future__ import annotations

from holdfast.runs.worker_story import in_words, worker_story


def test_markers_come_to_counts_and_the_last_loss() -> None:
    def marker(worker: int, name: str, **facts: object) -> dict[str, object]:
        return {"worker": worker, "marker": name, **facts}

    markers = [
        *(marker(worker, name) for worker in range(3) for name in ("spawned", "ready", "baton_back")),
        marker(0, "closed"),
        marker(1, "killed", reason="hung in step for 4 s", phase="step"),
        marker(1, "respawned"),
        {"foreign": True},
    ]
    story = worker_story(markers)
    assert story == {"ready": 1, "starting": 1, "replaced": 1, "last_lost": "worker 1 hung in step for 4 s"}
    assert in_words(story, is_over=False).startswith("1 ready, 1 starting, 1 replaced, last lost: worker 1 hung")
    assert in_words(story, is_over=True) == "1 replaced, last lost: worker 1 hung in step for 4 s"
    assert worker_story([{"foreign": True}]) == {} and in_words({}, is_over=False) == ""
