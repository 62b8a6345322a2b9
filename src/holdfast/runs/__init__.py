"""Run folders: metrics, events, checkpoints, locks and what a resumed run needs."""
