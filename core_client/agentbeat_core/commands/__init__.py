"""The sub-commands of Core, one module each; see `agentbeat_core.cli` for what a module holds."""
