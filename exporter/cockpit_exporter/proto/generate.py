"""Writes the `*_pb2.py` and `*_pb2.pyi` files beside the `.proto` file.

Run as `python -m cockpit_exporter.proto.generate`. Needs grpcio-tools (extra `dev`). The result is checked
in.
"""

import sys
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main() -> int:
    """Runs protoc over every .proto file here; the exit status is protoc's."""
    names = [str(path.relative_to(ROOT)) for path in sorted(HERE.glob("*.proto"))]
    return int(protoc.main(["protoc", f"-I{ROOT}", f"--python_out={ROOT}", f"--pyi_out={ROOT}", *names]))


if __name__ == "__main__":
    sys.exit(main())
