"""Frozen records in the field's own words. Knows no JSON, no Textual, no clock.

Every record is a `msgspec.Struct` with `frozen=True, gc=False`: slotted, hashable by value where its
fields are, invisible to the garbage collector (a store of 50,000 pods adds nothing to a collection), and
encodable as msgpack, so that a batch can cross a process. A record holds only strings, numbers, booleans,
None and tuples of those or of other records.

Units: `_seconds` with a date meaning are seconds since the Unix epoch, `_bytes` are bytes,
`_millicores` thousandths of a core, `_ratio` is 0..1. None means *unknown*, never zero.
"""
