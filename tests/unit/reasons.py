"""The reasons that the product gives, found where they are made: in the arguments of what carries a reason.

A reason is a text with places, `…` here; several are joined by `; `. An argument that is no text must come from
somewhere that is read as well (a variable, a function, an attribute that is named below): else `unknown` has it, so
that a new way to give a reason cannot stay unseen.
"""

from __future__ import annotations

import ast
import importlib
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("apply", "capture", "catalog", "delta", "formats", "plan", "run", "sql", "tree")
# What carries a reason, and which of its arguments it is.
CARRIERS = {
    "Applied": 1,
    "Capturing": 1,
    "Choice": 1,
    "Chosen": 1,
    "Decision": 1,
    "Incomparable": 0,
    "NotStaged": 0,
    "Orphan": 2,
    "OtherColumns": 1,
    "OtherView": 1,
    "Problem": 1,
    "Refused": 1,
    "Understood": 1,
    "Unlogged": 0,
    "Unparsed": 0,
    "Unsupported": 0,
    "Unversioned": 0,
    "Verdict": 2,
    "unsupported": 0,
    "unverifiable": 0,
    "unversioned_source": 1,
    "_left": 1,
    "_Refused": 0,
}
KEYWORDS = {
    "reason",
    "cdc_reason",
    "reinit_reason",
    "recomputed",
    "error_message",
    "obstacle",
    "problem",
    "gone",
    "how",
    "why",
    "held",
    "apart",
}
# Variables that hold one: what is assigned to them is read.
VARIABLES = {
    "changed", "differs", "found", "held", "how", "doubtful", "lost", "message", "no_feed", "obstacle", "problem",
    "reason", "recomputed", "told", "what", "why", "why_log",
}  # fmt: skip
# Functions whose texts are reasons, or parts of them.
FUNCTIONS = {
    ("apply/base.py", "incomparable"),
    ("apply/unrestricted.py", "obstacle"),
    ("apply/unrestricted.py", "rows_went"),
    ("apply/unrestricted.py", "this_time"),
    ("apply/recursion.py", "as_dear_as_anew"),
    ("capture/base.py", "incomparable"),
    ("capture/choose.py", "_told"),
    ("capture/choose.py", "choose"),
    ("capture/choose.py", "without_feed"),
    ("capture/lag.py", "limits_passed"),
    ("capture/log.py", "obstacle"),
    ("capture/transition.py", "_serves"),
    ("capture/transition.py", "reading"),
    ("delta/aggregate/state.py", "stateful"),
    ("plan/agree.py", "__str__"),
    ("plan/cost.py", "__str__"),
    ("plan/cost.py", "_told"),
    ("plan/decide.py", "_changed"),
    ("plan/decide.py", "_first_load"),
    ("plan/decide.py", "_nothing_moved"),
    ("plan/decide.py", "moved_sources"),
    ("plan/due.py", "_why"),
    ("run/capture_health.py", "_judged"),
    ("run/consider.py", "_shown_otherwise"),
    ("run/consider.py", "_why_anew"),
    ("run/functions.py", "described"),
    ("run/functions.py", "obstacle"),
    ("run/functions.py", "parse_function"),
    ("run/guard.py", "touched"),
    ("run/orphans.py", "why_removed"),
    ("run/doubts.py", "_of_maps"),
    ("run/verify.py", "_other_rows"),
    ("run/doubts.py", "_of_recursion"),
    ("run/doubts.py", "_told_again"),
    ("run/doubts.py", "_unlike"),
    ("run/doubts.py", "doubt"),
    ("run/pivot_doubts.py", "of_pivot"),
    ("run/pivot_doubts.py", "of_unpivot"),
    ("run/refresh.py", "only_anew"),
    ("run/understand.py", "_obstacle"),
    ("run/understand.py", "other_than"),
    ("run/views.py", "unlike"),
    ("run/together.py", "_told"),
    ("run/windows.py", "disagreed"),
    ("tree/guard.py", "_parting"),
    ("tree/guard.py", "_unclear"),
    ("tree/guard.py", "difference"),
    ("tree/days.py", "_of_rows"),
    ("tree/days.py", "of_today"),
    ("tree/size.py", "too_large"),
    ("tree/user_functions.py", "_obstacle"),
}
# Texts, or tables of texts, of which a part of a reason is taken.
CONSTANTS = (
    ("run.past", "KILLED"),
    ("run.windows", "_GONE"),
    ("capture.transition", "FEED_WRONG"),
    ("capture.transition", "LOG_WRONG"),
)
# Attributes that hold one.
ATTRIBUTES = {
    "cdc_reason",
    "apart",
    "gone",
    "held",
    "how",
    "obstacle",
    "reason",
    "reinit_reason",
    "not_due",
    "storage_touched",
    "touched",
    "what",
    "why",
}


@dataclass
class Found:
    templates: dict[str, str] = field(default_factory=dict)  # template → a place
    unknown: list[str] = field(default_factory=list)


def collect() -> Found:
    found = Found()
    for folder in FOLDERS:
        for path in sorted((ROOT / "dbt_trickle" / folder).rglob("*.py")):
            name = path.relative_to(ROOT / "dbt_trickle").as_posix()
            _File(name, path.read_text(encoding="utf-8"), found).read()
    for module, name in CONSTANTS:
        value = getattr(importlib.import_module(f"dbt_trickle.{module}"), name)
        for text in value.values() if isinstance(value, dict) else (value,):
            found.templates.setdefault(text, f"{module}.{name}")
    return found


def of_text(text: str) -> Found:
    found = Found()
    _File("plan/decide.py", text, found).read()
    return found


def parts(template: str) -> list[str]:
    """The reasons that are joined in a text; what only joins others has none."""
    return [part.strip() for part in template.split("; ") if re.search(r"[a-z]{2}", part)]


class _File:
    def __init__(self, name: str, text: str, found: Found) -> None:
        self.name, self.found = name, found
        self.module = "dbt_trickle." + name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        self.tree = ast.parse(text)

    def read(self) -> None:
        self._within(self.tree, "")

    def _within(self, node: ast.AST, function: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                if (self.name, child.name) in FUNCTIONS:
                    self._all_texts(child)
                self._within(child, child.name)
                continue
            self._look(child)
            self._within(child, function)

    def _look(self, node: ast.AST) -> None:
        match node:
            case ast.Call():
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in CARRIERS and len(node.args) > CARRIERS[name]:
                    self._reason(node.args[CARRIERS[name]])
                for keyword in node.keywords:
                    if keyword.arg in KEYWORDS:
                        self._reason(keyword.value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in VARIABLES:
                self._texts_of(value)
            case ast.NamedExpr(target=ast.Name(id=name), value=value) if name in VARIABLES:
                self._texts_of(value)

    def _reason(self, node: ast.expr) -> None:
        if not self._known(node):
            self.found.unknown.append(f"{self.name}:{node.lineno}: {ast.unparse(node)}")

    def _known(self, node: ast.expr | None) -> bool:
        match node:
            case None | ast.Constant() | ast.JoinedStr():
                if isinstance(node, ast.expr):
                    self._add(node, whole=True)
                return True
            case ast.Name(id=name):
                if name.isupper():
                    self._add(node)
                return name.isupper() or name in VARIABLES
            case ast.Attribute(attr=name):
                return name in ATTRIBUTES or name.isupper()
            case ast.BoolOp(values=values):
                return not [value for value in values if not self._known(value)]  # each is to be looked at
            case ast.IfExp(body=one, orelse=other):
                return not [value for value in (one, other) if not self._known(value)]
            case ast.Call(func=ast.Name(id="masked" | "str"), args=[inner]):
                return self._known(inner)
            case ast.Call(func=ast.Name(id=name)):
                return any(function == name for _, function in FUNCTIONS)
            case _:
                return False

    def _texts_of(self, node: ast.expr) -> None:
        """Of a variable: it may hold other things as well."""
        match node:
            case ast.Constant() | ast.JoinedStr():
                self._add(node)
            case ast.BoolOp(values=values):
                for value in values:
                    self._texts_of(value)
            case ast.IfExp(body=one, orelse=other):
                self._texts_of(one)
                self._texts_of(other)
            case ast.Call(func=ast.Name(id="masked"), args=[inner]):
                self._texts_of(inner)

    def _all_texts(self, function: ast.FunctionDef) -> None:
        """But for those of bugs, which are raised."""
        kinds = (ast.JoinedStr, ast.Raise)
        within = {
            id(part) for node in ast.walk(function) if isinstance(node, kinds) for part in list(ast.walk(node))[1:]
        }
        for node in ast.walk(function):
            if isinstance(node, (ast.Constant, ast.JoinedStr)) and id(node) not in within:
                if isinstance(node, ast.Constant) and node.value == ast.get_docstring(function, clean=False):
                    continue
                self._add(node)

    def _add(self, node: ast.expr, whole: bool = False) -> None:
        """`whole`: it is a reason by itself; else a text without a space is something else, such as a key."""
        for part in parts(self._template(node)):
            if " " in part or whole:
                self.found.templates.setdefault(part, f"{self.name}:{node.lineno}")

    def _template(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.JoinedStr(values=values):
                return re.sub("…+", "…", "".join(self._template(value) for value in values))
            case ast.FormattedValue(value=ast.Name(id=name)) if name.isupper():
                value = getattr(importlib.import_module(self.module), name)
                return value if isinstance(value, str) else "…"
            case ast.FormattedValue():
                return "…"
            case ast.Name(id=name):
                value = getattr(importlib.import_module(self.module), name)
                return value if isinstance(value, str) else ""
            case _:
                return ""
