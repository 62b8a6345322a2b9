"""HTML in which every text is escaped unless it was made here: names and settings of a run are untrusted."""

from __future__ import annotations

from html import escape

VOID = ("meta", "img", "br")


class Html(str):
    """Text that is markup already."""


def element(tag: str, *children: str, **attributes: str | bool | None) -> Html:
    """One element. Plain strings inside are escaped; `class_` is class, `data_x` is data-x, None leaves out."""
    opening = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in VOID:
        return Html(f"<{tag}{opening}>")
    return Html(f"<{tag}{opening}>{joined(*children)}</{tag}>")


def _attribute(name: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'


def joined(*children: str) -> Html:
    """Pieces one after the other, plain strings escaped."""
    return Html("".join(child if isinstance(child, Html) else escape(child) for child in children))


def table(head: list[str], rows: list[list[str]], numeric: int = 1, class_: str | None = None) -> Html:
    """A table that scrolls by itself where it is too wide; columns from `numeric` on are right-aligned numbers."""

    def cells(tag: str, row: list[str]) -> Html:
        return joined(*(element(tag, cell, class_="number" if at >= numeric else None) for at, cell in enumerate(row)))

    body = joined(*(element("tr", cells("td", row)) for row in rows))
    inside = element("table", element("thead", element("tr", cells("th", head))), element("tbody", body))
    return element("div", inside, class_=f"scroll {class_}" if class_ else "scroll")


def section(title: str, *children: str) -> Html:
    return element("section", element("h2", title), *children)
