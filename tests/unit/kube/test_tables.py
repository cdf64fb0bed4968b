"""Objects of any kind as the server prints them."""

import json
from typing import Any

import pytest

from cockpit.errors import Refused
from cockpit.kube import tables
from cockpit.kube.resource import NODES, SERVICES, Resource
from cockpit.kube.session import ApiSession
from cockpit.model.object_table import PrintedColumn
from tests.unit.kube.builders import FakeServer, refuse, reply

PATH = SERVICES.path()


def printed(*names: str, token: str = "", **more: Any) -> str:
    rows = [
        {
            "cells": [name, 3, None, True],
            "object": {"metadata": {"name": name, "namespace": "a", "uid": name}},
        }
        for name in names
    ]
    columns = [{"name": "Name"}, {"name": "Ports", "type": "integer"}, {"name": "IP", "priority": 1}]
    return json.dumps(
        {
            "kind": "Table",
            "metadata": {"continue": token},
            "columnDefinitions": [*columns, {"name": "On", "type": "boolean"}],
            "rows": rows,
            **more,
        }
    )


async def test_pages_are_read_to_the_end_with_the_columns_of_the_first(
    server: FakeServer, session: ApiSession
) -> None:
    server.on(PATH, reply(printed("x", token="more")), reply(printed("y", columnDefinitions=[])))
    table = await tables.read_table(session, SERVICES)
    assert table.columns[1:3] == (PrintedColumn("Ports", is_number=True), PrintedColumn("IP", 1))
    assert [(row.key, row.cells) for row in table.rows] == [
        ("a/x", ("x", "3", "<none>", "true")),
        ("a/y", ("y", "3", "<none>", "true")),
    ]
    assert not table.left_out
    assert server.queries(PATH)[1]["continue"] == "more"


async def test_a_list_without_end_is_left_and_said(
    server: FakeServer, session: ApiSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MOST_PAGES", 2)
    server.on(PATH, reply(printed("x", token="more")))
    assert (await tables.read_table(session, SERVICES)).left_out


async def test_a_server_without_tables_tells_names(server: FakeServer, session: ApiSession) -> None:
    items = [{"metadata": {"name": "x", "creationTimestamp": "1970-01-01T00:00:10Z"}}, 3]
    server.on(NODES.path(), reply(json.dumps({"kind": "NodeList", "items": items})))
    (row,) = (await tables.read_table(session, NODES)).rows
    assert row.cells == ("x", "") and row.created_seconds == 10


async def test_texts_are_cleaned_and_short_rows_filled(server: FakeServer, session: ApiSession) -> None:
    rows = [{"cells": ["a\x1b[31mb"], "object": None}, "damage", {"cells": None}]
    server.on(PATH, reply(printed(rows=rows)))
    table = await tables.read_table(session, SERVICES)
    assert len(table.rows) == 2 and all(len(row.cells) == 4 for row in table.rows)
    assert "\x1b" not in table.rows[0].cells[0]


async def test_what_may_not_be_read_says_so(server: FakeServer, session: ApiSession) -> None:
    server.on(PATH, refuse(403, "Forbidden", "no"))
    with pytest.raises(Refused, match="services"):
        await tables.read_table(session, SERVICES)
    with pytest.raises(Refused, match="never read"):
        await tables.read_table(session, Resource("", "v1", "secrets", "Secret", namespaced=True))
