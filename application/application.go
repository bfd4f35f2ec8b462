// Package application composes the use cases. It is the only package that imports every area, so a new area is added
// here and nowhere else: its service in Services, what it needs from outside in External, and one line in NewBind.
package application

import (
	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/application/connections"
	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/application/sessions"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/application/webhooks"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Services has all use cases, on the stores of a pool or of one transaction.
type Services struct {
	Accounts     *accounts.Service
	Sessions     *sessions.Service
	Passkeys     *sessions.Passkeys
	Tickets      *sessions.Tickets
	Groups       *accounts.Groups
	Directory    *accounts.Directory
	Notices      *accounts.SecurityNotices
	KeyUsage     *accounts.KeyUsage
	SessionUsage *accounts.SessionUsage
	Prompts      *prompts.Service
	PromptReads  *prompts.ReadCounter
	Chats        *chats.Service
	Embeds       *embeds.Service
	Replies      *embeds.Replies
	EmbedUsage   *embeds.Usage
	Connections  *connections.Service
	Sources      *sources.Service
	Payments     *payments.Service
	Presences    *presences.Service
	Seats        *presences.Seats
	Webhooks     *webhooks.Service
	Deliverer    *webhooks.Deliverer
	Transcripts  *webhooks.Transcripts
}

// External has what use cases need besides stores. An org's functions return its current settings.
type External struct {
	Notes       ports.Notes
	Digester    ports.Digester
	Credentials ports.CredentialSealer
	Passes      embeds.PassSealers

	Challenges     ports.Sealer // of passkeys
	Authenticators ports.Authenticators

	Orgs       accounts.OrgOf
	Mails      accounts.InvitationMailer
	Quotas     payments.Configured // before the plan of the workspace changes them
	Registries chats.Registries
	Terms      payments.TermsOf

	Warehouses       connections.Warehouses
	ConnectionOffers connections.Offers
	ProbeLimits      connection.ProbeLimits
	Repliers         embeds.Repliers
	Webhooks         ports.WebhookSender
	WebhookQueue     ports.WebhookQueue

	Sheets       ports.Sheets
	SourceOffers sources.Offers
	SourceLimits sources.Limits
	FileParts    ports.FileParts // nil if files cannot be uploaded

	Clock   presences.Clock
	Signals ports.PresenceSignals // nil if there are no other nodes to notify
}

// Bind returns the use cases on given stores.
type Bind func(ports.Stores) Services

// NewBind returns a node's Bind. All Services that it returns share what belongs to the node and is never part of a
// transaction: the registry of presences, the seats of streams and the usage of API keys and sessions, which are stored
// in pool.
func NewBind(pool ports.Stores, e External) Bind {
	embedUsage := embeds.NewUsage(pool.EmbedUses)
	keyUsage, sessionUsage := accounts.NewKeyUsage(pool.Keys, pool.KeyRequests), accounts.NewSessionUsage(pool.Sessions)
	payService := func(s ports.Stores) *payments.Service {
		return payments.NewService(s.Atomic, s.PaymentStores, payments.Deps{
			Workspaces: s.Workspaces, Jobs: s.Jobs,
			Mailer: e.Mails.Mailer, Digester: e.Digester, Terms: e.Terms, Quotas: e.Quotas,
		})
	}
	unsettled := make(accounts.Unfinished, 1)
	reads := prompts.NewReadCounter(pool.PromptReads)
	seats := presences.NewSeats(pool.StreamSeats, payService(pool).Quotas)
	presence := presences.NewService(pool.Presences, e.Clock, e.Signals)
	egress := func(org identity.OrgID) identity.Egress { return e.ConnectionOffers(org).Egress }
	hookKeys := webhooks.NewKeys(e.Credentials)
	deliverer := webhooks.NewDeliverer(e.WebhookQueue, pool.Events, hookKeys, e.Webhooks, egress)
	transcripts := webhooks.NewTranscripts(pool.Webhooks, hookKeys, e.Webhooks, egress)
	gatewayAccount := func(org identity.OrgID) string { return e.Terms(org).Account }
	return func(s ports.Stores) Services {
		pay := payService(s)
		connect := connections.NewService(s.Atomic, s.ConnectionStores, connections.Deps{
			Sealer:      e.Credentials,
			Warehouses:  e.Warehouses,
			Offers:      e.ConnectionOffers,
			ProbeLimits: e.ProbeLimits,
			Quotas:      pay.Quotas,
		})
		chat := chats.NewService(s.Atomic, s.ChatStores, chats.Deps{
			Users: s.Users, Prompts: s.Prompts,
			Registries: e.Registries, MailLimits: e.Mails.Limits, MailInvitation: e.Mails.Send, Quotas: pay.Quotas,
			Expand: prompts.Expanded, Choose: prompts.Chosen,
		})
		embed := embeds.NewService(s.EmbedStores, s.Chats, e.Passes, embeds.Registries(e.Registries), e.Digester)
		return Services{
			Accounts: accounts.NewService(s.Atomic, s.AccountStores, accounts.Deps{
				Events: s.Events, Notes: e.Notes, GatewayAccount: gatewayAccount, Mails: &e.Mails, Quotas: pay.Quotas,
				Sessions: s.Sessions, Passkeys: s.Passkeys,
				EndCheckouts: pay.EndCheckouts, OpenSession: sessions.OpenForJoined,
			}),
			Sessions: sessions.NewService(s.Atomic, s.Sessions, s.Keys, s.Users, e.Mails.Mailer, e.Notes),
			Passkeys: sessions.NewPasskeys(s.Atomic, s.Passkeys, e.Challenges, e.Authenticators, e.Mails.Mailer,
				e.Notes),
			Tickets: sessions.NewTickets(s.Tickets),
			Groups:  accounts.NewGroups(s.Groups),
			Directory: accounts.NewDirectory(
				s.Atomic, s.DirectoryStores, s.Workspaces, e.Notes, e.Mails.Mailer, unsettled),
			Notices:      accounts.NewSecurityNotices(s.Atomic, s.Users, e.Mails.Mailer, e.Orgs),
			KeyUsage:     keyUsage,
			SessionUsage: sessionUsage,
			Prompts:      prompts.NewService(s.Atomic, s.PromptStores, s.Users, pay.Quotas),
			PromptReads:  reads,
			Chats:        chat,
			Embeds:       embed,
			Replies: embeds.NewReplies(s.Replies, s.PromptFeedback, embed, chat.Effective, connect.Use,
				e.Repliers, transcripts.Forward, reads.Record),
			EmbedUsage:  embedUsage,
			Connections: connect,
			Sources: sources.NewService(s.Atomic, s.SourceStores, sources.Deps{
				Connections:    s.Connections,
				Workspaces:     s.Workspaces,
				Jobs:           s.Jobs,
				Sheets:         e.Sheets,
				WithCredential: connect.Use,
				Offers:         e.SourceOffers,
				Digester:       e.Digester,
				Notes:          e.Notes,
				Limits:         e.SourceLimits,
				Quotas:         pay.Quotas,
				Sealer:         e.Credentials,
				FileParts:      e.FileParts,
			}),
			Payments:  pay,
			Presences: presence,
			Seats:     seats,
			Webhooks: webhooks.NewService(s.Webhooks, webhooks.Deps{
				Atomic: s.Atomic, Events: s.Events, Workspaces: s.Workspaces,
				Keys: hookKeys, Sender: e.Webhooks, Egress: egress, Mailer: e.Mails.Mailer,
			}),
			Deliverer:   deliverer,
			Transcripts: transcripts,
		}
	}
}
