"""The sub-commands of `agentbeat conformance`, one module each."""
