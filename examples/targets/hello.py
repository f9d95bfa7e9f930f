"""A Target of one's own: an Agent with a tool, and the calls of that tool as evidence (L2)."""

import re

from agentbeat_sdk import Run, Target

target = Target("hello-desk", token_env="HELLO_TOKEN", tier="L2")


@target.tool
def look_up(order: str) -> str:
    return f"Order {order} has been shipped."


@target.invoke
def answer(run: Run) -> str:
    order = re.search(r"[A-Z]-\d+", run.text)
    return look_up(order[0]) if order else "Which order do you mean?"


if __name__ == "__main__":
    target.run(port=8080)
