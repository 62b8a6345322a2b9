"""Worlds: batches of episodes as arrays, and the contract they keep (`api.py`)."""
