"""The notebook layer: magics, session, run view, file browser, static rendering."""
