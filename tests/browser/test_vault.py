"""Polkadot Vault: the page shows it the payload, and a camera reads its signature."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import segno
from PIL import Image

from scenarioctl.transactions.extrinsic import looks_like_extrinsic
from scenarioctl.transactions.signing.payload import bytes_to_sign
from tests.browser.page import Page, connected, open_browser
from tests.browser.scenarios import a_remark, a_transfer
from tests.browser.signing import paste_address
from tests.browser.wallets import POLKADOT, LivingChain
from tests.qr_reader import read_code
from tests.signing import dev_key
from tests.test_check import ALICE_KEY

pytestmark = pytest.mark.acceptance

#: Pixels of what the camera sees.
WIDTH, HEIGHT = 640, 480


def film(path: Path, text: str = "") -> None:
    """Write a film, which the browser takes for its camera: a QR code of *text*, slightly turned,
    or nothing."""
    picture = Image.new("L", (WIDTH, HEIGHT), 200)
    if text:
        buffer = io.BytesIO()
        segno.make(text).save(buffer, kind="png", scale=5, border=4)
        code = Image.open(buffer).convert("L").rotate(4, expand=True, fillcolor=200)
        picture.paste(code, ((WIDTH - code.width) // 2, (HEIGHT - code.height) // 2))
    gray = bytes([128]) * (WIDTH * HEIGHT // 4)
    frame = b"FRAME\n" + picture.tobytes() + gray + gray
    whole = path.with_suffix(".new")
    whole.write_bytes(b"YUV4MPEG2 W%d H%d F10:1 Ip A1:1 C420\n" % (WIDTH, HEIGHT) + 5 * frame)
    # A camera that is being closed reads its film to the end.
    whole.replace(path)


@pytest.fixture(scope="module")
def camera(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("camera") / "film.y4m"
    film(path)
    return path


@pytest.fixture(scope="module")
def filming(browser: Any, tmp_path_factory: pytest.TempPathFactory, camera: Path) -> Iterator[Any]:
    """Start a browser with a camera; `browser` skips where there is none."""
    more = (
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-video-capture={camera}",
    )
    with open_browser(tmp_path_factory.mktemp("chromium"), *more) as started:
        yield started


def payload_shown(page: Page) -> bytes:
    """Return what the codes on the page hold, read by another reader."""
    page.wait_for("Scan with Polkadot Vault")
    frames = {}
    for image in page.browser.find_elements("css selector", "img.qr"):
        page.browser.execute_script(
            (
                "document.querySelectorAll('img.qr').forEach(each => { each.hidden = each !== "
                "arguments[0] })"
            ),
            image,
        )
        page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", image)
        page.browser.execute_async_script("arguments[0].decode().then(arguments[1])", image)
        data = read_code(Image.open(io.BytesIO(image.screenshot_as_png)))
        frames[int.from_bytes(data[3:5], "big")] = data[5:]
    whole = b"".join(frames[number] for number in sorted(frames))
    assert whole[:3] == b"\x53\x01\x02"
    assert whole[3:35] == ALICE_KEY
    return whole[35:]


def vault_signature(shown: bytes) -> str:
    """Return what Vault shows for a payload: the call behind its length, then what is signed, then
    the genesis hash."""
    body = shown[: -len(bytes.fromhex(POLKADOT.genesis[2:]))]
    mode = body[0] & 3
    payload = body[1 if mode == 0 else 2 if mode == 1 else 4 :]
    return f"01{dev_key().sign(bytes_to_sign(payload)).hex()}"


def ready_for_vault(page: Page, link: str) -> None:
    paste_address(page, link)
    page.wait_for("Scan with Polkadot Vault")


def test_a_transfer_is_signed_by_vault_before_the_camera(
    filming: Any, camera: Path, tmp_path: Path
) -> None:
    with connected(filming, tmp_path) as (page, daemon, network):
        chain = LivingChain(network)
        ready_for_vault(page, f"scenario={a_transfer(daemon)}")
        shown = payload_shown(page)
        film(camera, "https://example.org/not-a-signature")
        page.press("Scan the signature")
        page.wait_for("This code is not a signature.")
        page.press("Stop the camera")
        page.wait(lambda: "This code is not" not in page.text())

        signature = vault_signature(shown)
        film(camera, signature)
        page.press("Scan the signature")
        page.wait_for("Discard the signature")
        page.press("Send")
        page.wait(lambda: chain.taken)

        assert signature in chain.taken[0]
        assert looks_like_extrinsic(bytes.fromhex(chain.taken[0][2:]))


def test_a_long_payload_has_codes_that_take_turns(browser: Any, tmp_path: Path) -> None:
    with connected(browser, tmp_path) as (page, daemon, network):
        LivingChain(network)
        paste_address(page, f"scenario={a_remark(daemon, 'long ' * 400)}")
        page.wait_for("1 of 3")
        page.wait_for("2 of 3")
        page.press("Stop turning")
        page.press("Next code")
        page.press("Previous code")

        assert b"long long" in payload_shown(page)
