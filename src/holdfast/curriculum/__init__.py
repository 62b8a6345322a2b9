"""What a run trains on and when it moves on: schedules, the gate and its proofs, the arithmetic of decks."""
