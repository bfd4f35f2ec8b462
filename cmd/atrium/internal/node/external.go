package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/objects"
	"github.com/atrium-hq/atrium/adapters/replier"
	connectionsapi "github.com/atrium-hq/atrium/adapters/rest/connections"
	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/adapters/sheet/google"
	"github.com/atrium-hq/atrium/adapters/sheet/microsoft"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/events"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/webauthn"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/application/connections"
	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// External holds the dependencies of use cases other than stores, and what commands need of them.
type External struct {
	application.External
	Envelope *seal.Envelope
	Notes    *events.Notes
	Children []prometheus.Collector
	Gateways *Gateways
}

// NewExternal returns the dependencies that a configuration names. Call the returned function to end its children.
func NewExternal(
	ctx context.Context, c configs.Config, ring *seal.Keyring, db *sqlstore.Store, o *Orgs,
	signals ports.PresenceSignals,
	mailer ports.Mailer, log *slog.Logger,
) (External, func(), error) {
	envelope, err := seal.NewEnvelope(ring, func(fresh []byte) ([]byte, error) { return db.FingerprintKey(ctx, fresh) })
	if err != nil {
		return External{}, nil, err
	}
	db.SignEvents(envelope)
	g, err := newGateways(ctx, c, db, envelope, o)
	if err != nil {
		return External{}, nil, err
	}
	t, closeAll, err := newSandboxedReaders(c, tenantOf(db))
	if err != nil {
		return External{}, nil, err
	}
	notes := events.NewNotes(db.DB)
	return External{
		External: application.External{
			Notes:       notes,
			Digester:    envelope,
			Credentials: envelope,
			Passes: embeds.PassSealers{Sessions: ring.Sealer(seal.EmbedSessions),
				Tickets: ring.Sealer(seal.EmbedTickets)},
			Challenges:     ring.Sealer(seal.Challenges),
			Authenticators: webauthn.Verifier{},

			Orgs: func(id identity.OrgID) (*identity.Org, bool) { return o.Directory().ByID(id) },
			Mails: accounts.InvitationMailer{
				Mailer: mailer,
				Limits: c.Mail.Limits,
				Failed: func(ctx context.Context, i account.InvitationID, err error) {
					log.WarnContext(ctx, "an invitation was not mailed", "invitation_id", i, "error", err)
				},
			},
			Quotas:     o.quota,
			Registries: o.registry,
			Terms:      g.Terms,

			Warehouses:       t.warehouses,
			ConnectionOffers: o.connectionOffer,
			ProbeLimits:      c.Connections.ProbeLimits,
			Repliers:         t.repliers,
			Webhooks:         replier.NewWebhooks(webhookGuard),
			WebhookQueue:     sqlstore.NewWebhookQueue(db),

			Sheets:       t.sheets,
			SourceOffers: o.sourceOffer,
			SourceLimits: sources.Limits{Previews: c.Connections.PreviewLimits, Refresh: c.Connections.RefreshInterval},
			FileParts:    fileParts(c),

			Clock:   steady(time.Now()),
			Signals: signals,
		},
		Envelope: envelope,
		Notes:    notes,
		Children: t.children,
		Gateways: g,
	}, closeAll, nil
}

// How many child processes of each kind run at the same time on a node. Each has a memory limit of its own.
const (
	warehouseChildren = 8
	sheetChildren     = 4
)

// WarehousesFolder returns the folder of the SQLite files that connections may name.
func WarehousesFolder(c configs.Config) string { return filepath.Join(c.Data, "warehouses") }

// SheetsFolder returns the folder of the spreadsheets that sources may name.
func SheetsFolder(c configs.Config) string { return filepath.Join(c.Data, "sheets") }

// FilesFolder returns the folder of uploaded files.
func FilesFolder(c configs.Config) string { return filepath.Join(c.Data, "files") }

// fileParts returns where the content of uploaded files is stored; nil for PostgreSQL, whose nodes share no folder.
func fileParts(c configs.Config) ports.FileParts {
	if !strings.HasPrefix(c.Database.URL.Reveal(), "sqlite:") {
		return nil
	}
	return objects.New(FilesFolder(c))
}

// sandboxedReaders holds the adapters that reach tenants' warehouses and sheets.
type sandboxedReaders struct {
	warehouses connections.Warehouses
	repliers   embeds.Repliers
	sheets     ports.Sheets
	children   []prometheus.Collector
}

// tenantOf returns the tenant whose share of the children a workspace uses: the person who created it, together with
// that person's other workspaces, or the workspace itself if the system or an operator of the org created it.
func tenantOf(db *sqlstore.Store) confine.TenantOf {
	return func(ctx context.Context, ws identity.WorkspaceID) (confine.Tenant, error) {
		org, maker, err := db.Accounts().Maker(ctx, ws)
		return confine.Tenant{Org: org, Person: cmp.Or(string(maker), string(ws))}, err
	}
}

// ChildCommand is the first argument of the processes that newSandboxedReaders starts. The program must serve them.
const ChildCommand = "probe-worker"

// newSandboxedReaders returns the adapters for warehouses and sheets. Warehouses and files are read in child processes
// of this program, Google's services in this process. If the system cannot confine children, warehouses and files are
// unavailable; the rest of Atrium works.
func newSandboxedReaders(c configs.Config, tenants confine.TenantOf) (t sandboxedReaders, closeAll func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return sandboxedReaders{}, nil, fmt.Errorf("warehouses and sheets: %w", err)
	}
	command := []string{program, ChildCommand}
	for _, folder := range []string{WarehousesFolder(c), SheetsFolder(c), FilesFolder(c)} {
		absolute, err := filepath.Abs(folder) // children run in another directory
		if err != nil {
			return sandboxedReaders{}, nil, fmt.Errorf("warehouses and sheets: %w", err)
		}
		command = append(command, absolute)
	}
	atGoogle := google.Default()
	replyLimits := replier.NewLimits(c.Replies.MaxDuration, c.Replies.ProgressTimeout)
	compatible := replier.NewCompatible(replyGuard, replyLimits)
	endpoint := replier.NewEndpoint(replyGuard, replyLimits)
	all := connections.Warehouses{
		connection.GoogleSheets:     google.NewAccounts(atGoogle),
		connection.Microsoft365:     microsoft.NewAccounts(microsoft.Default(), http.DefaultClient),
		connection.OpenAICompatible: compatible,
		connection.ReplyEndpoint:    endpoint,
	}
	repliers := embeds.Repliers{connection.OpenAICompatible: compatible, connection.ReplyEndpoint: endpoint}
	large := confine.DefaultLimits()
	large.Memory, large.CPU = sheet.ChildMemory, sheet.ChildCPU
	reader, err := confine.New(large, sheetChildren, command...)
	if errors.Is(err, errors.ErrUnsupported) {
		nothing := func(context.Context, identity.WorkspaceID, string, time.Duration, any, any) error {
			return ports.ErrUnavailable
		}
		refuse := func(context.Context, identity.WorkspaceID, string, time.Duration, any,
			func(json.RawMessage) error) error {
			return ports.ErrUnavailable
		}
		sheets := newSheets(nothing, refuse, atGoogle)
		return sandboxedReaders{warehouses: all, repliers: repliers, sheets: sheets}, func() {}, nil
	}
	if err != nil {
		return sandboxedReaders{}, nil, fmt.Errorf("sheets: %w", err)
	}
	prober, err := confine.New(confine.DefaultLimits(), warehouseChildren, command...)
	if err != nil {
		return sandboxedReaders{}, nil, errors.Join(fmt.Errorf("warehouses: %w", err), reader.Close())
	}
	reader.SetTenantOf(tenants)
	prober.SetTenantOf(tenants)
	warehouses := warehouse.NewConfined(prober.Run, prober.Stream)
	for kind := range Warehouses("") { // only their kinds are needed here
		all[kind] = warehouses
	}
	children := slices.Concat(reader.Metrics("sheets"), prober.Metrics("warehouses"))
	closeAll = func() { _ = errors.Join(prober.Close(), reader.Close()) }
	sheets := newSheets(reader.Run, reader.Stream, atGoogle)
	return sandboxedReaders{warehouses: all, repliers: repliers, sheets: sheets, children: children}, closeAll, nil
}

func newSheets(run ports.Confined, stream ports.ConfinedStream, atGoogle google.Config) ports.Sheets {
	return sheet.NewRouter(sheet.NewConfined(run, stream, sheet.DefaultLimits().Total), google.New(atGoogle))
}

// connectionOffer returns the kinds and networks that an org lets its workspaces connect to, by the current
// configuration.
func (o *Orgs) connectionOffer(id identity.OrgID) connections.Offer {
	org, ok := o.Directory().ByID(id)
	if !ok {
		return connections.Offer{}
	}
	offer := (*o.sources.Load())[id]
	out := connections.Offer{Egress: org.Egress, Timeouts: offer.Timeouts, Google: googleClient(org, offer)}
	for _, kind := range org.ConnectionKinds {
		out.Kinds = append(out.Kinds, connection.Kind(kind))
	}
	return out
}

// sourceOffer returns the source types and sheets that an org lets its workspaces attach, by the current configuration.
func (o *Orgs) sourceOffer(id identity.OrgID) sources.Offer {
	org, ok := o.Directory().ByID(id)
	if !ok {
		return sources.Offer{}
	}
	offer := (*o.sources.Load())[id]
	return sources.Offer{
		Types:  offer.Types,
		Egress: org.Egress,
		Rows:   offer.Rows,
		Sheets: ports.SheetOffer{Files: offer.Files, GoogleAPIKey: offer.GoogleAPIKey,
			GoogleClient: googleClient(org, offer), Locale: offer.Locale},
	}
}

// googleClient returns the org's OAuth client at Google; zero if not configured.
func googleClient(org *identity.Org, c configs.SourceOffer) connection.OAuthClient {
	if c.GoogleConsent.ClientID == "" {
		return connection.OAuthClient{}
	}
	return connection.OAuthClient{
		ID: c.GoogleConsent.ClientID, Secret: c.GoogleConsent.ClientSecret, RedirectURI: connectionsapi.ConsentURI(org),
	}
}
