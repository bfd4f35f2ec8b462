from __future__ import annotations

import concurrent.futures
import contextvars
import hashlib
import logging
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from ._api_gen import PromptMessage, ResolvedPrompt, ResolveRef
from ._core import Options
from ._errors import AtriumConnectionError, AtriumError
from ._render import Prepared, RenderedPrompt

if TYPE_CHECKING:
    from ._api_gen import PromptTemplatesResource

#: How long a question that failed is not repeated, in seconds.
_PAUSE = 5.0

_log = logging.getLogger("atrium")

Fallback = Union[str, List[PromptMessage], Mapping[str, Any]]
Key = Tuple[str, str, str]  # workspace, name, ref


@dataclass(frozen=True)
class Prompt:
    """A prompt, ready to be rendered."""

    name: str
    ref: str
    #: As the server returned it; None for the fallback.
    version: Optional[Mapping[str, Any]]
    is_fallback: bool
    #: Why the server did not confirm this prompt, if it did not.
    error: Optional[Exception]
    _prepared: Prepared = field(repr=False)

    def render(self, variables: Optional[Mapping[str, Any]] = None, mode: str = "strict") -> RenderedPrompt:
        """Fills in variables on this machine, with the same result as the server. Raises RenderError."""
        return self._prepared.render(variables or {}, mode)


@dataclass
class _Arm:
    """A version of a rollout."""

    slots: List[int]
    version: Mapping[str, Any]
    prepared: Prepared


@dataclass
class _Answer:
    """What the server answers for a prompt."""

    version: Mapping[str, Any]
    prepared: Prepared
    seed: str = ""
    arms: List[_Arm] = field(default_factory=list)  # while a rollout of the label runs

    def chosen(self, reader: str) -> Tuple[Mapping[str, Any], Prepared]:
        """The version that the server chooses for the same reader."""
        if not reader or not self.arms:
            return self.version, self.prepared
        digest = hashlib.sha256(f"{self.seed}\0{reader}".encode("utf-8", "surrogatepass")).digest()
        slot = int.from_bytes(digest[:8], "big") % 100
        arm = next((a for a in self.arms if slot in a.slots), self.arms[0])
        return arm.version, arm.prepared


@dataclass
class _Entry:
    answer: _Answer
    confirmed: float  # when the server last confirmed it
    asked: float  # when the server was last asked
    error: Optional[Exception] = None
    refreshing: bool = False


class Prompts:
    """Prompts, kept in memory. Safe for use by several threads."""

    def __init__(self, templates: "PromptTemplatesResource", now: Callable[[], float] = time.monotonic) -> None:
        self._templates, self._now = templates, now
        self._lock = threading.Lock()
        self._entries: Dict[Key, _Entry] = {}
        self._loading: Dict[Key, "concurrent.futures.Future[_Entry]"] = {}
        self._failures: Dict[Key, Tuple[float, Exception]] = {}  # of calls with a fallback
        self._warned = False  # in this outage

    def get(
        self,
        name: str,
        *,
        ref: str = "active",
        key: str = "",
        fallback: Union[Fallback, Callable[[], Fallback], None] = None,
        fallback_after: float = 2,
        ttl: float = 60,
        max_stale: float = 86_400,
        workspace: str = "",
    ) -> Prompt:
        """Returns a prompt by its name.

        The first call asks the server. Later calls return the prompt in memory: at once, and after ttl seconds while it
        is refreshed in the background. In an outage, the prompt in memory is used for up to max_stale seconds, then
        fallback, or what it returns if it is a function: after fallback_after seconds, and at once for 5 seconds after
        that. A prompt that was deleted, or that the credential may no longer read, is removed from memory. Without a
        fallback, raises what prompt_templates.resolve raises.

        key says who reads, such as the id of your user: while a rollout of the label ref runs, the same key gets the
        same version. The versions of a rollout are in memory too, so that no key needs the server.
        """
        asked = (workspace, name, ref)
        with self._lock:
            entry = self._entries.get(asked)
            age = self._now() - entry.confirmed if entry else 0.0
            if entry and age < ttl + max_stale:
                if age >= ttl and not entry.refreshing and self._now() - entry.asked >= min(ttl, _PAUSE):
                    entry.refreshing, entry.asked = True, self._now()
                    threading.Thread(target=self._refresh, args=(asked, entry), daemon=True).start()
                return self._prompt(asked, entry, key)
        try:
            return self._prompt(asked, self._load_in_time(asked, None if fallback is None else fallback_after), key)
        except Exception as e:
            if fallback is None:
                raise
            self._warn(name, e)
            version: Any = fallback() if callable(fallback) else fallback
            if isinstance(version, str):
                version = {"text": version}
            elif isinstance(version, list):
                version = {"messages": version}
            return Prompt(name, ref, None, True, e, Prepared(version))

    def clear(self) -> None:
        """Forgets the prompts in memory, so that the next get asks the server: for a webhook that tells of a change."""
        with self._lock:
            self._entries.clear()
            self._failures.clear()

    @staticmethod
    def _prompt(key: Key, entry: _Entry, reader: str) -> Prompt:
        version, prepared = entry.answer.chosen(reader)
        return Prompt(key[1], key[2], version, False, entry.error, prepared)

    def _load_in_time(self, key: Key, limit: Optional[float]) -> _Entry:
        """Loads a prompt. With a limit in seconds, it gives up soon, and at once if it has just failed."""
        with self._lock:
            failed, error = self._failures.get(key, (-_PAUSE, None))
            if limit is not None and error and self._now() - failed < _PAUSE:
                raise error
            loading = self._loading.get(key)
            if loading is None:  # threads that ask for the same prompt wait for the same answer
                loading = self._loading[key] = concurrent.futures.Future()
                run = contextvars.copy_context().run  # a trace goes on
                threading.Thread(target=run, args=(self._load, key, loading), daemon=True).start()
        failure: Exception
        try:
            return loading.result(limit)
        except concurrent.futures.TimeoutError:
            failure = AtriumConnectionError("prompts.get", f"no answer within {limit} s")
        except Exception as e:
            failure = e
        if limit is not None:
            with self._lock:
                recent = {k: f for k, f in self._failures.items() if self._now() - f[0] < _PAUSE}
                self._failures = {**recent, key: (self._now(), failure)}
        raise failure

    def _load(self, key: Key, loading: "concurrent.futures.Future[_Entry]") -> None:
        try:
            entry = _Entry(self._resolve(key), self._now(), self._now())
        except Exception as e:
            self._forget(key, e)
            with self._lock:
                del self._loading[key]
            loading.set_exception(e)
            return
        with self._lock:
            del self._loading[key]
            self._failures.pop(key, None)
            self._entries[key], self._warned = entry, False
        loading.set_result(entry)

    def _warn(self, name: str, error: Exception) -> None:
        with self._lock:
            warned, self._warned = self._warned, True
        if not warned:
            _log.warning("The prompt %s is replaced by its fallback: %s", name, error)

    def _forget(self, key: Key, error: Exception) -> None:
        if isinstance(error, AtriumError) and error.status in (401, 403, 404):
            with self._lock:
                self._entries.pop(key, None)

    def _refresh(self, key: Key, entry: _Entry) -> None:
        """Asks the server whether entry is still right. Never raises."""
        try:
            answer = self._resolve(key)
            with self._lock:
                entry.answer = answer
                entry.confirmed, entry.error = self._now(), None
        except Exception as e:
            entry.error = e
            self._forget(key, e)
        finally:
            entry.refreshing = False

    def _resolve(self, key: Key) -> _Answer:
        workspace, name, ref = key
        item = self._items(workspace, [{"name": name, "ref": ref}])[0]
        if "version" in item:
            answer = _Answer(item["version"], Prepared(item["version"]))
            self._divide(workspace, ref, item, answer)
            return answer
        none: Mapping[str, Any] = {}
        error: Mapping[str, Any] = item["error"] if "error" in item else none
        problem = {
            "type": "about:blank",
            "title": "The prompt cannot be used",
            "status": 404,
            "code": error.get("code", "unexpected_response"),
            "detail": error.get("detail", "The response has no version."),
            "request_id": "",
        }
        raise AtriumError("prompts.get", problem)

    def _items(self, workspace: str, refs: List[ResolveRef]) -> List[ResolvedPrompt]:
        options: Options = {"workspace": workspace} if workspace else {}
        return self._templates.resolve({"refs": refs}, **options)["data"]

    def _divide(self, workspace: str, ref: str, item: ResolvedPrompt, answer: _Answer) -> None:
        """Adds the versions of the label's rollout, if one runs."""
        if "rollout" not in item:
            return
        arms = item["rollout"]["versions"]
        template, labelled = item.get("prompt_template_id", ""), answer.version["id"]
        refs: List[ResolveRef] = [
            {"prompt_template_id": template, "ref": a["version_id"]} for a in arms if a["version_id"] != labelled
        ]
        found: Dict[str, Mapping[str, Any]] = {}
        if refs:
            found = {i["version"]["id"]: i["version"] for i in self._items(workspace, refs) if "version" in i}
        answer.seed = item["rollout"]["seed"]
        for a in arms:
            # A version that was deleted since, with the end of the rollout, is replaced by the one that has the label.
            version = found.get(a["version_id"], answer.version)
            chosen = {**version, "rollout": {"label": ref, "weight": a["weight"]}}
            answer.arms.append(_Arm(a["slots"], chosen, Prepared(chosen)))
