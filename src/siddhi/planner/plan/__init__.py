"""The plan: frozen data, with every name resolved, every type inferred and every physical choice made."""
