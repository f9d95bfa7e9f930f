"""What several rooms' tests share: `from support import cases`."""
