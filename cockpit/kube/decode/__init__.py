"""Bytes to flat, cleaned, frozen records. Pure: no clock, no transport, nothing remembered but spellings."""
