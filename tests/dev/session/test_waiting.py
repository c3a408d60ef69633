"""What a command says while MAX compiles for it."""

import time

from checker.session.printer import telling_of_compiling


def test_it_is_said_within_two_seconds_and_how_long_it_took_but_not_what_comes_from_the_cache(capsys):
    listeners = []
    with telling_of_compiling(listeners):
        (listen,) = listeners
        listen("a thing", None)
        listen("a thing", 0.0)
        assert capsys.readouterr().err == ""
        listen("a thing", None)
        time.sleep(2)
        assert "MAX compiles what it has not run on this machine before" in capsys.readouterr().err
        listen("a thing", 2.0)
        assert capsys.readouterr().err == "  compiled a thing in 2 s\n"
    assert listeners == []
