"""The child of the next check, started before there is anything to check."""

from __future__ import annotations

from checker.course.paths import ROOT, SOLUTIONS, TESTS
from checker.course.steps import Step
from checker.session.child import Child


class ReadyChild:
    """The child of the next check, started ahead of it."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self.step: Step | None = None
        self.started = 0

    def prepare(self, step: Step) -> None:
        """Have a child get ready for a check of ``step``, which takes it a second."""
        if not self._fits(step):
            self.close()
            self.started = newest_change()  # before the child reads any of them
            self.child, self.step = Child(step), step

    def take(self, step: Step) -> Child:
        """Return a child for a check of ``step``; the caller stops it."""
        if not self._fits(step):
            self.close()
        child, self.child = self.child or Child(), None
        return child

    def _fits(self, step: Step) -> bool:
        alive = self.child is not None and self.child.process.poll() is None
        return alive and self.step == step and self.started == newest_change()

    def close(self) -> None:
        """Stop the child if nobody took it."""
        if self.child:
            self.child.stop()
        self.child = None


def newest_change() -> int:
    """Return the time of the last change of a file that a child imports beforehand, in nanoseconds."""
    folders = (ROOT / "cli", ROOT / "checker", SOLUTIONS, TESTS)
    return max(path.stat().st_mtime_ns for folder in folders for path in folder.rglob("*.py"))
