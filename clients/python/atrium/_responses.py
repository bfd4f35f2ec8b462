from __future__ import annotations

import email.utils
import json
import time
from typing import Optional

from ._errors import AtriumError, NotModified, unexpected
from ._transport import Response


def problem_of(call: str, response: Response, text: bytes) -> Exception:
    if response.status == 304:
        return NotModified(call)
    after = retry_after_of(response.headers.get("retry-after", ""))
    try:
        problem = json.loads(text)
        if isinstance(problem, dict) and isinstance(problem.get("code"), str):
            return AtriumError(call, problem, after)
    except ValueError:
        pass
    return unexpected(call, response.status, response.headers.get("request-id", ""), after)


def retry_after_of(value: str) -> Optional[float]:
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
