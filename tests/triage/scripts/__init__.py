"""A script for each way that a row of the catalogue comes about. Importing this registers them all."""

from tests.triage.scripts import (
    admission,
    autoscaling,
    further,
    gangs,
    kubelets,
    native,
    order,
    others,
    placement,
    queues,
    rings,
    running,
    standstill,
    volumes,
)

ALL = (
    admission,
    autoscaling,
    further,
    gangs,
    kubelets,
    native,
    order,
    others,
    placement,
    queues,
    rings,
    running,
    standstill,
    volumes,
)
