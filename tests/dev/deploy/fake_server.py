"""A server without a model, for tests of what stands before it: it drains, streams and dies as the course's does.

    python fake_server.py --port PORT

Its text is made of the prompt, token by token, so that a test knows what is right.
"""

import asyncio
import json
import signal
import sys

import uvicorn

SECONDS_PER_TOKEN = 0.001
draining = False
running = 0


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
    else:
        request = await body_of(receive)
        running += 1
        try:
            await complete(request, send)
        finally:
            running -= 1


async def complete(request, send):
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
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


async def main(port):
    global draining
    config = uvicorn.Config(app, port=port, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    server.capture_signals = __import__("contextlib").nullcontext  # signals are ours
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    serving = asyncio.create_task(server.serve())
    await ended.wait()
    draining = True
    await asyncio.sleep(1)  # in which the balancer learns of it
    while running:
        await asyncio.sleep(0.01)
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[2])))
