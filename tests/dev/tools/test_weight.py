"""How many lines each part has."""

from tools import weight


def test_a_part_over_its_limit_is_named_and_fails(monkeypatch, capsys):
    parts = {part: (10**6, beginnings) for part, (_, beginnings) in weight.PARTS.items()}
    for limit, status in ((10**6, 0), (1, 1)):
        monkeypatch.setattr(weight, "PARTS", parts | {"book": (limit, parts["book"][1])})
        assert weight.main() == status
        assert ("book: " in capsys.readouterr().err) is bool(status)
