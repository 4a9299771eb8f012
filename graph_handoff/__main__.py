"""`python -m graph_handoff`: the command `handoff`."""

from graph_handoff.cli import main

if __name__ == "__main__":
    main()
