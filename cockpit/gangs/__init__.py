"""Queueing and gang engines, one file each: state, position, reason in plain words, hold and release."""
