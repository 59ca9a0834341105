"""Definition files: what is read, and what is refused with its file and place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenure.definitions import DefinitionFileError, read


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return folder


def test_yaml_and_toml_of_one_project_are_one(tmp_path: Path) -> None:
    write(
        tmp_path,
        a_yaml="project: shop\ntasks:\n  one: {command: [ls]}\n",
        b_toml='project = "shop"\n[tasks.two]\ncommand = ["ls"]\n',
    )
    (project,) = read(tmp_path)
    assert project.definitions == {"tasks": {"one": {"command": ["ls"]}, "two": {"command": ["ls"]}}}
    assert project.origin("$.tasks.two.command[0]") == tmp_path / "b.toml"
    assert project.origin("$.tasks['one']") == tmp_path / "a.yaml"
    assert project.origin("$.tasks.on") is None


def test_scalars_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    text = (
        "project: p\ntasks: {t: {on: [yes, true, 1:30, 2026-01-01, 010, 7, 1.5, ~], exit_codes: {75: retry}}}"
    )
    (project,) = read(write(tmp_path, a_yaml=text))
    assert project.definitions["tasks"]["t"] == {
        "on": ["yes", True, "1:30", "2026-01-01", "010", 7, 1.5, None],
        "exit_codes": {"75": "retry"},
    }


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("project: p\nproject: q", "'project' stands here twice"),
        ("project: p\ntasks: {t: 1, t: 2}", "'t' stands here twice"),
        ("project: p\ntasks: {a: &x {}, b: *x}", "anchors and aliases are not allowed"),
        ("project: p\n? [1]\n: 2", "a key must be text"),
        ("project: p\ntasks: {t: {1: a, '1': b}}", "'1' stands here twice"),
        ("project: p\ntasks: {t: {1.5: a}}", "keys must be text or whole numbers, each once"),
        ("project: p\ntasks: [1]", "a mapping from name to definition expected"),
        ("project: p\ntask: {}", "unknown key 'task'"),
        ("tasks: {}", "`project: NAME` is missing"),
        ("[]", "a mapping expected"),
        ("project: p\ntasks: {t: 1", "expected ',' or '}'"),
        ("project: p\ntasks: {t: !!python/object:os.system {}}", "could not determine a constructor"),
        ("project: p\ntasks: {t: 'a\0b'}", "unacceptable character #x0000"),
        ("project: p\ntasks: " + "[" * 3000, "nested too deeply"),
        ("project: p\ntasks: {t: ['\\uD800']}".replace("'", '"'), "$.tasks.t[0]: text must be Unicode"),
        ("project: P p", "project 'P p' is not a name"),
        ("project: p\ntasks: {t: 1, t: 2}", "a.yaml:2:15: 't' stands here twice"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    folder = write(tmp_path, a_yaml=text)
    with pytest.raises(DefinitionFileError) as refused:
        read(folder)
    assert complaint in str(refused.value)
    assert str(tmp_path / "a.yaml") in str(refused.value)


def test_one_name_in_two_files_is_refused(tmp_path: Path) -> None:
    text = "project: p\ntasks: {t: {command: [ls]}}"
    with pytest.raises(DefinitionFileError, match=r"b\.yaml: tasks\.t is defined in .*a\.yaml already"):
        read(write(tmp_path, a_yaml=text, b_yaml=text))


def test_bad_toml_and_bad_text_are_refused(tmp_path: Path) -> None:
    write(tmp_path, a_toml="project = ")
    with pytest.raises(DefinitionFileError, match=r"a\.toml: Invalid value"):
        read(tmp_path)
    (tmp_path / "a.toml").write_bytes(b"\xff")
    with pytest.raises(DefinitionFileError, match="can't decode byte 0xff"):
        read(tmp_path)


def test_an_empty_folder_and_a_huge_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionFileError, match="no definition files"):
        read(tmp_path)
    write(tmp_path, a_yaml="#" * (1024 * 1024 + 1))
    with pytest.raises(DefinitionFileError, match="a definition file has at most 1048576"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (
            "1979-05-27T07:32:00Z",
            "dates and times are written as text, in quotes (read 1979-05-27 07:32:00+00:00)",
        ),
        ("07:32:00", "dates and times are written as text"),
        ("inf", "numbers must be finite (read inf)"),
    ],
)
def test_what_json_cannot_carry_is_refused_with_its_path(tmp_path: Path, value: str, complaint: str) -> None:
    write(tmp_path, a_toml=f'project = "p"\n[tasks.t]\nstart = [{value}]\n')
    with pytest.raises(DefinitionFileError) as refused:
        read(tmp_path)
    assert f"a.toml: $.tasks.t.start[0]: {complaint}" in str(refused.value)


def test_a_link_to_nothing_is_told_and_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(DefinitionFileError, match="no definition files"):
        read(tmp_path)
    (tmp_path / "gone.yaml").symlink_to("nowhere")
    with pytest.raises(DefinitionFileError, match=r"gone\.yaml: No such file or directory$"):
        read(tmp_path)
