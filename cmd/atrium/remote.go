package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	atrium "github.com/atrium-hq/atrium/clients/go"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/profile"
)

// The commands in this file call a server at a URL with an API key. They need no data, configuration or database of
// this machine.

// remoteFlags select the server and the workspace.
type remoteFlags struct {
	Profile   string `help:"Profile to use. Default: ATRIUM_URL and ATRIUM_KEY, or the last login." placeholder:"NAME"`
	Workspace string `help:"Id or slug of the workspace, if the key gives access to several." placeholder:"SLUG"`
}

// connect returns a client of the profile's server, or without --profile of the one that the environment names.
func (p *process) connect(f remoteFlags) (*atrium.Client, error) {
	found := profile.FromEnvironment(p.environ)
	if f.Profile != "" || found == (profile.Profile{}) {
		profiles, err := profile.Open(p.environ)
		if err != nil {
			return nil, err
		}
		if found, err = profiles.Get(f.Profile); errors.Is(err, profile.ErrNone) {
			return nil, errors.New("you are not logged in to a server: run atrium login URL, or set ATRIUM_URL and " +
				"ATRIUM_KEY")
		}
	} else if found.URL == "" || found.Key == "" {
		return nil, usageError{errors.New("set both ATRIUM_URL and ATRIUM_KEY, or neither")}
	}
	if f.Workspace != "" {
		found.Workspace = f.Workspace
	}
	return atrium.New(found.URL, found.Key, atrium.WithWorkspace(found.Workspace))
}

// json prints a value on one line.
func (p *process) json(v any) error {
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

type loginCommand struct {
	URL       string `arg:"" help:"The server: https://atrium.example.com."`
	Profile   string `default:"default" help:"Name under which the server and the key are stored." placeholder:"NAME"`
	Workspace string `help:"Id or slug of the workspace to use." placeholder:"SLUG"`
	KeyFile   string `help:"File with the API key. Default: standard input." placeholder:"FILE" type:"path"`
	JSON      bool   `name:"json" help:"Print JSON: url, user_id, profile, file."`
}

// Help implements kong.HelpProvider.
func (loginCommand) Help() string {
	return `Reads an API key from standard input (a terminal does not show it), checks it, and stores it in
profiles.json in the folder atrium of your configuration folder. Only you can read the file.

Examples:
  atrium login https://atrium.example.com < key.txt
  atrium login http://127.0.0.1:8080 --profile local --key-file key.txt`
}

// Run implements the command.
func (l *loginCommand) Run(p *process) error {
	key, err := l.key(p)
	if err != nil {
		return err
	}
	client, err := atrium.New(l.URL, key, atrium.WithWorkspace(l.Workspace))
	if err != nil {
		return usageError{err}
	}
	me, err := client.Me.Get(p.ctx)
	if err != nil {
		return err
	}
	profiles, err := profile.Open(p.environ)
	if err != nil {
		return err
	}
	profiles.Set(l.Profile, profile.Profile{URL: l.URL, Key: key, Workspace: l.Workspace})
	if err := profiles.Save(); err != nil {
		return err
	}
	return p.print(l.JSON, map[string]any{"url": l.URL, "user_id": me.User.ID, "profile": l.Profile,
		"file": profiles.Path()}, "Logged in to %s as %s. The key is in %s.\n", l.URL, nameOf(me), profiles.Path())
}

// maxKey is more than an API key or an issuer's token has.
const maxKey = 16 << 10

// key reads the API key from the file or standard input.
func (l *loginCommand) key(p *process) (string, error) {
	in := io.Reader(os.Stdin)
	if l.KeyFile != "" {
		file, err := os.Open(l.KeyFile)
		if err != nil {
			return "", err
		}
		defer func() { _ = file.Close() }()
		in = file
	} else if term.IsTerminal(int(os.Stdin.Fd())) {
		_, _ = fmt.Fprint(p.stderr, "API key: ")
		input, err := term.ReadPassword(int(os.Stdin.Fd())) // which does not show it
		_, _ = fmt.Fprintln(p.stderr)
		if err != nil {
			return "", err
		}
		in = bytes.NewReader(input)
	}
	line, err := bufio.NewReader(io.LimitReader(in, maxKey)).ReadString('\n')
	key := strings.TrimSpace(line)
	if key == "" && (err == nil || errors.Is(err, io.EOF)) {
		return "", usageError{errors.New("there is no API key: write it to standard input, or name a --key-file")}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return key, nil
}

type logoutCommand struct {
	Profile string `default:"default" help:"Profile to remove." placeholder:"NAME"`
	JSON    bool   `name:"json" help:"Print JSON: profile, removed."`
}

// Help implements kong.HelpProvider.
func (logoutCommand) Help() string {
	return `Removes the stored key. It stays valid: revoke it with atrium api DELETE /api/api-keys/ID.

Example:
  atrium logout`
}

// Run implements the command.
func (l *logoutCommand) Run(p *process) error {
	profiles, err := profile.Open(p.environ)
	if err == nil {
		err = profiles.Remove(l.Profile)
	}
	if err == nil {
		err = profiles.Save()
	}
	if err != nil {
		return fmt.Errorf("profile %s: %w", l.Profile, err)
	}
	return p.print(l.JSON, map[string]any{"profile": l.Profile, "removed": true}, "Removed the profile %s.\n",
		l.Profile)
}

type profilesCommand struct {
	JSON bool `name:"json" help:"Print a JSON array of profiles: name, url, workspace, current."`
}

// Help implements kong.HelpProvider.
func (profilesCommand) Help() string {
	return `Lists the servers that you are logged in to.

Example:
  atrium profiles`
}

// Run implements the command.
func (c *profilesCommand) Run(p *process) error {
	profiles, err := profile.Open(p.environ)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(profiles.All))
	for name := range profiles.All {
		names = append(names, name)
	}
	slices.Sort(names)
	rows, all := [][]string{}, []map[string]any{}
	for _, name := range names {
		one, mark := profiles.All[name], ""
		if name == profiles.Current {
			mark = "current"
		}
		rows = append(rows, []string{name, one.URL, one.Workspace, mark})
		all = append(all, map[string]any{"name": name, "url": one.URL, "workspace": one.Workspace,
			"current": name == profiles.Current})
	}
	if c.JSON {
		return p.json(all)
	}
	return p.table([]string{"NAME", "URL", "WORKSPACE", ""}, rows)
}

type whoamiCommand struct {
	remoteFlags
	JSON bool `name:"json" help:"Print the response of GET /api/me."`
}

// Help implements kong.HelpProvider.
func (whoamiCommand) Help() string {
	return `Prints the user, the role and the workspace of the stored key.

Example:
  atrium whoami`
}

// Run implements the command.
func (w *whoamiCommand) Run(p *process) error {
	client, err := p.connect(w.remoteFlags)
	if err != nil {
		return err
	}
	me, err := client.Me.Get(p.ctx)
	if err != nil {
		return err
	}
	if w.JSON {
		return p.json(me)
	}
	workspace, role := "", ""
	if me.Workspace != nil {
		workspace = me.Workspace.Slug
	}
	if me.Role != nil {
		role = string(*me.Role)
	}
	return p.table([]string{"USER", "ORG", "WORKSPACE", "ROLE"},
		[][]string{{nameOf(me), me.Org.Slug, workspace, role}})
}

// nameOf returns the caller's e-mail address, or the id without one.
func nameOf(me *atrium.Me) string {
	if me.User.Email != nil {
		return *me.User.Email
	}
	return me.User.ID
}

type apiCommand struct {
	remoteFlags
	Method string   `arg:"" help:"GET, POST, PUT, PATCH or DELETE."`
	Path   string   `arg:"" help:"Path with its query: /api/prompt-templates?limit=5."`
	Body   string   `short:"d" help:"JSON body; @FILE reads a file, - standard input." placeholder:"JSON"`
	Header []string `short:"H" help:"Further header: If-Match: \"1-abc\"." placeholder:"NAME: VALUE" sep:"none"`
}

// Help implements kong.HelpProvider.
func (apiCommand) Help() string {
	return `Sends any request of the API with the stored key, and prints the body of the response. A POST has an
Idempotency-Key, so that it takes effect once even if it is repeated after a lost response. The reference is at
/api/docs of the server.

Examples:
  atrium api GET /api/prompt-templates?limit=5
  atrium api POST /api/prompt-templates --body '{"name": "support/greeting"}'
  atrium api PATCH /api/me --body @patch.json`
}

// Run implements the command.
func (a *apiCommand) Run(p *process) error {
	client, err := p.connect(a.remoteFlags)
	if err != nil {
		return err
	}
	var body any
	if a.Body != "" {
		text, err := readArgument(a.Body)
		if err != nil {
			return err
		}
		if !json.Valid(text) {
			return usageError{errors.New("--body must be JSON")}
		}
		body = json.RawMessage(text)
	}
	var options []atrium.Option
	for _, h := range a.Header {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return usageError{errors.New("--header must have the form NAME: VALUE")}
		}
		options = append(options, atrium.Header(strings.TrimSpace(name), strings.TrimSpace(value)))
	}
	var out any
	if err := client.Request(p.ctx, strings.ToUpper(a.Method), a.Path, body, &out, options...); err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(out)
}

// readArgument returns text, or the content of the file that @FILE names, or of standard input for -.
func readArgument(text string) ([]byte, error) {
	if text == "-" {
		return io.ReadAll(os.Stdin)
	}
	if name, ok := strings.CutPrefix(text, "@"); ok {
		return os.ReadFile(name)
	}
	return []byte(text), nil
}
