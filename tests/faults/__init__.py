"""The server's promises while things break: kill -9, a full disk, a shutdown, a reader that stalls."""
