"""Optional packages: imported where they are needed, behind an `Extra` that says what to install where one is missing."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType

from graph_handoff.errors import MissingDependencyError

DISTRIBUTION = "graph-handoff"


@dataclass(frozen=True)
class Extra:
    """`with EXTRA: import package`. An ImportError inside becomes a MissingDependencyError with the command that installs it."""

    name: str
    """The extra of the distribution that brings the packages."""
    what: str
    """What needs them, as the subject of the message."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not isinstance(error, ImportError):
            return
        missing = isinstance(error, ModuleNotFoundError) and error.name
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        package = f"the package {missing.partition('.')[0]!r}" if missing else f"a package that cannot be loaded ({reason})"
        problem = f"{self.what} needs {package}: pip install '{DISTRIBUTION}[{self.name}]'"
        raise MissingDependencyError(problem) from error
