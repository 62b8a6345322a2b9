"""A pursuer against an evader."""
