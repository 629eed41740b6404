from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.trickle.credentials import ANSI, TrickleCredentials


def credentials(**profile: Any) -> TrickleCredentials:
    data = TrickleCredentials.translate_aliases({"schema": "s", **profile})
    TrickleCredentials.validate(data)
    return TrickleCredentials.from_dict(data)


def test_a_schema_is_all_a_profile_needs() -> None:
    found = credentials()
    assert (found.type, found.method, found.host, found.schema) == ("trickle", "session", "embedded", "s")
    assert found.unique_field == "embedded"
    assert dict(found.connection_info()) == {"method": "session", "schema": "s", "home": None}


def test_a_server_needs_its_host() -> None:
    with pytest.raises(DbtRuntimeError, match="host"):
        credentials(method="thrift")
    found = credentials(method="thrift", host="spark.example/", port=10000, user="me", password="secret")
    assert found.host == "spark.example"
    assert "secret" not in str(dict(found.connection_info()))


def test_ansi_mode_is_off_unless_the_profile_asks() -> None:
    assert credentials().server_side_parameters == {ANSI: "false"}
    assert credentials(server_side_parameters={ANSI: True}).server_side_parameters == {ANSI: "true"}


def test_settings_need_no_quotes_in_yaml() -> None:
    found = credentials(server_side_parameters={"a": 2, "b": False, "c": "x"})
    assert found.server_side_parameters == {"a": "2", "b": "false", "c": "x", ANSI: "false"}


def test_the_warehouse_lies_in_the_project(tmp_path: Path) -> None:
    project = tmp_path / "ein Projekt für Ähren"
    found = credentials()
    found.belongs_to(str(project))
    assert found.embedded_home == project / ".trickle"

    found = credentials(home="../shared")
    found.belongs_to(str(project))
    assert found.embedded_home == tmp_path / "shared"

    found = credentials(home=str(tmp_path / "elsewhere"))
    found.belongs_to(str(project))
    assert found.embedded_home == tmp_path / "elsewhere"


def test_outside_a_project_it_lies_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = credentials()
    found.belongs_to(None)
    assert found.embedded_home == tmp_path / ".trickle"


def test_without_pyspark_the_right_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyspark" else find(name))
    with pytest.raises(DbtRuntimeError, match=r"\[TRK-405\].*\n.*dbt-trickle\[embedded\]"):
        credentials()
    assert credentials(method="thrift", host="spark.example", port=10000).method == "thrift"


def test_a_second_writer_is_told_within_two_seconds() -> None:
    assert credentials().writer_lock_timeout < 2
    assert credentials(writer_lock_timeout=30).writer_lock_timeout == 30
