"""Bars on a logarithmic axis, as SVG: figures of one scenario lie orders of magnitude apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, log10

# Name, value, what it may be at most or at least (a line across the bar), and its unit.
Bar = tuple[str, float, float | None, str]

_LEFT, _WIDTH, _RIGHT, _LINE, _TOP = 360, 520, 90, 22, 44
_COLOURS = {False: "#4878a8", True: "#b8b8b8"}


def svg(title: str, bars: Sequence[Bar]) -> str:
    """A rival's bar, which has a colon in its name, is grey."""
    values = [value for _, value, _, _ in bars if value > 0] + [target for _, _, target, _ in bars if target]
    low, high = floor(log10(min(values, default=0.1))), ceil(log10(max(values, default=1)))
    high = max(high, low + 1)

    def x(value: float) -> float:
        share = (log10(max(value, 10**low)) - low) / (high - low)
        return _LEFT + _WIDTH * min(max(share, 0), 1)

    height = _TOP + _LINE * len(bars) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + _RIGHT}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="100%" height="100%" fill="white"/><text x="12" y="22" font-size="15">{escape(title)}</text>',
    ]
    for power in range(low, high + 1):
        at = x(10**power)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP - 8}" y2="{height - 24}" stroke="#ddd"/>')
        parts.append(f'<text x="{at:.1f}" y="{height - 8}" text-anchor="middle" fill="#666">{10.0**power:g}</text>')
    for number, (name, value, target, unit) in enumerate(bars):
        parts += _bar(_TOP + number * _LINE, name, value, target, unit, x)
    return "\n".join([*parts, "</svg>", ""])


def _bar(y: int, name: str, value: float, target: float | None, unit: str, at: Callable[[float], float]) -> list[str]:
    width = at(value) - _LEFT
    label = f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>'
    bar = f'<rect x="{_LEFT}" y="{y + 2}" width="{width:.1f}" height="15" fill="{_COLOURS[":" in name]}"/>'
    told = f'<text x="{_LEFT + width + 6:.1f}" y="{y + 13}">{value:.3g} {escape(unit)}</text>'
    parts = [label, bar, told]
    if target:
        line = at(target)
        parts.append(
            f'<line x1="{line:.1f}" x2="{line:.1f}" y1="{y}" y2="{y + 19}" stroke="#c03030" stroke-width="2"/>'
        )
    return parts
