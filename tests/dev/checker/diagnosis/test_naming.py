"""Which known mistake a file makes, from what claims say of it."""

from types import SimpleNamespace

import pytest

from checker.diagnosis.grafting import File
from checker.diagnosis.naming import Naming

OWN, NAMESAKE = "class B:\n    def forward(self, x): return {}\n", "class A:\n    def forward(self, x): return {}\n\n\n"


@pytest.mark.parametrize(("own", "namesake", "possible"), [("f(x)", "g(x)", True), ("g(x)", "f(x)", False)])
def test_a_mistake_that_calls_f_is_possible_in_a_function_that_calls_it_and_not_in_its_namesake(
    own, namesake, possible
):
    source = NAMESAKE.format(namesake) + OWN.format(own)
    file = File(source, "", source, "", "", {"forward": "B.forward"}, [], lambda *_, **__: {})
    known = SimpleNamespace(lies_in={"it": {"forward"}}, edits={"it": {"f(2 * x)": "f(x)"}})
    assert Naming(file, known).is_possible("it") is possible
