package main

import (
	"time"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
)

type sessionCommand struct {
	List sessionListCommand `cmd:"" help:"List a person's sessions."`
	End  sessionEndCommand  `cmd:"" help:"End one of a person's sessions, or all of them."`
}

// Help implements kong.HelpProvider.
func (sessionCommand) Help() string { return "Example:\n  atrium session list --email ada@example.com" }

type sessionListCommand struct {
	Email string `required:"" help:"E-mail address of the person." placeholder:"EMAIL"`
	Org   string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON  bool   `name:"json" help:"Print a JSON array of sessions."`
}

// Help implements kong.HelpProvider.
func (sessionListCommand) Help() string {
	return `Lists the browser sessions that have not ended, newest first.

Examples:
  atrium session list --email ada@example.com
  atrium session list --email ada@example.com --json`
}

// Run implements the command.
func (l *sessionListCommand) Run(p *process) error {
	return p.withPerson(l.Org, l.Email, func(app *node.Core, by identity.Actor, id identity.UserID) error {
		org, err := orgNamed(app, l.Org)
		if err != nil {
			return err
		}
		sessions, err := everyPage(func(q page.Query) (session.Page, error) {
			return app.Services.Sessions.ListOf(p.ctx, by, org.Sessions, id, q)
		})
		if err != nil {
			return err
		}
		return list(p, l.JSON, []string{"ID", "SOURCE", "ADDRESS", "BROWSER", "OPENED", "LAST SEEN", "EXPIRES"},
			sessions,
			func(s session.Session) (any, []string) {
				key := any(nil)
				if s.Key != "" {
					key = s.Key
				}
				return map[string]any{
						"session_id": s.ID, "user_id": s.User, "source": s.Source, "api_key_id": key,
						"address":    s.Address,
						"user_agent": s.Agent, "created_at": s.CreatedAt, "last_seen_at": s.LastSeenAt,
						"expires_at": s.EndsAt(org.Sessions),
					}, []string{
						string(s.ID), string(s.Source), s.Address, s.Agent[:min(len(s.Agent), 40)],
						s.CreatedAt.Format(time.RFC3339), s.LastSeenAt.Format(time.RFC3339),
						s.EndsAt(org.Sessions).Format(time.RFC3339),
					}
			})
	})
}

type sessionEndCommand struct {
	Email string `required:"" help:"E-mail address of the person." placeholder:"EMAIL"`
	ID    string `arg:"" optional:"" help:"The session's id: ses_… Default: all sessions of the person."`
	Org   string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON  bool   `name:"json" help:"Print JSON: user_id, ended, the number of sessions that ended."`
}

// Help implements kong.HelpProvider.
func (sessionEndCommand) Help() string {
	return `Within a second, every node refuses the sessions and ends their streams. The person can sign in again: to
prevent that, run atrium user disable.

Examples:
  atrium session end --email ada@example.com
  atrium session end --email ada@example.com ses_01jb4rqnx1e6mtn7c0b8z2pq4r`
}

// Run implements the command.
func (e *sessionEndCommand) Run(p *process) error {
	return p.withPerson(e.Org, e.Email, func(app *node.Core, by identity.Actor, id identity.UserID) error {
		count, err := app.Services.Sessions.EndOf(p.ctx, by, id, identity.SessionID(e.ID))
		if err != nil {
			return err
		}
		return p.print(e.JSON, map[string]any{"user_id": id, "ended": count}, "Sessions of %s that ended: %d.\n",
			e.Email,
			count)
	})
}
