"""`python -m mfu_probe.daemon`: the capture sidecar."""

import sys

from mfu_probe.daemon.service import main

sys.exit(main())
