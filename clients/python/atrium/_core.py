from __future__ import annotations

import datetime
import http.client
import json
import logging
import platform
import random
import threading
import time
import urllib.parse
import uuid
from dataclasses import dataclass, field
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
    Iterator,
    List,
    Mapping,
    Optional,
    Tuple,
    TypedDict,
    TypeVar,
    Union,
    cast,
)

from ._errors import AtriumConnectionError, AtriumError, Cancelled, unexpected
from ._events import ServerEvent, read_events
from ._responses import problem_of
from ._secret import checked
from ._transport import FAILURES, Request, Response, Transport, sleep, urllib_transport

VERSION = "0.1.0"

T = TypeVar("T")
P = TypeVar("P")

#: The longest time that a call waits because the server asks for it, in seconds.
MAX_RETRY_AFTER = 60.0

#: How long a stream can be silent before it counts as broken. The server sends a comment every 15 seconds.
SILENCE = 50.0


@dataclass
class ResponseInfo:
    """What a response said besides its body. Give one as the option into."""

    status: int = 0
    #: For the option if_match; empty if the resource has none.
    etag: str = ""
    request_id: str = ""
    #: Whether this is the stored response of an earlier call with the same key.
    replayed: bool = False
    headers: Dict[str, str] = field(default_factory=dict, repr=False)


class Options(TypedDict, total=False):
    """Options of one call."""

    #: Id or slug of the workspace.
    workspace: str
    #: The ETag that the resource must still have.
    if_match: str
    #: Raises NotModified if the resource still has this ETag.
    if_none_match: str
    #: Replaces the random key of the call, so that a program can repeat it after a restart.
    idempotency_key: str
    #: Replaces the credential.
    token: str
    #: Seconds for each attempt.
    timeout: float
    max_retries: int
    #: Ends waiting and streams when it is set. A request that was sent ends with its response or timeout.
    cancel: threading.Event
    #: Receives what the response says besides its body.
    into: ResponseInfo


@dataclass
class Attempt:
    """One HTTP request of a call. It contains no credential."""

    #: The name of the call: promptTemplates.create.
    call: str
    method: str
    #: The path without the query, which can hold secrets.
    path: str
    #: 1 for the first attempt.
    number: int
    #: Further headers to send, such as traceparent.
    headers: Dict[str, str] = field(default_factory=dict)


@dataclass
class Outcome:
    """How an attempt ended."""

    #: 0 if there was no response.
    status: int
    request_id: str
    error: Optional[BaseException]
    #: Seconds until the response was read; of a stream, until its headers were.
    duration: float
    #: Seconds until the next attempt; None if this was the last one.
    retry_in: Optional[float]


#: Called before each attempt; the function that it returns is called after it.
Observer = Callable[[Attempt], Optional[Callable[[Outcome], None]]]


def logged(observe: Optional[Observer]) -> Observer:
    """An observer that logs each attempt to the standard error, beside another one."""
    log = logging.getLogger("atrium")
    if not log.handlers:
        log.addHandler(logging.StreamHandler())
    log.setLevel(logging.DEBUG)

    def begin(attempt: Attempt) -> Callable[[Outcome], None]:
        done = observe(attempt) if observe else None

        def end(o: Outcome) -> None:
            log.debug(
                "%s, %s %s, attempt %d: %s after %d ms",
                *(attempt.call, attempt.method, attempt.path, attempt.number),
                *(o.status or o.error, o.duration * 1000),
            )
            if done:
                done(o)

        return end

    return begin


class Pages(Generic[T, P]):
    """A list: iterating it returns the items of all pages."""

    def __init__(self, read: Callable[[Optional[str]], Any]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from cast(Dict[str, Any], page)["data"]

    def page(self) -> P:
        """The first page, or the one of the argument cursor."""
        return cast(P, self._read(None))

    def pages(self) -> Iterator[P]:
        """All pages, one after another."""
        cursor: Optional[str] = None
        while True:
            page = self._read(cursor)
            yield page
            cursor = page["next_cursor"]
            if cursor is None and page.get("has_more"):  # no unique field of a table says where a next page would begin
                raise ValueError("there are more items, and no next page: stream them")
            if cursor is None:
                return


def path(template: str, *parameters: str) -> str:
    """A path with its parameters. Raises ValueError for one that would lead to another operation."""
    for p in parameters:
        if p in ("", ".", ".."):
            raise ValueError("A parameter of the path is empty, . or ..")
    return template.format(*(urllib.parse.quote(p, safe="") for p in parameters))


@dataclass
class _Call:
    name: str
    method: str
    path: str
    body: Optional[bytes]
    query: Mapping[str, Any]
    keyed: bool
    merge: bool
    repeatable: bool
    options: Options
    key: str

    @property
    def safe(self) -> bool:
        """Whether the call can be repeated although an attempt may have taken effect."""
        return self.keyed or self.repeatable or self.method not in ("POST", "PATCH")


class Caller:
    """Sends calls. Its repr shows no credential."""

    def __init__(
        self,
        base_url: str,
        token: Union[str, Callable[[], str], None],
        workspace: Optional[str],
        max_retries: int,
        timeout: float,
        transport: Optional[Transport],
        observe: Optional[Observer],
    ) -> None:
        parts = _split(base_url)
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("base_url must be an http or https URL, such as https://atrium.example.com")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("base_url must have no user, query or fragment")
        self.base_url = base_url.rstrip("/")
        self.__token = checked("credential", token) if isinstance(token, str) else token
        self._workspace = workspace
        self._max_retries = max_retries
        self._timeout = timeout
        self._transport = transport or urllib_transport()
        self._observe = observe
        self._sleep: Callable[[float, Optional[threading.Event]], None] = sleep

    def __repr__(self) -> str:
        return f"<Caller of {self.base_url}>"

    def send(
        self,
        name: str,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] = {},
        keyed: bool = False,
        merge: bool = False,
        repeatable: bool = False,
        options: Options = {},
    ) -> Any:
        key = (options.get("idempotency_key") or str(uuid.uuid4())) if keyed else ""  # one for all attempts
        data = None if body is None else json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        call = _Call(name, method, path, data, query, keyed, merge, repeatable, options, key)
        _, text = self._attempts(call)
        if not text:
            return None
        try:
            return json.loads(text)
        except ValueError:
            raise unexpected(name, 200, "") from None

    def pages(self, name: str, method: str, path: str, *, query: Mapping[str, Any] = {}, options: Options = {}) -> Any:
        def read(cursor: Optional[str]) -> Any:
            more = {**query, "cursor": cursor or query.get("cursor")}
            return self.send(name, method, path, query=more, options=options)

        return Pages[Any, Any](read)

    def stream(self, name: str, method: str, path: str, *, query: Mapping[str, Any] = {}, options: Options = {}) -> Any:
        call = _Call(name, method, path, None, query, False, False, False, options, "")
        return self._events(call)

    def lines(self, name: str, method: str, path: str, *, query: Mapping[str, Any] = {}, options: Options = {}) -> Any:
        return self._lines(_Call(name, method, path, None, query, False, False, False, options, ""))

    def archive(
        self, name: str, method: str, path: str, *, query: Mapping[str, Any] = {}, options: Options = {}
    ) -> Any:
        call = _Call(name, method, path, None, query, False, False, False, options, "")
        _, archive = self._attempts(call, {"Accept": "application/zip"})
        if not archive.startswith(b"PK"):
            raise unexpected(name, 200, "")
        return archive

    def _lines(self, call: _Call) -> Iterator[Any]:
        """The objects of a response that has one a line, as they come. Raises if the response ends too early:
        AtriumError if the server says why."""
        response, _ = self._attempts(call, {"Accept": "application/x-ndjson"}, stream=True)
        assert response is not None
        cancel = call.options.get("cancel")
        try:
            while True:
                line = response.body.readline()
                if not line:
                    return
                if cancel is not None and cancel.is_set():
                    raise Cancelled(call.name)
                if not line.endswith(b"\n"):
                    raise http.client.IncompleteRead(line)
                item = json.loads(line)
                if isinstance(item, dict) and "$error" in item:
                    raise AtriumError(
                        call.name,
                        {
                            **item["$error"],
                            "type": "/problems/" + item["$error"]["code"],
                            "title": "Incomplete response",
                            "status": response.status,
                            "request_id": response.headers.get("request-id", ""),
                        },
                    )
                yield item
        except FAILURES as e:
            raise AtriumConnectionError(call.name, str(e) or type(e).__name__) from None
        except ValueError:
            raise AtriumConnectionError(call.name, "a line of the response is no JSON") from None
        finally:
            response.body.close()

    def _attempts(
        self, call: _Call, headers: Dict[str, str] = {}, stream: bool = False
    ) -> Tuple[Optional[Response], bytes]:
        """Repeats an attempt as long as it can help."""
        most = call.options.get("max_retries", self._max_retries)
        lost = False  # whether an attempt may have taken effect
        number = 1
        while True:
            wait: Optional[float] = None

            def decide(error: BaseException) -> Optional[float]:
                return None if number > most else retry_in(call, error, number)

            try:
                response, text, end = self._attempt(call, number, headers, stream)
                end(None, None)
                return response, text
            except _Failed as failed:
                error = failed.error
                wait = decide(error)
                gone = isinstance(error, AtriumError) and error.status == 404 and error.code.endswith("_not_found")
                failed.end(error, None if gone and lost else wait)
                if gone and lost and call.method == "DELETE":
                    return None, b""  # an earlier attempt has deleted it, and its response was lost
                if wait is None:
                    raise error from None
                lost = lost or not isinstance(error, AtriumError) or error.status >= 500
            self._sleep(wait, call.options.get("cancel"))
            number += 1

    def _attempt(
        self, call: _Call, number: int, headers: Dict[str, str], stream: bool
    ) -> Tuple[Response, bytes, Callable[[Optional[BaseException], Optional[float]], None]]:
        cancel = call.options.get("cancel")
        if cancel is not None and cancel.is_set():
            raise Cancelled(call.name)
        timeout = SILENCE if stream else call.options.get("timeout", self._timeout)
        request = self._request(call, headers, timeout)
        attempt = Attempt(call.name, call.method, urllib.parse.urlsplit(request.url).path, number)
        done = self._observe(attempt) if self._observe else None
        request.headers.update(attempt.headers)
        started = time.monotonic()
        response: Optional[Response] = None

        def end(error: Optional[BaseException], wait: Optional[float]) -> None:
            if done is not None:
                status = response.status if response else 0
                request_id = response.headers.get("request-id", "") if response else ""
                done(Outcome(status, request_id, error, time.monotonic() - started, wait))

        try:
            response = self._transport(request)
            text = b"" if stream and response.status < 300 else response.body.read()
        except FAILURES as e:
            if response is not None:
                response.body.close()
            reason = "no response in time" if isinstance(e, TimeoutError) else (str(e) or type(e).__name__)
            raise _Failed(AtriumConnectionError(call.name, reason), end) from None
        self._keep(call.options.get("into"), response)
        if response.status < 200 or response.status >= 300:
            raise _Failed(problem_of(call.name, response, text), end)
        if not stream:
            response.body.close()
        return response, text, end

    def _credential(self) -> Optional[str]:
        return self.__token() if callable(self.__token) else self.__token

    def _request(self, call: _Call, headers: Dict[str, str], timeout: Optional[float]) -> Request:
        options = call.options
        h = {
            "Accept": "application/json",
            "User-Agent": f"atrium-python/{VERSION} (python {platform.python_version()})",
            **headers,
        }
        if call.body is not None:
            h["Content-Type"] = "application/merge-patch+json" if call.merge else "application/json"
        token = options["token"] if "token" in options else self._credential()
        for name, value in (
            ("Authorization", token and f"Bearer {checked('credential', token)}"),
            ("Workspace-Id", options.get("workspace") or self._workspace),
            ("If-Match", options.get("if_match")),
            ("If-None-Match", options.get("if_none_match")),
            ("Idempotency-Key", call.key),
        ):
            if value:
                h[name] = value
        query: List[Tuple[str, str]] = []
        for k, v in call.query.items():
            if isinstance(v, dict):
                for member, text in v.items():
                    field, bracket, operator = member.partition("[")  # amount[gte] is filter[amount][gte]
                    query.append((f"{k}[{field}]{bracket}{operator}", _text(text)))
            elif v is not None:
                query.append((k, _text(v)))
        url = self.base_url + call.path + ("?" + urllib.parse.urlencode(query) if query else "")
        return Request(call.method, url, h, call.body, timeout)

    @staticmethod
    def _keep(into: Optional[ResponseInfo], response: Response) -> None:
        if into is not None:
            h = response.headers
            into.status, into.headers = response.status, h
            into.etag, into.request_id = h.get("etag", ""), h.get("request-id", "")
            into.replayed = h.get("idempotency-replayed") == "true"

    def _events(self, call: _Call) -> Iterator[ServerEvent[Any]]:
        """The events of a stream. One that ends or breaks is opened again, with the id of the last event."""
        cancel = call.options.get("cancel")
        last, retry, failures = "", 0.5, 0
        while cancel is None or not cancel.is_set():
            asked = 0.0
            try:
                headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
                response, _, end = self._attempt(call, failures + 1, headers, stream=True)
                end(None, None)
            except Cancelled:
                return
            except _Failed as failed:
                error = failed.error
                failed.end(error, None)
                if isinstance(error, AtriumError):
                    if error.status < 500 and error.status != 429:
                        raise error from None
                    asked = min(MAX_RETRY_AFTER, error.retry_after or 0)
                elif not isinstance(error, AtriumConnectionError):
                    raise error from None
            else:
                try:
                    for event in read_events(response.body, last, cancel):
                        if isinstance(event, float):
                            retry = event
                            continue
                        failures, last = 0, event.id
                        yield event
                except FAILURES:
                    pass  # broken: an incomplete event is discarded
                finally:
                    response.body.close()
            pause = min(15.0, retry * 2 ** min(failures, 6)) * random.uniform(0.5, 1)
            failures += 1
            try:
                self._sleep(max(pause, asked), cancel)
            except Cancelled:
                return


class _Failed(Exception):
    """An attempt that failed, and the function that tells the observer."""

    def __init__(self, error: Exception, end: Callable[[Optional[BaseException], Optional[float]], None]) -> None:
        self.error, self.end = error, end


class Resource:
    """The calls of a resource."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller


def _split(url: str) -> Optional[urllib.parse.SplitResult]:
    """The parts of a URL. None if it is not valid: the errors of urllib would quote its password."""
    try:
        parts = urllib.parse.urlsplit(url)
        return parts if parts.port != 0 else None
    except ValueError:
        return None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError("a time needs its time zone")
        return value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    return str(value)


def retry_in(call: _Call, error: BaseException, number: int) -> Optional[float]:
    """Seconds until another attempt; None if it cannot help."""
    backoff = min(8.0, 0.5 * 2 ** (number - 1)) * random.uniform(0.5, 1)
    if isinstance(error, AtriumConnectionError):
        return backoff if call.safe else None
    if not isinstance(error, AtriumError):
        return None
    if error.status in (429, 503):  # refused before it began
        again = True
    elif error.status in (408, 502, 504):
        again = call.safe
    else:
        again = call.keyed and (error.status == 500 or error.code == "idempotency_in_flight")
    after = error.retry_after or 0.0
    return max(backoff, after) if again and after <= MAX_RETRY_AFTER else None
