"""The command line program: its subcommands, and errors as one sentence and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn

from .._version import __version__
from . import compare, complete, convert, demo, evaluate, forecast, info, plot, predict, report, update
from .command import Command
from .output import as_options, say

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
"""Exit codes: something is not installed, invalid input, Ctrl-C."""

COMMANDS: dict[str, Command] = {
    "complete": complete.COMMAND,
    "predict": predict.COMMAND,
    "forecast": forecast.COMMAND,
    "update": update.COMMAND,
    "evaluate": evaluate.COMMAND,
    "compare": compare.COMMAND,
    "info": info.COMMAND,
    "convert": convert.COMMAND,
    "plot": plot.COMMAND,
    "report": report.COMMAND,
    "demo": demo.COMMAND,
}
"""Every subcommand by name."""

EPILOG = """\
examples:
  tensorfill info flights.tns
  tensorfill complete rain.nc -o filled.nc
  tensorfill complete ratings.tns --model ratings.npz
  tensorfill compare rain.nc --plot methods.png
  tensorfill predict ratings.npz questions.csv --interval 0.9
  tensorfill forecast traffic.csv --horizon 24 -o tomorrow.csv
  tensorfill update ratings.npz new.tns -o ratings2.npz
  tensorfill demo --missing 0.5 --output cat.png

exit codes:
  0 fine; 1 something is not installed; 2 bad input; 130 Ctrl-C; 143 SIGTERM
"""


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    argv
        The arguments after the name of the command; by default those of the process.
    """
    try:
        given = _parser().parse_args(argv)
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = int(given.run(given))
        # An error here is caught below; one at process exit would not be.
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _refused("Interrupted; nothing was written.", INTERRUPTED)
    except BrokenPipeError:
        # The reader, such as head, has closed the pipe. Python must not write the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ImportError as error:
        return _refused(str(error), FAILED)
    except (ValueError, TypeError, OSError) as error:
        return _refused(as_options(str(error)), BAD_INPUT)


def _refused(sentence: str, code: int) -> int:
    say(sentence)
    return code


def _show_warning(message: Warning | str, *where: object, **more: object) -> None:
    """Show a warning as a sentence, without the source line that raised it."""
    say(f"Warning: {as_options(str(message))}")


class _Parser(argparse.ArgumentParser):
    """A parser that reports an invalid option in one sentence, like the rest of the package."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}; see {self.prog} --help.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tensorfill",
        description="Fill the missing entries of a tensor.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tensorfill {__version__}")
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        subparser = subparsers.add_parser(
            name,
            help=command.summary,
            usage=f"%(prog)s [options] {command.usage}".rstrip(),
            description=command.described,
            epilog=command.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.options(subparser)
        subparser.set_defaults(run=command.run)
    return parser
