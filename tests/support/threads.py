"""A server for tests that are not async themselves: it has an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading


@contextlib.contextmanager
def served(handler):
    """Serve connections with `handler`, as `asyncio.start_server` takes it; gives the URL."""
    loop = asyncio.new_event_loop()
    started = threading.Event()
    servers = []

    async def serve():
        servers.append(await asyncio.start_server(handler, "127.0.0.1", 0))
        started.set()

    async def stop():
        servers[0].close()
        await servers[0].wait_closed()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        loop.stop()

    def run():
        loop.run_until_complete(serve())
        loop.run_forever()
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    started.wait(10)
    try:
        yield "http://{}:{}".format(*servers[0].sockets[0].getsockname())
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop)
        thread.join(10)
