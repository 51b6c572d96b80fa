"""When a job runs: durations and cron lines read, the next time computed."""
