"""killed_signer.py STEP ARGUMENT…: run examples/signer/signer.py, and kill -9 it right after its
STEPth step.

A step is a request to the daemon, a line of the journal, a signature, or a transaction for the
node.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "signer"


def main() -> None:
    left = int(sys.argv[1])
    sys.argv = [str(EXAMPLE / "signer.py"), *sys.argv[2:]]
    sys.path.insert(0, str(EXAMPLE))

    def counted(step: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            done = step(*arguments, **named)
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return run

    import chain
    import signer
    from substrateinterface import Keypair

    for owner, name in (
        (signer.Daemon, "ask"),
        (signer.Journal, "write"),
        (Keypair, "sign"),
        (chain.Node, "submit"),
    ):
        setattr(owner, name, counted(getattr(owner, name)))
    signer.main()


if __name__ == "__main__":
    main()
