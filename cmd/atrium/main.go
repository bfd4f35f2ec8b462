// Command atrium is the workspace backend behind AI products: one binary with a REST API.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	_ "github.com/atrium-hq/atrium/cmd/atrium/internal/collector" // before main
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/configs"
)

// version is set by the linker.
var version = "dev"

// Exit codes, the same for every command.
const (
	exitFailed = 1 // the command failed
	exitUsage  = 2 // the command line or the configuration is wrong
)

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// run is main without the process around it.
func run(args, environ []string, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // before anything stops, so that a second signal ends the process at once
		cancel()
	}()

	if len(args) == 4 && args[0] == node.ChildCommand {
		return serveChild(args[1], args[2], args[3]) //nolint:gosec // there are four
	}
	var line commandLine
	parser, err := kong.New(&line, kong.Name("atrium"), kong.Writers(stdout, stderr), kong.UsageOnError(),
		kong.Description("The workspace backend behind AI products: prompts, chats, connections, data sources, "+
			"payments, presence.\n\nStart with: atrium serve"),
		kong.ExplicitGroups([]kong.Group{
			{Key: "server", Title: "Commands that call a server at a URL:"},
			{Key: "program", Title: "Commands about this program:"},
		}),
		kong.Help(printHelp), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Vars{"version": version}, kong.Exit(func(code int) { panic(exited(code)) }))
	if err != nil {
		panic(err) // the commands are declared wrongly
	}
	stdout, stderr = onTerminal(stdout), onTerminal(stderr) // not for kong, which asks a terminal for its width
	code, command, err := parse(parser, args)
	if command == nil {
		if err != nil {
			complain(stderr, err)
			fmt.Fprintf(stderr, "Run %q to see how to use it.\n", mistaken(err)+" --help")
		}
		return code
	}
	p := &process{ctx: ctx, environ: environ, stdout: stdout, stderr: stderr, line: &line, app: parser.Model.Node}
	if err = refuseFlags(command); err == nil {
		err = command.Run(p)
	}
	if err != nil {
		complain(stderr, err)
		if _, isUsage := errors.AsType[usageError](err); isUsage {
			return exitUsage
		}
		return exitFailed
	}
	return 0
}

// complain prints why a command failed. Errors of the Go client already begin with the name. An error can quote an
// argument, which a caller can confuse with a key: tokens are not printed.
func complain(stderr io.Writer, err error) {
	text := strings.TrimPrefix(err.Error(), "atrium: ")
	fmt.Fprintln(stderr, "atrium:", tokens.ReplaceAllString(text, "${1}_…"))
}

// tokens matches the tokens and secrets that Atrium issues.
var tokens = regexp.MustCompile(`\b(at[a-z]|whsec)_[0-9A-Za-z+/=]{20,}`)

// mistaken returns the command, as far as it was recognised, whose command line has the mistake err.
func mistaken(err error) string {
	words := []string{"atrium"}
	if mistake, ok := errors.AsType[*kong.ParseError](err); ok {
		for _, part := range mistake.Context.Path {
			if part.Command != nil {
				words = append(words, part.Command.Name)
			}
		}
	}
	return strings.Join(words, " ")
}

// exited carries the code with which kong wants to end the process, for example after --help.
type exited int

// parse returns the command, or a nil command and the exit code if --help or --version has printed already.
func parse(parser *kong.Kong, args []string) (code int, command *kong.Context, err error) {
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(exited)
			if !ok {
				panic(p)
			}
			code = int(e) // command is nil
		}
	}()
	if len(args) == 0 || args[0] == "help" {
		args = append(slices.Clone(args[min(len(args), 1):]), "--help")
	}
	command, err = parser.Parse(args)
	if err != nil {
		return exitUsage, nil, err
	}
	return 0, command, nil
}

// commandLine is every command and flag.
type commandLine struct {
	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`

	Config string `help:"Configuration file (YAML)." placeholder:"FILE" env:"ATRIUM_CONFIG" type:"path"`
	Data   folder `help:"Directory of all data of Atrium on this machine. Default: ./atrium-data." placeholder:"DIR"`

	Serve       serveCommand       `cmd:"" help:"Serve the API."`
	Work        workCommand        `cmd:"" help:"Run only background jobs."`
	Migrate     migrateCommand     `cmd:"" help:"Migrate the database's schema, then stop."`
	Keys        keysCommand        `cmd:"" help:"Show, create and rotate the keys that seal secrets."`
	User        userCommand        `cmd:"" help:"Create, list, show, change, disable, erase and export people's accounts."`
	Token       tokenCommand       `cmd:"" help:"Create, list and revoke API keys."`
	Console     consoleCommand     `cmd:"" help:"Print a link that signs a person in with a browser."`
	Session     sessionCommand     `cmd:"" help:"List and end the sessions of a person."`
	Workspace   workspaceCommand   `cmd:"" help:"List workspaces, and restore deleted ones."`
	Backup      backupCommand      `cmd:"" help:"Write the database and the files of the data directory to a file."`
	Restore     restoreCommand     `cmd:"" help:"Fill an empty data directory from a backup."`
	Events      eventsCommand      `cmd:"" help:"Check, follow and export the audit trail."`
	Payments    paymentsCommand    `cmd:"" help:"Show and replay events of gateways, end pauses, control the sandbox."`
	ShowConfig  configCommand      `cmd:"" name:"config" help:"Check the configuration, or show the effective settings."`
	Doctor      doctorCommand      `cmd:"" help:"Check configuration, keyring, database and data directory."`
	Healthcheck healthcheckCommand `cmd:"" help:"Check whether a running server is ready, for containers."`

	Login    loginCommand    `cmd:"" group:"server" help:"Store an API key of a server for the commands below."`
	Logout   logoutCommand   `cmd:"" group:"server" help:"Remove a stored API key."`
	Profiles profilesCommand `cmd:"" group:"server" help:"List the servers with a stored API key."`
	Whoami   whoamiCommand   `cmd:"" group:"server" help:"Print the user and workspace of the stored API key."`
	API      apiCommand      `cmd:"" name:"api" group:"server" help:"Send any request of the API."`
	Prompts  promptsCommand  `cmd:"" group:"server" help:"List, print and render prompts, and keep them as files."`
	Listen   listenCommand   `cmd:"" group:"server" help:"Send events to a program on this machine, as signed webhooks."`
	Presence presenceCommand `cmd:"" group:"server" help:"List presences, or set your status."`

	Completion completionCommand `cmd:"" group:"program" help:"Print completions for a shell."`
	Man        manualCommand     `cmd:"" group:"program" help:"Write the manual pages."`
	OpenAPI    openAPICommand    `cmd:"" name:"openapi" group:"program" help:"Print the API's OpenAPI document."`
	Version    versionCommand    `cmd:"" group:"program" help:"Print the version, the commit and the Go release."`
}

// process holds a command's context, environment, streams and flags.
type process struct {
	ctx            context.Context
	environ        []string
	stdout, stderr io.Writer
	line           *commandLine
	app            *kong.Node // the declared commands and flags
	warn           sync.Once  // about variables that are ignored
}

// usageError is an error of the command line or the configuration.
type usageError struct{ error }

func (m usageError) Unwrap() error { return m.error }

// duration is a flag in the format of the settings: 30s, 12h, 30d.
type duration time.Duration

// folder is a flag that names a directory. An empty value is an error, such as a variable that is not set; it does not
// select the default.
type folder string

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *folder) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("must not be empty")
	}
	*f = folder(kong.ExpandPath(string(text)))
	return nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	age, err := configs.ParseDuration(string(text))
	*d = duration(age)
	return err
}

// source returns where the settings come from; flags are dotted keys.
func (p *process) source(flags map[string]string) configs.Source {
	return configs.Source{File: p.line.Config, Data: string(p.line.Data), Environ: p.environ, Flags: flags}
}

// config reads the settings; flags are dotted keys.
func (p *process) config(flags map[string]string) (configs.Config, error) {
	c, err := configs.Load(p.source(flags))
	if err != nil {
		return c, usageError{fmt.Errorf("the configuration is wrong:\n%w", err)}
	}
	p.warn.Do(func() {
		if names := configs.Ignored(p.environ); len(names) > 0 {
			node.NewLog(p.stderr, c.Log).Warn("variables are ignored, because they are not settings of Atrium",
				"names", strings.Join(names, ", "))
		}
	})
	return c, nil
}

// runningConfig reads the settings, with server.addr as a server that runs on this machine's data has it: serve --addr
// may have changed it.
func (p *process) runningConfig() (configs.Config, error) {
	c, err := p.config(nil)
	if addr := node.ServerAddr(c); err == nil && addr != "" {
		return p.config(map[string]string{"server.addr": addr})
	}
	return c, err
}

// hint returns a command line of this program as the user called it, which people can paste.
func (p *process) hint(command string) string {
	words := []string{filepath.Base(os.Args[0]), command}
	if strings.HasPrefix(words[0], "atrium") && strings.Contains(os.Args[0], "go-build") {
		words[0] = "go run ./cmd/atrium"
	}
	if p.line.Data != "" {
		words = append(words, "--data", string(p.line.Data))
	}
	if p.line.Config != "" {
		words = append(words, "--config", p.line.Config)
	}
	return strings.Join(words, " ")
}
