import os
from pathlib import Path

from tests.fixed_day import sitecustomize as sitecustomize

# No test goes by the facts that whoever runs the tests has installed, which are read with the first
# import.
os.environ["XDG_DATA_HOME"] = os.devnull
# Processes that a test starts have the day of the tests too.
FIXED_DAY = str(Path(__file__).with_name("fixed_day"))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (FIXED_DAY, os.environ.get("PYTHONPATH"))))
