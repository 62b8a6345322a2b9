"""A pursuer against an evader in a walled arena with round obstacles: two unicycle robots, two roles."""
