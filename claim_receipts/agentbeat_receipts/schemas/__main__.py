"""`python -m agentbeat_receipts.schemas`: write the schemas of this folder anew."""

from __future__ import annotations

from pathlib import Path

from agentbeat_receipts.schemas.generating import generated_schema, schema_names


def write_all(folder: Path) -> None:
    """Write every schema into a folder, and remove those that are no longer made."""
    for stale in {path.stem for path in folder.glob("*.json")} - set(schema_names()):
        (folder / f"{stale}.json").unlink()
    for name in schema_names():
        (folder / f"{name}.json").write_text(generated_schema(name), encoding="utf-8")


if __name__ == "__main__":
    write_all(Path(__file__).parent)
