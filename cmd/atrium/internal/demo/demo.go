// Package demo fills a new workspace with sample data.
package demo

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// samplePrompt is a sample template with its versions, oldest first.
type samplePrompt struct {
	draft    prompt.Draft
	versions []prompt.VersionDraft
	active   int // number of the version to activate
	reason   string
}

// Seed fills the workspace of the person with an e-mail address with prompts, chats and a connection to a sample
// warehouse, and creates sample workbooks. The first chat is on site, which already serves, unless that is nil. If the
// workspace has prompts already, or the person does not exist, it adds nothing and returns the reason.
func Seed(ctx context.Context, app *node.Core, by identity.Actor, email string, site *Site) (
	reason string, err error,
) {
	owner, memberships, err := app.Services.Accounts.Find(ctx, by, email)
	if errors.Is(err, account.ErrUserNotFound) || (err == nil && len(memberships) == 0) {
		return email + " has no workspace here", nil
	}
	if err != nil {
		return "", err
	}
	by.User, by.Workspace, by.Request = owner.ID, memberships[0].Workspace.ID, identity.Request{ID: "demo"}
	existing, err := app.Services.Prompts.List(ctx, by, prompt.Filter{}, page.Query{Limit: 1})
	if err == nil && len(existing.Items) > 0 {
		return "the workspace " + memberships[0].Workspace.Slug + " is in use", nil
	}
	if err == nil {
		err = makeSheets(node.SheetsFolder(app.Config))
	}
	if err == nil {
		err = seedShop(ctx, app, by, site)
	}
	if err == nil {
		err = seedSources(ctx, app, by)
	}
	if err == nil {
		err = seedPrompts(ctx, app.Services.Prompts, by)
	}
	if err == nil {
		err = seedChats(ctx, app, by, site)
	}
	return "", err
}

// seedPrompts adds a millisecond to the time before each version, so that their order is certain.
func seedPrompts(ctx context.Context, service *prompts.Service, by identity.Actor) error {
	for _, d := range samplePrompts {
		t, err := service.Create(ctx, by, d.draft, nil)
		if err != nil {
			return err
		}
		for _, v := range d.versions {
			by.At = by.At.Add(time.Millisecond)
			if _, _, err := service.AddVersion(ctx, by, t.ID, v); err != nil {
				return err
			}
		}
		if _, _, err := service.ActivateVersion(ctx, by, t.ID, prompt.Ref{Number: d.active}, nil,
			prompt.Activating{Reason: d.reason}); err != nil {
			return err
		}
	}
	return nil
}

var samplePrompts = []samplePrompt{
	{
		draft: prompt.Draft{
			Name: "support/answer-ticket", Type: prompt.Chat, Visibility: access.Workspace,
			Tags: []string{"support", "production"},
			Description: "Answers customers' tickets from the help centre's articles, and says so if they do not " +
				"contain the answer.",
		},
		versions: []prompt.VersionDraft{
			{CommitMessage: "First version", Content: prompt.Content{Messages: []prompt.Message{
				{Role: "system", Content: "You answer support tickets for {{company}}. Be brief and friendly."},
				{Role: "user", Content: "{{ticket}}"},
			}}},
			{
				CommitMessage: "Answer from articles only; cite them", Labels: []string{"production"},
				Content: prompt.Content{
					Messages: []prompt.Message{
						{Role: "system", Content: "You answer support tickets for {{company}}.\n\nUse these articles " +
							"and nothing else:\n{{#articles}}\n[{{id}}] {{title}}\n{{body}}\n{{/articles}}\n\nCite " +
							"an article as [id]. If they do not hold the answer, say that a colleague will reply."},
						{Placeholder: "history"},
						{Role: "user", Content: "{{ticket}}"},
					},
					Model: &prompt.ModelConfig{
						Provider:    "openai",
						ModelName:   "gpt-5-mini",
						Temperature: float(0.2),
						MaxTokens:   whole(600),
					},
				},
			},
			{CommitMessage: "Try a warmer tone", Content: prompt.Content{Messages: []prompt.Message{
				{Role: "system", Content: "You answer support tickets for {{company}} the way a patient colleague " +
					"would. Use only these articles:\n{{#articles}}\n[{{id}}] {{title}}\n{{body}}\n{{/articles}}"},
				{Placeholder: "history"},
				{Role: "user", Content: "{{ticket}}"},
			}}},
		},
		active: 2, reason: "Citations passed the review of 200 tickets",
	},
	{
		draft: prompt.Draft{
			Name: "sales/summarise-call", Type: prompt.Text, Visibility: access.Workspace, Tags: []string{"sales"},
			Description: "Turns a call's transcript into a summary, open questions and next steps.",
		},
		versions: []prompt.VersionDraft{
			{CommitMessage: "First version",
				Content: prompt.Content{Text: "Summarise this sales call in {{language}}:\n\n{{transcript}}\n"}},
			{CommitMessage: "Structure the answer",
				Content: prompt.Content{Text: "Summarise this sales call with {{customer}} in {{language}}.\n\n## " +
					"Summary\nAt most five sentences.\n\n## Open questions\nOne line each, with who asked.\n\n## " +
					"Next steps\nWho does what by when.\n\nTranscript:\n{{transcript}}\n"}},
		},
		active: 2, reason: "The account team asked for next steps",
	},
	{
		draft: prompt.Draft{
			Name: "data/classify-feedback", Type: prompt.Text, Visibility: access.Workspace, Protected: true,
			Tags: []string{"production"},
			Description: "Sorts a piece of feedback into one topic and a sentiment. Protected: only a manager can " +
				"activate a version.",
		},
		versions: []prompt.VersionDraft{{
			CommitMessage: "First version", Labels: []string{"production"},
			Content: prompt.Content{
				Text: "Classify the feedback.\n\nTopics: {{#topics}}{{.}}; {{/topics}}\n\nFeedback: " +
					"{{feedback}}\n\nAnswer as JSON with topic and sentiment.\n",
				Variables: []prompt.Variable{
					{Name: "feedback", Type: "string", Required: true, Description: "What the customer wrote",
						Sensitive: true},
					{Name: "topics", Type: "array", Default: []byte(`["price","quality","delivery","support"]`)},
				},
				ResponseFormat: []byte(`{"type":"json_object"}`),
			},
			VariablesDeclared: true,
		}},
		active: 1, reason: "Launch",
	},
	{
		draft: prompt.Draft{
			Name: "internal/review-release-notes", Type: prompt.Text,
			Description: "A private draft: only its owner and admins see it.",
		},
		versions: []prompt.VersionDraft{
			{CommitMessage: "First version",
				Content: prompt.Content{Text: "Rewrite these release notes for people who are not " +
					"engineers:\n\n{{notes}}\n"}}},
		active: 1, reason: "Used by the newsletter",
	},
}

func float(f float64) *float64 { return &f }
func whole(n int) *int         { return &n }
