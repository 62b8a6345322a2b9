"""What everything else stands on: errors, random numbers, compiled kernels, timing, the disk."""
