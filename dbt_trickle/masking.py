"""What Spark says may repeat what it was given: a statement, a setting, an address. A secret in it goes no further.

A text is masked where it comes in from outside, before it is an error, a reason, an event or a row of the history.
In doubt too much is masked: whoever reads the message knows what his password is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "***"
# Of a value that is known. What is shorter would be found in words that have nothing to do with it.
SHORTEST = 6

_WORDS = (
    r"pass(?:word|wd|phrase)|(?<![a-z])pwd|secret|token|credentials?|"
    r"(?:access|account|api|private|encryption|shared)[._-]?(?:access[._-]?)?key(?:[._-]?id)?|signature|(?<![a-z])sig"
)
# fs.s3a.secret.key, fs.azure.account.key.<account>.dfs.core.windows.net, spark.ssl.keyPassword
_KEY = rf"(?:{_WORDS})(?:[._-]?(?:key|value))?(?:\.[\w.-]{{1,80}})?"
_QUOTED = r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\""
_BRACED = r"\{[^}]*\}"  # as ODBC has them
_BARE = r"(?:[^\s;&'\"`),]|,(?=\S))+"
_VALUE = rf"(?P<value>{_QUOTED}|{_BRACED}|{_BARE})"
# Parts that may begin anywhere are bounded: of a long text the time would grow with its square.
_IGNORING_CASE = re.IGNORECASE | re.DOTALL

_NAME = re.compile(rf"(?:{_WORDS})", re.IGNORECASE)
_PATTERNS = (
    # key=value, key: value, 'key' = 'value', "key": "value", key -> value
    re.compile(rf"(?P<before>{_KEY}['\"`]?\s*(?:==?>?|:|->)\s*){_VALUE}", _IGNORING_CASE),
    # OPTIONS (password 'value')
    re.compile(rf"(?P<before>[(,]\s*['\"`]?[\w.-]{{0,80}}?{_KEY}['\"`]?\s+)(?P<value>{_QUOTED})", _IGNORING_CASE),
    # scheme://user:value@host; the value may have an @ itself. abfss://container@account has none, host:8020/ neither.
    re.compile(
        r"(?P<before>\b[a-z][\w+.-]{0,30}://[^\s:/@'\"]*:)(?!\d+/)(?P<value>[^\s'\"]{1,300})(?=@)", re.IGNORECASE
    ),
    re.compile(r"(?P<before>\bjdbc:oracle:\w+:[^\s/@'\"]+/)(?P<value>[^\s'\"]{1,300})(?=@)", re.IGNORECASE),
    re.compile(r"(?P<before>\bbearer\s+)(?P<value>[\w.~+/=-]{8,})", re.IGNORECASE),
    re.compile(r"(?P<before>\bauthorization['\"]?\s*[:=]\s*['\"]?\s*\w+\s+)(?P<value>[\w.~+/=-]+)", re.IGNORECASE),
    # Known by their looks alone: keys of AWS, tokens of Databricks, JSON Web Tokens, PEM.
    re.compile(
        r"(?P<before>)(?P<value>\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bdapi[0-9a-f]{32}\b|\beyJ[\w-]+\.[\w-]+\.[\w-]+)"
    ),
    re.compile(r"(?P<before>-----BEGIN [A-Z ]*PRIVATE KEY-----)(?P<value>.*?)(?=-----END|\Z)", re.DOTALL),
)


def masked(text: str, known: Iterable[str] = ()) -> str:
    """`known`: values that are secrets, wherever they stand."""
    for value in sorted({each for each in known if len(each) >= SHORTEST}, key=len, reverse=True):
        text = text.replace(value, MASK)
    for pattern in _PATTERNS:
        text = pattern.sub(_hidden, text)
    return text


def is_secret(key: str) -> bool:
    """Whether a setting of this name has a value that nobody is to read."""
    return _NAME.search(key) is not None


def _hidden(found: re.Match[str]) -> str:
    value = found.group("value")
    quote = value[0] if value[0] in "'\"" else ""
    return f"{found.group('before')}{quote}{MASK}{quote}"
