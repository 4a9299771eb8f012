"""A graph, and the trajectory it comes from, as one HTML page that needs nothing from outside. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

_STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2430;--soft:#667085;--line:#d9dee6;--shade:#f5f7fa;--bad:#b42318}
@media(prefers-color-scheme:dark){:root{--paper:#12161c;--ink:#e6e9ee;--soft:#98a2b3;--line:#303946;--shade:#1a2029;--bad:#f97066}}
body{margin:0 auto;max-width:1900px;padding:28px 32px 60px;background:var(--paper);color:var(--ink)}
body{font:15px/1.5 system-ui,sans-serif}
h1{font-size:21px;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:16px;margin:32px 0 10px}
.facts{color:var(--soft);margin:0 0 18px}
.task{white-space:pre-wrap;background:var(--shade);border-left:3px solid var(--line);padding:10px 14px;max-width:95ch}
.drawing{overflow:auto;max-height:88vh;margin-top:8px;border:1px solid var(--line);border-radius:8px}.drawing svg{display:block}
#fit:checked~.drawing svg{max-width:100%;max-height:86vh;height:auto;margin:auto}
table{border-collapse:collapse;width:100%}
td:first-child code{white-space:nowrap;overflow-wrap:normal}
td,th{text-align:left;vertical-align:top;padding:6px 12px 6px 0;border-top:1px solid var(--line)}
th{color:var(--soft);font-weight:500;border-top:0}
code{font:12.5px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
tr.bad code{color:var(--bad)}.scroll{overflow-x:auto}
"""


class Section(NamedTuple):
    """A heading and a table below it."""

    title: str
    columns: Sequence[str]
    rows: Iterable[Sequence[str]]
    marked: frozenset[int] = frozenset()
    """Rows that tell of an error."""


def page(title: str, facts: str, task: str, drawing: str, sections: Iterable[Section]) -> str:
    """The HTML document. `drawing` is SVG that was escaped where it was made; everything else is text."""
    body = [f"<h1>{escape(title)}</h1>", f'<p class="facts">{escape(facts)}</p>']
    body += [f'<div class="task">{escape(task)}</div>', "<h2>Graph</h2>"]
    body += ['<input type="checkbox" id="fit" checked> <label for="fit">fit to the page (or full size, to scroll)</label>']
    body.append(f'<div class="drawing">{drawing}</div>')
    body += map(_section, sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _section(section: Section) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in section.columns)
    rows = []
    for number, row in enumerate(section.rows):
        cells = "".join(f"<td><code>{escape(cell)}</code></td>" for cell in row)
        rows.append(f'<tr class="bad">{cells}</tr>' if number in section.marked else f"<tr>{cells}</tr>")
    return f'<h2>{escape(section.title)}</h2><div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'
