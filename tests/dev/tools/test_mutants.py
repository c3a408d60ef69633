"""Mutants of a solution: each differs from it, and a wrong one is refused."""

import ast

from checker.course.steps import find_step
from tools.surveys.mutants import accepted_of, mutants

STEP = find_step("w01")
MADE = list(mutants(STEP.solution_file.read_text()))


def test_every_mutant_is_another_program():
    sources = [source for _, source in MADE]
    assert sources[0] == ast.unparse(ast.parse(STEP.solution_file.read_text()))
    assert len(MADE) == len(set(sources)) > 50
    assert {function for function, _ in MADE[1:]} >= {"attention_scores", "softmax", "context_vectors"}


def test_a_wrong_mutant_is_refused_and_the_solution_is_not():
    solution = MADE[0][1]
    number = [source for _, source in MADE].index(solution.replace("np.exp(", "np.sqrt("))
    assert accepted_of(STEP, range(number, number + 1)) == []
    assert accepted_of(STEP, range(1)) == [0]
