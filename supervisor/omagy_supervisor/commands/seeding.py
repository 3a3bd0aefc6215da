"""What the command line says before the interview begins."""

import msgspec

from omagy_autoresearch.decision import KeepPolicy
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.intake.background import Seeds
from omagy_autoresearch.intake.questions import OWN, QuestionId, Reading
from omagy_autoresearch.names import plain_letters, slugify
from omagy_autoresearch.placeholder import placeholder
from omagy_autoresearch.spelling import nearest
from omagy_supervisor.arguments import Arguments

BUDGET_FLAGS = {"--max-iterations": "{} iterations", "--max-wall-time": "{}"}


def read_seeds(arguments: Arguments) -> Seeds:
    """What the command line says beforehand. Raises ContractError for what could not be an answer."""
    values = arguments.values
    policy, slug, evaluator = values.get("--keep-policy"), values.get("--slug", ""), values.get("--evaluator", "")
    if policy is not None and policy not in tuple(KeepPolicy):
        raise ContractError(
            f"--keep-policy {policy}: there is no such policy{nearest(policy, KeepPolicy)}",
            f"choose {' or '.join(KeepPolicy)}",
        )
    if slug and slugify(slug) != slug:
        better = slugify(plain_letters(slug))
        raise ContractError(
            f"--slug {slug}: a name has lower-case letters, digits and dashes",
            f"for example --slug {better}" if better else "for example --slug faster-parser",
        )
    if evaluator and placeholder(evaluator):
        raise ContractError(
            f"--evaluator is a placeholder: {placeholder(evaluator)}", "name the command that measures"
        )
    return Seeds(
        topic=values.get("--topic", ""),
        evaluator=evaluator,
        keep_policy=KeepPolicy(policy) if policy else None,
        slug=slug,
        agent=values.get("--agent", ""),
        budget=", ".join(shown.format(values[flag]) for flag, shown in BUDGET_FLAGS.items() if flag in values),
    )


def merged(earlier: Seeds, now: Seeds) -> Seeds:
    """What was said in an earlier sitting, and over it what is said now."""
    given = {name: value for name, value in msgspec.structs.asdict(now).items() if value}
    return msgspec.structs.replace(earlier, **given)


def given_answers(seeds: Seeds) -> dict[QuestionId, str]:
    """The answers that ``seeds`` are."""
    answers = {QuestionId.GOAL: seeds.topic, QuestionId.BUDGET: seeds.budget, QuestionId.AGENT: seeds.agent}
    if seeds.evaluator:
        answers |= {QuestionId.MEASURE: OWN, QuestionId.COMMAND: seeds.evaluator, QuestionId.READING: Reading.JSON}
    return {which: given for which, given in answers.items() if given}
