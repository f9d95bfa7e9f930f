"""`agentbeat claims keygen`: a new keyring.

FOLDER is made, readable by you only, with one private key per role and public.json:

  manifest_authority.key  signs the manifest
  ingress_authority.key   signs tickets, checkpoint, receipts and closing record
  auditor.key             opens private evidence; signs nothing
  public.json             goes to whoever verifies, on a way that is not the bundle's

Give each role's key to whoever has that role. A folder with public.json and some of the keys is a keyring
too: `ticket` needs ingress_authority.key only, and an auditor needs nothing but auditor.key.

The name of each public key is printed: its role, and SHA-256 over the raw key.

example:
  agentbeat claims keygen keys
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from agentbeat_receipts.commands.options import say, write_text

__all__ = ["HELP", "configure", "run"]

HELP: Final = "make a keyring: a new key for each role"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "folder", metavar="FOLDER", type=Path, help="a folder that is new, or empty and yours only"
    )


def run(args: argparse.Namespace) -> int:
    """Write the keys; print the names of their public halves."""
    from agentbeat_receipts.keyring_files import PUBLIC_FILE, create_keyring
    from agentbeat_receipts.keys import Role

    public = create_keyring(args.folder).public
    width = max(map(len, Role))
    write_text("".join(f"{role:<{width}}  {public.key_id(role)}\n" for role in Role))
    say(f"the private keys are in {args.folder}; give {args.folder / PUBLIC_FILE} to those who verify")
    return 0
