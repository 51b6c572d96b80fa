"""The scripts in `examples/`, from `create` to *in block*, with a real node
(`tools/registry_node/run`).

A wallet that can't run here is played by an independent implementation of what its documentation
says it takes and gives.
"""

import json
import os
import shutil
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
import segno
from PIL import Image

from tests.conftest import ROOT
from tests.qr_reader import read_code
from tests.registry_chain import (
    ENDPOINT,
    NAME,
    ROC,
    fund,
    funded_uri,
    needs_node,
    new_uri,
    read_account,
    write_config,
)
from tests.signing import dev_key

pytestmark = needs_node

EXAMPLES = ROOT / "examples"
#: Where tests/clients/run put the packages of npm, and the Node.js 22 of the node's own packages.
PACKAGES, NODE_JS = (
    os.environ.get("SCENARIOCTL_CLIENTS", ""),
    os.environ.get("SCENARIOCTL_NODE_JS", ""),
)


class Shell:
    """A user's shell: the program is on the PATH, and its config.toml has the chain."""

    def __init__(self, home: Path) -> None:
        self.home = home
        programs = home / "bin"
        programs.mkdir()
        self.add(
            "scenarioctl",
            f'exec {sys.executable} -m scenarioctl --config {write_config(home)} "$@"',
        )
        self.add("python3", f'exec {sys.executable} "$@"')
        self.environment = {
            "HOME": str(home),
            "PATH": f"{programs}:/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ["PYTHONPATH"])),
            "LANG": "C.UTF-8",
        }

    def add(self, name: str, script: str) -> None:
        program = self.home / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def __call__(self, *line: str | Path, stdin: str = "", **variables: str) -> str:
        done = subprocess.run(
            [str(word) for word in line],
            input=stdin,
            cwd=self.home,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def scenarioctl(self, *line: str, stdin: str = "") -> str:
        return self(self.home / "bin" / "scenarioctl", *line, stdin=stdin).strip()

    def pay(self, sender: Any, receiver: Any, *signer: str | Path, **variables: str) -> Any:
        """Pay one token with examples/pay.sh, and return the answer of `broadcast`."""
        line = (
            EXAMPLES / "pay.sh",
            NAME,
            "ROC",
            "1",
            receiver.ss58_address,
            sender.ss58_address,
            *signer,
        )
        return json.loads(self(*line, **variables))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def received(receiver: Any) -> int:
    return read_account(receiver.public_key)[1] // ROC


def with_packages(folder: Path, script: str) -> Path:
    """Return a copy of an example of Node.js with its packages beside it."""
    if not PACKAGES:
        pytest.skip("SCENARIOCTL_CLIENTS names no folder of packages, see tests/clients/run")
    shutil.copy(EXAMPLES / script, folder)
    (folder / "node_modules").symlink_to(Path(PACKAGES) / "node_modules")
    return folder / script


def drafted(shell: Shell, receiver: Any) -> str:
    return shell.scenarioctl(
        "tx",
        "call",
        NAME,
        "Balances",
        "transfer_keep_alive",
        receiver.ss58_address,
        str(ROC),
        "--field",
        "call_data",
    )


def broadcast(shell: Shell, signed: str) -> Any:
    return json.loads(
        shell.scenarioctl("broadcast", NAME, "-", "--wait", "in-block", "--json", stdin=signed)
    )


def sent(shell: Shell, signature: str) -> Any:
    """Assemble payload.json and a signature, and broadcast it."""
    return broadcast(
        shell,
        shell.scenarioctl("tx", "assemble", "--payload", "payload.json", "--signature", signature),
    )


def test_the_python_script_signs(shell: Shell) -> None:
    uri, receiver = funded_uri(), dev_key(new_uri())

    answer = shell.pay(dev_key(uri), receiver, EXAMPLES / "sign.py", SIGNER_KEY=uri)

    assert (answer["success"], received(receiver)) == (True, 1)


def test_the_script_for_polkadot_js_signs(shell: Shell, tmp_path: Path) -> None:
    script = with_packages(tmp_path, "sign-polkadot-js.mjs")
    uri, receiver = funded_uri(), dev_key(new_uri())

    answer = shell.pay(dev_key(uri), receiver, NODE_JS, script, SIGNER_KEY=uri)

    assert (answer["success"], received(receiver)) == (True, 1)


def test_the_script_for_papi_signs(shell: Shell, tmp_path: Path) -> None:
    script = with_packages(tmp_path, "sign-papi.mjs")
    uri, receiver = funded_uri(), dev_key(new_uri())

    signed = shell(NODE_JS, script, ENDPOINT, drafted(shell, receiver), SIGNER_KEY=uri)

    assert (broadcast(shell, signed)["success"], received(receiver)) == (True, 1)


#: `subkey sign` as its source says it: a URI in a file, hex with --hex, and 0x hex as the answer
#: without a line end.
SUBKEY = """
import argparse, sys
from pathlib import Path
from substrateinterface import Keypair, KeypairType
sign = argparse.ArgumentParser()
sign.add_argument("command", choices=["sign"])
sign.add_argument("--scheme", choices=["sr25519", "ed25519"], default="sr25519")
sign.add_argument("--suri", required=True)
sign.add_argument("--hex", action="store_true")
sign.add_argument("--message", required=True)
given = sign.parse_args()
uri = Path(given.suri).read_text().strip()
message = bytes.fromhex(given.message.removeprefix("0x")) if given.hex else given.message.encode()
key = Keypair.create_from_uri(uri, crypto_type=getattr(KeypairType, given.scheme.upper()))
sys.stdout.write("0x" + key.sign(message).hex())
"""


@pytest.mark.parametrize("scheme", ["sr25519", "ed25519"])
def test_the_script_for_subkey_signs(shell: Shell, tmp_path: Path, scheme: str) -> None:
    from substrateinterface import Keypair, KeypairType

    uri, receiver = Keypair.generate_mnemonic(), dev_key(new_uri())
    sender = Keypair.create_from_uri(uri, crypto_type=getattr(KeypairType, scheme.upper()))
    fund(sender.ss58_address)
    (tmp_path / "key").write_text(uri + "\n")
    (tmp_path / "subkey.py").write_text(SUBKEY)
    shell.add("subkey", f'exec {sys.executable} {tmp_path / "subkey.py"} "$@"')

    answer = shell.pay(
        sender,
        receiver,
        EXAMPLES / "sign-subkey.sh",
        SIGNER_KEY_FILE=str(tmp_path / "key"),
        SIGNER_SCHEME=scheme,
    )

    assert (answer["success"], received(receiver)) == (True, 1)


def test_what_the_extension_answers_is_sent(shell: Shell, tmp_path: Path) -> None:
    with_packages(tmp_path, "sign-polkadot-js.mjs")
    shutil.copy(ROOT / "tests" / "clients" / "sign_as_extension.mjs", tmp_path)
    uri, receiver = funded_uri(), dev_key(new_uri())
    payload = shell.scenarioctl(
        "tx",
        "payload",
        drafted(shell, receiver),
        "--chain",
        NAME,
        "--sender",
        dev_key(uri).ss58_address,
        "--json",
    )
    (tmp_path / "payload.json").write_text(payload)

    answer = shell(
        NODE_JS,
        tmp_path / "sign_as_extension.mjs",
        uri,
        stdin=json.dumps(json.loads(payload)["signer_payload"]),
    )

    assert sent(shell, json.loads(answer)["signature"])["success"]
    assert received(receiver) == 1


def vault(picture: Path, key: Any) -> str:
    """Return the text of the QR code that Polkadot Vault shows for *picture*: the signature with
    its kind, as hex."""
    frame = read_code(Image.open(picture))
    # One frame of one; then: Substrate, sr25519, a transaction with a known metadata; account,
    # payload, genesis hash.
    start, account, payload = frame[:8], frame[8:40], frame[40:-32]
    assert start == bytes.fromhex("0000010000" + "530102")
    assert account == key.public_key
    # Vault reads the call with its length before it, and signs it without.
    payload = payload[{0: 1, 1: 2, 2: 4}[payload[0] & 3] :]
    signature = key.sign(
        payload if len(payload) <= 256 else blake2b(payload, digest_size=32).digest()
    )
    return "01" + str(signature.hex())


def test_polkadot_vault_signs_out_and_back(shell: Shell, tmp_path: Path) -> None:
    uri, receiver = funded_uri(), dev_key(new_uri())
    payload = shell.scenarioctl(
        "tx", "payload", drafted(shell, receiver), "--chain", NAME, "--sender", dev_key(
            uri).ss58_address,
        "--qr-file", "out.png", "--json",
    )  # fmt: skip
    (tmp_path / "payload.json").write_text(payload)

    # Its answer is shown as a code too, and read by a camera.
    segno.make(vault(tmp_path / "out.png", dev_key(uri))).save(str(tmp_path / "back.png"), scale=4)
    read = read_code(Image.open(tmp_path / "back.png"))

    assert sent(shell, "0x" + read.decode())["success"]
    assert received(receiver) == 1
