"""`transcript completion`: the shell's own script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes `transcript` in SHELL.

    \b
    bash: transcript completion bash > ~/.local/share/bash-completion/completions/transcript
    zsh:  transcript completion zsh > ~/.zfunc/_transcript       (with ~/.zfunc in $fpath)
    fish: transcript completion fish > ~/.config/fish/completions/transcript.fish
    """
    root = context.find_root().command
    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(made(root, {}, "transcript", "_TRANSCRIPT_COMPLETE").source())
