"""POI matching: a parsed receipt becomes the place it was issued at, with candidates, scores and the generator's vote."""
