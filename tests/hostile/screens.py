"""The screens on a hostile metrics server: `python -m tests.hostile.screens KUBECONFIG URL SECONDS`.

SECONDS is the patience for a whole answer.
"""

import os
import sys

from cockpit.app import AppOptions, run
from cockpit.attach import AttachOptions
from cockpit.local_state.paths import state_folder
from cockpit.model.metrics_server import MetricsServer

if __name__ == "__main__":
    attach = AttachOptions(
        kubeconfig=sys.argv[1],
        prometheus=MetricsServer(sys.argv[2]),
        patience_seconds=float(sys.argv[3]),
        telemetry_seconds=0.2,
    )
    sys.exit(run(AppOptions(attach, first_place="nodes", state_folder=state_folder(os.environ))))
