"""Every mistake a user can make has a class here; its text says what was wrong, where, and what to do.

`exit_status` is what the command line returns: 2 for bad input, 1 for what went wrong during a run.
"""


class HoldfastError(Exception):
    """Base of all errors that are told to the user as one clear message, without a traceback."""

    exit_status = 2


class ConfigError(HoldfastError):
    """One or more options are wrong; the text lists all of them."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(f"{count} in the configuration:\n" + "\n".join(f"  - {problem}" for problem in problems))


class Infeasible(HoldfastError):
    """A gate that no policy can open; the text says why and what to change."""


class UnknownName(HoldfastError):
    """A preset, world, run, column or policy that does not exist."""


class RunExists(HoldfastError):
    """A run of that name is already there; runs are never overwritten."""


class RunLocked(HoldfastError):
    """Another process is writing to this run."""


class RunFolderError(HoldfastError):
    """The run folder cannot be made, read or written."""


class CheckpointError(HoldfastError):
    """A checkpoint is damaged, foreign or of another version."""


class CheckpointOutOfReach(CheckpointError):
    """A checkpoint that may be whole, but of a newer version, or behind an error of the system: nothing older is used
    in its place, and nothing is removed."""


class UntrustedModule(HoldfastError):
    """A file names code that the user neither named in this command nor trusts."""


class SituationError(HoldfastError):
    """A saved lane does not fit the world it is loaded into."""


class SnapshotUnsupported(SituationError):
    """This environment cannot be saved."""


class WorldError(HoldfastError):
    """A world breaks the contract of `worlds.api`."""

    exit_status = 1


class ObservationError(HoldfastError):
    """A policy was asked about something that its role cannot have observed."""


class NonFinite(HoldfastError):
    """A NaN or infinity turned up; the text names the array or parameter it was found in."""

    exit_status = 1


class WriteFailed(HoldfastError):
    """The system refused to write what a run needs to keep; the text names the file and the system's reason."""

    exit_status = 1


class DiskFull(WriteFailed):
    """No space, no inodes or no quota is left where a run writes."""


class EnvironmentExit(HoldfastError):
    """Code of a world ended the process with `sys.exit`; a run treats that as a failure, whatever the status was."""

    exit_status = 1


class WorkerFailed(HoldfastError):
    """A foreign environment's process failed more often than it may; the text has what it passed on its way."""

    exit_status = 1


class MissingPackage(HoldfastError):
    """An optional package is needed; the text has the install line."""


def nearest(name: str, known: "list[str]") -> str:
    """' (did you mean X?)' for a misspelt name, or nothing when no known name is near."""
    from difflib import get_close_matches

    found = get_close_matches(name, known, n=1, cutoff=0.6)
    return f" (did you mean {found[0]}?)" if found else ""
