"""Super Mario Bros: world, start states, adaptive values, views."""
