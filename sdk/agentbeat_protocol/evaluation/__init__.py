"""The evaluation's shapes: cases, requests, registry, rules and results (spec 3)."""

from agentbeat_protocol.evaluation.cases import *
from agentbeat_protocol.evaluation.registries import *
from agentbeat_protocol.evaluation.requests import *
from agentbeat_protocol.evaluation.responses import *
from agentbeat_protocol.evaluation.rules import *
