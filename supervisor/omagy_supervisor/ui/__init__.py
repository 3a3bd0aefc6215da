"""How things are said to a person."""
