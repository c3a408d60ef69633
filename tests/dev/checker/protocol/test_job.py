"""A job as a message."""

import json
from dataclasses import asdict, replace

import pytest

from checker.device import DeviceKind
from checker.protocol.job import Options, job_of
from tests.dev.helpers.checks import JOB


@pytest.mark.parametrize("kind", [None, *DeviceKind])
def test_a_job_comes_out_of_its_message_as_it_was(kind):
    job = replace(JOB, options=Options(device=kind, show="_attn", seed=7))
    received = job_of(json.loads(json.dumps(asdict(job))))
    assert received == job
    assert received.options.device is kind
