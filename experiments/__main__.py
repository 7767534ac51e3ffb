"""Run the experiments of the paper, as ``python -m experiments``."""

import sys

from .run import main

sys.exit(main())
