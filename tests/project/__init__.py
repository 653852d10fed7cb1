"""What holds for the project as a whole: its layers, its contract, its docs and its words."""
