"""One API server for all of the folder: each comparison has its own namespace or group in it."""

from tests.bed.fixtures import bed_apiserver

__all__ = ["bed_apiserver"]
