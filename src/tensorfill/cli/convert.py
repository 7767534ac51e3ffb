"""``tensorfill convert``: a tensor from one format into another."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .._support.words import percent, sizes
from .command import Command
from .options import add_reading, read_given
from .output import show_facts
from .outputs import add_safe, check_outputs, safely


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", type=Path, metavar="IN", help="the file to read")
    parser.add_argument("output", type=Path, metavar="OUT", help="the file to write; its ending says the format")
    parser.add_argument("--output-format", metavar="NAME", help="the format of OUT, if the ending does not say")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors and warnings")
    add_safe(parser)
    add_reading(parser)


def _run(given: argparse.Namespace) -> int:
    from ..io.formats import check_installed, format_of, write

    check_outputs({"OUT": given.output}, [given.input, given.mask])
    kind = check_installed(given.output, format=given.output_format)
    how = safely(given, kind)
    data = read_given(given, given.input)
    seen = data.observations
    content: Any = data
    alike = kind == format_of(given.input, given.format)
    # If nothing is missing, the original object can be restored, including its units if its format holds them.
    if data.restore is not None and seen.density == 1 and alike:
        content = data.restore(seen.to_dense())
    write(given.output, content, labels=data.labels, format=given.output_format, **how)
    if not given.quiet:
        show_facts(
            [
                ("data", f"{sizes(seen.shape)}, {len(seen):,} entries observed ({percent(seen.density)})"),
                ("written", str(given.output)),
            ]
        )
    return 0


COMMAND = Command(
    "write a tensor in another format",
    _options,
    _run,
    usage="IN OUT",
    details="""
    Labels are kept if OUT can hold them: .npz, .nc, .csv, .tsv and .parquet. Missing entries are NaN in a file that
    holds every entry, and left out of one that lists entries.
    """,
    examples=(
        "tensorfill convert flights.tns flights.parquet",
        "tensorfill convert parking.mat parking.csv --missing zero",
        "tensorfill convert facts.txt facts.npz --format triples",
    ),
)
"""The subcommand."""
