package main

import (
	"github.com/atrium-hq/atrium/cmd/atrium/internal/reference"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help implements kong.HelpProvider.
func (completionCommand) Help() string {
	return `Prints a script that completes commands, flags and their values. The packages install it for each shell.
Elsewhere, put the line for bash into ~/.bashrc. zsh needs compinit in ~/.zshrc, and a new shell.

Examples:
  source <(atrium completion bash)
  atrium completion zsh > "${fpath[1]}/_atrium"
  atrium completion fish > ~/.config/fish/completions/atrium.fish`
}

// Run implements the command.
func (c *completionCommand) Run(p *process) error {
	return reference.Complete(p.stdout, p.app, c.Shell)
}

type manualCommand struct {
	Folder string `arg:"" help:"Directory of the pages." type:"path"`
}

// Help implements kong.HelpProvider.
func (manualCommand) Help() string {
	return `Writes atrium.1 and one page for each command. Packages and archives of releases contain them.

Example:
  atrium man /usr/local/share/man/man1`
}

// Run implements the command.
func (m *manualCommand) Run(p *process) error {
	return reference.WriteManual(m.Folder, reference.Manual(p.app, version, manualEnd))
}

// manualEnd is the end of the manual page of the program.
const manualEnd = `.SH EXIT STATUS
.TP
.B 0
The command succeeded.
.TP
.B 1
The command failed. Standard error has the reason.
.TP
.B 2
The command line or the configuration is wrong. Nothing was changed.
.SH ENVIRONMENT
.TP
.B ATRIUM_CONFIG
The configuration file, if \-\-config is not given.
.TP
.B ATRIUM_*
Each setting outside of lists: server.addr is ATRIUM_SERVER_ADDR. Variables override the file. A variable that names
no setting is an error.
.SH FILES
.TP
.I ./atrium\-data
All data of a server without configuration. The packages use
.IR /var/lib/atrium .
.TP
.I keyring.json
The keys that seal secrets, in the data directory. Without it stored credentials are lost.
`
