"""Games that come with Holdfast; each is a room of its own that the core reaches through one value."""
