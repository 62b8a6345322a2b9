"""All runs in a browser, live, from their folders alone. `launch.dashboard` is the verb; `app` has every address.

folder, tail, columns: reading files that may be growing, huge, torn or hostile · standing, index: the table of runs ·
run_data, curves, thin, details: the page of a run · compare, overlay, folds: several runs · study · filters ·
what_if, films, notes: what can be asked for · sections: what only some games tell, in a process of its own ·
guard, launch, live, media, static_files: the server.
"""
