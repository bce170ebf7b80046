"""`python -m mfu_probe run -- COMMAND`."""

import sys

from mfu_probe.live.launch import main

sys.exit(main())
