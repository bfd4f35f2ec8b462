from __future__ import annotations

import threading
from typing import Callable, Optional

from ._api_gen import Heartbeat, Presence, PresenceResource


class KeepPresence:
    """Sends heartbeats of a device in a thread until it is stopped.

    with KeepPresence(client.presence, {"device_id": "worker-1"}):
        ...
    """

    def __init__(
        self,
        presence: PresenceResource,
        heartbeat: Optional[Heartbeat] = None,
        *,
        on_presence: Optional[Callable[[Presence], None]] = None,
        on_error: Optional[Callable[[Exception], None]] = None,
    ) -> None:
        self._presence, self._heartbeat = presence, heartbeat or {}
        self._on_presence, self._on_error = on_presence, on_error
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the heartbeats. The device expires after its ttl_seconds."""
        self._stopped.set()
        self._thread.join()

    def __enter__(self) -> "KeepPresence":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        seconds = 30.0
        while not self._stopped.is_set():
            try:
                presence = self._presence.heartbeat(self._heartbeat, cancel=self._stopped)
                seconds = presence.get("heartbeat_after_seconds", seconds)
                if self._on_presence:
                    self._on_presence(presence)
            except Exception as e:
                if self._on_error and not self._stopped.is_set():
                    self._on_error(e)
            self._stopped.wait(seconds)
