"""Leave out each part of the model in turn, and print what that costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from play.own_steps import use_mine


def ablate(
    tell: Callable[[str], None],
    *,
    stride: int,
    out: Path | None,
    model: str | Path,
    mine: bool,
    fill_in: bool,
    anyway: bool,
) -> None:
    """Print three tables, each row as soon as it is measured; write the figures as JSON if a path is given.

    Raises:
        NotWritten: steps are not complete, and the reference may not stand in.
        CheckFailed: the last check of a step failed, and it may not run anyway.
        OSError: the file cannot be written.
        ValueError: the checkpoint cannot be read, or the stride is impossible.
    """
    for words in use_mine(fill_in=fill_in, anyway=anyway) if mine else []:
        tell(words)
    from checker.max_adapter.runtime import listeners, notices, prepare
    from checker.session.waiting import telling_of_compiling
    from play.ablation import measuring

    prepare()
    with telling_of_compiling(listeners):
        measure = measuring.Measure(model, stride)
    for notice in notices:
        tell(notice)
    nothing = measure.bits_per_byte(measure.all_on)
    print(f"{nothing:.3f} bits per byte of {measure.text.bytes:,} bytes that the model was not trained on\n")
    found: dict[str, Any] = {"bytes": measure.text.bytes, "tokens": measure.text.tokens, "stride": stride}
    found["nothing"] = nothing
    print(f"{'left out':32} bits per byte    more")
    found["parts"] = {}
    for name, bits in measuring.parts(measure):
        print(f"{name:32} {bits:13.3f} {more(bits, nothing):+7.3f}", flush=True)
        found["parts"][name] = bits
    print("\nmore bits per byte without a layer, or a part of it")
    found["layers"] = print_rows(measuring.layers(measure), list(measuring.OF_A_LAYER), nothing)
    print("\nmore bits per byte without a head")
    found["heads"] = print_rows(measuring.heads(measure), range(measure.config.n_head), nothing)
    if out:
        out.write_text(json.dumps(rounded(found), indent=2) + "\n")
        tell(f"{out} written")


def print_rows(rows: Iterable[list[float]], columns: Sequence[object], nothing: float) -> list[list[float]]:
    """Print a row for each layer, as differences from ``nothing`` left out; return the rows."""
    titles = [str(column) for column in columns]
    widths = [max(8, len(title) + 2) for title in titles]
    print(f"{'layer':5}" + "".join(f"{title:>{width}}" for title, width in zip(titles, widths, strict=True)))
    found = []
    for layer, row in enumerate(rows):
        cells = (f"{more(bits, nothing):+{width}.3f}" for bits, width in zip(row, widths, strict=True))
        print(f"{layer:<5}" + "".join(cells), flush=True)
        found.append(row)
    return found


def more(bits: float, nothing: float) -> float:
    """Return the difference to three digits, without a negative zero."""
    return round(bits - nothing, 3) + 0.0


def rounded(found: Any) -> Any:
    """Return figures with six digits after the point."""
    if isinstance(found, dict):
        return {name: rounded(one) for name, one in found.items()}
    if isinstance(found, list):
        return [rounded(one) for one in found]
    return round(found, 6)
