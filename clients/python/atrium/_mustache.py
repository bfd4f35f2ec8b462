from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import List, Tuple

LITERAL, VALUE, SECTION, INVERTED = range(4)

_NAME = re.compile(r"(?:\.|[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)\Z")
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_MAX_NESTING = 32
_MAX_DELIMITER = 16  # bytes


@dataclass
class Node:
    """A part of a text: the text between tags, a tag, or a section with its content."""

    kind: int
    name: str
    start: int
    end: int
    nodes: List["Node"] = field(default_factory=list)


class MustacheError(ValueError):
    """A text is not valid: where, and why."""


def parse(text: str) -> List[Node]:
    """Parses the part of Mustache that prompts use, as the server does."""
    root: List[Node] = []
    opened: List[Node] = []
    items = 0  # sections that are open: {{.}} names the item of the innermost one
    pos = 0
    opening, closing = "{{", "}}"

    def add(node: Node) -> None:
        (opened[-1].nodes if opened else root).append(node)

    while pos < len(text):
        start = text.find(opening, pos)
        if start < 0:
            add(Node(LITERAL, "", pos, len(text)))
            break

        def refuse(reason: str) -> MustacheError:
            return MustacheError(f"Line {text.count(chr(10), 0, start) + 1}: {reason}")

        first = start + len(opening)
        mark = text[first : first + 1]
        close = {"{": "}", "=": "="}.get(mark, "") + closing
        at = text.find(close, first + (mark == "="))
        if at < 0:
            raise refuse("the tag is not closed.")
        end = at + len(close)
        name, sigil = text[first : end - len(closing)].strip(_SPACE), ""
        if name and name[0] in "#^/!&{><$=":
            sigil, name = name[0], name[1:].strip(_SPACE)
        if sigil == "{":
            if not name.endswith("}"):
                raise refuse("{{{ is not closed by }}}.")
            name = name[:-1].strip(_SPACE)
        if sigil == ">":
            raise refuse("partials are not supported.")
        if sigil and sigil in "<$":
            raise refuse("parents and blocks are not supported.")
        if sigil not in ("!", "=") and (not _NAME.match(name) or len(name) > 256):
            raise refuse("the name of a tag is not valid.")
        if name == "." and items == 0 and sigil not in ("!", "/"):
            raise refuse("{{.}} has a meaning only inside a section.")
        if sigil and sigil in "#^/!=":
            start, end = _standalone(text, pos, start, end)
        if start > pos:
            add(Node(LITERAL, "", pos, start))
        pos = end
        if sigil == "!":
            continue
        if sigil == "=":
            pair = [d for d in re.split(f"[{_SPACE}]+", name[:-1]) if d]
            longest = max((len(d.encode("utf-8", "surrogatepass")) for d in pair), default=0)
            if name[-1:] != "=" or "=" in name[:-1] or len(pair) != 2 or longest > _MAX_DELIMITER:
                raise refuse("{{= =}} must hold two delimiters of at most 16 bytes, with a space between them and no =.")
            opening, closing = pair
            continue
        if sigil in ("#", "^"):
            if len(opened) >= _MAX_NESTING:
                raise refuse(f"sections are nested more than {_MAX_NESTING} deep.")
            items += sigil == "#"
            opened.append(Node(SECTION if sigil == "#" else INVERTED, name, start, end))
        elif sigil == "/":
            if not opened or opened[-1].name != name:
                raise refuse("the closing tag is not that of the innermost open section.")
            closed = opened.pop()
            items -= closed.kind == SECTION
            closed.end = end
            add(closed)
        else:
            add(Node(VALUE, name, start, end))
    if opened:
        raise MustacheError("A section is not closed.")
    return root


def _standalone(text: str, pos: int, start: int, end: int) -> Tuple[int, int]:
    """Extends a tag to its whole line if the line has only blanks besides it: such a line leaves no trace."""
    first = start
    while first > pos and text[first - 1] in " \t":
        first -= 1
    if first > 0 and text[first - 1] != "\n":
        return start, end
    last = end
    while last < len(text) and text[last] in " \t":
        last += 1
    if last == len(text):
        return first, last
    if text[last] == "\n":
        return first, last + 1
    if text.startswith("\r\n", last):
        return first, last + 2
    return start, end
