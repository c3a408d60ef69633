"""What the commands beside a check print in a copy of the course, and those of the finished model here too."""

import re

from checker.files import ROOT
from tools.course_copy import python


def run(course, *arguments, status=0):
    """What a command prints; it ends with a status."""
    done = course.check(*arguments, status=status)
    return done.stdout + done.stderr


def states(course):
    """What ``status`` says of every step, by its task."""
    lines = [re.match(r"  ([ws]\d\d)  (.+?)(?:  |$)", line) for line in run(course, "status").splitlines()]
    return {line[1]: line[2] for line in lines if line}


def run_model(*arguments, status=0, root=ROOT, stdin=None):
    """Run a command on the model, such as ``generate``, which may download nothing."""
    return python(root, "-m", "cli", *arguments, status=status, input=stdin, timeout=600, HF_HUB_OFFLINE="1")
