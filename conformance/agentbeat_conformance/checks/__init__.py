"""The checks, grouped by subject; `catalogues.load_catalogue` imports every module here."""
