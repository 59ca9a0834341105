"""Settings: a pure function of names and texts; everything that is wrong is said at once."""

from __future__ import annotations

import pytest

from tenure_http import Limits
from tenure_ingress.settings import Settings, read_settings
from tenure_process.address import Address
from tenure_process.settings import SettingsError

LEAST = {"TENURE_INGRESS_DATABASE_URL": "postgresql://tenure_ingress@db/tenure"}


def read(**names: str) -> Settings:
    return read_settings(LEAST | {f"TENURE_INGRESS_{name}": value for name, value in names.items()})


def test_the_database_is_all_that_must_be_given() -> None:
    settings = read_settings(LEAST)
    assert settings == Settings(database_url=LEAST["TENURE_INGRESS_DATABASE_URL"])
    assert (settings.lease_s, settings.renew_s, settings.heartbeat_s) == (30, 10, 15)


def test_values_have_units() -> None:
    settings = read(LISTEN="[::1]:80", LEASE="1m30s", RENEW="500ms", HEARTBEAT="20s", STATEMENTS="0")
    assert settings.listen == Address("::1", 80)
    assert str(settings.listen) == "[::1]:80"
    assert (settings.lease_s, settings.renew_s, settings.heartbeat_s) == (90, 0.5, 20)
    assert settings.statements == 0
    limited = read(PROCESSES="4", LIMIT_HEADER_TIME="3s", LIMIT_CONNECTIONS="500")
    assert limited.processes == 4
    assert limited.limits == Limits(header_time_s=3, connections=500)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LEASE", "30", "TENURE_INGRESS_LEASE"),
        ("LEASE", "2h", "from 1s to 1h"),
        ("RENEW", "11s", "at most a third"),
        ("HEARTBEAT", "16s", "at most half"),
        ("LISTEN", "7401", "must be HOST:PORT, not '7401'"),
        ("STATEMENTS", "-1", "must be a whole number"),
        ("DEBUG", "true", "must be yes or no"),
        ("TLS_KEY", "/key.pem", "belong together"),
        ("PROCESSES", "0", "from 1 to 64"),
        ("LIMIT_HEADERS", "7", "from 8 to 1000"),
        ("LIMIT_HEADER", "8", "TENURE_INGRESS_LIMIT_HEADER is not a setting"),
        ("LAESE", "30s", "TENURE_INGRESS_LAESE is not a setting"),
    ],
)
def test_what_cannot_be_meant_is_refused(name: str, value: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read(**{name: value})


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings({"TENURE_INGRESS_LEASE": "x", "TENURE_INGRESS_PORT": "1"})
    assert all(name in str(caught.value) for name in ("DATABASE_URL is missing", "_LEASE", "_PORT is not"))


def test_other_machines_are_served_with_tls_or_by_express_wish() -> None:
    with pytest.raises(SettingsError, match="which other machines can reach, without TLS"):
        read(LISTEN="0.0.0.0:7401")
    assert read(LISTEN="0.0.0.0:7401", INSECURE_PLAINTEXT="yes").insecure_plaintext
    secured = read(LISTEN="0.0.0.0:7401", TLS_CERTIFICATE="/c.pem", TLS_KEY="/k.pem", TLS_CLIENT_CA="/ca.pem")
    assert secured.tls is not None
    assert str(secured.tls.client_ca) == "/ca.pem"


def test_two_listeners_need_two_addresses() -> None:
    with pytest.raises(SettingsError, match="are both 127"):
        read(LISTEN="127.0.0.1:7401", PROBE_LISTEN="127.0.0.1:7401")
    read(LISTEN="127.0.0.1:0", PROBE_LISTEN="127.0.0.1:0")


def test_names_of_others_are_left_alone() -> None:
    read_settings(LEAST | {"TENURE_INGRESS_URL": "http://127.0.0.1:7401", "TENURE_CONTROL_LISTEN": "x"})
