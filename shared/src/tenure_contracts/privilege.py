"""The privilege contract: what each database role may do, as data.

Start-up readiness compares this with the catalogue exactly: a missing privilege and an extra one both
refuse to start, each named. The ingress role has no table privilege at all; what it may do is the list of
functions that it may execute, each of which demands the caller's proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

Role = Literal["tenure_owner", "tenure_migrate", "tenure_control", "tenure_operator", "tenure_ingress"]
Privilege = Literal["SELECT", "INSERT", "UPDATE", "DELETE"]

ROLES: Final[tuple[Role, ...]] = (
    "tenure_owner",
    "tenure_migrate",
    "tenure_control",
    "tenure_operator",
    "tenure_ingress",
)
LOGIN_ROLES: Final[tuple[Role, ...]] = ROLES[1:]
"""The owner has no login; the migration role becomes it."""


class Grant(NamedTuple):
    """One privilege on one table; `columns` narrows it (UPDATE and SELECT), empty means the whole table."""

    privilege: Privilege
    columns: frozenset[str] = frozenset()


def _may(*whole: Privilege, select: str = "", update: str = "") -> frozenset[Grant]:
    """Privileges on one table: on all of it, and on the named columns only."""
    narrow: dict[Privilege, str] = {"SELECT": select, "UPDATE": update}
    return frozenset(
        [Grant(privilege) for privilege in whole]
        + [Grant(privilege, frozenset(columns.split())) for privilege, columns in narrow.items() if columns]
    )


GRANTS: Final[Mapping[Role, Mapping[str, frozenset[Grant]]]] = MappingProxyType(
    {
        "tenure_control": {
            "tenure.projects": _may("SELECT"),
            "tenure.project_shares": _may("SELECT", update="next_fair_tag"),
            "tenure.task_revisions": _may("SELECT"),
            "tenure.trigger_revisions": _may("SELECT"),
            "tenure.trigger_cursors": _may(
                "SELECT",
                update=(
                    "claim_expires_at claim_owner claim_token claim_version due_at event_sequence "
                    "last_decision last_fire_at last_observed_at next_fire_at state state_version"
                ),
            ),
            "tenure.runs": _may(
                "SELECT",
                "INSERT",
                update=(
                    "error_code error_message event_sequence finished_at next_attempt_at queued_at status "
                    "unstarted_claims version"
                ),
            ),
            "tenure.run_retry_policies": _may("SELECT", "INSERT"),
            "tenure.run_attempts": _may(
                "SELECT",
                "INSERT",
                update="dispatchable ended_at error_code error_message status",
            ),
            "tenure.run_leases": _may("SELECT", update="release_reason state version"),
            "tenure.recovery_controls": _may(
                "SELECT",
                "INSERT",
                update=(
                    "attested_sequence claim_expires_at claim_owner claim_token claim_version "
                    "failure_count last_answer lease_generation lease_version next_claim_at status "
                    "updated_at"
                ),
            ),
            "tenure.run_events": _may("INSERT"),
            "tenure.trigger_events": _may("INSERT"),
            "tenure.schema_migrations": _may("SELECT"),
        },
        "tenure_operator": {
            "tenure.projects": _may("SELECT", "INSERT", update="state version weight"),
            "tenure.project_shares": _may("SELECT", "INSERT", update="next_fair_tag"),
            "tenure.placement_classes": _may("SELECT"),
            "tenure.task_heads": _may("SELECT", "INSERT", update="current_revision state version"),
            "tenure.task_revisions": _may("SELECT", "INSERT"),
            "tenure.trigger_heads": _may("SELECT", "INSERT", update="current_revision state version"),
            "tenure.trigger_revisions": _may("SELECT", "INSERT"),
            "tenure.trigger_cursors": _may(
                "SELECT",
                "INSERT",
                update=(
                    "claim_expires_at claim_owner claim_token due_at event_sequence last_observed_at "
                    "next_fire_at revision state state_version"
                ),
            ),
            "tenure.trigger_events": _may("SELECT", "INSERT"),
            "tenure.runs": _may(
                "SELECT", "INSERT", update="cancel_reason cancel_requested_at event_sequence version"
            ),
            "tenure.run_retry_policies": _may("SELECT", "INSERT"),
            "tenure.run_attempts": _may("SELECT", "INSERT"),
            "tenure.run_events": _may("SELECT", "INSERT"),
            "tenure.recovery_controls": _may("SELECT"),
            "tenure.attempt_declines": _may("SELECT"),
            "tenure.workers": _may("SELECT", "INSERT"),
            "tenure.worker_sessions": _may("SELECT", update="drain_requested_at"),
            "tenure.operators": _may("SELECT"),
            "tenure.role_bindings": _may("SELECT"),
            "tenure.operator_tokens": _may("SELECT"),
            "tenure.security_audit_events": _may("SELECT", "INSERT"),
            "tenure.run_leases": _may(
                select=(
                    "acquired_at attempt attested_at attested_sequence attested_state deadline_at "
                    "expires_at generation offer release_reason renewed_at session state stop_reason "
                    "stop_requested_at version worker"
                ),
                update="stop_reason stop_requested_at",
            ),
            "tenure.worker_credentials": _may(
                "INSERT",
                select=(
                    "created_at created_by credential expires_at first_used_at not_before request_id state "
                    "version worker"
                ),
                update="state",
            ),
            "tenure.schema_migrations": _may("SELECT"),
        },
        "tenure_ingress": {},
    }
)
"""Role → table (`schema.name`) → privileges."""

FUNCTIONS: Final[Mapping[Role, frozenset[str]]] = MappingProxyType(
    {
        "tenure_control": frozenset(
            {
                "tenure.admit_run",
                "tenure.clock",
                "tenure.create_attempt",
                "tenure.lock_attempts",
                "tenure.lock_definitions",
                "tenure.return_to_queue",
                "tenure.take_fair_tag",
            }
        ),
        "tenure_operator": frozenset(
            {
                "tenure.admit_run",
                "tenure.clock",
                "tenure.create_attempt",
                "tenure.lock_definitions",
                "tenure.placement_class",
                "tenure.placement_matches",
                "tenure.take_fair_tag",
            }
        ),
        "tenure_ingress": frozenset(
            {
                "ingress_api.attest_v1",
                "ingress_api.authenticate_v1",
                "ingress_api.claim_offers_v1",
                "ingress_api.complete_v1",
                "ingress_api.decline_v1",
                "ingress_api.dispatchable_v1",
                "ingress_api.drain_v1",
                "ingress_api.heartbeat_v1",
                "ingress_api.held_leases_v1",
                "ingress_api.offline_v1",
                "ingress_api.record_refusals_v1",
                "ingress_api.register_v1",
                "ingress_api.renew_v1",
                "ingress_api.running_v1",
                "ingress_api.start_failure_v1",
                "ingress_api.starting_v1",
            }
        ),
    }
)
"""Role → names (`schema.name`) of the functions that it may execute. No function is overloaded: a changed
meaning is a new name, with its version in it."""
