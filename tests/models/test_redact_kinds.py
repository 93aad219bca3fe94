"""Keys that are known by how they look, wherever they stand; and what only resembles one."""

from __future__ import annotations

import pytest

from runcell_nb.models.redact import redact

# Put together here, so that no scanner takes this file for a leak.
KEYS = {
    "openai": "sk-" + "proj-abcdef123456",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "github": "ghp_" + "a1B2" * 9,
    "github app": "ghs_" + "a1B2" * 9,
    "github fine": "github_pat_" + "11ABCDEFG0_" + "x" * 40,
    "gitlab": "glpat-" + "abcDEF-1234567890xyz",
    "aws": "AKIA" + "ABCDEFGHIJKLMNOP",
    "aws session": "ASIA" + "ABCDEFGHIJKLMNOP",
    "slack": "xoxb-" + "1234567890-abcdefghij",
    "replicate": "r8_" + "abcdefghij1234567890",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w",
    "pem": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow+/abc=\n-----END RSA " + "PRIVATE KEY-----",
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("around", ["{}", "key={} there", '{{"a": "{}"}}', "({}),", "\n{}\n"])
def test_a_key_is_masked_and_what_stands_around_it_stays(kind: str, around: str) -> None:
    assert redact(around.format(KEYS[kind]), environ={}) == around.format("[key]")


@pytest.mark.parametrize(
    "text",
    [
        "AIza", "ghp_short", "AKIA is a prefix", "MAKIAABCDEFGHIJKLMNOPQ", "xoxb", "eyJ.eyJ.x",
        "a glpat- token",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "r8_model", "dark-asia",
    ],
)  # fmt: skip
def test_what_only_resembles_a_key_stays(text: str) -> None:
    assert redact(text, environ={}) == text
