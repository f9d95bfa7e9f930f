"""What the README shows is what the repository holds."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_target_of_ones_own_is_the_example_and_has_twelve_lines_or_fewer():
    (shown,) = blocks("python")
    assert len([line for line in shown.splitlines() if line.strip()]) <= 12
    example = ast.parse((ROOT / "examples/targets/hello.py").read_text(encoding="utf-8"))
    # The example has a docstring in front, and its last statement behind the guard of a script.
    guarded = example.body[-1]
    assert isinstance(guarded, ast.If)
    example.body = [*example.body[1:-1], *guarded.body]
    assert ast.dump(ast.parse(shown)) == ast.dump(example)


def test_every_file_that_the_readme_names_exists():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    named = re.findall(r"(?:examples|docs)/[\w./-]+\w", README)
    assert links
    for path in {*links, *named}:
        assert (ROOT / path).exists(), path


def test_the_commands_of_the_readme_are_targets_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = set(re.findall(r"(?:^|`)make ([a-z-]+)(?:`|$)", README, re.MULTILINE))
    assert {"demo", "test", "bench"} <= commands
    for command in commands:
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command
