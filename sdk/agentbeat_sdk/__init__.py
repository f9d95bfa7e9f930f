"""Put an Agent behind the AgentBeat Target protocol.

    from agentbeat_sdk import Run, Target

    target = Target("support-desk", token_env="TARGET_TOKEN", tier="L2")

    @target.invoke
    def answer(run: Run) -> str:
        return f"You asked: {run.text}"

    target.run(port=8080)

`Target` serves the protocol, `tool` records the calls of a function, `Run` is what the Agent gets and
`run.record` where it writes further evidence. A `RunStore` keeps claims and documents.
"""
