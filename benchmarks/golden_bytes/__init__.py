"""The parts of `golden.py`: kinds (what is run), runs (by subprocess), reading (of run folders), names (what moved),
compare (exactly), and world (small worlds that golden runs train on)."""
