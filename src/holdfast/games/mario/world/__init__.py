"""Super Mario Bros on the console: the game's RAM as facts, its levels as episodes."""
