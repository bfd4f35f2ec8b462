package configs

import (
	"cmp"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/source"
)

// SourceType is source.Type as it is configured.
type SourceType struct {
	Type    string
	Title   string
	Accepts []string // sheet and warehouse; empty: both
	Fields  []SourceField
}

// SourceField is column.Field as it is configured.
type SourceField struct {
	Key      string
	Title    string
	Type     string
	Required bool
	Unique   bool
	Synonyms []string
	Enum     []string
	Example  string
}

// GoogleConsent is an org's OAuth client at Google; both empty: none.
type GoogleConsent struct {
	ClientID     string
	ClientSecret secret.String
}

// SourceOffer has the source types for an org's workspaces, and how their sheets and warehouses are reached.
type SourceOffer struct {
	Types         []source.Type
	Files         bool          // whether they may read the data directory's folder sheets
	GoogleAPIKey  secret.String // zero: none
	GoogleConsent GoogleConsent
	Rows          source.RowLimits
	Locale        string // of workbooks
	Timeouts      connection.Timeouts
}

// completeRows sets the limits that are left out.
func completeRows(l *source.RowLimits) {
	*l = source.RowLimits{
		Rows:    cmp.Or(l.Rows, 1_000_000),
		Bytes:   cmp.Or(l.Bytes, 256<<20),
		Seconds: cmp.Or(l.Seconds, time.Minute),
	}
}

// checkRows finds limits that are out of range.
func checkRows(l source.RowLimits, key string, found *problems) {
	inRange(found, key+".rows", l.Rows, 1, 100_000_000, "1 to 100000000")
	inRange(found, key+".bytes", l.Bytes, 1<<20, 64<<30, "1048576 to 68719476736")
	inRange(found, key+".seconds", l.Seconds, time.Second, 10*time.Minute, "1s to 10m")
}

// completeTimeouts sets the time-outs that are left out.
func completeTimeouts(t *connection.Timeouts) {
	*t = connection.Timeouts{
		Connect:   cmp.Or(t.Connect, 5*time.Second),
		Statement: cmp.Or(t.Statement, 5*time.Second),
		Total:     cmp.Or(t.Total, 10*time.Second),
	}
}

// checkTimeouts finds time-outs that are out of range.
func checkTimeouts(t connection.Timeouts, key string, found *problems) {
	inRange(found, key+".connect", t.Connect, time.Second, 30*time.Second, "1s to 30s")
	inRange(found, key+".statement", t.Statement, time.Second, time.Minute, "1s to 1m")
	inRange(found, key+".total", t.Total, time.Second, 2*time.Minute, "1s to 2m")
}

// SourceOffers returns each org's offer; ids as for Directory.
func (c Config) SourceOffers(ids func(slug string) identity.OrgID) map[identity.OrgID]SourceOffer {
	all := make(map[identity.OrgID]SourceOffer, len(c.Orgs))
	for _, o := range c.Orgs {
		all[ids(o.Slug)] = SourceOffer{Types: o.sourceTypes(), Files: c.readsTenantFiles(),
			GoogleAPIKey: o.GoogleAPIKey, GoogleConsent: o.GoogleConsent, Rows: o.Rows, Locale: o.SheetLocale,
			Timeouts: o.WarehouseTimeouts}
	}
	return all
}

// sourceTypes are those that are configured, or the common ones.
func (o Org) sourceTypes() []source.Type {
	if len(o.SourceTypes) == 0 {
		return source.CommonTypes()
	}
	types := make([]source.Type, len(o.SourceTypes))
	for i, t := range o.SourceTypes {
		types[i] = source.Type{Key: source.TypeKey(t.Type), Title: t.Title}
		for _, b := range t.Accepts {
			types[i].Accepts = append(types[i].Accepts, source.Backend(b))
		}
		if len(t.Accepts) == 0 {
			types[i].Accepts = []source.Backend{source.SheetBackend, source.WarehouseBackend}
		}
		for _, f := range t.Fields {
			types[i].Fields = append(types[i].Fields, column.Field{
				Key: f.Key, Title: f.Title, Type: column.Type(f.Type), Required: f.Required, Unique: f.Unique,
				Synonyms: f.Synonyms, Enum: f.Enum, Example: f.Example,
			})
		}
	}
	return types
}

// validateGoogleConsent finds an incomplete client, and a base_url at which Google would refuse it
// (https://developers.google.com/identity/protocols/oauth2/web-server#uri-validation).
func (o Org) validateGoogleConsent(found *problems, key string) {
	key += ".google_consent"
	id, withSecret := o.GoogleConsent.ClientID, !o.GoogleConsent.ClientSecret.IsZero()
	if id != "" && !strings.HasSuffix(id, ".apps.googleusercontent.com") {
		found.add(key+".client_id", "must end with .apps.googleusercontent.com")
	}
	if id != "" && !withSecret {
		found.add(key+".client_secret", "must be set with client_id")
	}
	if id == "" && withSecret {
		found.add(key+".client_id", "must be set with client_secret")
	}
}

func (o Org) validateSourceTypes(found *problems, key string) {
	for _, problem := range source.CheckTypes(o.sourceTypes()) {
		found.add(key+".source_types"+problem.Key, "%s", problem.Reason)
	}
}
