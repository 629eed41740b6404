"""Secrets as Spark's messages, users' statements and addresses have them; and what looks like one and is none."""

from __future__ import annotations

import pytest

from dbt_trickle.errors import TrickleBug, WarehouseError
from dbt_trickle.masking import MASK, is_secret, masked

HIDDEN = [
    "fs.s3a.secret.key=hunter2/+d=",
    "fs.s3a.session.token=hunter2",
    "SET fs.s3a.access.key=hunter2",
    "fs.azure.account.key.shop.dfs.core.windows.net=hunter2==",
    "fs.azure.account.oauth2.client.secret.shop.dfs.core.windows.net=hunter2",
    "spark.ssl.keyPassword=hunter2",
    "javax.jdo.option.ConnectionPassword=hunter2",
    "'fs.s3a.secret.key' = 'hunter''hunter2'",
    '"password": "hunter\\"hunter2"',
    "password: hunter2",
    "Map(password -> hunter2, user -> me)",
    "jdbc:postgresql://db/shop?user=me&password=hunter2&ssl=true",
    "jdbc:sqlserver://db;user=me;password=hunter2;",
    "jdbc:oracle:thin:me/hunter2@//db:1521/shop",
    "OPTIONS (url 'jdbc:x', password 'hunter2 hunter2')",
    "UID=me;PWD={hunter2;hunter2}",
    "AccountName=shop;AccountKey=hunter2==;EndpointSuffix=x",
    "https://me:hunter2@spark.example:443/path",
    "s3a://AKIA:hunter2/hun@hunter2@bucket/path",
    "wasbs://shop@account?se=1&sig=hunter2%2F",
    "?X-Amz-Credential=hunter2&X-Amz-Signature=hunter2",
    "Authorization: Basic hunter2=",
    "Bearer hunter2hunter2",
    "the key AKIAIOSFODNN7HUNTER2",
    "of the token dapi0123456789abcdef0123456789abcdef",
    "eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM",
    "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----",
]
SHOWN = [
    "Check host, port, user and password in the profile",
    "[TABLE_OR_VIEW_NOT_FOUND] The table or view `shop`.`tokens` cannot be found",
    "token recognition error at: ';'",
    "token_count = 3 AND max_tokens = 5",
    "abfss://container@account.dfs.core.windows.net/path",
    "hdfs://namenode:8020/path/a@b",
    "design=3, assigned: x",
    "spark.sql.ansi.enabled=true",
]


@pytest.mark.parametrize("text", HIDDEN)
def test_hidden(text: str) -> None:
    found = masked(f"[X] it is so ({text}), and that is all")
    assert MASK in found
    assert not any(secret in found for secret in ("hunter2", "HUNTER2", "0123456789", "SflKxw"))
    assert found.startswith("[X] it is so (")
    assert masked(found) == found


@pytest.mark.parametrize("text", SHOWN)
def test_shown(text: str) -> None:
    assert masked(text) == text


def test_what_is_around_stays() -> None:
    assert (
        masked("OPTIONS (url 'jdbc:x', password 'a b') at line 3") == "OPTIONS (url 'jdbc:x', password '***') at line 3"
    )
    assert masked("s3a://me:a/b@bucket/x: denied") == "s3a://me:***@bucket/x: denied"


def test_a_known_value_is_hidden_wherever_it_stands() -> None:
    assert masked("refused 'hunter2', not 'hunter2-and-more'", ["hunter2", "hunter2-and-more"]) == (
        "refused '***', not '***'"
    )


def test_a_known_value_that_any_word_may_have_in_it_is_let_be() -> None:
    assert masked("a test of testing", ["test", ""]) == "a test of testing"


def test_an_error_has_none_from_the_beginning() -> None:
    problem = WarehouseError("TRK-301", "cannot open s3a://me:hunter2@bucket", remedy="Look at `password`.")
    assert problem.what == "cannot open s3a://me:***@bucket"
    assert "hunter2" not in str(problem)
    assert "hunter2" not in str(problem.about("shop.totals"))
    assert problem.remedy == "Look at `password`."
    quoting = WarehouseError("TRK-406", "it did not start", remedy="Its log ends with: fs.s3a.secret.key=hunter2")
    assert "hunter2" not in str(quoting)
    assert "hunter2" not in str(TrickleBug("password=hunter2"))


def test_names_of_settings() -> None:
    assert is_secret("spark.hadoop.fs.s3a.secret.key")
    assert is_secret("spark.hadoop.javax.jdo.option.ConnectionPassword")
    assert not is_secret("spark.sql.ansi.enabled")
