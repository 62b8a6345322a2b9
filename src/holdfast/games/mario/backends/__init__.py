"""Super Mario Bros played by other emulators in worker processes."""
