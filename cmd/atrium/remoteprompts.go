package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	atrium "github.com/atrium-hq/atrium/clients/go"
)

type promptsCommand struct {
	List   promptsListCommand   `cmd:"" help:"List prompt templates."`
	Get    promptsGetCommand    `cmd:"" help:"Print a version of a prompt template."`
	Render promptsRenderCommand `cmd:"" help:"Render a prompt with values for its variables."`
	Pull   promptsPullCommand   `cmd:"" help:"Write prompts to Markdown files."`
	Push   promptsPushCommand   `cmd:"" help:"Create versions of prompts from changed files."`
	Diff   promptsDiffCommand   `cmd:"" help:"List the prompts whose files differ from the server."`
}

// Help implements kong.HelpProvider.
func (promptsCommand) Help() string { return "Example:\n  atrium prompts list --folder support" }

type promptsListCommand struct {
	remoteFlags
	Folder string `help:"Only templates in this folder." placeholder:"FOLDER"`
	Tag    string `help:"Only templates with this tag." placeholder:"TAG"`
	JSON   bool   `name:"json" help:"Print a JSON array of templates, as the API returns them."`
}

// Help implements kong.HelpProvider.
func (promptsListCommand) Help() string { return "Example:\n  atrium prompts list --folder support" }

// Run implements the command.
func (l *promptsListCommand) Run(p *process) error {
	client, err := p.connect(l.remoteFlags)
	if err != nil {
		return err
	}
	rows, all := [][]string{}, []atrium.PromptTemplate{}
	for t, err := range client.PromptTemplates.List(p.ctx, atrium.PromptTemplatesListQuery{Folder: l.Folder, Tag: l.Tag,
		Limit: 100}) {
		if err != nil {
			return err
		}
		active := ""
		if t.ActiveVersion != nil {
			active = fmt.Sprintf("v%d", t.ActiveVersion.Number)
		}
		rows = append(rows, []string{t.Name, string(t.Type), active, t.ID})
		all = append(all, t)
	}
	if l.JSON {
		return p.json(all)
	}
	return p.table([]string{"NAME", "TYPE", "ACTIVE", "ID"}, rows)
}

type promptsGetCommand struct {
	remoteFlags
	Name string `arg:"" help:"Name of the template."`
	Ref  string `default:"active" help:"Label, active, latest, v12, or an id." placeholder:"REF"`
	JSON bool   `name:"json" help:"Print JSON: the version as the API returns it."`
}

// Help implements kong.HelpProvider.
func (promptsGetCommand) Help() string {
	return "Example:\n  atrium prompts get support/greeting --ref v3"
}

// Run implements the command.
func (g *promptsGetCommand) Run(p *process) error {
	prompt, err := p.prompt(g.remoteFlags, g.Name, g.Ref)
	if err != nil {
		return err
	}
	if g.JSON {
		return p.json(prompt.Version)
	}
	messages := make([]atrium.RenderedMessage, len(prompt.Version.Messages))
	for i, m := range prompt.Version.Messages {
		text, err := json.Marshal(m)
		if err == nil {
			err = json.Unmarshal(text, &messages[i])
		}
		if err != nil {
			return err
		}
	}
	return p.content(prompt.Version.Text, messages)
}

// prompt returns a prompt of the server.
func (p *process) prompt(f remoteFlags, name, ref string) (*atrium.Prompt, error) {
	client, err := p.connect(f)
	if err != nil {
		return nil, err
	}
	return client.Prompts.Get(p.ctx, name, atrium.PromptOptions{Ref: ref})
}

// content prints a text, or messages under their roles. A message with more than a text is printed as JSON.
func (p *process) content(text *string, messages []atrium.RenderedMessage) error {
	if text != nil {
		_, err := fmt.Fprintln(p.stdout, *text)
		return err
	}
	for _, m := range messages {
		var members map[string]any
		if err := json.Unmarshal(m.JSON, &members); err != nil {
			return err
		}
		title, words := m.Role, string(m.JSON)
		if placeholder, ok := members["placeholder"].(string); ok && m.Role == "" {
			title, words = placeholder, ""
		} else if text, ok := m.Content.(string); ok && len(members) == 2 {
			words = text + "\n"
		} else {
			words += "\n"
		}
		if _, err := fmt.Fprintf(p.stdout, "[%s]\n%s\n", title, words); err != nil {
			return err
		}
	}
	return nil
}

type promptsRenderCommand struct {
	remoteFlags
	Name    string   `arg:"" help:"Name of the template."`
	Ref     string   `default:"active" help:"Label, active, latest, v12, or an id." placeholder:"REF"`
	Var     []string `short:"v" help:"Value: customer=Ann, or JSON after :=." placeholder:"NAME=VALUE" sep:"none"`
	Partial bool     `help:"Keep the tags of required variables without a value."`
	JSON    bool     `name:"json" help:"Print JSON: text or messages, missing, unused."`
}

// Help implements kong.HelpProvider.
func (promptsRenderCommand) Help() string {
	return `Renders on this machine, with the same result as the server. The values are not sent.

Examples:
  atrium prompts render support/greeting --var customer=Ann
  atrium prompts render support/triage --ref staging --var 'items:=["a", "b"]'`
}

// Run implements the command.
func (r *promptsRenderCommand) Run(p *process) error {
	values := map[string]any{}
	for _, v := range r.Var {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return usageError{errors.New("--var must have the form NAME=VALUE or NAME:=JSON")}
		}
		values[name] = value
		if name, isJSON := strings.CutSuffix(name, ":"); isJSON {
			delete(values, name+":")
			if !json.Valid([]byte(value)) {
				return usageError{fmt.Errorf("--var %s must be JSON after :=", name)}
			}
			values[name] = json.RawMessage(value)
		}
	}
	prompt, err := p.prompt(r.remoteFlags, r.Name, r.Ref)
	if err != nil {
		return err
	}
	render := prompt.Render
	if r.Partial {
		render = prompt.RenderPartial
	}
	text, err := render(values)
	if err != nil {
		return err
	}
	if r.JSON {
		return p.json(text)
	}
	if text.Messages != nil {
		return p.content(nil, text.Messages)
	}
	return p.content(&text.Text, nil)
}

type presenceCommand struct {
	remoteFlags
	Status string `help:"Set your status: auto, online, away, dnd or invisible." placeholder:"STATUS"`
	Text   string `help:"Set the text of your status. Needs --status." placeholder:"TEXT"`
	JSON   bool   `name:"json" help:"Print a JSON array of presences, as the API returns them."`
}

// Help implements kong.HelpProvider.
func (presenceCommand) Help() string {
	return `Lists your presence, or sets your status. Operators see all presences of the organisation.

Examples:
  atrium presence
  atrium presence --status away --text Lunch`
}

// Run implements the command.
func (c *presenceCommand) Run(p *process) error {
	if c.Text != "" && c.Status == "" {
		return usageError{errors.New("--text needs --status")}
	}
	client, err := p.connect(c.remoteFlags)
	if err != nil {
		return err
	}
	if c.Status != "" {
		status, device := atrium.ClaimedStatus(c.Status), "cli"
		if _, err := client.Presence.Heartbeat(p.ctx, atrium.Heartbeat{DeviceID: &device, Status: &status,
			Text: &c.Text}); err != nil {
			return err
		}
	}
	rows, all := [][]string{}, []atrium.Presence{}
	for one, err := range client.Presence.List(p.ctx, atrium.PresenceListQuery{Limit: 100}) {
		if err != nil {
			return err
		}
		rows = append(rows, []string{one.UserID, string(one.Status), one.Text})
		all = append(all, one)
	}
	if c.JSON {
		return p.json(all)
	}
	return p.table([]string{"USER", "STATUS", "TEXT"}, rows)
}
