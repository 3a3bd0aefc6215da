"""``omagy stop-conditions list | evaluate``: the rules, and the one that applies to what was observed."""

from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.observation import KEYS
from omagy_autoresearch.spelling import nearest
from omagy_autoresearch.stop_conditions import RULES, TERMS, Rule, Ruling, evaluate
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.options import Options, read_options
from omagy_supervisor.settings import Settings
from omagy_supervisor.ui.messages import show, show_json

_VERBS = ("list", "evaluate")
_WIDE = 79
_HELP = """omagy stop-conditions list [--json]
omagy stop-conditions evaluate --input '<json>' [--json]

When an agent's loop stops, waits or goes on. `evaluate` reads what was
observed (- for stdin) and answers with the rule that applies; what contradicts
itself, or what no rule covers, answers needs_reconcile.

examples:
  omagy stop-conditions evaluate --input '{"state":"merge_ready"}'
  omagy stop-conditions evaluate --json \\
      --input '{"state":"waiting","waited_s":900,"quiet":true}'

evaluate --json: {"rule", "stops", "state", "needs_reconcile", "owner",
                  "behaviour", "contradictions", "also", "watch": null or
                  {"budget_s", "waited_s", "remaining_s", "exceeded"}}
list --json:     {"rules": [{"id", "condition", "strategy", "effect",
                  "behaviour", "next_state", "watch_s"}],
                  "terms": [{"word", "meaning"}]}
exit status: 0 with any ruling · 2 usage error

An observation may say:
"""


def stop_conditions(words: list[str], settings: Settings) -> int:
    """Run one of the two commands; returns its exit status. Raises ContractError."""
    del settings
    options = read_options(words, "stop-conditions", flags=("--json",), values=("--input",))
    if options.has("--help"):
        show(_help())
        return 0
    match options.words:
        case ["list"] if "--input" not in options.values:
            return _list(as_json=options.has("--json"))
        case ["evaluate"] if "--input" in options.values:
            return _evaluate(options)
        case ["evaluate"]:
            raise ContractError(
                "evaluate needs --input", """omagy stop-conditions evaluate --input '{"state":"waiting"}'"""
            )
        case ["list"]:
            raise ContractError("list takes no --input", "omagy stop-conditions list")
        case [word, *_] if word not in _VERBS:
            raise ContractError(
                f"stop-conditions has no command {word}{nearest(word, _VERBS)}", "omagy stop-conditions --help"
            )
        case []:
            raise ContractError("a command is missing: list or evaluate", "omagy stop-conditions --help")
        case _:
            verb, *rest = options.words
            raise ContractError(f"{verb} takes no {' '.join(rest)}", "omagy stop-conditions --help")


def _help() -> str:
    import textwrap

    width = max(map(len, KEYS))
    rows = (
        textwrap.fill(meaning, _WIDE, initial_indent=f"  {key.ljust(width)}  ", subsequent_indent=" " * (width + 4))
        for key, meaning in KEYS.items()
    )
    return _HELP + "\n".join(rows)


def _list(*, as_json: bool) -> int:
    if as_json:
        show_json({"rules": RULES, "terms": TERMS})
        return 0
    for rule in RULES:
        effect = "stop" if rule.effect == "stop" else "go on"
        show(f"{rule.id}  {effect}, {rule.strategy or 'all strategies'}")
        show(f"  when  {rule.condition.replace('`', '')}")
        show(f"  then  {_with_watch(rule).replace('`', '')}")
    show("")
    width = max(len(term.word) for term in TERMS)
    for term in TERMS:
        show(f"{term.word.ljust(width)}  {term.meaning}")
    return 0


def _with_watch(rule: Rule) -> str:
    return f"{rule.behaviour} (watch: {format_duration(rule.watch_s)})" if rule.watch_s else rule.behaviour


def _evaluate(options: Options) -> int:
    observation = options.input_object('{"state":"waiting"}')
    if "waiting_since" in observation:
        observation.setdefault("now", SystemClock().now().isoformat())
    ruling = evaluate(observation)
    if options.has("--json"):
        show_json(ruling)
        return 0
    for line in _lines(ruling):
        show(line)
    return 0


def _lines(ruling: Ruling) -> list[str]:
    lines = [
        f"{'stop' if ruling.stops else 'go on'}: {ruling.rule or 'no rule stops it'}",
        f"  {ruling.behaviour.replace('`', '')}",
        f"  state: {ruling.state or 'as it is'}; next: {'a person' if ruling.stops else 'the loop'}",
        *(f"  does not fit: {found}" for found in ruling.contradictions),
    ]
    if ruling.also:
        lines.append(f"  holds too: {', '.join(ruling.also)}")
    if ruling.watch is not None:
        used = f"{format_duration(ruling.watch.waited_s)} of {format_duration(ruling.watch.budget_s)}"
        lines.append(f"  watch: {used}{', used up: read the state anew' if ruling.watch.exceeded else ''}")
    return lines
