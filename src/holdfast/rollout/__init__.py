"""From world and policies to batches and evaluations."""
