"""Stored objects as the bytes of an answer: plain, as Tables, or as their metadata alone.

Plain objects are joined from JSON that was made once for each version; nothing is encoded for a list.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from cockpit.sim.port import Tree
from cockpit.sim.resources import CUSTOM_RESOURCE_DEFINITIONS
from cockpit.sim.server.http.accept import AnswerForm
from cockpit.sim.server.http.tables.columns import Printer
from cockpit.sim.server.http.tables.custom import custom_printer
from cockpit.sim.server.http.tables.table import META, partial, printer_of, table
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.operations import Listing
from cockpit.sim.server.storage import Storage, Stored

encode = msgspec.json.Encoder().encode


def printer_for(kind: ServedKind, storage: Storage) -> Printer:
    """The printer of a kind: for a custom one by the columns of its definition."""
    resource = kind.resource
    if not kind.is_custom:
        return printer_of(resource)
    definition = storage.get(CUSTOM_RESOURCE_DEFINITIONS, "", f"{resource.plural}.{resource.group}")
    columns: list[Tree] = []
    if definition is not None:
        for version in definition.tree["spec"].get("versions") or ():
            if version.get("name") == resource.version:
                columns = version.get("additionalPrinterColumns") or []
    return custom_printer(columns)


class Representation:
    """How objects of one kind are shown to one request."""

    def __init__(
        self, kind: ServedKind, storage: Storage, form: AnswerForm, include: str, now_seconds: float
    ) -> None:
        resource = kind.resource
        self._kind = kind
        self._as = form.as_
        self._include = include or "Metadata"
        self._now_seconds = now_seconds
        self._printer = printer_for(kind, storage) if form.as_ == "Table" else None
        self._told_columns = False
        group_version, name = encode(resource.api_version), encode(resource.kind)
        # Items of built-in lists do not repeat what the list says of them.
        self._heads = (
            b'{"apiVersion":%b,"kind":%b,' % (group_version, name),
            b'{"kind":%b,"apiVersion":%b,' % (name, group_version),
        )

    def one(self, stored: Stored) -> bytes:
        """A single object."""
        if self._printer is not None:
            return encode(self._table([stored.tree], stored.tree["metadata"].get("resourceVersion", "")))
        if self._as.startswith("PartialObjectMetadata"):
            return encode(partial(stored.tree))
        return stored.json + b"\n"

    def listing(self, listing: Listing) -> bytes:
        """A page."""
        metadata: dict[str, Any] = {"resourceVersion": str(listing.version)}
        if listing.continue_token:
            metadata["continue"] = listing.continue_token
        if listing.remaining:
            metadata["remainingItemCount"] = listing.remaining
        if self._printer is not None:
            trees = (stored.tree for stored in listing.items)
            return encode(
                table(self._printer, trees, self._now_seconds, metadata=metadata, include=self._include)
            )
        if self._as.startswith("PartialObjectMetadata"):
            items = [partial(stored.tree) for stored in listing.items]
            kind = "PartialObjectMetadataList"
            return encode({"kind": kind, "apiVersion": META, "metadata": metadata, "items": items})
        return self.joined(listing.items, metadata)

    def joined(self, items: Iterable[Stored], metadata: Tree) -> bytes:
        """A plain list out of JSON that is there already."""
        resource = self._kind.resource
        if self._kind.is_custom:
            # An untyped list says also that there is no more.
            metadata = {"continue": "", **metadata}
        begin = b'{"kind":%b,"apiVersion":%b,"metadata":%b,"items":[' % (
            encode(self._kind.list_kind),
            encode(resource.api_version),
            encode(metadata),
        )
        pieces: Iterable[bytes]
        if self._kind.is_custom:
            pieces = (stored.json for stored in items)
        else:
            pieces = (self._bare(stored.json) for stored in items)
        return b"".join((begin, b",".join(pieces), b"]}\n"))

    def event(self, type_: str, stored: Stored) -> bytes:
        """A line of a watch."""
        if self._as and type_ != "ERROR":
            return self._special(type_, stored)
        return b'{"type":"%b","object":%b}\n' % (type_.encode(), stored.json)

    def _special(self, type_: str, stored: Stored) -> bytes:
        tree = stored.tree
        if self._printer is None:
            return encode({"type": type_, "object": partial(tree)}) + b"\n"
        version = tree["metadata"].get("resourceVersion", "")
        if type_ == "BOOKMARK":
            blank = [None if column.type != "string" else "" for column in self._printer.columns]
            made = self._table([], version)
            made["rows"] = [{"cells": blank, "object": partial(tree)}]
        else:
            made = self._table([tree], version)
        return encode({"type": type_, "object": made}) + b"\n"

    def _table(self, trees: list[Tree], version: str) -> Tree:
        if self._printer is None:
            raise RuntimeError("no Table was asked for")
        with_columns, self._told_columns = not self._told_columns, True
        return table(
            self._printer,
            trees,
            self._now_seconds,
            metadata={"resourceVersion": version},
            include=self._include,
            with_columns=with_columns,
        )

    def _bare(self, json: bytes) -> bytes:
        for head in self._heads:
            if json.startswith(head):
                return b"{" + json[len(head) :]
        tree = msgspec.json.decode(json)
        return encode({key: value for key, value in tree.items() if key not in ("kind", "apiVersion")})
