"""What smart contracts say about themselves."""
