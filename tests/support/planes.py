"""Both planes of a Controller on real sockets, in this process."""

from __future__ import annotations

import asyncio
import contextlib
import threading

from agentbeat_controller import Service


@contextlib.contextmanager
def serving(control, business, limits=None):
    """Both planes on real sockets, in a thread of this process."""
    up = threading.Event()
    services = []

    async def serve():
        services.append(Service.bind(control=control, business=business, limits=limits))
        loop = asyncio.get_running_loop()
        # Signals are the main thread's.
        loop.add_signal_handler = lambda *_: None
        loop.remove_signal_handler = lambda *_: None
        services.append(loop)
        await services[0].run(on_ready=up.set)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert up.wait(10)
        yield services[0]
    finally:
        services[1].call_soon_threadsafe(services[0].stop)
        services[1].call_soon_threadsafe(services[0].stop)
        thread.join(10)


async def answers_at_once(scope, receive, send):
    """An application whose `/slow` takes a moment, and nothing else does."""
    if scope["type"] == "lifespan":
        return
    if scope["path"] == "/slow":
        await asyncio.sleep(0.1)
    fields = [(b"content-length", b"2"), (b"x-fields", b"%d" % len(scope["headers"]))]
    await send({"type": "http.response.start", "status": 200, "headers": fields})
    await send({"type": "http.response.body", "body": b"{}"})
