"""Report sections and tables of stages."""
