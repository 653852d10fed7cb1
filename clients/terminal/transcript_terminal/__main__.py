"""`python -m transcript_terminal` is the command too."""

from transcript_terminal import main

main()
