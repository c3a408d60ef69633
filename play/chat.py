"""Talk: ``python -m play.chat [--mine] [--model NAME-OR-FOLDER] [--seed N] …``."""

import sys

from play.generate import main

if __name__ == "__main__":
    sys.exit(main(chat=True))
