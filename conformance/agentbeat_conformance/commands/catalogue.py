"""`agentbeat conformance list` and `… explain ID`: what is asked, and how it is checked."""

from __future__ import annotations

import argparse
import difflib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from agentbeat_conformance.commands.options import UsageError, names

if TYPE_CHECKING:
    from agentbeat_conformance.requirements import Requirement

__all__ = ["configure_explain", "configure_list", "run_explain", "run_list"]

_TIERS: Final = ("target-L1", "target-L2", "controller")
_OK: Final = 0


def configure_list(parser: argparse.ArgumentParser) -> None:
    """Add the options of `list`."""
    parser.add_argument("--tier", choices=_TIERS, help="only what is asked of this tier")
    parser.add_argument("--catalogue", metavar="VERSION", help="an older version (default: the newest)")
    parser.add_argument("--json", action="store_true", help="as JSON")


def configure_explain(parser: argparse.ArgumentParser) -> None:
    """Add the options of `explain`."""
    parser.add_argument("ids", metavar="ID", nargs="+", help="INV-3.b, or INV-3 for all its parts")
    parser.add_argument("--catalogue", metavar="VERSION", help="an older version (default: the newest)")


def run_list(args: argparse.Namespace) -> int:
    """Print the catalogue."""
    from agentbeat_conformance.plans import of_tier

    version, catalogue = _catalogue(args)
    chosen = list(catalogue.values()) if args.tier is None else of_tier(catalogue, args.tier)
    if args.json:
        print(_as_json(version, catalogue, chosen))
        return _OK
    width = max((len(made.id) for made in chosen), default=0)
    for made in chosen:
        print(f"{made.id:<{width}}  {made.level:<6}  {made.tier:<10}  {made.text}")
    return _OK


def run_explain(args: argparse.Namespace) -> int:
    """Print all there is to say of some requirements."""
    from agentbeat_conformance.mutants import load
    from agentbeat_conformance.reports.examples import example_of
    from agentbeat_conformance.reports.explain import explain

    _, catalogue = _catalogue(args)
    mutants = {name: mutant.text for name, mutant in load().items()}
    shown = dict.fromkeys(made for name in names(args.ids) for made in _named(name, catalogue))
    print("\n\n".join(explain(made, mutants=mutants, example=example_of(made)) for made in shown))
    return _OK


def _named(name: str, catalogue: Mapping[str, Requirement]) -> list[Requirement]:
    from agentbeat_protocol import cut

    found = [made for made in catalogue.values() if name in (made.id, made.rule)]
    if not found:
        near = difflib.get_close_matches(name[:64], catalogue, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"there is no requirement {cut(name)}{hint}")
    return found


def _as_json(version: str, catalogue: Mapping[str, Requirement], chosen: list[Requirement]) -> str:
    from agentbeat_conformance.requirements import SPECS, SUITE_VERSION, catalogue_digest

    document: dict[str, Any] = {
        "suite_version": SUITE_VERSION,
        "catalogue": version,
        "catalogue_digest": catalogue_digest(catalogue),
        "specs": SPECS,
        "requirements": [
            {
                "id": made.id,
                "level": made.level,
                "tier": made.tier,
                "section": made.section,
                "text": made.text,
                "needs": sorted(made.needs),
                "permits": sorted(made.permits),
                "invocations": made.invocations,
            }
            for made in chosen
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _catalogue(args: argparse.Namespace) -> tuple[str, dict[str, Requirement]]:
    from agentbeat_conformance.catalogues import UnknownVersionError, load_catalogue
    from agentbeat_conformance.requirements import SUITE_VERSION

    version = args.catalogue or SUITE_VERSION
    try:
        return version, load_catalogue(version)
    except UnknownVersionError as error:
        raise UsageError(str(error)) from error
