"""What a listener is told of something that is compiled."""

from contextlib import suppress

from checker.compiling import Compiler, Listener, compiling


def test_a_listener_is_told_what_begins_and_which_error_has_ended_it(monkeypatch):
    told = []
    listener = Listener(lambda *began: told.append(began), lambda name, seconds, error: told.append(error))
    monkeypatch.setattr("checker.compiling.listeners", [listener])
    monkeypatch.setattr("checker.compiling.compiled_now", ended_by_ctrl_c := [])
    with compiling("a graph"):
        pass
    failure = KeyboardInterrupt()
    with suppress(KeyboardInterrupt), compiling("another", Compiler.MOJO):
        raise failure
    assert told == [("a graph", Compiler.MAX), None, ("another", Compiler.MOJO), failure]
    assert ended_by_ctrl_c == ["another"]
