# SPDX-License-Identifier: Apache-2.0
"""The scenarios of the Agents SDK (tests/conformance/agents_sdk.py), with an embedded runtime whose log is on PostgreSQL.

Those of the check are about approvals; with TH_TORTURE all, those of ../shared too.
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
CONFORMANCE = HERE.parent / "conformance"
BUILD = os.environ.get("BUILD_DIR", "build")
SHARED = pathlib.Path(os.environ.get("SHARED_DIR", HERE.parents[2] / "shared"))

sys.path.insert(0, str(CONFORMANCE))

import server


def files():
    if not os.environ.get("TH_TORTURE"):
        return [str(CONFORMANCE / "cases" / "agents-approvals.json")]
    return [str(CONFORMANCE / "cases"), *(str(path) for path in sorted(SHARED.glob("cases*/agents-sdk.json")))]


def main():
    sys.argv = ["agents_sdk.py", BUILD, *(sys.argv[1:] or files())]
    import agents_sdk  # reads them
    with server.Server(settings=["fsync=off"]) as postgres:
        def new_store(_case, _folder):
            postgres.sql("DROP SCHEMA IF EXISTS thole CASCADE")
            return postgres.url()
        agents_sdk.new_store = new_store
        failed = agents_sdk.main()
        assert postgres.sql("SELECT count(*) FROM thole.sessions") != "0", "the last one's log is there"
        sys.exit(failed)


if __name__ == "__main__":
    server.run(main)
