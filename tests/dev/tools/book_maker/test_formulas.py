"""Formulas, as MathML in a page that mdBook reads as Markdown."""

from tools.book_maker import formulas


def test_nothing_in_a_formula_is_taken_for_markdown_and_signs_stand_where_they_should():
    assert not set("*_[]~`") & set(formulas.to_mathml(r"[a * b_1] \sim \text{c_d}"))
    assert "<mo>&#x02212;</mo><mi" in formulas.to_mathml(r"-\infty")
    for spaced in (r"\ln p_i", r"\log_2 p", r"\ln 0", r"\ln \sum_j x_j"):
        assert "<mspace" in formulas.to_mathml(spaced), spaced
    assert "<mspace" not in formulas.to_mathml(r"\tanh(u) + \ln(x)")
