"""Every bound of the system, each with the reason for its value.

A bound that two places must agree on (a decoder, a database CHECK, a worker) is written here once.
"""

from __future__ import annotations

from typing import Final

# -- text and identifiers ------------------------------------------------------------------------------

HANDLER_CHARACTERS: Final = 128
"""A dotted function name; longer ones are generated and are better aliased."""

AGENT_CHARACTERS: Final = 128
"""`product/version` of a worker: shown to people, never interpreted."""

HANDLE_CHARACTERS: Final = 256
"""An executor handle: machine, boot, pid and start ticks in readable form need about 120."""

ERROR_CODE_CHARACTERS: Final = 64
"""Error codes are words for rules and filters, not prose."""

ERROR_MESSAGE_CHARACTERS: Final = 4096
"""Enough for an exception and the end of its traceback; whole output belongs into the log."""

NOTE_CHARACTERS: Final = 1024
"""An operator's reason in the audit trail: a paragraph."""

REQUEST_KEY_CHARACTERS: Final = 255
"""An idempotency key: a URL or a hash of the submitter fits; indexed, hence not unbounded."""

# -- payloads ------------------------------------------------------------------------------------------

INPUT_BYTES: Final = 64 * 1024
"""Run input: parameters, not data. Larger things are referred to; they would travel with every pull."""

OUTPUT_BYTES: Final = 64 * 1024
"""Run output: the same reasoning; output feeds the inputs of later steps."""

JSON_DEPTH: Final = 128
"""Nesting of user JSON: far below the recursion limits of every parser on the way."""

MENDED_BRACKETS: Final = 64 * 1024
"""Brackets of a body that is scanned in Python for its depth: about 40 ms of one processor."""

LOG_TAIL_CHARACTERS: Final = 16 * 1024
"""The end of a command's output that travels with its completion: a screen or two of text."""

REQUEST_BYTES: Final = 256 * 1024
"""Body of an ordinary worker request: 256 fences of a renewal take about 60 KiB."""

COMPLETION_BYTES: Final = 1024 * 1024
"""Body of a completion: an output over OUTPUT_BYTES must still arrive, to be replaced by null with a flag."""

EXCHANGE_BYTES: Final = 1024 * 1024
"""Body of an exchange: one session's full round of renewals, completions and log chunks."""

LOG_CHUNK_BYTES: Final = 256 * 1024
"""One decoded chunk of output: a row of the log table stays one page of memory for every reader."""

LOG_LIMIT_BYTES: Final = 4 * 1024 * 1024
"""Default of a task's `log_limit`: head and tail of a normal run are kept whole."""

LOG_LIMIT_BYTES_MAX: Final = 256 * 1024 * 1024
"""A database is not a log store; beyond this the task should write its own."""

DEFINITION_BYTES: Final = 256 * 1024
"""Canonical form of one task, trigger or workflow: 128 steps with mappings take about 100 KiB."""

APPLY_BYTES: Final = 8 * 1024 * 1024
"""Body of one `apply`: a large project is some hundred definitions of a few KiB."""

ENTITIES_PER_APPLY: Final = 1000
"""Definitions in one `apply`, which is one transaction and must stay short."""

RUNS_PER_SUBMISSION: Final = 1000
"""Runs in one submission: about half a second of one transaction."""

# -- the worker protocol -------------------------------------------------------------------------------

OFFERS_PER_PULL: Final = 16
"""A pull holds the session row's lock while it claims; more would make heartbeats of the session wait."""

LEASES_PER_RENEWAL: Final = 256
"""One round trip renews a full ordinary worker, and one database batch is at most this many row locks."""

ITEMS_PER_EXCHANGE: Final = 64
"""One exchange: bounded work for one request in flight."""

SESSION_LIMIT: Final = 1024
"""Leases of one session: four renewal requests an interval. A larger node runs two workers."""

LABELS: Final = 64
"""Labels of a session: matching a class is a scan of them."""

LABEL_KEY_CHARACTERS: Final = 63
"""Label keys are names, with a slash allowed for a prefix."""

LABEL_VALUE_CHARACTERS: Final = 128
"""Label values are short words: regions, versions, host names."""

HANDLERS: Final = 256
"""Handler functions of one worker; a program with more serves several workers' purposes."""

SECRETS: Final = 32
"""Secrets of one task: they become environment variables of one child."""

WAIT_S: Final = 30.0
"""A waiting pull ends before common proxies cut an idle request (60 s) with room for a slow answer."""

SESSION_LEASE_S_MIN: Final = 1.0
"""Below a second one lost packet makes a healthy worker replaceable."""

SESSION_LEASE_S_MAX: Final = 3600.0
"""Above an hour a machine that died keeps its name from a successor that may not take over."""

SESSION_LEASE_S: Final = 45.0
"""Default session lease: three missed heartbeats."""

HEARTBEAT_S: Final = 15.0
"""Advice: a third of the session lease."""

LEASE_S: Final = 30.0
"""Run lease: recovery looks at an unstarted offer after at most this long."""

RENEW_S: Final = 10.0
"""Advice: a third of the lease, so that two answers may get lost before it runs out."""

TAKEOVER_PAUSE_S: Final = 60.0
"""Two machines with one name may not replace each other for ever; a person notices within a minute."""

GENERATION_MAX: Final = 2**31 - 1
"""Generations and versions of the protocol are PostgreSQL `int`."""

SEQUENCE_MAX: Final = 2**31 - 1
"""Attestation sequences are PostgreSQL `int`."""

EXIT_CODE_MIN: Final = -(2**63)
EXIT_CODE_MAX: Final = 2**63 - 1
"""Exit codes are PostgreSQL `bigint`: some systems have unsigned 32-bit statuses, and an end is worth knowing
whatever number it comes with."""

# -- definitions ---------------------------------------------------------------------------------------

TIMEOUT_US_MIN: Final = 1_000
"""A millisecond: shorter limits only ever measure the start of the process."""

TIMEOUT_US_MAX: Final = 30 * 86_400 * 1_000_000
"""Thirty days: longer work is a service, not a run."""

KILL_GRACE_US: Final = 10 * 1_000_000
"""Default time between TERM and KILL, as container platforms have it."""

KILL_GRACE_US_MAX: Final = 3600 * 1_000_000
"""An hour: a stop that takes longer is not a stop."""

SILENCE_US_MAX: Final = 365 * 86_400 * 1_000_000
"""`outcome_unknown_after` and its kin: a year is already for ever."""

SILENCE_US_MIN: Final = 1_000_000
"""A second: less than one renewal is not silence."""

PRESUME_LOST_US_MIN: Final = 2 * 30 * 1_000_000
"""Two run leases: before that silence is an ordinary hiccup of the network."""

ATTEMPTS_MAX: Final = 16
"""Tries of one run: what failed sixteen times needs a person."""

BACKOFF_US_MAX: Final = 7 * 86_400 * 1_000_000
"""A week between two tries; the table of delays stays within PostgreSQL's `bigint` by far."""

PRIORITY_MAX: Final = 9
PRIORITY: Final = 5
"""Default priority: the middle, so that there is room on both sides."""

CONCURRENCY_LIMIT_MAX: Final = 10_000
"""Holders of one key are counted under its row lock."""

CONCURRENCY_KEY_CHARACTERS: Final = 255
"""A rendered concurrency key; indexed."""

ARGUMENTS: Final = 256
"""Words of one command line."""

ARGUMENT_CHARACTERS: Final = 32 * 1024
"""One word: a quarter of what Linux accepts for a single argument."""

ENVIRONMENT: Final = 128
"""Variables of one task, beside what the worker itself provides."""

STDIN_CHARACTERS: Final = 64 * 1024
"""Standard input text: as INPUT_BYTES."""

EXIT_CODE_RULES: Final = 32
"""Rules of `exit_codes`; an exit status is one byte and few values carry meaning."""

STEPS: Final = 128
"""Steps of a workflow: the frontier decision reads all of them under the run lock."""

GRACE_US_MAX: Final = 300 * 1_000_000
"""Five minutes: later than that an occurrence is late, whatever the policy calls it."""

JITTER_US_MAX: Final = 300 * 1_000_000
"""Five minutes of jitter spread any herd and stay within the misfire grace."""

CRON_CHARACTERS: Final = 256
"""A cron expression; longer ones are lists that belong into several triggers."""

PLACEMENT_TERMS: Final = 32
"""Labels of each part of a placement, and alternatives of `any`."""

NEVER_STARTED_CLAIMS: Final = 16
"""Claims that expired or were declined without a start before a run fails as `never_started`."""

LATE_CALLBACKS: Final = 8
"""Distinct late reports kept as events of one attempt; a broken worker must not fill the table."""

LIST_ITEMS: Final = 32
LIST_ITEMS_MAX: Final = 200
"""Keyset pages of the operator API: a screen, and the most one request may hold in memory."""
