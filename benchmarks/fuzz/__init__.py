"""Fuzzing of Holdfast's own readers: what is mutated, how, and where the counts are kept."""
