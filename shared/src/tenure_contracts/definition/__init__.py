"""Definitions: what a project directory declares, strictly read, validated and compiled.

`read_*` turn plain values (from YAML, TOML or JSON) into definitions and note every fault with its path;
`compile_*` turn a definition into what is stored: a canonical specification with its digest.
"""

from tenure_contracts.definition.declare import (
    ConcurrencyDefinition,
    StepDefinition,
    TaskDefinition,
    TriggerDefinition,
    WorkflowDefinition,
)
from tenure_contracts.definition.project import ProjectDefinitions, merge_projects, read_project
from tenure_contracts.definition.task import (
    CompiledTask,
    TaskSpec,
    compile_task,
    decode_task_spec,
    read_task,
)
from tenure_contracts.definition.trigger import (
    CompiledTrigger,
    TriggerSpec,
    compile_trigger,
    decode_trigger_spec,
    read_trigger,
)
from tenure_contracts.definition.workflow import (
    CompiledWorkflow,
    WorkflowSpec,
    compile_workflow,
    decode_workflow_spec,
    read_workflow,
)
from tenure_contracts.fault import DefinitionError, DefinitionErrors

__all__ = [
    "CompiledTask",
    "CompiledTrigger",
    "CompiledWorkflow",
    "ConcurrencyDefinition",
    "DefinitionError",
    "DefinitionErrors",
    "ProjectDefinitions",
    "StepDefinition",
    "TaskDefinition",
    "TaskSpec",
    "TriggerDefinition",
    "TriggerSpec",
    "WorkflowDefinition",
    "WorkflowSpec",
    "compile_task",
    "compile_trigger",
    "compile_workflow",
    "decode_task_spec",
    "decode_trigger_spec",
    "decode_workflow_spec",
    "merge_projects",
    "read_project",
    "read_task",
    "read_trigger",
    "read_workflow",
]
