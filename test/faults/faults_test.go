package faults

import (
	"context"
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// env holds the use cases, on stores that can fail.
type env struct {
	t        *testing.T
	ctx      context.Context
	stores   ports.Stores
	org      *identity.Org
	team     *fixture.Team
	system   identity.Actor
	prompts  *prompts.Service
	chats    *chats.Service
	accounts *accounts.Service
}

// useCase prepares a call of one use case.
type useCase struct {
	name    string
	prepare func(e *env) func() error
	again   bool // prepare before each attempt: the use case has effects before its last call of a store
}

// TestStoreFaults makes each statement of each use case fail, one after another. The error is returned,
// nothing else is sent, and nothing is stored: the attempt without a fault succeeds.
func TestStoreFaults(t *testing.T) {
	for area, cases := range map[string][]useCase{"prompts": promptCases, "chats": chatCases,
		"accounts": accountCases} {
		t.Run(area, func(t *testing.T) {
			s, f, id := openStores(t)
			e := newEnv(t, s, id)
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					e.t, e.ctx, e.team = t, t.Context(), fixture.NewTeam(t, s, id)
					attempt(t, f, c, e)
				})
			}
		})
	}
}

func attempt(t *testing.T, f *faults, c useCase, e *env) {
	t.Helper()
	call := c.prepare(e)
	for n := 0; ; n++ {
		if c.again && n > 0 {
			call = c.prepare(e)
		}
		f.arm(n)
		err := call()
		isFired, count := f.disarm()
		switch {
		case !isFired && err != nil:
			t.Fatalf("without a fault: %v", err)
		case !isFired && n == 0:
			t.Fatal("it calls no store")
		case !isFired:
			return
		case !errors.Is(err, errOutage):
			t.Errorf("statement %d fails: error = %v, want the store's own", n+1, err)
		case count > 0:
			t.Errorf("statement %d fails, and %d follow", n+1, count)
		}
	}
}

func newEnv(t *testing.T, s ports.Stores, id identity.OrgID) *env {
	t.Helper()
	noQuotas := func(context.Context, identity.Actor) (quota.Limits, error) {
		return quota.Limits{Amounts: quota.Default()}, nil
	}
	mails := &accounts.InvitationMailer{} // with limits of 0, so that no mail is sent
	registry := fixture.Registry(t)
	return &env{
		stores: s, org: &identity.Org{ID: id, SignUp: identity.SignUpOpen,
			Issuers: []identity.Issuer{{URL: "https://issuer.example"}}},
		system:  identity.System(id, "", "faults", fixture.At),
		prompts: prompts.NewService(s.Atomic, s.PromptStores, s.Users, noQuotas),
		chats: chats.NewService(s.Atomic, s.ChatStores, chats.Deps{
			Users: s.Users, Prompts: s.Prompts,
			Registries: func(identity.OrgID) *chat.Registry { return registry },
			MailLimits: mails.Limits,
			MailInvitation: func(context.Context, *account.Invitation, *account.Workspace, string) bool {
				return false
			},
			Quotas: noQuotas,
		}),
		accounts: accounts.NewService(s.Atomic, s.AccountStores, accounts.Deps{
			Events: s.Events, Notes: noNotes{},
			GatewayAccount: func(identity.OrgID) string { return "" }, Mails: mails, Quotas: noQuotas,
		}),
	}
}

// noNotes discards notes: a note that cannot be written fails no use case.
type noNotes struct{}

func (noNotes) Note(context.Context, event.Note) {}
