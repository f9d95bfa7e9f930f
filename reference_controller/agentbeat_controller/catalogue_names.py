"""Which environment a name on the command line means.

    desk                      one of the built-in ones
    package.module:attribute  one's own: an `Environment` or a `StagingSystem`, or a class or function without
                              arguments that makes one; found from the working folder too

>>> type(environment_named("desk")).__name__
'DeskEnvironment'
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Final

from agentbeat_protocol import cut

if TYPE_CHECKING:
    from agentbeat_controller.environments.base import Environment

__all__ = ["BUILT_IN", "EnvironmentNameError", "check_name", "environment_named"]

#: The environments that the kit brings: the module and the class.
BUILT_IN: Final = {
    "agentdojo": ("agentbeat_controller.environments.agentdojo", "AgentDojoEnvironment"),
    "desk": ("agentbeat_controller.environments.desk", "DeskEnvironment"),
}
#: Modules that a built-in environment needs beyond the Controller's own, and the extras that have them.
_EXTRAS: Final = {"agentdojo": "agentdojo"}

_OWN: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_ENVIRONMENT: Final = (
    "name", "profiles", "create_tables", "reset", "state", "drop", "checks", "business_app",
)  # fmt: skip
_SYSTEM: Final = ("name", "profiles", "tools", "prepare", "state", "forget", "checks", "places", "version")


class EnvironmentNameError(ValueError):
    """There is no environment of this name; the message says why, in one line."""


def check_name(name: str) -> str:
    """The name, if it is one of a built-in environment or could be one's own.

    Raises:
        EnvironmentNameError: it is neither.
    """
    if name in BUILT_IN or _OWN.fullmatch(name):
        return name
    names = ", ".join(sorted(BUILT_IN))
    raise EnvironmentNameError(f"got {cut(name, 100)!r}, expected {names} or package.module:attribute")


def environment_named(name: str) -> Environment:
    """The environment that a name means.

    Raises:
        EnvironmentNameError: no such environment, or what is there is none.
    """
    from agentbeat_controller.environments.containment import contained

    if name in BUILT_IN:
        return _built_in(name)
    module, _, attribute = check_name(name).partition(":")
    try:
        with contained():
            return _environment(name, _found(name, module, attribute))
    except EnvironmentNameError:
        raise
    except Exception as error:  # what its profiles and tools are asked for may fail in any way
        raise EnvironmentNameError(f"{name}: {_told(error)}") from error


def _built_in(name: str) -> Environment:
    module, attribute = BUILT_IN[name]
    try:
        made: Environment = getattr(importlib.import_module(module), attribute)()
    except ModuleNotFoundError as error:
        if (extra := _EXTRAS.get(error.name or "")) is None:
            raise
        wanted = f"pip install 'agentbeat-kit[{extra}]'"
        raise EnvironmentNameError(f'{name}: needs the extra "{extra}": {wanted}') from None
    except ValueError as error:  # another version of what it is built on
        raise EnvironmentNameError(f"{name}: {cut(str(error), 300)}") from None
    return made


def _found(name: str, module_name: str, attribute: str) -> Any:
    if (here := os.getcwd()) not in sys.path:  # noqa: PTH109 - a text is what sys.path holds
        sys.path.insert(0, here)
    try:
        value: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and f"{module_name}.".startswith(f"{error.name}."):
            raise EnvironmentNameError(f"{name}: no module named {error.name}") from None
        raise EnvironmentNameError(
            f"{name}: {module_name} needs the module {error.name}, which is not installed"
        ) from error
    except Exception as error:  # somebody else's module may fail in any way
        raise EnvironmentNameError(f"{name}: importing {module_name} failed: {_told(error)}") from error
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise EnvironmentNameError(f"{name}: {module_name} has no {attribute}")
        value = getattr(value, part)
    return value


def _environment(name: str, value: Any) -> Environment:
    from agentbeat_controller.environments.custom import StagedEnvironment
    from agentbeat_controller.environments.profile_checks import checked_catalogue

    if inspect.isclass(value) or inspect.isfunction(value):
        try:
            value = value()
        except Exception as error:  # as above
            raise EnvironmentNameError(f"{name}: making it failed: {_told(error)}") from error
    if _missing(value, _ENVIRONMENT):
        if missing := _missing(value, _SYSTEM):
            raise EnvironmentNameError(
                f"{name}: a value of type {type(value).__name__} is no Environment and no StagingSystem "
                f"(a staging system would also have: {', '.join(missing)})"
            )
        value = StagedEnvironment(value)
    environment: Environment = value
    checked_catalogue(environment.profiles)
    return environment


def _missing(value: Any, members: tuple[str, ...]) -> list[str]:
    return [member for member in members if not hasattr(value, member)]


def _told(error: Exception) -> str:
    from agentbeat_controller.environments.containment import EnvironmentExitError
    from agentbeat_controller.environments.profile_checks import ProfileError

    text = " ".join(str(error).split())
    if isinstance(error, ProfileError | EnvironmentExitError):
        return text
    return cut(f"{type(error).__name__}: {text}" if text else type(error).__name__, 300)
