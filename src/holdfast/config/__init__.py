"""Options, their sections, and how a run's configuration is read and checked."""
