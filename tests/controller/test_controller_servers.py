"""The front around an application and the two servers of one process."""

import asyncio
import contextlib
import os
import pathlib
import socket

import httpx
import pytest

from agentbeat_controller import ControllerLimits, Door, Service
from agentbeat_controller.front import guarded
from agentbeat_controller.servers import PlaneError, PortError
from support.controllers import code_of

LIMITS = ControllerLimits(early_answer_seconds=1)


async def answer(send, body=b"{}", headers=()):
    await send({"type": "http.response.start", "status": 200, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})


def client(app):
    transport = httpx.ASGITransport(guarded(app, LIMITS), raise_app_exceptions=True)
    return httpx.AsyncClient(transport=transport, base_url="http://controller.test")


# The front


async def test_an_answer_keeps_its_own_headers_and_gets_those_that_are_missing():
    async def app(scope, receive, send):
        await answer(send, headers=[(b"Cache-Control", b"private"), (b"x-own", b"1")])

    async with client(app) as http:
        headers = (await http.get("/")).headers
    assert headers.get_list("cache-control") == ["private"]
    assert (headers["x-own"], headers["x-content-type-options"]) == ("1", "nosniff")


async def test_a_fault_before_the_answer_is_500_and_one_in_the_middle_of_it_cuts_the_connection():
    """Half an answer must not look like a whole one."""

    async def before(scope, receive, send):
        raise RuntimeError("of ours")

    async def in_the_middle(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})
        raise RuntimeError("of ours")

    async def afterwards(scope, receive, send):
        await answer(send)
        raise RuntimeError("of ours")

    async with client(before) as http:
        assert code_of(await http.get("/")) == (500, "internal_error")
    async with client(in_the_middle) as http:
        with pytest.raises(RuntimeError, match="of ours"):
            await http.get("/")
    async with client(afterwards) as http:
        assert (await http.get("/")).text == "{}"


async def test_what_is_not_http_goes_through_untouched():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    await guarded(app, LIMITS)({"type": "lifespan"}, None, None)
    assert seen == ["lifespan"]


async def test_a_body_that_nobody_read_does_not_keep_the_connection():
    async def app(scope, receive, send):
        await answer(send)

    async with client(app) as http:
        assert (await http.post("/", content=b"x" * 1_000)).headers["connection"] == "close"
        assert "connection" not in (await http.post("/", content=b"")).headers


# The two servers


async def planes(app=None):
    async def quick(scope, receive, send):
        await answer(send)

    return Service.bind(control=app or quick, business=quick, limits=ControllerLimits(drain_seconds=5))


async def test_it_is_ready_when_both_planes_answer_and_stops_when_asked():
    service, up = await planes(), asyncio.Event()
    running = asyncio.create_task(service.run(on_ready=up.set))
    await asyncio.wait_for(up.wait(), 10)
    async with httpx.AsyncClient() as http:
        for url in (service.control_url, service.business_url):
            assert (await http.get(url)).status_code == 200
    service.stop()
    await asyncio.wait_for(running, 10)


async def test_an_answer_does_not_wait_for_the_clients_acknowledgement():
    """With Nagle's algorithm each answer on a kept connection would come 40 ms late."""
    seen = []

    async def looks_at_its_connection(scope, receive, send):
        for descriptor in pathlib.Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(descriptor.name))) as found:
                if found.getpeername() == tuple(scope["client"]):
                    seen.append(found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        await answer(send)

    service, up = await planes(looks_at_its_connection), asyncio.Event()
    running = asyncio.create_task(service.run(on_ready=up.set))
    await asyncio.wait_for(up.wait(), 10)
    async with httpx.AsyncClient() as http:
        assert (await http.get(service.control_url)).status_code == 200
    service.stop()
    await asyncio.wait_for(running, 10)
    assert seen == [1]


async def test_when_nobody_can_be_told_that_it_is_up_it_ends():
    """A ready file that cannot be written must not leave two planes that nobody waits for."""

    def fails():
        raise OSError("no such folder")

    service = await planes()
    with pytest.raises(OSError, match="no such folder"):
        await asyncio.wait_for(service.run(on_ready=fails), 10)
    async with httpx.AsyncClient() as http:
        with pytest.raises(httpx.ConnectError):
            await http.get(service.control_url)


async def test_when_an_application_cannot_start_neither_plane_goes_on():
    """A plane that never came up is an error with its name, not a server that waits for ever."""

    async def broken(scope, receive, send):
        assert scope["type"] == "lifespan"
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no room"})

    service, told = Service.bind(control=broken, business=broken), []
    with pytest.raises(PlaneError, match="business plane"):
        await asyncio.wait_for(service.run(on_ready=lambda: told.append("ready")), 10)
    assert told == []
    async with httpx.AsyncClient() as http:
        with pytest.raises(httpx.ConnectError):
            await http.get(service.control_url)


async def test_a_call_in_flight_is_finished_before_the_end():
    entered, leave = asyncio.Event(), asyncio.Event()

    async def slow(scope, receive, send):
        entered.set()
        await leave.wait()
        await answer(send, b'{"done": true}')

    service, up = await planes(slow), asyncio.Event()
    running = asyncio.create_task(service.run(on_ready=up.set))
    await asyncio.wait_for(up.wait(), 10)
    async with httpx.AsyncClient() as http:
        call = asyncio.create_task(http.get(service.control_url))
        await asyncio.wait_for(entered.wait(), 10)
        service.stop()
        await asyncio.sleep(0.15)
        assert not running.done()
        leave.set()
        assert (await call).json() == {"done": True}
    await asyncio.wait_for(running, 10)


async def test_the_second_signal_does_not_wait():
    async def never(scope, receive, send):
        await asyncio.Event().wait()

    service, up = await planes(never), asyncio.Event()
    running = asyncio.create_task(service.run(on_ready=up.set))
    await asyncio.wait_for(up.wait(), 10)
    async with httpx.AsyncClient() as http:
        call = asyncio.create_task(http.get(service.control_url, timeout=30))
        await asyncio.sleep(0.05)
        service.stop()
        service.stop()
        await asyncio.wait_for(running, 4)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)


def test_a_port_that_is_taken_is_named_and_the_other_one_is_given_back():
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as other:
        port, free = taken.getsockname()[1], other.getsockname()[1]
        other.close()
        with pytest.raises(PortError, match=f"business plane: cannot listen on 127.0.0.1 port {port}"):
            Service.bind(control=None, business=None, control_port=free, business_port=port)
        socket.create_server(("127.0.0.1", free)).close()


# Settings


def test_two_deployments_cannot_share_a_secret(rig):
    """A call could not be told from another's."""
    with pytest.raises(ValueError, match="same business secret"):
        Door(rig.plane.book, {"deployment-a": "x" * 40, "deployment-b": "x" * 40})


@pytest.mark.parametrize(
    "changes",
    [
        {"lease_seconds": 0},
        {"lease_seconds": True},
        {"max_body_bytes": 1.5},
        {"control_threads": -1},
        {"lease_seconds": 100, "max_lease_seconds": 99},
    ],
    ids=str,
)
def test_a_bound_that_is_none_fails_where_it_is_written(changes):
    with pytest.raises(ValueError, match="expected"):
        ControllerLimits(**changes)
