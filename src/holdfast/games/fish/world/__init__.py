"""A school of fish in a round pool with one predator; every fish is an agent that must stay alive."""
