"""The report page, assembled from its parts and a template."""

from __future__ import annotations

import base64
import datetime
import hashlib
from importlib import resources
from os import PathLike
from typing import TYPE_CHECKING, Any

from .._support.optional import need
from .._support.words import sizes
from .._version import __version__
from ..io.atomic import written_beside
from ..models import Dense
from ..plots.drawing import drawing_class
from ..plots.naming import rank_modes
from ..plots.views import checked_original
from ..results.words import doubts_of
from . import call, facts, figures
from .gallery import as_json, gallery

if TYPE_CHECKING:
    from ..fit import Fit


MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def write_report(fit: Fit, path: str | PathLike[str], *, original: Any = None, title: str | None = None) -> None:
    """Write a page about a fit, as one self-contained file.

    Parameters
    ----------
    fit
        The fit. If it was read from a file, the page omits what needs the data, and says so.
    path
        The HTML file to write; an error leaves an existing file unchanged.
    original
        The true tensor, if it is known, as an array of the shape of the fit; slices show it too.
    title
        The heading of the page; by default the shape of the tensor.
    """
    text = rendered(fit, original=original, title=title)
    with written_beside(path) as file:
        # Half of a surrogate pair, which a label may contain, cannot be written as UTF-8.
        file.write(text.encode("utf-8", "replace"))


def rendered(fit: Fit, *, original: Any = None, title: str | None = None) -> str:
    """Return the page as text."""
    template = _template()
    drawing_class()
    truth = checked_original(original, fit.shape)
    script, style = _part("script.js"), _part("style.css")
    page: str = template.render(
        title=f"A {sizes(fit.shape, times='×')} tensor, filled" if title is None else str(title),
        version=__version__,
        date=_day(datetime.date.today()),
        script=script,
        style=style,
        script_hash=_hash(script),
        style_hash=_hash(style),
        fit=fit,
        status=str(fit.status),
        tiles=facts.tiles(fit),
        doubts=doubts_of(fit),
        baselines=facts.baselines(fit),
        time_spent=facts.time_spent(fit),
        meanings=facts.meanings(fit),
        series_figures=figures.figures_of_series(fit),
        forecast=facts.forecast(fit),
        went_in=facts.what_went_in(fit),
        empty=facts.empty_slices(fit),
        modes=facts.modes(fit),
        has_modes=bool(fit.modes or rank_modes(fit)),
        chosen=facts.what_was_chosen(fit),
        good=facts.how_good(fit),
        widths=facts.widths(fit),
        missing_figures=figures.figures_of_what_is_missing(fit),
        error_figures=figures.figures_of_errors(fit),
        probability_figures=figures.figures_of_probabilities(fit),
        run_figures=figures.figures_of_the_run(fit),
        search_figures=figures.figures_of_the_search(fit),
        dense=isinstance(fit.model, Dense),
        no_rank=not any(fit.ranks),
        call=call.call_to_repeat(fit),
        call_without_search=call.call_without_search(fit),
        data=as_json(gallery(fit, truth)),
    )
    return page


def _day(date: datetime.date) -> str:
    """Return a date in English, regardless of the locale.

    >>> _day(datetime.date(2024, 3, 1))
    '1 March 2024'
    """
    return f"{date.day} {MONTHS[date.month - 1]} {date.year}"


def _template() -> Any:
    jinja2 = need("jinja2", "report")
    # Every label and setting that comes from the data is escaped.
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_part("page.html"))


def _part(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text("utf-8")


def _hash(text: str) -> str:
    """Return the hash by which the page allows only its script and style."""
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
