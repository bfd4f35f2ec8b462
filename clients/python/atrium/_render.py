from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Tuple, TypedDict, cast

from ._api_gen import FieldError, PromptMessage, RenderedMessage
from ._mustache import INVERTED, LITERAL, VALUE, MustacheError, Node, parse
from ._values import encode, plain, truthy, type_of

_MAX_BYTES = 1 << 20
_MAX_WORK = 64 << 20  # as on the server: see domain/mustache/render.go


class RenderedPrompt(TypedDict, total=False):
    """A prompt with its variables filled in."""

    #: Of a text prompt.
    text: str
    #: Of a chat prompt. Those of a placeholder are as they were given.
    messages: List[RenderedMessage]
    #: Required variables without a value.
    missing: List[str]
    #: Names of values that the version does not use.
    unused: List[str]


class RenderError(Exception):
    """A prompt that cannot be rendered with these values. The codes are those of prompt_templates.render."""

    def __init__(self, code: str, errors: Optional[List[FieldError]] = None) -> None:
        self.code, self.errors = code, errors or []
        super().__init__("; ".join([code] + [f"{e['pointer']}: {e['detail']}" for e in self.errors]))


def _prefixes(name: str) -> Iterator[str]:
    """A dotted name, and then the name without its last part, one part after another."""
    end = len(name)
    while end >= 0:
        yield name[:end]
        end = name.rfind(".", 0, end)


@dataclass
class _Variable:
    name: str
    type: str
    required: bool
    default: Any
    enum: List[Any]


class Prepared:
    """A version whose texts are parsed."""

    def __init__(self, version: Mapping[str, Any]) -> None:
        self.messages: List[PromptMessage] = list(version.get("messages") or [])
        self.is_chat = version.get("messages") is not None
        self.has_text = bool(version.get("text"))
        texts = [version["text"]] if version.get("text") else []
        texts += [text for m in self.messages for text in _texts_of(m)]
        self.parts: List[Tuple[str, List[Node]]] = []
        for text in texts:
            if version.get("format") == "none":
                self.parts.append((text, [Node(LITERAL, "", 0, len(text))]))
                continue
            try:
                self.parts.append((text, parse(text)))
            except MustacheError as e:
                error: FieldError = {"pointer": "/text", "code": "unsupported_syntax", "detail": str(e)}
                raise RenderError("unsupported_syntax", [error]) from None
        self.variables = [
            _Variable(v["name"], v.get("type", "string"), v.get("required", True), v.get("default"), v.get("enum") or [])
            for v in version.get("variables") or []
        ]
        for m in self.messages:
            name = m.get("placeholder")
            if not name:
                continue
            found = next((v for v in self.variables if v.name == name), None)
            if found is None:
                found = _Variable(name, "array", False, None, [])
                self.variables.append(found)
            found.required = found.required or m.get("required", False)

    def render(self, values: Mapping[str, Any], mode: str) -> RenderedPrompt:
        given: Dict[str, Any] = plain(dict(values))
        errors: List[FieldError] = []

        def wrong(pointer: str, code: str, detail: str) -> None:
            errors.append({"pointer": "/variables/" + pointer, "code": code, "detail": detail})

        declared = {v.name: v.type for v in self.variables}
        bound = {
            k: v
            for k, v in given.items()
            if (v is not None or declared.get(k, "any") == "any") and (k in declared or "." not in k)
        }
        for v in self.variables:
            if bound.get(v.name) is None and v.default is not None:
                bound[v.name] = plain(v.default)
            elif v.name not in bound:
                continue
            elif v.type != "any" and type_of(bound[v.name]) != v.type:
                wrong(v.name, "wrong_type", f"Must be of type {v.type}.")
            elif v.enum and all(encode(plain(allowed)) != encode(bound[v.name]) for allowed in v.enum):
                wrong(v.name, "not_allowed_value", "Must be one of the values that the version allows.")
        inserted: Dict[str, List[RenderedMessage]] = {}
        for m in self.messages:
            name = m.get("placeholder")
            if name and name not in inserted and isinstance(bound.get(name), list):
                for i, item in enumerate(bound[name]):
                    _check_inserted(item, f"{name}/{i}", wrong)
                default = next((v.default for v in self.variables if v.name == name), None)
                source = values[name] if given.get(name) is not None else default
                inserted[name] = json.loads(json.dumps(source))  # a copy, with numbers as they are
        missing = [v.name for v in self.variables if v.required and v.name not in bound]
        invalid = bool(errors)
        if mode != "partial":
            for name in missing:
                wrong(name, "required", "Must be given.")
        if invalid:
            raise RenderError("invalid_variables", errors)
        absent: List[str] = []
        out = self._written(given, bound, missing, inserted, absent)
        if mode != "partial":
            for path in absent:
                wrong(path, "required", "Must be given.")
        if errors:
            raise RenderError("missing_variables", errors)
        out["missing"] = missing + [path.replace("/", ".") for path in absent]
        return out

    def _written(
        self,
        given: Dict[str, Any],
        bound: Dict[str, Any],
        missing: List[str],
        inserted: Dict[str, List[RenderedMessage]],
        absent: List[str],
    ) -> RenderedPrompt:
        handled: Set[str] = set()

        def visit(nodes: List[Node]) -> None:
            for n in nodes:
                if n.kind == INVERTED:
                    handled.add(n.name)
                visit(n.nodes)

        for _, nodes in self.parts:
            visit(nodes)
        optional = {v.name for v in self.variables if not v.required}
        r = _Renderer(bound, set(missing), handled, optional, absent)
        out: RenderedPrompt = {"missing": missing, "unused": self._unused(given, bound)}
        rendered = (r.render(*part) for part in self.parts)
        if self.has_text or not self.is_chat:
            out["text"] = next(rendered) if self.has_text else ""
        if self.is_chat:
            out["messages"] = []
        for m in self.messages:
            name = m.get("placeholder")
            if not name:
                out["messages"].append(_with_texts(m, rendered))
            elif name in missing:
                out["messages"].append(cast(RenderedMessage, m))
            else:
                for message in inserted.get(name, []):
                    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
                    r.write(text, keep=False)
                    r.spend(1024)
                    out["messages"].append(message)
        return out

    def _unused(self, given: Dict[str, Any], bound: Dict[str, Any]) -> List[str]:
        used = {m.get("placeholder") for m in self.messages}

        def visit(nodes: List[Node]) -> None:
            for n in nodes:
                used.update(_prefixes(n.name))
                visit(n.nodes)

        for _, nodes in self.parts:
            visit(nodes)
        used.discard("")
        return sorted(k for k, v in given.items() if k not in used or v is not None and k not in bound)


def _has_text(part: Any) -> bool:
    return part.get("type") == "text" and bool(part.get("text"))


def _texts_of(message: PromptMessage) -> List[str]:
    """The texts of a message that are not empty."""
    content = message.get("content") or []
    if isinstance(content, str):
        return [content]
    return [part.get("text", "") for part in content if _has_text(part)]


def _with_texts(message: PromptMessage, texts: Iterator[str]) -> RenderedMessage:
    """A message with the next texts instead of its own."""
    content: Any = message.get("content")
    if isinstance(content, str):
        content = next(texts) if content else ""
    elif content is not None:
        content = [{**part, "text": next(texts)} if _has_text(part) else part for part in content]
    out = {**message, "content": content} if "content" in message or "tool_calls" in message else message
    return cast(RenderedMessage, out)


def _check_inserted(item: Any, pointer: str, wrong: Any) -> None:
    """Adds what is wrong with a message that a placeholder inserts."""
    if not isinstance(item, dict):
        wrong(pointer, "wrong_type", "Must be an object: a message.")
    elif "role" in item and type_of(item["role"]) != "string":
        wrong(f"{pointer}/role", "wrong_type", "Must be a string.")


_UNKNOWN, _KNOWN, _KEPT = range(3)
_MAX_ABSENCES = 100


@dataclass
class _Frame:
    """An enclosing section with one item."""

    value: Any
    base: int  # the frame that has the section's value; -1 outside of all
    name: str
    index: int  # of the item in its array; -1 if the value is no array


class _Renderer:
    def __init__(
        self, values: Dict[str, Any], missing: Set[str], handled: Set[str], optional: Set[str], absent: List[str]
    ) -> None:
        self.values, self.missing = values, missing
        self.handled = handled  # names of inverted sections: the text says what to print without a value
        self.optional, self.absent = optional, absent
        self.seen: Set[str] = set()
        self.frames: List[_Frame] = []
        self.out: List[str] = []
        self.text = ""
        self.space, self.work = _MAX_BYTES, _MAX_WORK

    def render(self, text: str, nodes: List[Node]) -> str:
        self.text, self.out = text, []
        self._nodes(nodes)
        return "".join(self.out)

    def spend(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
            raise RenderError("render_too_large")

    def write(self, text: str, keep: bool = True) -> None:
        self.space -= len(text.encode("utf-8", "surrogatepass"))
        if self.space < 0:
            raise RenderError("render_too_large")
        if keep:
            self.out.append(text)

    def _nodes(self, nodes: List[Node]) -> None:
        for n in nodes:
            self._node(n)

    def _node(self, n: Node) -> None:
        self.spend(32)
        written = self.text[n.start : n.end]
        if n.kind == LITERAL:
            self.write(written)
            return
        value, base, state = self._lookup(n.name)
        if state == _KEPT:
            self.write(written)
        elif state == _UNKNOWN and n.kind == VALUE and n.name not in self.handled:
            self._absence(_Frame(None, base, n.name, -1))
            self.write(written)
        elif n.kind == VALUE:
            self._print(value)
        elif n.kind == INVERTED:
            if not truthy(value):
                self._nodes(n.nodes)
        elif truthy(value):
            for i, item in enumerate(value if isinstance(value, list) else [value]):
                self.spend(16)
                self.frames.append(_Frame(item, base, n.name, i if isinstance(value, list) else -1))
                self._nodes(n.nodes)
                self.frames.pop()

    def _lookup(self, name: str) -> Tuple[Any, int, int]:
        """Finds a name in the items of the sections, from the inside out, then among the variables."""
        if name == ".":
            return self.frames[-1].value, len(self.frames) - 1, _KNOWN
        first, _, rest = name.partition(".")
        base = -1
        for i in range(len(self.frames) - 1, -1, -1):
            item = self.frames[i].value
            self.work -= 16
            if isinstance(item, dict):
                self.work -= 48 + len(first)
                if first in item:
                    value, state = self._member(item[first], rest)
                    return value, i, state
                if base < 0:
                    base = i
        optional = False
        for prefix in _prefixes(name):
            self.work -= 2 * (48 + len(prefix))
            if prefix in self.missing:
                return None, -1, _KEPT
            if prefix in self.values:
                value, state = self._member(self.values[prefix], name[len(prefix) + 1 :])
                return value, -1, _KNOWN if optional else state
            optional = optional or prefix in self.optional
        return (None, -1, _KNOWN) if optional else (None, base, _UNKNOWN)

    def _member(self, value: Any, rest: str) -> Tuple[Any, int]:
        while rest:
            if not isinstance(value, dict):
                return None, _UNKNOWN
            name, _, rest = rest.partition(".")
            self.work -= 48 + len(name)
            if name not in value:
                return None, _UNKNOWN
            value = value[name]
        return value, _KNOWN

    def _absence(self, frame: _Frame) -> None:
        """Notes that the tag of a frame has no value."""
        if len(self.absent) == _MAX_ABSENCES:
            return
        path = self._path(frame)
        if path not in self.seen:
            self.seen.add(path)
            self.absent.append(path)
        self.spend(512)

    def _path(self, frame: _Frame) -> str:
        """Where the value of a frame is among the values of the render."""
        steps: List[str] = []
        while True:
            if frame.index >= 0:
                steps.append(str(frame.index))
            if frame.name != ".":
                steps.extend(reversed(frame.name.split(".")))
            if frame.base < 0:
                return "/".join(reversed(steps))
            frame = self.frames[frame.base]

    def _print(self, value: Any) -> None:
        if value is None:
            return
        if isinstance(value, str):
            self.write(value)
            return
        text = encode(value)
        self.spend(512 + 16 * len(text.encode("utf-8", "surrogatepass")))
        self.write(text)


def render(version: Mapping[str, Any], values: Optional[Mapping[str, Any]] = None, mode: str = "strict") -> RenderedPrompt:
    """Fills in the variables of a version, with the same result as the server, byte for byte.

    Values are inserted unchanged: they are not escaped or expanded. In mode partial, the tags of required variables
    without a value are kept. Raises RenderError.
    """
    return Prepared(version).render(values or {}, mode)
