"""The agent core: everything that needs neither a model provider, a shell nor a notebook."""
