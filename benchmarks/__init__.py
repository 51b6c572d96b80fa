"""Speed, measured: medians and ratios against a yardstick in the same run."""
