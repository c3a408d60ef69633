"""Restart, kill or freeze one of two servers while clients ask, and say what the clients saw."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from tools.benchmarks.replicas.load import Answer, Request, closed_loop
from tools.benchmarks.replicas.processes import Process

REQUESTS, CLIENTS = 2000, 32


@dataclass(frozen=True)
class Seen:
    """What clients got while something happened to a server.

    Args:
        answers: all of them.
        wanted: the right text for each prompt.
        moment: when it happened, by time.monotonic().
        seconds: how long the fault took, a restart for instance.
    """

    answers: Sequence[Answer]
    wanted: dict[object, str]
    moment: float
    seconds: float

    @property
    def failed(self) -> list[Answer]:
        """The answers of which not all came."""
        return [one for one in self.answers if not one.right]

    @property
    def wrong(self) -> list[Answer]:
        """The answers that came in full, but not as one server alone gives them."""
        return [one for one in self.answers if one.right and one.text != self.wanted[_key(one.request)]]

    @property
    def untouched(self) -> list[Answer]:
        """The failed answers that did not run at the moment: these must not be."""
        return [one for one in self.failed if not one.started <= self.moment <= one.started + one.seconds]

    @property
    def longest(self) -> float:
        """Seconds of the longest answer, failed or not."""
        return max(one.seconds for one in self.answers)

    def server_after(self, seconds: float) -> set[str]:
        """Return who answered the requests that began this long after the fault."""
        return {one.server for one in self.answers if one.right and one.started > self.moment + seconds}


def _key(request: Request) -> object:
    return request.prompt if isinstance(request.prompt, str) else tuple(request.prompt)


def requests(prompts: Sequence[str], tokens: int, count: int = REQUESTS) -> list[Request]:
    """Return so many requests, every second of which is a stream."""
    kinds = cycle((False, True))
    return [
        Request(prompt, tokens, stream) for prompt, stream in islice(zip(cycle(prompts), kinds, strict=False), count)
    ]


def alone(port: int, asked: Sequence[Request]) -> dict[object, str]:
    """Return the text that one server gives for each prompt, one after the other.

    Raises:
        AssertionError: it does not answer one of them.
    """
    wanted = {}
    for request in {_key(one): one for one in asked}.values():
        (answer,) = closed_loop(port, [request], 1)
        assert answer.right, answer.error
        wanted[_key(request)] = answer.text
    return wanted


def happens(
    port: int, asked: Sequence[Request], wanted: dict[object, str], fault: Callable[[], None], clients: int = CLIENTS
) -> Seen:
    """Have clients ask, and let the fault happen when a quarter of the answers has come.

    Args:
        port: of the balancer.
        asked: all requests.
        wanted: the right text for each prompt.
        fault: what happens; it may take a while.
        clients: how many ask at once.
    """
    moment, seconds = [0.0], [0.0]

    def happening() -> None:
        moment[0] = time.monotonic()
        fault()
        seconds[0] = time.monotonic() - moment[0]

    thread = threading.Thread(target=happening)

    def after(count: int) -> None:
        if count == len(asked) // 4:
            thread.start()

    answers = closed_loop(port, asked, clients, after=after)
    thread.join()
    return Seen(answers, wanted, moment[0], seconds[0])


def restart(server: Process) -> Callable[[], None]:
    """Return the fault of a server that is asked to end, and started again."""

    def fault() -> None:
        code = server.end()
        assert code == 0, f"the server ended with {code}: {server.said()[-2000:]}"
        server.start()

    return fault


def kill(server: Process) -> Callable[[], None]:
    """Return the fault of a machine that is gone."""
    return server.kill


def freeze(server: Process) -> Callable[[], None]:
    """Return the fault of a server that neither ends nor answers."""
    return server.freeze
