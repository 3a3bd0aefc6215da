"""The evaluator scripts as texts: complete, alike where they should be, and filled in without breaking them."""

import ast
import sys
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omagy_autoresearch.evaluator_scripts import script, template_text

TEMPLATES = sorted(
    path.name.removesuffix(".py")
    for path in resources.files("omagy_autoresearch").joinpath("scripts").iterdir()
    if path.name.endswith(".py") and path.name != "shared.py"
)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_script_stands_alone(template: str) -> None:
    """In somebody's repository there is nothing of omagy's to import: what scripts share is in each of them, once."""
    tree = ast.parse(template_text(template))
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = [node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports]
    assert {str(module).partition(".")[0] for module in modules} <= sys.stdlib_module_names
    assert len(modules) == len(set(modules))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert [functions.count(name) for name in ("broken", "answer", "run", "files_of")] == [1, 1, 1, 1]


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_script_explains_itself(template: str) -> None:
    """Its owner reads what the score is, what it cannot see, and where to edit; on Python 3.9, too."""
    text = template_text(template)
    docstring = ast.get_docstring(ast.parse(text, feature_version=(3, 9)))
    assert docstring is not None
    assert "score" in docstring.splitlines()[0].lower() + docstring.splitlines()[1].lower()
    assert "yours to edit" in text


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=3))
def test_any_setting_is_filled_in_as_it_is(command: str, reports: list[str]) -> None:
    """Whatever a command holds, the script has exactly it; the comments beside a setting stay."""
    text = script("count_tests", COMMAND=command, REPORTS=tuple(reports), FORMAT="go").text
    assigned: dict[str, object] = {}
    for node in ast.parse(text).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="COMMAND" | "REPORTS" as name)]):
                assigned[name] = ast.literal_eval(node.value)
            case _:
                pass
    assert assigned == {"COMMAND": command, "REPORTS": tuple(reports)}
    assert 'FORMAT = "go"  # junit,' in text


def test_an_unknown_setting_is_a_mistake_of_ours() -> None:
    """A setting that the script does not have would be ignored in silence."""
    with pytest.raises(AssertionError):
        script("count_tests", COMAND="x")
