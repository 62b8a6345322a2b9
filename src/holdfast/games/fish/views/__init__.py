"""Films, plots and report sections of the fish school."""
