// Package configs reads the settings of the program. Each adapter declares those that it needs; this package composes
// them, refuses unknown keys, and names the key and the reason in every error. Only cmd imports it.
package configs

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/mail"
	"github.com/atrium-hq/atrium/adapters/redis"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/source"
)

// Config is every setting. A field's key is its name in snake_case: Server.ReadTimeout is
// server.read_timeout. atrium.example.yaml documents each.
type Config struct {
	Data        string // directory of everything that Atrium keeps on this machine
	Server      server.Config
	Metrics     Metrics
	Database    sqlstore.Config
	Keyring     seal.Config
	Mail        mail.Config
	Redis       redis.Config
	Log         Log
	Events      Events
	Connections Connections
	Replies     Replies
	Payments    CardTesting
	Children    Children
	BaseDomain  string // {slug}.{BaseDomain} is a host of each org; empty: only listed hosts are
	Orgs        []Org
}

// Metrics says where Prometheus may scrape.
type Metrics struct {
	Addr string // host:port; empty: nowhere. It requires no credential: keep it private.
}

// Log configures the level and the format of the log.
type Log struct {
	Level  slog.Level
	Format string // text or json
}

// Events says how long the audit trail is kept.
type Events struct {
	Retention time.Duration
}

// Connections says how tenants' warehouses may be reached.
type Connections struct {
	ProbeLimits   connection.ProbeLimits
	PreviewLimits connection.PreviewLimits

	// RefreshInterval is the minimum time between a data source refresh's end and the next one that a caller requests.
	RefreshInterval time.Duration
}

// Replies says how long the endpoints of chats may take for one answer.
type Replies struct {
	MaxDuration     time.Duration
	ProgressTimeout time.Duration // without text, reasoning or a call of a tool
}

// CardTesting says how often workspaces of any org may try cards.
type CardTesting struct {
	CardLimits payment.CardLimits
}

// Children configures the confinement of the processes that read data of tenants.
type Children struct {
	Confine string // best_effort or strict: whether to run if the kernel lacks a part of the sandbox
}

// Org is one customer of the deployment. Its identifier is not configured: the store makes it
// when it first sees the slug, which therefore never changes.
type Org struct {
	Slug               string
	Name               string   // empty: the slug
	Hosts              []string // without a port; a single org may leave them out and is served on every host
	BaseURL            string   // for links that Atrium creates; never taken from a request. Empty: see baseURL
	CORSOrigins        []string // exactly as browsers send them
	PersonalWorkspaces bool     // whether a new user gets a workspace of their own
	Issuers            []Issuer
	SCIM               SCIM
	ClaimRules         []ClaimRule
	GroupClaim         GroupClaim
	EmailDomains       []EmailDomain
	// open, invited or claims; empty: claims if there are ClaimRules or EmailDomains, else invited
	SignUp          string
	WorkspacesBy    string // anyone or operators; empty: anyone
	APIKeys         APIKeys
	Sessions        Sessions
	SecurityMails   *bool // about changes of people's accounts; complete makes it true where it is left out
	Registry        Registry
	ConnectionKinds []string // empty: all, but sqlite only where this is the only org and the database is SQLite too
	Egress          identity.Egress
	SourceTypes     []SourceType  // empty: source.CommonTypes
	GoogleAPIKey    secret.String // for Google Sheets that are shared with everyone who has the link; empty: none
	GoogleConsent   GoogleConsent // for people's consent to read their Google Sheets
	SheetLocale     string        // of dates in workbooks, one of source.Locales; empty: source.DefaultLocale
	Payments        Payments
	Rows            source.RowLimits // of one request for a data source's rows; 0: see completeRows
	// of calls to warehouses, except for rows; 0: 5 seconds to connect and for a statement, 10 in total
	WarehouseTimeouts connection.Timeouts
	Quotas            quota.Amounts // of each workspace; 0: quota.Default
	// page for accepting invitations; {token} is replaced. Empty: /console/join#token={token} below BaseURL
	AcceptURL string
}

// APIKeys are an org's limits for API keys.
type APIKeys struct {
	MaxLifetime     time.Duration // of new keys; 0: no limit
	DefaultLifetime time.Duration // of new keys that are created without an end; 0: MaxLifetime
	Personal        *bool         // whether people may have keys; complete makes it true where it is left out
}

// policy returns k as the domain's type.
func (k APIKeys) policy() identity.KeyPolicy {
	return identity.KeyPolicy{
		MaxLifetime: k.MaxLifetime, DefaultLifetime: k.DefaultLifetime, NoPersonal: !*k.Personal,
	}
}

// Sessions are an org's requirements for the sessions of browsers.
type Sessions struct {
	Idle           time.Duration // without a request; 0: session.Idle
	Lifetime       time.Duration // 0: session.Life
	RequirePasskey string        // the lowest role that needs a passkey or another second factor; empty: no one does
}

// policy returns s as the domain's type.
func (s Sessions) policy() identity.SessionPolicy {
	return identity.SessionPolicy{
		Idle: s.Idle, Life: s.Lifetime, SecondFactorFrom: identity.ParseRole(s.RequirePasskey),
	}
}

// EmailDomain is identity.Capture with the role's name.
type EmailDomain struct {
	Domain    string
	Workspace string
	Role      string
}

// GroupClaim is identity.GroupClaim.
type GroupClaim struct {
	Issuer string // a URL of Issuers, or scim; empty: the only one of Issuers
	Claim  string // empty: groups follow no claim
}

// ClaimRule is identity.ClaimRule with the role's name.
type ClaimRule struct {
	Issuer       string // a URL of Issuers; empty: the only one
	Claim, Value string
	Operator     bool
	Workspace    string
	Role         string
}

// The values of Children.Confine.
const (
	BestEffort = "best_effort"
	Strict     = "strict"
)

// Source is where settings come from; each field overrides those above it.
type Source struct {
	File    string            // a YAML file; empty: the one that ATRIUM_CONFIG names, or none
	Environ []string          // as os.Environ returns it; only ATRIUM_* count
	Flags   map[string]string // dotted keys, such as server.addr
	Data    string            // the data directory; empty: as the others say
}

// Load reads the settings from s over the defaults. An empty Source is the embedded default. The
// error joins every problem, and never quotes a value, since it may be a secret.
func Load(s Source) (Config, error) {
	c, found := mustLoad(s)
	return c, found.err()
}

// mustLoad reads the settings, the problems with them, and where each comes from.
func mustLoad(s Source) (Config, *problems) {
	found := newProblems()
	env := pickEnvironment(s.Environ)
	layers := []layer{
		readFile(cmp.Or(s.File, env[fileVariable]), found),
		readEnvironment(env, found),
		readFlags(s.Flags, found),
	}
	if s.Data != "" {
		found.origin["data"] = "--data"
		layers = append(layers, layer{"data": argument(s.Data)})
	}
	c := defaults()
	applyLayers(layers, &c, found)
	c.normalize()
	c.validate(found)
	return c, found
}

// defaults is the embedded default, without the values that complete derives.
func defaults() Config {
	return Config{
		Data: "./atrium-data",
		Server: server.Config{
			Addr:              "127.0.0.1:8080",
			RequestTimeout:    30 * time.Second,
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       30 * time.Second,
			WriteTimeout:      35 * time.Second,
			IdleTimeout:       120 * time.Second,
			Drain:             5 * time.Second,
			ShutdownTimeout:   20 * time.Second,
			RateLimit: server.RateLimit{PerMinute: 600, Burst: 100, UnauthenticatedPerMinute: 60,
				SignInsPerMinute: 10, SignInFlowsPerMinute: 120, DownloadsPerMinute: 300},
			Concurrency: server.Concurrency{PerCaller: 4, PerWorkspace: 5, Wait: time.Second},
			Streams:     server.Streams{PerWorkspace: 200, PerAddress: 1000},
		},
		Database: sqlstore.Config{MaxConns: 20, StatementTimeout: 10 * time.Second, Synchronous: "full"},
		Mail: mail.Config{
			SMTP:   mail.SMTP{TLS: "starttls"},
			Limits: account.MailLimits{WorkspacePerDay: 50, UserPerHour: 20, AddressPerDay: 5},
		},
		Log:    Log{Format: "text"},
		Events: Events{Retention: 400 * day},
		Connections: Connections{
			ProbeLimits:     connection.ProbeLimits{WorkspacePerMinute: 10, TargetPerHour: 30},
			PreviewLimits:   connection.PreviewLimits{WorkspacePerMinute: 60, TargetPerHour: 1800},
			RefreshInterval: 30 * time.Second,
		},
		Replies: Replies{MaxDuration: 10 * time.Minute, ProgressTimeout: 2 * time.Minute},
		Payments: CardTesting{CardLimits: payment.CardLimits{SetupIntentsPerHour: 10, OpenSetupIntents: 3,
			DeclinesPerDay: 10, InvalidCodesPerHour: 10}},
		Children: Children{Confine: BestEffort},
	}
}

// normalize fills in what follows from other settings, and brings names of hosts into the one
// form in which they are compared.
func (c *Config) normalize() {
	if c.Database.URL.IsZero() {
		c.Database.URL = secret.New("sqlite:" + filepath.Join(c.Data, "atrium.db"))
	}
	if c.Keyring.KeyFile == "" {
		c.Keyring.KeyFile = filepath.Join(c.Data, "keyring.json")
	}
	if len(c.Orgs) == 0 {
		c.Orgs = []Org{{Slug: "default", Name: "Default", Registry: sampleRegistry(), Payments: samplePayments()}}
	}
	c.BaseDomain = strings.ToLower(c.BaseDomain)
	for i := range c.Orgs {
		o := &c.Orgs[i]
		if o.Name == "" {
			o.Name = o.Slug
		}
		o.Quotas = o.Quotas.WithDefaults(quota.Default())
		o.Payments.Trials.WithoutCard = cmp.Or(o.Payments.Trials.WithoutCard, payment.CancelTrial)
		o.Payments.OnRefund = cmp.Or(o.Payments.OnRefund, payment.KeepPlan)
		o.Payments.OnDispute = cmp.Or(o.Payments.OnDispute, payment.KeepPlan)
		completeRows(&o.Rows)
		completeTimeouts(&o.WarehouseTimeouts)
		if o.APIKeys.Personal == nil {
			o.APIKeys.Personal = new(true)
		}
		if o.SecurityMails == nil {
			o.SecurityMails = new(true)
		}
		o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
		o.completeSignIn()
		for j, h := range o.Hosts {
			o.Hosts[j] = canonicalHost(h)
		}
	}
}

// Registries returns the registry of each org; ids as for Directory.
func (c Config) Registries(ids func(slug string) identity.OrgID) map[identity.OrgID]*chat.Registry {
	all := make(map[identity.OrgID]*chat.Registry, len(c.Orgs))
	for _, o := range c.Orgs {
		all[ids(o.Slug)], _ = o.Registry.domain() // Load has validated it
	}
	return all
}

// Quotas returns the limits of the workspaces of each org; ids as for Directory.
func (c Config) Quotas(ids func(slug string) identity.OrgID) map[identity.OrgID]quota.Amounts {
	all := make(map[identity.OrgID]quota.Amounts, len(c.Orgs))
	for _, o := range c.Orgs {
		all[ids(o.Slug)] = o.Quotas
	}
	return all
}

// Directory returns the directory that finds an org by its host. ids returns a slug's stored identifier.
func (c Config) Directory(ids func(slug string) identity.OrgID) *identity.Directory {
	orgs := make([]identity.Org, len(c.Orgs))
	for i, o := range c.Orgs {
		orgs[i] = identity.Org{
			ID: ids(o.Slug), Slug: o.Slug, Name: o.Name, Hosts: o.Hosts, BaseURL: c.baseURL(o),
			CORS: o.CORSOrigins, OwnSpaces: o.PersonalWorkspaces, Issuers: o.issuers(), ClaimRules: o.claimRules(),
			SCIM: o.SCIM.directory(), GroupClaim: o.groupClaim(),
			AcceptURL: o.AcceptURL, Captures: o.captures(),
			SignUp: identity.SignUp(o.SignUp), WorkspacesBy: identity.WorkspacesBy(o.WorkspacesBy),
			Keys: o.APIKeys.policy(), Sessions: o.Sessions.policy(), NoSecurityMails: !*o.SecurityMails,
			ConnectionKinds: c.connectionKinds(o), Egress: o.Egress,
		}
	}
	return identity.NewDirectory(orgs, c.BaseDomain)
}
