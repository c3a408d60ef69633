"""How a command ends before it has done its work."""

import signal

import pytest

from checker.errors import exit_on_termination


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_program_in_order_unless_it_is_ignored_as_by_nohup(number):
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        signal.signal(number, signal.SIG_IGN)
        exit_on_termination()
        signal.raise_signal(number)
        signal.signal(number, signal.SIG_DFL)
        exit_on_termination()
        with pytest.raises(SystemExit, match=str(128 + number)):
            signal.raise_signal(number)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
