"""The sub-commands of `agentbeat claims`, a module each: `HELP`, `configure(parser)`, `run(args)`.

They read and write files, and leave every decision to the room. What is heavy is imported when they run.
"""
