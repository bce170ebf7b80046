"""`python -m mfu_operator run` is the operator; every other word is the command line's (`kubectl mfu`)."""

import sys


def main() -> None:
    """Run the operator, or hand over to the command line."""
    if sys.argv[1:2] == ["run"]:
        try:
            from mfu_operator.handlers.run import run
        except ModuleNotFoundError as error:
            if error.name != "kopf":
                raise
            sys.exit(
                "mfu_operator run needs kopf, which the command line does not: pip install 'mfu-operator[operator]'"
            )

        run()
    else:
        from mfu_operator.cli.main import main as command_line

        command_line()


if __name__ == "__main__":
    main()
