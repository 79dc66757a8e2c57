"""`python -m jackfield.surfaces.cli`: the command without its script."""

import sys

from .main import main

sys.exit(main())
