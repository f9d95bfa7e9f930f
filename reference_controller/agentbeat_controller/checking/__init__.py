"""`agentbeat controller check`: a catalogue held to its own ground truths, its Controller to the CTL rules.

players         plays calls against an environment, in this process, through both planes
steps           each call of an environment, whose failures are findings
asgi_calls      one request to the business plane
ground_truths   those that an environment gives, looked at first
alterations     what a call's argument could be instead
oracle_checks   what must come of ground truths, idle Agents, dropped and altered calls, attacks
conformance     a Controller of its own, judged by `agentbeat conformance`
playing         the process in which all of that happens
processes       starts it, listens to it, ends it
plays           what it says
findings        what was found, held to what the profile says of itself
reports         findings for programs
report_texts    findings for people
progress        how long work shows that it goes on
options         the command line
"""
