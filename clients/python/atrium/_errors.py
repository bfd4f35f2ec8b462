from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, cast

if TYPE_CHECKING:
    from ._api_gen import FieldError, Problem


class AtriumError(Exception):
    """An error that the API returned: a problem of RFC 9457. Compare its code."""

    def __init__(self, call: str, problem: Dict[str, Any], retry_after: Optional[float] = None) -> None:
        request_id = str(problem.get("request_id") or "")
        text = f"{call}: {problem['code']}: {problem.get('detail', '')}"
        text += "".join(f" {e['pointer']}: {e['detail']}" for e in (problem.get("errors") or [])[:3])
        super().__init__(text + (f" (request {request_id})" if request_id else ""))
        #: The name of the call: promptTemplates.create.
        self.call = call
        self.code: str = problem["code"]
        self.status: int = problem.get("status", 0)
        #: What went wrong, for people.
        self.detail: str = problem.get("detail", "")
        #: Include it when you ask for support.
        self.request_id = request_id
        #: The errors in the body, each with a JSON Pointer.
        self.errors: List[FieldError] = problem.get("errors") or []
        #: When the call can be repeated, in seconds.
        self.retry_after = retry_after
        #: Everything that the response said.
        self.problem = cast("Problem", problem)


class AtriumConnectionError(Exception):
    """A call that received no response, or none in time. It may have taken effect."""

    def __init__(self, call: str, reason: str) -> None:
        super().__init__(f"{call}: {reason}")
        #: The name of the call.
        self.call = call


class NotModified(Exception):
    """The resource still has the ETag of if_none_match."""


class Cancelled(Exception):
    """The event of the option cancel was set."""


def unexpected(call: str, status: int, request_id: str, retry_after: Optional[float] = None) -> AtriumError:
    return AtriumError(
        call,
        {
            "type": "about:blank",
            "title": "Unexpected response",
            "status": status,
            "code": "unexpected_response",
            "detail": f"The response with status {status} is not from Atrium.",
            "request_id": request_id,
        },
        retry_after,
    )
