"""Settings: what is read, and everything that is refused with its reason."""

from __future__ import annotations

import pytest

from tenure_control.settings import Settings, read_settings
from tenure_process.address import Address
from tenure_process.settings import SettingsError

GIVEN = {
    "TENURE_CONTROL_DATABASE_URL": "postgresql://tenure_control@db/tenure",
    "TENURE_OPERATOR_DATABASE_URL": "postgresql://tenure_operator@db/tenure",
}


def test_defaults() -> None:
    settings = read_settings(GIVEN | {"TENURE_CONTROL_URL": "http://127.0.0.1:7400", "HOME": "/"})
    assert settings == Settings(
        database_url=GIVEN["TENURE_CONTROL_DATABASE_URL"],
        operator_database_url=GIVEN["TENURE_OPERATOR_DATABASE_URL"],
        replica=settings.replica,
    )
    assert (settings.interval_s, settings.start_budget_s) == (1.0, 60.0)
    assert settings.listen.loopback


def test_everything_can_be_given() -> None:
    settings = read_settings(
        GIVEN
        | {
            "TENURE_CONTROL_LISTEN": "[::1]:0",
            "TENURE_CONTROL_REPLICA": "control-0",
            "TENURE_CONTROL_INTERVAL": "250ms",
            "TENURE_CONTROL_RECOVERY_PAGE": "64",
            "TENURE_CONTROL_EXIT_ON_DATABASE_LOSS": "yes",
        }
    )
    assert settings.listen == Address("::1", 0)
    assert str(settings.listen) == "[::1]:0"
    assert (settings.replica, settings.interval_s, settings.recovery_page) == ("control-0", 0.25, 64)
    assert settings.exit_on_database_loss


REFUSED = [
    ("TENURE_CONTROL_LISTEN", "nowhere", "must be HOST:PORT"),
    ("TENURE_CONTROL_LISTEN", "0.0.0.0:7400", "without TLS"),
    ("TENURE_CONTROL_INTERVAL", "1", "is not a duration"),
    ("TENURE_CONTROL_INTERVAL", "200ms", "must be from 250ms to 1h"),
    ("TENURE_CONTROL_CANCELLATION_INTERVAL", "2h", "must be from 250ms to 1h"),
    ("TENURE_CONTROL_RECOVERY_PAGE", "65", "from 1 to 64"),
    ("TENURE_CONTROL_SCHEDULE_CLAIMS", "many", "whole number"),
    ("TENURE_CONTROL_REPLICA", "a b", "must be 1 to 63"),
    ("TENURE_CONTROL_EXIT_ON_DATABASE_LOSS", "true", "must be yes or no"),
    ("TENURE_CONTROL_TLS_KEY", "key.pem", "belong together"),
    ("TENURE_CONTROL_INTERVALL", "1s", "is not a setting"),
    ("TENURE_CONTROL_DATABASE_URL", "", "is missing"),
    ("TENURE_OPERATOR_DATABASE_URL", "", "is missing"),
]


@pytest.mark.parametrize(("name", "value", "reason"), REFUSED)
def test_what_cannot_be_meant_is_refused_by_name(name: str, value: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason) as caught:
        read_settings(GIVEN | {name: value})
    assert name in str(caught.value)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings({"TENURE_CONTROL_INTERVAL": "soon", "TENURE_CONTROL_STATEMENTS": "-1"})
    assert str(caught.value).count(";") >= 3
