"""A job as a message."""

import json
from dataclasses import asdict, replace

import pytest

from checker.course.source import Source
from checker.device import DeviceKind
from checker.protocol.job import Job, job_of

PLAIN = {"is_solution": False, "device": None, "show": "", "hunt": False, "tries_compiled_claims": False}
JOB = Job(step="step_07", source=Source("x = 1\n"), path="steps/step_07.py", to_write=["_attn"], seed=7, **PLAIN)


@pytest.mark.parametrize("kind", [None, *DeviceKind])
def test_a_job_comes_out_of_its_message_as_it_was(kind):
    job = replace(JOB, device=kind)
    received = job_of(json.loads(json.dumps(asdict(job))))
    assert received == job
    assert received.device is kind
