"""`make demo`: a stack of its own, a sample project, and what became of each run and why.

Nothing here is staged: the runs are real, the workers are real processes, and one of them is killed with
SIGKILL while it executes work that must not be repeated. Expectations are checked against the operator API;
the last line says how many held.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio

from tenure import definitions, output
from tenure.client import Operator, path
from tenure.dev import stack
from tenure.dev.place import Place, write_private
from tenure.exit import Stop
from tenure_process.exit import ExitCode

PROJECT: Final = "demo"
DEADLINE_S: Final = 80.0
POLL_S: Final = 0.2

# Short, so that a person need not wait for half a minute to see a lease run out.
SETTINGS: Final = {
    "TENURE_INGRESS_LEASE": "5s",
    "TENURE_INGRESS_RENEW": "1s",
    "TENURE_INGRESS_HEARTBEAT": "2s",
}


@dataclass(frozen=True)
class Expectation:
    """One thing that has to be seen, and what it shows."""

    what: str
    expected: str
    seen: str
    why: str

    @property
    def holds(self) -> bool:
        """Whether it was seen."""
        return self.expected == self.seen


@dataclass
class Demo:
    """The demo while it runs: the API, the workers, and what was expected and seen."""

    operator: Operator
    environment: dict[str, str]
    folder: Path
    began: float = field(default_factory=time.monotonic)
    known: dict[str, str] = field(default_factory=dict)
    expectations: list[Expectation] = field(default_factory=list)

    def tell(self, text: str) -> None:
        """One line of the story, with the seconds since it began."""
        output.say(f"{time.monotonic() - self.began:6.1f} s  {text}")

    def expect(self, what: str, expected: object, seen: object, why: str) -> None:
        """Note what has to be and what was."""
        self.expectations.append(Expectation(what, str(expected), str(seen), why))

    def start(self, task: str, **input_: str) -> str:
        """Start a run by hand; returns its id."""
        body = {"task": task, "input": input_, "idempotency_key": f"demo-{time.time_ns()}"}
        run: str = self.operator.post(path("projects", PROJECT, "runs"), body)["run"]
        return run

    def run(self, run: str) -> dict[str, Any]:
        """One run as the API shows it."""
        view: dict[str, Any] = self.operator.get(path("projects", PROJECT, "runs", run))
        return view

    def online(self) -> set[str]:
        """The workers that have a live session."""
        workers = self.operator.get(path("workers"))["items"]
        return {each["worker"] for each in workers if (each["session"] or {}).get("status") == "online"}

    def last_line(self, run: str) -> str:
        """The end of what the last attempt of a run printed."""
        attempts = self.operator.get(f"{path('projects', PROJECT, 'runs', run)}/attempts")["items"]
        tail = (attempts[-1]["log"] or {}).get("tail") or ""
        return " ".join(tail.strip().rpartition("\n")[2].split())[:60]

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait for a condition, telling every change that is seen meanwhile. Raises Stop when it is late."""
        while not condition():
            self.watch()
            if time.monotonic() - self.began > DEADLINE_S:
                raise Stop(f"the demo waited too long for this: {what}", ExitCode.FAILED)
            time.sleep(POLL_S)
        self.watch()

    def watch(self) -> None:
        """Tell which runs moved since the last look."""
        page = self.operator.get(path("projects", PROJECT, "runs"), limit=200)
        for run in reversed(page["items"]):
            state = run["status"] + (f" ({run['attention']})" if run["attention"] else "")
            if self.known.get(run["run"]) != state:
                self.known[run["run"]] = state
                self.tell(f"{run['task']:<12} {run['run'][-6:]}  {state}")


def main() -> None:
    """Run the demo. Exit 0: everything was as expected; 1: something was not; otherwise as `tenure dev`."""
    try:
        code = trio.run(_main)
    except* Stop as stops:
        code = _say(stops)
    sys.exit(code)


async def _main() -> int:
    with tempfile.TemporaryDirectory(prefix="tenure-demo-") as folder:
        place = Place.below(Path(folder))
        async with trio.open_nursery() as nursery:
            output.say("starting PostgreSQL, control and ingress …")
            wishes = stack.Wishes(settings=SETTINGS)
            environment = await nursery.start(partial(stack.run, place, wishes))
            code = await trio.to_thread.run_sync(_play, environment, Path(folder), abandon_on_cancel=True)
            nursery.cancel_scope.cancel()
    return code


def _play(environment: dict[str, str], folder: Path) -> int:
    with (
        Operator(environment["TENURE_CONTROL_URL"], environment["TENURE_OPERATOR_TOKEN"]) as operator,
        ExitStack() as workers,
    ):
        demo = Demo(operator, environment, folder)
        _apply(demo)
        for name in ("w1", "w2"):
            workers.enter_context(_worker(demo, name))
        demo.wait("the workers are online", lambda: demo.online() == {"w1", "w2"})
        _ordinary_runs(demo)
        _killed_worker(demo)
        _trigger(demo)
    return _report(demo)


def _apply(demo: Demo) -> None:
    for project in definitions.read(Path("docs", "demo")):
        body = {"project": project.name, "definitions": project.definitions, "dry_run": False}
        changes = demo.operator.post(path("apply"), body)["changes"]
        demo.tell(f"project {project.name}: {len(changes)} definitions applied")


@contextmanager
def _worker(demo: Demo, name: str, *labels: str) -> Iterator[subprocess.Popen[bytes]]:
    """Enrol and run a worker for the block; drained at its end, unless it is gone already."""
    credential = demo.folder / f"{name}.token"
    if not credential.exists():
        body = {"request_id": f"00000000-0000-4000-8000-{time.time_ns() % 16**12:012x}"}
        write_private(credential, demo.operator.post(path("workers", name, "credentials"), body)["token"])
    command = [sys.executable, "-m", "tenure", "worker", "run", "--name", name]
    command += ["--credential-file", str(credential), "--journal", str(demo.folder / name)]
    command += ["--ingress-url", demo.environment["TENURE_INGRESS_URL"]]
    for label in labels:
        command += ["--label", label]
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("TENURE_")}
    # A machine without an id of its own gets one: what outlives an agent is found by it.
    environment = {"TENURE_MACHINE_ID": "demo", **inherited}
    with (demo.folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    demo.tell(f"worker {name} started")
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _ordinary_runs(demo: Demo) -> None:
    """Work that succeeds, work that fails, and work that fails once."""
    words = demo.start("count-words", folder="docs")
    checksum = demo.start("checksum")
    broken = demo.start("broken")
    flaky = demo.start("flaky", marker=str(demo.folder / "marker"))
    runs = (words, checksum, broken, flaky)
    demo.wait("ordinary runs end", lambda: all(demo.run(run)["finished_at"] for run in runs))

    demo.expect("count-words", "succeeded", demo.run(words)["status"], demo.last_line(words))
    demo.expect("checksum", "succeeded", demo.run(checksum)["status"], demo.last_line(checksum))
    demo.expect("broken", "failed, attempts: 1", _state(demo.run(broken)), "no retry policy")
    why = "exit 75 is retried"
    demo.expect("flaky", "succeeded, attempts: 2", _state(demo.run(flaky)), why)


def _killed_worker(demo: Demo) -> None:
    """A worker is killed while it runs something that must not run twice."""
    ledger = demo.folder / "ledger"
    with _worker(demo, "payments", "role=payments") as worker:
        run = demo.start("charge-card", ledger=str(ledger))
        demo.wait("charge-card runs", lambda: ledger.exists() and demo.run(run)["status"] == "running")
        worker.send_signal(signal.SIGKILL)
        demo.tell("worker payments killed (SIGKILL) while it charges a card")
        demo.wait("the lease runs out", lambda: demo.run(run)["attention"] is not None)
    silent = demo.run(run)
    why = "silence proves nothing"
    demo.expect("charge-card, worker dead", "waiting_for_evidence", silent["attention"], why)
    why = "not safe to repeat"
    demo.expect("charge-card, run again?", "running, attempts: 1", _state(silent), why)

    with _worker(demo, "payments", "role=payments"):
        demo.wait("charge-card ends", lambda: demo.run(run)["finished_at"] is not None)
    why = "it brought evidence"
    demo.expect("charge-card, worker back", "succeeded, attempts: 1", _state(demo.run(run)), why)
    charges = len(ledger.read_text(encoding="utf-8").splitlines())
    demo.expect("charge-card, its ledger", "charges: 1", f"charges: {charges}", "once, not twice")


def _trigger(demo: Demo) -> None:
    """The trigger fires every ten seconds; by now it has."""

    name = "every-ten-seconds"

    def fired() -> list[dict[str, Any]]:
        page = demo.operator.get(path("projects", PROJECT, "runs"), trigger=name, limit=200)
        return list(page["items"])

    demo.wait("the trigger fires", lambda: any(run["status"] == "succeeded" for run in fired()))
    runs = fired()
    once = len({run["scheduled_for"] for run in runs}) == len(runs)
    times = "once" if len(runs) == 1 else f"{len(runs)} times"
    demo.expect(name, "fired", "fired", f"{times} so far")
    demo.expect(f"{name}, each", "once", "once" if once else "twice", "one run per instant")


def _state(run: dict[str, Any]) -> str:
    return f"{run['status']}, attempts: {run['attempts']}"


def _report(demo: Demo) -> int:
    output.say()
    rows = [
        {"": "ok" if each.holds else "NO", "what": each.what, "seen": each.seen, "why": each.why}
        for each in demo.expectations
    ]
    output.show_table(("", "what", "seen", "why"), rows)
    wrong = [each for each in demo.expectations if not each.holds]
    for each in wrong:
        output.say(f"not as expected: {each.what}: {each.expected} expected, {each.seen} seen")
    if wrong:
        kept = Path(".tenure", "log", "demo")
        shutil.copytree(demo.folder, kept, dirs_exist_ok=True)
        output.say(f"the workers' logs are in {kept}")
    held = len(demo.expectations) - len(wrong)
    output.say(f"demo: {held} of {len(demo.expectations)} as expected")
    return ExitCode.FAILED if wrong else ExitCode.DONE


def _say(group: BaseExceptionGroup[Stop]) -> int:
    found = group.exceptions[0]
    if isinstance(found, BaseExceptionGroup):
        return _say(found)
    found.say()
    return found.code


if __name__ == "__main__":
    main()
