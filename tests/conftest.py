"""Where the tests find their data."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
#: Real inputs that may not be committed; the tests over them run where the folder stands beside the checkout.
SHARED = ROOT.parent / "shared"
