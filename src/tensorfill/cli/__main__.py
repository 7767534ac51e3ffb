"""Run the command as ``python -m tensorfill.cli``."""

import sys

from .main import main

sys.exit(main())
