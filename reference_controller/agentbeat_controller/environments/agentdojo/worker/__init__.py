"""The worker: the one process in which AgentDojo is imported, and what it does there.

`python -m agentbeat_controller.environments.agentdojo.worker` reads one JSON object per line from its
standard input and answers each with one line on its standard output; it ends when its input closes.

    upstream    imports the benchmark without the clients of language models, at a fixed time
    shapes      an environment of the benchmark as plain JSON, and back
    starts      starting states, with an injection or without
    seen        which vectors a task meets
    truths      ground truths
    verdicts    the benchmark's own judgement
    service     the requests
"""

from __future__ import annotations

__all__: list[str] = []
