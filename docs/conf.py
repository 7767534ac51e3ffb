"""Settings of the documentation, which `make docs` builds."""

import os
import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

# The fits in the pages are small, and more threads would slow them down.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import sphinx.util.logging  # noqa: E402
from pages import PAGES, run  # noqa: E402

import tensorfill  # noqa: E402

project = "tensorfill"
author = "The tensorfill developers"
copyright = author
version = release = tensorfill.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples", "compared_results.md", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
default_role = "py:obj"
highlight_language = "none"
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = "tensorfill"
html_static_path = ["_static"]
html_css_files = ["tensorfill.css"]
html_show_sourcelink = False
html_sidebars = {page: [] for page in ["gallery/*", *(page.stem for page in PAGES)]}
html_theme_options = {
    "logo": {"text": "tensorfill"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "gallery/index": []},
    "footer_start": [],
    "footer_end": [],
    "pygments_light_style": "tango",
}

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/",
    "within_subsection_order": "pages.GalleryOrder",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "remove_config_comments": True,
    "copyfile_regex": "",
    "matplotlib_animations": False,
    "image_srcset": ["2x"],
    "capture_repr": (),
    "thumbnail_size": (600, 400),
}

warnings.filterwarnings("ignore", message=".*is non-interactive.*")


def run_pages(app):
    """Run the code of every Markdown page; a problem is a warning, and `make docs` treats warnings as errors."""
    logger = sphinx.util.logging.getLogger(__name__)
    for page in PAGES:
        for problem in run(page):
            logger.warning("%s", problem, location=page.stem)


CONDITIONAL = re.compile(r"<!-- if (\S+) -->\n(.*?)<!-- end -->\n", re.DOTALL)


def what_is_there(app, docname, source):
    """Remove the parts of a page that describe a file that does not exist."""
    source[0] = CONDITIONAL.sub(lambda found: found[2] if (HERE / found[1]).exists() else "", source[0])


LITERAL = re.compile(r"(``.+?``)")


def plain_docstring(app, what, name, obj, options, lines):
    """Turn a docstring of this package into reStructuredText.

    An indented paragraph before the first section is a formula, and is shown literally. A bar elsewhere marks an
    absolute value, which reStructuredText would read as the name of a substitution.
    """
    text, lines[:] = list(lines), []
    section = literal = doctest = False
    for place, line in enumerate(text):
        before = text[place - 1] if place else ""
        if line and set(line) == {"-"} and before.strip():
            section = True
        if not line.strip():
            doctest = False
        elif line.lstrip().startswith(">>>"):
            doctest = True
        if line.strip() and not before.strip():
            indented = line.startswith("    ") and not section and not doctest
            if indented and not literal and lines:
                lines.extend(["::", ""])
            literal = indented
        if not literal and not doctest:
            line = "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in LITERAL.split(line))
        lines.append(line)


def setup(app):
    """Connect the functions above to the build."""
    app.connect("builder-inited", run_pages)
    app.connect("source-read", what_is_there)
    # This must run before numpydoc, which divides docstrings into sections.
    app.connect("autodoc-process-docstring", plain_docstring, priority=100)
