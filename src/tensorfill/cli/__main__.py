"""Run the command as ``python -m tensorfill.cli``."""

import sys

from . import main

sys.exit(main())
