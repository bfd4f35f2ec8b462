"""Makes the calls that a test asks for: one JSON command a line, one JSON result a line. python3 driver.py FOLDER"""

import base64
import concurrent.futures
import json
import logging
import re
import sys
import time
import traceback

sys.path.insert(0, sys.argv[1])

import atrium  # noqa: E402

client = None
attempts = []
warnings = []
logging.getLogger("atrium").addFilter(lambda record: warnings.append(record))


def output(result):
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()


def described(e):
    kinds = (
        (atrium.AtriumError, "api"),
        (atrium.AtriumConnectionError, "connection"),
        (atrium.NotModified, "not_modified"),
        (atrium.RenderError, "render"),
        (atrium.WebhookError, "webhook"),
        (atrium.SecretError, "secret"),
    )
    return {
        "kind": next((name for kind, name in kinds if isinstance(e, kind)), "other"),
        "code": getattr(e, "code", "") or "",
        "status": getattr(e, "status", 0),
        "retry_after": getattr(e, "retry_after", 0) or 0,
        "request_id": getattr(e, "request_id", ""),
        "text": "".join(repr(one) + repr(one.args) + repr(vars(one)) for one in chain(e))
        + "".join(traceback.format_exception(e)),
    }


def chain(e):
    """An exception with its causes and contexts, of which programs log more than Python prints."""
    found = [e]
    for one in found:
        found += [other for other in (one.__cause__, one.__context__) if other and other not in found]
    return found


def observe(attempt):
    attempt.headers["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    def done(o):
        again = o.retry_in is not None
        attempts.append({"number": attempt.number, "status": o.status, "again": again, "name": attempt.call})

    return done


def new(settings, **_):
    global client
    client = atrium.Atrium(
        settings["base"],
        (lambda: settings["token"]) if settings.get("refreshes") else settings.get("token"),
        workspace=settings.get("workspace"),
        max_retries=settings.get("max_retries", 2),
        timeout=settings.get("timeout_ms", 30000) / 1000,
        observe=observe,
    )
    return {"text": repr(client) + str(client)}


def call(name, args=(), body=None, query=None, has_body=False, options=None, **_):
    options = options or {}
    target = client
    for part in name.split("."):
        target = getattr(target, re.sub("([A-Z])", lambda m: "_" + m[1].lower(), part))
    given = list(args)
    if has_body and body is not None:
        given.append(body)
    info = atrium.ResponseInfo()
    known = ("if_match", "if_none_match", "idempotency_key", "workspace", "token")
    called = target(*given, **(query or {}), **{k: options[k] for k in known if options.get(k)}, into=info)
    if options.get("count"):
        names = []
        for event in called:
            output({"event": {"name": event.name, "data": event.data}})
            names.append(event.name)
            if len(names) >= options["count"]:
                break
        return {"value": names}
    if isinstance(called, bytes):
        return {"value": base64.b64encode(called).decode()}
    if name.endswith("Stream"):
        rows = []
        for row in called:
            rows.append(row)
            if len(rows) == options.get("first"):
                break
        called.close()
        return {"value": rows}
    if isinstance(called, atrium.Pages):
        called = list(called) if options.get("all") else called.page()
    return {"value": called, "etag": info.etag, "replayed": info.replayed}


def render(version, values=None, mode="strict", **_):
    return {"value": atrium.render(version, values, mode)}


def inserted(text, **_):
    history = json.loads(text)
    rendered = atrium.render({"messages": [{"placeholder": "h"}]}, {"h": history})
    return {"value": json.dumps(rendered["messages"]) == json.dumps(history)}


def prompt(name, prompt=None, values=None, **_):
    p = client.prompts.get(name, **(prompt or {}))
    return {"value": {"is_fallback": p.is_fallback, "text": p.render(values).get("text"), "failed": p.error is not None}}


def prompts(name, prompt, count, **_):
    begin = time.monotonic()
    options = {k: prompt[k] for k in ("fallback_after",) if prompt.get(k)}
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        one = lambda _: client.prompts.get(name, fallback=lambda: prompt.get("fallback", ""), **options)  # noqa: E731
        texts = [("fallback " if p.is_fallback else "") + p.render()["text"] for p in pool.map(one, range(count))]
    warned = [record.getMessage() for record in warnings]
    warnings.clear()
    return {"value": {"texts": texts, "milliseconds": (time.monotonic() - begin) * 1000, "warnings": warned}}


def visitor(text, secrets, now, name="", **_):
    return {"value": atrium.sign_visitor(secrets[0], text, lasts=now, attributes=name)}


def webhook(text, headers, secrets, now, **_):
    return {"value": atrium.verify_webhook(text, headers, secrets, now=now)}


for line in sys.stdin:
    command = json.loads(line)
    attempts.clear()
    try:
        result = globals()[command.pop("do")](**command)
        output({**result, "attempts": attempts})
    except Exception as e:
        output({"error": described(e), "attempts": attempts})
