"""What `import holdfast` offers to programs, notebooks and examples: the same verbs as the command line, as functions.

`training` trains, resumes and evaluates; `targets` says by which name a run will find a class again; `runs` opens a run
folder; `policies` loads what was learned, to act on NumPy arrays; `worlds` makes a world to be stepped by hand.
"""
