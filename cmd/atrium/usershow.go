package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/account"
)

type userShowCommand struct {
	Email string `required:"" help:"E-mail address of the person." placeholder:"EMAIL"`
	Org   string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON  bool   `name:"json" help:"Print JSON."`
}

// Help implements kong.HelpProvider.
func (userShowCommand) Help() string {
	return `Shows who verified the e-mail address (an issuer, or operator for an account that was created from
the command line), and which issuers' claim rules gave which roles.

Example:
  atrium user show --email ada@example.com`
}

// shownUser is an account as the command prints it.
type shownUser struct {
	ID              string            `json:"user_id"`
	Email           string            `json:"email"`
	EmailVerified   bool              `json:"email_verified"`
	EmailVerifiedBy string            `json:"email_verified_by"`
	Operator        bool              `json:"operator"`
	OperatorByHand  bool              `json:"operator_by_hand"`
	OperatorBy      []string          `json:"operator_by"`
	CreatedAt       time.Time         `json:"created_at"`
	Memberships     []shownMembership `json:"memberships"`
}

type shownMembership struct {
	Workspace string            `json:"workspace"`
	Role      string            `json:"role"`
	ByHand    string            `json:"by_hand"`
	Granted   map[string]string `json:"granted_by"`
}

// Run implements the command.
func (s *userShowCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		by, err := inOrg(app, s.Org)
		if err != nil {
			return err
		}
		u, memberships, err := app.Services.Accounts.UserByEmail(p.ctx, by, s.Email)
		if err != nil {
			return withFields(err)
		}
		view := show(u, memberships)
		if s.JSON || !p.atTerminal() {
			return p.print(s.JSON, view, "%s%s", view.text(), view.memberships())
		}
		if err := p.print(false, nil, "%s\n", view.text()); err != nil {
			return err
		}
		return p.table([]string{"WORKSPACE", "ROLE", "GIVEN BY"}, view.rows())
	})
}

func show(u *account.User, memberships []account.Membership) shownUser {
	out := shownUser{
		ID: string(u.ID), Email: u.Email, EmailVerified: u.EmailVerified, EmailVerifiedBy: u.EmailVerifiedBy,
		Operator: u.Operator, OperatorByHand: u.OperatorByHand, OperatorBy: append([]string{}, u.OperatorBy...),
		CreatedAt: u.CreatedAt, Memberships: []shownMembership{},
	}
	for _, m := range memberships {
		grants := map[string]string{}
		for issuer, role := range m.Granted {
			grants[issuer] = role.String()
		}
		out.Memberships = append(out.Memberships,
			shownMembership{m.Workspace.Slug, m.Role.String(), m.ByHand.String(), grants})
	}
	return out
}

func (u shownUser) text() string {
	var out strings.Builder
	verification := "not verified"
	switch {
	case u.EmailVerifiedBy == account.VerifiedByInvitation:
		verification = "unconfirmed"
	case u.EmailVerified:
		verification = "verified by " + u.EmailVerifiedBy
	}
	fmt.Fprintf(&out, "%s (%s), %s, since %s\n", u.Email, u.ID, verification, u.CreatedAt.Format(time.RFC3339))
	if u.Operator {
		fmt.Fprintf(&out, "operator%s\n", givenBy(u.OperatorByHand, u.OperatorBy))
	}
	return out.String()
}

func (u shownUser) memberships() string {
	var out strings.Builder
	for _, m := range u.Memberships {
		fmt.Fprintf(&out, "%s of %s%s\n", m.Role, m.Workspace,
			givenBy(m.Role == m.ByHand, slices.Sorted(maps.Keys(m.Granted))))
	}
	return out.String()
}

func (u shownUser) rows() (rows [][]string) {
	for _, m := range u.Memberships {
		by := "members"
		if m.Role != m.ByHand {
			by = strings.Join(slices.Sorted(maps.Keys(m.Granted)), ", ")
		}
		rows = append(rows, []string{m.Workspace, m.Role, by})
	}
	return rows
}

// givenBy describes who gave a right: people, or the claim rules of issuers.
func givenBy(byHand bool, issuers []string) string {
	if byHand || len(issuers) == 0 {
		return ""
	}
	return ", by the claim rules of " + strings.Join(issuers, " and ")
}
