"""A server without a model, for tests of what stands before it: it drains, streams and dies as the course's does.

    python fake_server.py --port PORT

Its text is made of the prompt, token by token, so that a test knows what is right. The prompt ``echo`` gets its own
headers back, and two cookies. A stream of the prompt ``held`` gets one token, and the others when somebody asks for
``/release``, so that a test knows what runs at a moment; ``/held`` says how many wait.
"""

import argparse
import asyncio
import json
import signal
import sys

import uvicorn

SECONDS_PER_TOKEN = 0.001
LAST_SECONDS = 1.0  # from a signal on, in which the balancer learns of it
draining = False
running = held = 0
release = asyncio.Event()


def text_of(prompt, tokens):
    """What the fake answers."""
    return "".join(f" {prompt[:1]}{number}" for number in range(tokens))


async def answer(send, status, body, kind=b"application/json", headers=()):
    start = {"type": "http.response.start", "status": status, "headers": [(b"content-type", kind), *headers]}
    await send(start)
    await send({"type": "http.response.body", "body": body})


async def body_of(receive):
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return json.loads(body)


async def app(scope, receive, send):
    global running
    if scope["type"] != "http":
        return
    if draining:
        await answer(send, 503, b'{"error": {"message": "draining"}}', headers=[(b"retry-after", b"1")])
    elif scope["path"] == "/ready":
        await answer(send, 200, b"")
    elif scope["path"] == "/held":
        await answer(send, 200, str(held).encode())
    elif scope["path"] == "/release":
        release.set()
        release.clear()  # those that wait are woken even so, and the next will wait again
        await answer(send, 200, b"")
    else:
        request = await body_of(receive)
        running += 1
        try:
            await complete(request, send, scope["headers"])
        finally:
            running -= 1


async def complete(request, send, headers):
    if request["prompt"] == "echo":
        lines = [f"{name.decode()}: {value.decode()}" for name, value in headers]
        cookies = [(b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]
        return await answer(send, 200, json.dumps(lines).encode(), headers=cookies)
    text = text_of(request["prompt"], request["max_tokens"])
    if not request["stream"]:
        await asyncio.sleep(SECONDS_PER_TOKEN * request["max_tokens"])
        return await answer(send, 200, json.dumps({"choices": [{"text": text}]}).encode())
    kind = (b"content-type", b"text/event-stream")
    await send({"type": "http.response.start", "status": 200, "headers": [kind]})
    for piece in text.split(" ")[1:]:
        await asyncio.sleep(SECONDS_PER_TOKEN)
        event = json.dumps({"choices": [{"text": " " + piece}]})
        await send({"type": "http.response.body", "body": f"data: {event}\n\n".encode(), "more_body": True})
        if request["prompt"] == "held" and piece == "h0":
            await hold()
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


async def hold():
    global held
    held += 1
    await release.wait()
    held -= 1


async def main(port, host, grace):
    global draining
    config = uvicorn.Config(app, host=host, port=port, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    server.capture_signals = __import__("contextlib").nullcontext  # signals are ours
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    print(f"a fake server at {port}", file=sys.stderr, flush=True)
    serving = asyncio.create_task(server.serve())
    await ended.wait()
    draining = True
    limit = loop.time() + grace
    await asyncio.sleep(LAST_SECONDS)
    while running and loop.time() < limit:
        await asyncio.sleep(0.01)
    server.should_exit, server.force_exit = True, bool(running)
    await serving


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--grace", type=float, default=60)
    parser.add_argument("--no-key", action="store_true")
    given = parser.parse_args()
    asyncio.run(main(given.port, given.host, given.grace))
