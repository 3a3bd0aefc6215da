"""One module for each outside system; each translates that system's failures into ours."""
