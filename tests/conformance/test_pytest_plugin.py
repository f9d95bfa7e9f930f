"""The pytest plugin, in sessions of its own."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree

import pytest

from agentbeat_conformance import under_pytest
from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.mutants import load
from agentbeat_conformance.mutants.base_target import SECRET, TASKS, BaseTarget
from support.threads import served

pytest_plugins = ["pytester"]

# A session in this process forgets what it imported, and a register takes each requirement and mutant once.
assert under_pytest
load_catalogue()
load()

VARIABLE = "CONFORMANCE_TEST_TOKEN"
SETTINGS = """
[pytest]
addopts = --strict-markers --strict-config -p no:cacheprovider
asyncio_default_fixture_loop_scope = function
filterwarnings = error
{more}
"""
IN_PROCESS = """
import pytest
from agentbeat_conformance.mutants.base_target import SECRET, TASKS, BaseTarget

{target}

@pytest.fixture(scope="module")
def agentbeat_asgi_app():
    return {made}.app

@pytest.fixture(scope="module")
def agentbeat_secret():
    return SECRET

@pytest.fixture(scope="module")
def agentbeat_tasks():
    return TASKS
"""


@pytest.fixture
def session(pytester, monkeypatch):
    """Runs pytest in a folder of its own, with warnings as errors; the variable with the secret is set."""
    monkeypatch.setenv(VARIABLE, SECRET)

    def run(*arguments, module=None, more=""):
        pytester.makeini(SETTINGS.format(more=more))
        if module is not None:
            pytester.makepyfile(test_it=module)
        return pytester.runpytest_inprocess(*arguments)

    return run


@pytest.fixture
def at_url(session):
    """The same against a server on a loopback port."""

    def run(target, *arguments, secret=True, **options):
        known = ["--agentbeat-token-env", VARIABLE] if secret else []
        with served(target.stream) as url:
            return session("--agentbeat-target", url, *known, *arguments, **options)

    return run


class WithoutHeaders(BaseTarget):
    """Breaks a SHOULD."""

    def finished(self, reply, asked):
        return reply


class ServesAnybody(BaseTarget):
    """Breaks a MUST."""

    def authorise(self, asked):
        pass


class Fails(BaseTarget):
    """Fails whatever it is asked for, but for its health."""

    async def route(self, asked):
        if asked.path == "/healthz":
            return await super().route(asked)
        raise RuntimeError("broken")


def in_process(target="", made="BaseTarget()"):
    return IN_PROCESS.format(target=target, made=made)


# --- Unused


def test_unused_the_plugin_imports_nothing_of_the_suite():
    code = (
        "import sys, agentbeat_conformance.pytest_plugin\n"
        "ours = {name for name in sys.modules if name.startswith('agentbeat_')}\n"
        "assert ours == {'agentbeat_conformance', 'agentbeat_conformance.pytest_plugin'}, ours\n"
        "assert not {'rich', 'pydantic', 'starlette', 'h11'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(
    "arguments", [["--agentbeat-target", "http://127.0.0.1:9"], []], ids=["URL", "in process"]
)
def test_without_the_extra_it_is_named(pytester, arguments):
    pytester.makeini(SETTINGS.format(more=""))
    pytester.makepyfile(test_it="import pytest\n@pytest.fixture\ndef agentbeat_asgi_app(): pass")
    code = f"import sys, pytest; sys.modules['h11'] = None; sys.exit(pytest.main({arguments!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=pytester.path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "no module h11: pip install 'agentbeat-kit[conformance]'" in done.stdout + done.stderr


def test_unused_the_plugin_is_silent(session):
    result = session(module="def test_own(): pass")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*AgentBeat*")
    result.stdout.no_fnmatch_line("*agentbeat:*")


def test_the_options_are_in_the_help(session):
    result = session("--help")
    for option in ("target=URL", "tier={L1,L2}", "token-env=NAME", "task=TEXT", "budget=N"):
        assert any(f"--agentbeat-{option}" in line for line in result.outlines), option


# --- A Target at a URL


def test_each_requirement_of_a_target_is_an_item(at_url):
    result = at_url(
        BaseTarget(), "-v", "--agentbeat-tier", "L2", "--agentbeat-task", TASKS[0], "-k", "EVD-7 or HLT"
    )
    result.assert_outcomes(passed=10, deselected=len(result.outlines) and deselected(result))
    result.stdout.fnmatch_lines(
        ["agentbeat: 10 requirements of target-L2, at most 2 invocations of the Agent"]
    )
    result.stdout.fnmatch_lines(["agentbeat::HLT-1.a PASSED*", "agentbeat::EVD-7.d PASSED*"])
    result.stdout.fnmatch_lines(["INCOMPLETE  agentbeat as target-L2: 10 pass"])
    assert result.ret == 0


def deselected(result):
    return result.parseoutcomes()["deselected"]


def test_a_conformant_target_is_green_beside_tests_of_ones_own(at_url):
    result = at_url(BaseTarget(), module="def test_own(): pass")
    assert result.ret == 0
    counts = result.parseoutcomes()
    assert set(counts) == {"passed", "skipped"}
    assert counts["skipped"] == 1
    result.stdout.fnmatch_lines(
        [f"CONFORMANT  agentbeat as target-L1: {counts['passed'] - 1} pass, 1 not applicable"]
    )


def test_a_failure_shows_the_exchange_and_the_command_without_the_secret(at_url):
    result = at_url(ServesAnybody(), "-k", "INV-2.a")
    result.assert_outcomes(failed=1, deselected=deselected(result))
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*INV-2.a (MUST) An invocation without the secret is answered 401.*",
            "*got 200, expected 401*",
            "POST /v1/agent/invocations HTTP/1.1",
            "200",
            "curl -isS *",
            "NOT CONFORMANT  agentbeat as target-L1: 1 fail",
        ]
    )
    assert SECRET not in result.stdout.str()


def test_a_command_names_the_variable_that_holds_the_secret(at_url):
    result = at_url(BaseTarget(), "-k", "INV-4.d", "--agentbeat-budget", "2")
    result.stdout.fnmatch_lines([f'*-H "Authorization: Bearer ${VARIABLE}"*'])
    assert SECRET not in result.stdout.str()


def test_what_could_not_run_fails(at_url):
    result = at_url(Fails(), "-k", "INV-4.a or HLT-1.a")
    result.assert_outcomes(failed=1, passed=1, deselected=deselected(result))
    result.stdout.fnmatch_lines(
        ["could not run, so nothing is shown: the positive control was answered *, not 200"]
    )
    result.stdout.fnmatch_lines(["INCOMPLETE  agentbeat as target-L1: 1 pass, 1 could not run"])


def test_the_budget_bounds_the_invocations(at_url):
    target = BaseTarget()
    result = at_url(target, "-k", "INV-1", "--agentbeat-budget", "2")
    assert result.ret == 1
    assert len(target.claims) == 2
    result.stdout.fnmatch_lines(
        ["agentbeat: * at most 2 invocations of the Agent", "*budget of invocations*"]
    )


def test_nobody_there_is_no_pass(session):
    with served(BaseTarget().stream) as url:
        pass
    result = session("--agentbeat-target", url, "-k", "INV-1.a or HLT-1.a")
    result.assert_outcomes(failed=2, deselected=deselected(result))
    assert result.ret == 1


def test_a_should_that_is_not_met_passes_and_is_told(at_url):
    result = at_url(WithoutHeaders(), "-k", "INV-11", "-rA")
    assert result.ret == 0
    assert result.parseoutcomes()["warned"] == 2
    result.stdout.fnmatch_lines(["SHOULD not met: INV-11.a: *Cache-Control*"])


def test_where_all_were_skipped_nothing_is_shown_and_the_session_fails(at_url):
    result = at_url(BaseTarget(), "-k", "INV-2.a", secret=False)
    result.assert_outcomes(skipped=1, deselected=deselected(result))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["NOTHING TESTED  agentbeat as target-L1: 1 not applicable"])


def test_pytests_own_junit_file_names_requirement_and_outcome(at_url, pytester):
    at_url(WithoutHeaders(), "-k", "INV-11.a", "--junitxml", "out.xml")
    (case,) = ElementTree.parse(pytester.path / "out.xml").iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("agentbeat", "INV-11.a")
    properties = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert properties["agentbeat_requirement"] == "INV-11.a"
    assert properties["agentbeat_outcome"] == "warn"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--agentbeat-target", "ftp://user:p4ssword@a.example"], "*--agentbeat-target: got *, expected *"),
        (["--agentbeat-target", "nonsense"], "*--agentbeat-target: got *, expected *"),
        (["--agentbeat-token-env", "NO_SUCH_VARIABLE"], "*NO_SUCH_VARIABLE is not set*"),
        (["--agentbeat-tier", "L2"], "*target-L2 needs a task*"),
        (["--agentbeat-budget", "-1"], "*budget of -1*"),
        (["-o", "agentbeat_tier=L3"], "*agentbeat_tier: got L3, expected L1 or L2*"),
        (["-n", "2"], "*every process would run the Agent for itself*"),
    ],
    ids=["no http", "no URL", "no secret", "no task", "budget", "tier", "xdist"],
)
def test_options_that_do_not_fit_are_a_wrong_command_line(session, arguments, said):
    result = session("--agentbeat-target", "http://127.0.0.1:9", *arguments, module="def test_own(): pass")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([said])
    assert "p4ssword" not in result.stderr.str() + result.stdout.str()


@pytest.mark.long
def test_the_processes_of_xdist_leave_a_target_to_one_of_them(at_url):
    target = BaseTarget()
    result = at_url(target, "-n", "2", "--dist", "loadscope", "-k", "INV-1.a or INV-1.d or INV-11")
    assert result.ret == 0
    assert len(target.claims) == 1
    result.stdout.fnmatch_lines(["INCOMPLETE  agentbeat as target-L1: 4 pass"])


# --- An application in process


def test_each_requirement_of_an_application_is_an_item_of_its_module(session):
    result = session("-v", "--agentbeat-tier", "L2", module=in_process() + "\ndef test_own(): pass\n")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["test_it.py::HLT-1.a PASSED*", "test_it.py::EVD-15 PASSED*", "*::test_own PASSED*"]
    )
    result.stdout.fnmatch_lines(["test_it.py::INV-2.e SKIPPED (it is about bytes *"])
    result.stdout.fnmatch_lines(["CONFORMANT  test_it.py as target-L2: *"])


def test_one_requirement_can_be_asked_for_by_its_id(session):
    result = session("test_it.py::INV-2.a", module=in_process())
    result.assert_outcomes(passed=1)


def test_settings_give_tier_and_tasks(session):
    more = f"agentbeat_tier = L2\nagentbeat_tasks =\n    {TASKS[0]}"
    module = in_process().replace("def agentbeat_tasks", "def other")
    result = session("test_it.py::EVD-7.a", module=module, more=more)
    result.assert_outcomes(passed=1)


def test_the_secret_of_an_application_may_come_from_the_environment(session):
    module = in_process().replace("def agentbeat_secret", "def other")
    result = session("test_it.py::INV-2.a", "--agentbeat-token-env", VARIABLE, module=module)
    result.assert_outcomes(passed=1)


def test_an_application_that_breaks_a_rule_fails_and_gets_no_curl_command(session):
    target = "class Broken(BaseTarget):\n    def authorise(self, asked): pass\n"
    result = session("test_it.py::INV-2.a", module=in_process(target, "Broken()"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*got 200, expected 401*"])
    result.stdout.no_fnmatch_line("curl *")
    assert SECRET not in result.stdout.str()


def test_the_lifespan_of_an_application_is_started_and_ended_once(session, pytester):
    target = """
import pathlib

class Spanned:
    def __init__(self):
        self.target = BaseTarget()

    async def app(self, scope, receive, send):
        if scope["type"] != "lifespan":
            return await self.target.app(scope, receive, send)
        for step in ("startup", "shutdown"):
            await receive()
            with pathlib.Path("steps").open("a") as file:
                file.write(step + "\\\\n")
            await send({"type": f"lifespan.{step}.complete"})
""".replace("\\\\n", "\\n")
    result = session("-k", "HLT or INV-1.a", module=in_process(target, "Spanned()"))
    assert result.ret == 0
    assert (pytester.path / "steps").read_text() == "startup\nshutdown\n"


def test_a_fixture_of_too_narrow_a_scope_is_an_error_that_says_so(session):
    module = in_process().replace('(scope="module")\ndef agentbeat_asgi_app', "\ndef agentbeat_asgi_app")
    result = session("test_it.py::HLT-1.a", module=module)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*ScopeMismatch*agentbeat_asgi_app*"])


def test_two_modules_have_applications_of_their_own(session, pytester):
    pytester.makepyfile(test_other=in_process())
    result = session("-k", "HLT-1.a", module=in_process())
    result.assert_outcomes(passed=2, deselected=deselected(result))
    result.stdout.fnmatch_lines(["INCOMPLETE  test_it.py as *", "INCOMPLETE  test_other.py as *"])
