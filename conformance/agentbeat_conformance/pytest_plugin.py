"""The suite under pytest: each requirement is a test item with the requirement's id.

    pytest --agentbeat-target http://127.0.0.1:8080 --agentbeat-token-env AGENT_TOKEN

Or in process, with no port, in any test module (see `under_pytest`):

    @pytest.fixture(scope="module")
    def agentbeat_asgi_app():
        return app

A MUST that does not hold fails. So does what could not run: it was not shown. A SHOULD that is not met passes
and is listed at the end; what is not applicable is skipped. When all were skipped nothing was shown, and the
session fails.

The module is loaded by every pytest on whose path the package lies. Unused it adds its options and looks at
what goes by; the suite is imported when it is asked for.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from agentbeat_conformance.under_pytest import Conformance

__all__: list[str] = []

#: The fixture that stands for an ASGI application to test.
APP_FIXTURE: Final = "agentbeat_asgi_app"
#: Under this name an item's report keeps the outcome of its check.
OUTCOME: Final = "agentbeat_outcome"

_MARKER: Final = "agentbeat: a requirement of the AgentBeat conformance suite"
_SERVED: Final = pytest.StashKey["Conformance"]()

_Status: TypeAlias = "tuple[str, str, str | tuple[str, dict[str, bool]]]"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, all of which begin with `--agentbeat-`, and their settings."""
    group = parser.getgroup("agentbeat", "AgentBeat conformance")
    add = group.addoption
    add("--agentbeat-target", metavar="URL", help="test the Target at this URL")
    add("--agentbeat-tier", choices=("L1", "L2"), help="what the Target declares (default: L1)")
    add("--agentbeat-token-env", metavar="NAME", help="the variable that holds the bearer secret")
    add(
        "--agentbeat-task",
        metavar="TEXT",
        action="append",
        default=[],
        help="a task that makes the Agent use tools, for L2; may be repeated",
    )
    add("--agentbeat-budget", metavar="N", type=int, help="at most N invocations that make the Agent run")
    parser.addini("agentbeat_tier", "what the Target declares: L1 or L2", default="L1")
    parser.addini("agentbeat_tasks", "tasks that make the Agent use tools, one a line", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    """Read the command line as far as it is about a Target at a URL.

    Raises:
        pytest.UsageError: its options do not fit together.
    """
    config.addinivalue_line("markers", _MARKER)
    config.pluginmanager.register(_Tally(), "agentbeat-tally")
    if config.getoption("agentbeat_target") is not None:
        with _naming_the_extra(pytest.UsageError):
            from agentbeat_conformance.under_pytest import conformance_of_target

        conformance = config.stash[_SERVED] = conformance_of_target(config)
        config.add_cleanup(conformance.close)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add an item for each requirement of the Target at the URL to what the session collects."""
    report = yield
    conformance = collector.config.stash.get(_SERVED, None)
    if conformance is not None and isinstance(collector, pytest.Session) and report.passed:
        from agentbeat_conformance.under_pytest import target_node

        report.result.append(target_node(collector, conformance))
    return report


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class,
    name: str,
    obj: object,  # noqa: ARG001 - as the hook is called
) -> list[pytest.Item | pytest.Collector] | None:
    """Add an item for each requirement beside the fixture with the application."""
    if name != APP_FIXTURE or not isinstance(collector, pytest.Module):
        return None
    with _naming_the_extra(pytest.Collector.CollectError):
        from agentbeat_conformance.under_pytest import application_items

    return [*application_items(collector)]


def pytest_report_collectionfinish(config: pytest.Config, items: Sequence[pytest.Item]) -> list[str]:
    """Announce the plan for a Target at a URL before the first request."""
    conformance = config.stash.get(_SERVED, None)
    if conformance is None:
        return []
    from agentbeat_conformance.under_pytest import announced

    return announced(conformance, items)


def pytest_report_teststatus(report: pytest.TestReport) -> _Status | None:
    """A SHOULD that is not met is counted apart from what passed."""
    if report.when == "call" and report.passed and (OUTCOME, "warn") in report.user_properties:
        return "warned", "w", ("WARNED", {"yellow": True})
    return None


@pytest.fixture(scope="module")
def agentbeat_secret(request: pytest.FixtureRequest) -> str | None:
    """The bearer secret of the application to test; override it, or give `--agentbeat-token-env`."""
    from agentbeat_conformance.under_pytest import given_secret

    return given_secret(request.config)


@pytest.fixture(scope="module")
def agentbeat_tasks(request: pytest.FixtureRequest) -> Sequence[str]:
    """Tasks that make the Agent of the application to test use tools; L2 needs one."""
    from agentbeat_conformance.under_pytest import given_tasks

    return given_tasks(request.config)


@pytest.fixture(scope="module")
def _agentbeat_conformance(
    request: pytest.FixtureRequest,
    agentbeat_asgi_app: Any,
    agentbeat_secret: str | None,
    agentbeat_tasks: Sequence[str],
) -> Iterator[Conformance]:
    """What judges the module's application."""
    from agentbeat_conformance.under_pytest import conformance_of_application

    conformance = conformance_of_application(
        request.config, agentbeat_asgi_app, secret=agentbeat_secret, tasks=agentbeat_tasks
    )
    yield conformance
    conformance.close()


@contextlib.contextmanager
def _naming_the_extra(kind: type[Exception]) -> Iterator[None]:
    """Say how to install what is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise kind(f"no module {error.name}: pip install 'agentbeat-kit[conformance]'") from None


class _Tally:
    """What the requirements' items came to, also where other processes ran them."""

    def __init__(self) -> None:
        self.reports: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the reports of requirements."""
        if report.when == "call" and any(name == OUTCOME for name, _ in report.user_properties):
            self.reports.append(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Requirements of which nothing was shown are no pass."""
        if self.reports and session.exitstatus == pytest.ExitCode.OK:
            from agentbeat_conformance.under_pytest import nothing_shown

            if nothing_shown(self.reports):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what the requirements come to as a whole, and which SHOULDs are not met."""
        if self.reports:
            from agentbeat_conformance.under_pytest import summary_lines

            terminalreporter.write_sep("=", "AgentBeat conformance")
            for line in summary_lines(self.reports):
                terminalreporter.write_line(line)
