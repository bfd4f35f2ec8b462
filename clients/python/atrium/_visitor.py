from __future__ import annotations

import hashlib
import hmac
import time


def sign_visitor(secret: str, visitor: str, *, lasts: int = 86400) -> str:
    """Returns the signature with which your backend vouches for a visitor of an embedded chat, for a number of seconds.

    The secret is the visitor_secret of the embed token, and never belongs in a page. Put the signature into
    data-visitor-signature beside data-visitor.
    """
    until = int(time.time()) + lasts
    return f"{until}.{hmac.new(secret.encode(), f'{until}.{visitor}'.encode(), hashlib.sha256).hexdigest()}"
