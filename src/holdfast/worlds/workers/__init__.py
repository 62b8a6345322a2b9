"""Foreign environments in supervised processes: hard time-outs, replacement, and nothing left behind.

`world.py` is the world, `crew.py` the processes of one world, `supervisor.py` what all crews of a run share,
`process.py` the program that each worker runs. The parent imports no environment; nothing heavy is imported here,
because every worker begins by importing this package.
"""
