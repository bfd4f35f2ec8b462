"""What is special about this client. test/clients compares all clients, on a server."""

import io
import json
import os
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from atrium import Atrium, AtriumConnectionError, Cancelled, KeepPresence, Response  # noqa: E402


class Body(io.BytesIO):
    pass


def answer(body, status=200, **headers):
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Response(status, {k.lower().replace("_", "-"): v for k, v in headers.items()}, Body(text))


class ClientTest(unittest.TestCase):
    def client(self, respond, **settings):
        self.requests = []

        def transport(request):
            self.requests.append(request)
            return respond(len(self.requests))

        client = Atrium("https://example.com/base/", "atk_secret", transport=transport, **settings)
        client._caller._sleep = lambda seconds, cancel: None
        return client

    def test_a_base_path_is_kept_and_parameters_are_escaped(self):
        self.client(lambda n: answer({})).prompt_templates.get("a/b c?")
        self.assertEqual(self.requests[0].url, "https://example.com/base/api/prompt-templates/a%2Fb%20c%3F")

    def test_an_address_without_a_scheme_is_told_what_to_write(self):
        for base_url in ("atrium.example.com", "localhost:8080", "ftp://atrium.example.com", ""):
            with self.assertRaisesRegex(ValueError, "such as https://atrium.example.com"):
                Atrium(base_url, "atk_secret")

    def test_a_loop_over_a_list_reads_no_page_that_it_does_not_need(self):
        client = self.client(lambda n: answer({"data": [{"id": 1}, {"id": 2}], "next_cursor": "more"}))
        for item in client.events.list():
            if item["id"] == 2:
                break
        self.assertEqual(len(self.requests), 1)
        for i, _ in enumerate(client.events.list(limit=2).pages()):
            if i == 1:
                break
        self.assertIn("limit=2&cursor=more", self.requests[2].url)

    def test_a_loop_over_rows_without_a_next_page_ends_with_an_error(self):
        client = self.client(lambda n: answer({"data": [{"id": 1}], "next_cursor": None, "has_more": True}))
        items = []
        with self.assertRaisesRegex(ValueError, "no next page"):
            for item in client.events.list():
                items.append(item)
        self.assertEqual(len(items), 1)

    def test_events_resume_where_they_ended(self):
        text = b': comment\n\nid: 1\nevent: snapshot\ndata: {"more":\ndata: true}\n\nid: 2\r\nevent: reset\r\n\r\nid: 3\n'
        client = self.client(lambda n: answer(text))
        got = []
        for event in client.presence.stream():
            got.append((event.id, event.name, event.data))
            if len(got) == 3:
                break
        self.assertEqual(got[:2], [("1", "snapshot", {"more": True}), ("2", "reset", None)])
        self.assertEqual(self.requests[1].headers["Last-Event-ID"], "2")

    def test_an_event_cancels(self):
        cancel = threading.Event()
        client = self.client(lambda n: answer({}))
        cancel.set()
        with self.assertRaises(Cancelled):
            client.me.get(cancel=cancel)
        self.assertEqual(self.requests, [])
        self.assertEqual(list(client.presence.stream(cancel=cancel)), [])

    def test_no_representation_shows_a_secret(self):
        def fail(n):
            raise OSError("connection refused")

        client = self.client(fail, max_retries=0)
        with self.assertRaises(AtriumConnectionError) as caught:
            client.presence.list(user_id="secret").page()
        self.assertEqual(str(caught.exception), "presence.list: connection refused")
        for shown in (repr(client), repr(client._caller), repr(self.requests[0]), repr(answer({}))):
            self.assertNotIn("secret", shown)

    def test_a_token_can_be_a_function(self):
        tokens = iter(["one", "two"])
        requests = []

        def transport(request):
            requests.append(request)
            return answer({})

        client = Atrium("https://example.com", lambda: next(tokens), transport=transport)
        client.me.get()
        client.me.get()
        self.assertEqual(requests[1].headers["Authorization"], "Bearer two")

    def test_heartbeats_end_with_the_block(self):
        beat = threading.Event()
        client = self.client(lambda n: answer({"heartbeat_after_seconds": 3600}))
        with KeepPresence(client.presence, {"device_id": "worker"}, on_presence=lambda p: beat.set()) as keep:
            self.assertTrue(beat.wait(30))
        self.assertFalse(keep._thread.is_alive())
        self.assertEqual(json.loads(self.requests[0].body), {"device_id": "worker"})


if __name__ == "__main__":
    unittest.main()
