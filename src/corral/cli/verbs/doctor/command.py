"""`corral doctor`: find problems and their remedies."""

from corral.cli import exits, render
from corral.cli.options import AsJson
from corral.cli.running import finish
from corral.cli.verbs.doctor.check import CheckStatus
from corral.cli.verbs.doctor.checks import SETTINGS, all_checks


def doctor(as_json: AsJson = False) -> None:
    """Check the settings, the data folder and the database.

    Changes nothing. Exit code 1 if a check fails (✗), 78 if the settings are invalid; warnings are marked with !.

    \b
    corral doctor
    corral doctor --json | jq '.checks[] | select(.verdict == "wrong")'
    """

    finish(_run_checks(as_json=as_json))


async def _run_checks(*, as_json: bool) -> int:

    checks = [check async for check in all_checks()]
    wrong = sum(check.verdict is CheckStatus.WRONG for check in checks)
    if as_json:
        render.print_json({"ok": not wrong, "checks": [check.shape() for check in checks]})
    else:
        rows = [(check.verdict.value, check.name, check.finding, check.remedy) for check in checks]
        render.print_table(("", "check…", "found…", "what to do…"), rows)
        print(f"{wrong} thing{'s' if wrong != 1 else ''} wrong" if wrong else "everything is fine")
    if any(check.verdict is CheckStatus.WRONG and check.name == SETTINGS for check in checks):
        return exits.BAD_CONFIGURATION
    return exits.FAILED if wrong else exits.DONE
