#!/usr/bin/env bash
# What the step `judge` of action.yml does: its inputs are in SUITE_*, its outputs go to GITHUB_OUTPUT.
set -euo pipefail

arguments=("$SUITE_KIND" "$SUITE_URL")

# Add an option with its value, unless that is empty.
option() {
  if [ -n "$2" ]; then arguments+=("$1=$2"); fi
}

case "$SUITE_KIND" in
  target)
    option --tier "$SUITE_TIER"
    option --budget "$SUITE_BUDGET"
    while IFS= read -r task; do
      task="${task%$'\r'}"
      if [ -n "${task//[[:space:]]/}" ]; then option --task "$task"; fi
    done <<< "$SUITE_TASKS"
    ;;
  controller)
    option --deployment "$SUITE_DEPLOYMENT"
    option --profile "$SUITE_PROFILE"
    option --verify-key "$SUITE_VERIFY_KEY"
    option --write-command "$SUITE_WRITE_COMMAND"
    ;;
  *)
    echo "::error title=AgentBeat conformance::kind: expected target or controller"
    exit 2
    ;;
esac

# The command reads the secret from the environment; it never stands in an argument.
if [ -n "$SUITE_TOKEN" ]; then option --token-env SUITE_TOKEN; fi
option --restart-command "$SUITE_RESTART_COMMAND"
option --only "$SUITE_ONLY"
option --skip "$SUITE_SKIP"
option --expected-failures "$SUITE_EXPECTED_FAILURES"

mkdir -p "$SUITE_REPORTS"
# Pairs and no associative array: the bash of macOS is 3.2.
reports=(json=report.json junit=report.xml html=report.html transcript=transcript.jsonl badge=badge.json)
for report in "${reports[@]}"; do
  path="$SUITE_REPORTS/${report#*=}"
  # A report of an earlier run must not pass for one of this.
  rm -f "$path"
  option "--${report%%=*}" "$path"
done

table="$(mktemp)"
trap 'rm -f "$table"' EXIT
code=0
COLUMNS=120 agentbeat conformance "${arguments[@]}" > "$table" || code=$?
cat "$table"

verdict=""
if [ -f "$SUITE_REPORTS/report.json" ]; then
  verdict="$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["verdict"])' \
    "$SUITE_REPORTS/report.json")"
fi

{
  echo "verdict=$verdict"
  echo "exit-code=$code"
  for report in "${reports[@]}"; do
    path="$SUITE_REPORTS/${report#*=}"
    if [ -f "$path" ]; then echo "${report%%=*}=$path"; fi
  done
} >> "$GITHUB_OUTPUT"

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  {
    echo "### AgentBeat conformance: ${verdict:-nothing was judged}"
    echo
    # No line of the table begins with a tilde, and a summary may be a mebibyte long.
    echo "~~~~~~~~"
    head -c 900000 "$table"
    echo
    echo "~~~~~~~~"
  } >> "$GITHUB_STEP_SUMMARY"
fi

if [ "$code" -eq 3 ] && [ "$SUITE_ALLOW_INCOMPLETE" = true ]; then code=0; fi
exit "$code"
