"""What the pytest plugin does once it is asked to.

A Target at a URL (`--agentbeat-target`) gives the session an item for each requirement, `agentbeat::INV-3.b`.
A module with a fixture `agentbeat_asgi_app` gets them as its own, `test_it.py::INV-3.b`; the fixture has the
scope of the module or a wider one, since checks share runs of the Agent:

    @pytest.fixture(scope="module")
    def agentbeat_asgi_app():
        return app

    @pytest.fixture(scope="module")
    def agentbeat_secret():
        return "what the application expects behind Bearer"
"""

from agentbeat_conformance.under_pytest.items import announced, application_items, target_node
from agentbeat_conformance.under_pytest.subjects import (
    Conformance,
    conformance_of_application,
    conformance_of_target,
    given_secret,
    given_tasks,
)
from agentbeat_conformance.under_pytest.summaries import nothing_shown, summary_lines

__all__ = [
    "Conformance",
    "announced",
    "application_items",
    "conformance_of_application",
    "conformance_of_target",
    "given_secret",
    "given_tasks",
    "nothing_shown",
    "summary_lines",
    "target_node",
]
