"""A school of fish that must survive a predator: world, curriculum, views."""
